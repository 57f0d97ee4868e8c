"""What windows of ranges promise: docs/theory.md, Theorem 12e."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.oracle.windows import DAY, Clock

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.testing import seeded_key

Integers = npt.NDArray[np.int64]
BITS, WIDTH = 4, 2  # two packed depths, two rows with functions
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bits": BITS, "width": WIDTH}
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 4},
    "clock": {"every": "20s", "slices": 4},
    "range": {"every": "6h", **DAY},
}


def windows_of(cut: str, **changes: Any) -> ls.RangesWindows:
    asked = {**PROMISE, **CUTS[cut], **changes}
    if cut == "clock":
        asked.setdefault("clock", Clock(1000.0))
    return ls.RangesWindows(**asked)


def added_to_cells(seed: int) -> Integers:
    """What an event of each key adds to the table: two objects with the same noise differ by it."""
    found = []
    for key in range(1 << BITS):
        one, none = (
            ls.RangesWindows(every=1, slices=1, hash_seed=seed, key=seeded_key(7), **PROMISE)
            for _ in range(2)
        )
        one.update(key)
        none.tick()
        tables = [windows.windows[0].release.table for windows in (one, none)]
        found.append((tables[0] - tables[1]).ravel())
    return np.array(found)


def largest_move(added: Integers, cut: str, *, slices: int, relation: str) -> int:
    """Every pair of events of two windows, of which one takes the place of the other."""
    over_time = strategy("haar", slices)
    leaves = [over_time.shift(leaf) for leaf in range(1, slices + 1)]
    places = [
        (window, leaf, np.kron(np.eye(2, dtype=np.int64)[window], np.outer(cells, shift)))
        for window, (leaf, shift), cells in itertools.product(range(2), enumerate(leaves), added)
    ]
    moved = [int((query**2).sum()) for *_, query in places]
    if relation == "substitution":
        moved += [
            int(((one - other) ** 2).sum())
            for (*step, one), (*later, other) in itertools.combinations(places, 2)
            if cut != "steps" or step == later
        ]
    return max(moved)


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("cut", CUTS)
def test_no_key_moves_the_queries_further_than_calibrated(cut: str, relation: str) -> None:
    """In any two windows of time; with the worst of some hash functions the bound is attained."""
    slices = {"steps": 4, "clock": 4, "range": 1}[cut]
    windows = windows_of(cut, relation=relation, mechanism="haar")
    bound = windows.privacy.sketch.l2_sensitivity**2
    largest = max(
        largest_move(added_to_cells(seed), cut, slices=slices, relation=relation)
        for seed in range(1, 7)
    )
    assert largest <= bound <= largest * (1 + 1e-12)


def test_windows_of_time_need_no_more_noise_than_ranges() -> None:
    alone = ls.Ranges(schedule=ls.Batch(horizon=1), **PROMISE)
    assert windows_of("range").privacy.sketch.sigma == alone.privacy.sigma


@pytest.mark.parametrize("cut", CUTS)
def test_releases_of_windows_state_what_the_windows_do(cut: str) -> None:
    windows = windows_of(cut)
    if cut == "steps":
        windows.tick(8)
    windows.finish()
    stated = windows.privacy.sketch
    assert {part.privacy for part in windows.release(100).parts} == {stated}
    again = ls.RangesRelease.from_bytes(windows.release(100).to_bytes())
    assert {part.privacy for part in again.parts} == {stated}
    assert "window" not in f"{windows.privacy} {windows.privacy.sentence}"
