"""Epochs of discovery show nothing before their end, the condition of their adaptive guarantee."""

from __future__ import annotations

from typing import Any

import lazysketch as ls
from lazysketch.testing import seeded_key


def test_an_epoch_shows_nothing_before_its_end() -> None:
    """The condition of theory.md for events chosen from releases, with a fixed key and other names.

    What an observer sees of discovery at every step before the end is the same for any events, also
    for those that would pass the threshold at once, in every number, and across other epochs.
    """
    epoch = 400
    first = ["common"] * epoch
    streams: list[list[Any]] = [
        ["common"] * epoch,
        ["other"] * epoch,
        list(range(epoch)),
        [None] * epoch,
    ]
    seen: list[list[Any]] = []
    for second in streams:
        heavy = ls.HeavyHitters(
            share=0.05,
            epsilon=8.0,
            delta=1e-3,
            discovery_epoch=epoch,
            key=seeded_key(5),
            width=64,
            depth=2,
            hash_seed=1,
        )
        heavy.update_many(first)
        published: list[Any] = [heavy.candidates]
        for step, item in enumerate(second, start=1):
            if item is None:
                heavy.tick()
            else:
                heavy.update(item)
            if step < epoch:
                published.append((list(heavy.candidates), [it.item for it in heavy.top(5)]))
        seen.append(published)
        assert ("other" in heavy.candidates) == (second[0] == "other")
    assert all(published == seen[0] for published in seen)
    assert seen[0][0] == ["common"]
