"""Lists that are asked for again: decoded once while nothing changes, and never after a change."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ClosedError
from lazysketch.testing import seeded_key

EVENTS = np.minimum(np.random.default_rng(5).zipf(1.4, 60_000), 400)
DOMAIN = list(range(1, 401))
# Names of a domain; published ones; and published ones that are cut.
KINDS: list[dict[str, Any]] = [{"domain": DOMAIN}, {}, {"max_item_bytes": 16}]


def made(changes: dict[str, Any]) -> ls.HeavyHitters:
    asked: dict[str, Any] = {"share": 0.02, "epsilon": 2.0, "delta": 1e-6, **changes}
    return ls.HeavyHitters(**asked, hash_seed=3, key=seeded_key(1))


def items(changes: dict[str, Any]) -> list[Any]:
    found: list[int] = EVENTS.tolist()
    return (
        [f"a long name of {one % 7} items {one}" for one in found]
        if "max_item_bytes" in changes
        else found
    )


@pytest.mark.parametrize("changes", KINDS, ids=["domain", "published", "cut"])
def test_every_list_is_that_of_one_that_is_decoded_now(changes: dict[str, Any]) -> None:
    heavy, stream, seen = made(changes), items(changes), []
    for batch in (stream[:30_000], [], stream[30_000:30_001], stream[30_001:], None, None):
        heavy.finish() if batch is None else heavy.update_many(batch)
        kept = heavy._known()
        assert heavy._known() is kept
        heavy._last_known = None
        now = heavy._known()
        assert now is not kept
        assert kept.size == now.size
        np.testing.assert_array_equal(kept.estimates, now.estimates)
        places = np.arange(len(kept.estimates))[:20]
        answers = kept.hitters(places, confidence=0.9)
        assert answers == now.hitters(places, confidence=0.9)
        assert [hitter.item for hitter in answers] == heavy.candidates[:20]
        seen.append(answers)
    # Nothing came in the second batch, and nothing changes after the end.
    assert [one == other for one, other in pairwise(seen)] == [True, False, False, False, True]


def test_a_closed_object_answers_nothing_that_it_kept() -> None:
    heavy = made({"domain": DOMAIN})
    heavy.update_many(EVENTS)
    heavy.top(3)
    heavy.close()
    with pytest.raises(ClosedError):
        heavy.top(3)


def test_long_lists_are_not_kept() -> None:
    heavy = made({"domain": list(range(2**17 + 1)), "depth": 1, "width": 8})
    assert heavy._known() is not heavy._known()
