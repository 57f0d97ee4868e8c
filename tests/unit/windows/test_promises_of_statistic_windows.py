"""What windows of distinct items and of distributions promise: docs/theory.md, Theorem 12d."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.oracle.windows import DAY, Clock
from tests.value_matrix import matrix

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.gaussian import gaussian_delta
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows, ValueTree

Integers = npt.NDArray[np.int64]
Windows = ls.DistinctWindows | ls.DistributionWindows
BINS = ls.Bins.linear(0, 2, number=2)  # four bins with the two that are open
VALUES = [-1.0, 0.5, 1.5, 9.0]
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 10},
    "ends of steps": {"every": 10, "slices": 1},
    "clock": {"every": "20s", "slices": 4},
    "range": {"every": "6h", **DAY},
}
every_cut = pytest.mark.parametrize("cut", CUTS)
both = pytest.mark.parametrize("kind", ["distinct", "distribution"])


def windows_of(kind: str, cut: str, **changes: Any) -> Any:
    asked = {**PROMISE, "keep": 100, **CUTS[cut], **changes}
    if cut == "clock":
        asked.setdefault("clock", Clock(1000.0))
    if kind == "distinct":
        return ls.DistinctWindows(**{"hash_seed": 3, **asked})
    return ls.DistributionWindows(**{"bins": BINS, **asked})


def added_to_nodes(rows: ValueRows) -> Integers:
    """What an event of each bin adds to every node."""
    return (matrix(ValueTree(rows, 4)) @ np.tril(np.ones((4, 4), dtype=np.int64))).T


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("rows", VALUE_ROWS)
@pytest.mark.parametrize("cut", ["clock", "range", "steps"])
def test_no_value_moves_the_queries_further_than_calibrated(
    cut: str, rows: ValueRows, relation: str
) -> None:
    """Every pair of events of tiny windows, in any two windows of time; the bound is attained."""
    slices = {"clock": 4, "range": 1, "steps": 10}[cut]
    windows = windows_of("distribution", cut, value_rows=rows, relation=relation, mechanism="haar")
    sketch = windows.privacy.sketch
    added, over_time = added_to_nodes(rows), strategy("haar", 4 if slices == 4 else slices)
    places = [
        np.kron(np.eye(2, dtype=np.int64)[window], np.outer(added[value], over_time.shift(leaf)))
        for window, leaf, value in itertools.product(range(2), range(1, slices + 1), range(4))
    ]
    steps = [divmod(place, 4)[0] for place in range(len(places))]
    largest = max(int((one**2).sum()) for one in places)
    if relation == "substitution":
        moved = [
            int(((one - other) ** 2).sum())
            for (step, one), (later, other) in itertools.combinations(
                zip(steps, places, strict=True), 2
            )
            if cut != "steps" or step == later
        ]
        largest = max(largest, *moved)
    assert largest <= sketch.l2_sensitivity**2 <= largest * (1 + 1e-12)


@pytest.mark.parametrize("rows", VALUE_ROWS)
@pytest.mark.parametrize("cut", ["clock", "range"])
def test_a_move_costs_more_than_the_difference_of_two_bins(cut: str, rows: ValueRows) -> None:
    """The plant: noise for D_V alone. With Haar rows mu would be 1.19 times as large as stated."""
    windows = windows_of("distribution", cut, value_rows=rows)
    tree = ValueTree(rows, 4)
    replaced, moved = (tree.sensitivity2("substitution", moves=moves) for moves in (False, True))
    assert moved == 2 * tree.sensitivity2("zero-out") > replaced
    understated = math.sqrt(moved / replaced)
    assert understated == pytest.approx({"tree": 1.160, "haar": 1.190}[rows], abs=1e-3)
    multiplier = windows.privacy.sketch.noise_multiplier
    assert gaussian_delta(1.0, multiplier) <= 1e-6
    assert gaussian_delta(1.0, multiplier / understated) > 8e-6
    in_place = ls.Distribution(bins=BINS, value_rows=rows, schedule=ls.Batch(horizon=1), **PROMISE)
    assert windows_of("distribution", "range", value_rows=rows).privacy.sketch.sigma == (
        pytest.approx(in_place.privacy.sigma * understated, rel=1e-4)
    )


def test_larger_trees_need_nothing_more() -> None:
    bins = ls.Bins.linear(0, 1, number=1022)
    windows = ls.DistributionWindows(bins=bins, every="6h", **DAY, **PROMISE)
    in_place = ls.Distribution(bins=bins, schedule=ls.Batch(horizon=1), **PROMISE)
    assert windows.privacy.sketch.sigma == in_place.privacy.sigma


@every_cut
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_releases_of_windows_state_what_the_windows_do(
    tmp_path: Path, cut: str, rows: ValueRows, relation: str
) -> None:
    """Also files, merged ones too: compositions of them cover an event that moves."""
    windows = windows_of("distribution", cut, value_rows=rows, relation=relation)
    if "steps" in cut:
        windows.tick(20)
    windows.finish()
    stated = windows.privacy.sketch
    for number, window in enumerate(windows.windows):
        assert window.release.privacy == stated
        window.release.save(tmp_path / f"{number}")
        assert ls.DistributionRelease.load(tmp_path / f"{number}").privacy == stated
    merged = windows.release(100)
    assert {part.privacy for part in merged.parts} == {stated}
    again = ls.DistributionRelease.from_bytes(merged.to_bytes())
    assert {part.privacy for part in again.parts} == {stated}
    together = ls.compose(*(window.release for window in windows.windows))
    assert together.mu == pytest.approx(stated.mu * math.sqrt(len(windows.windows)), rel=1e-9)


def test_releases_of_single_distributions_say_what_they_did() -> None:
    for schedule in (ls.Batch(horizon=4), ls.Punctual(horizon=4)):
        alone = ls.Distribution(bins=BINS, schedule=schedule, **PROMISE)
        assert alone.release().privacy == alone.privacy


def first_bits(stream: Sequence[Sequence[str]]) -> dict[str, int]:
    """The slice at which each bit of one window is set; u and o share one."""
    found: dict[str, int] = {}
    for leaf, items in enumerate(stream, start=1):
        for item in items:
            found.setdefault("u" if item == "o" else item, leaf)
    return found


def query_of_distinct(windows: Sequence[Sequence[Sequence[str]]]) -> Integers:
    """All queries that get noise, of the windows one after the other, of one level."""
    rows = strategy("haar", 2)
    parts = []
    for stream in windows:
        shift = np.zeros(len(rows.shift(1)), dtype=np.int64)
        for leaf in first_bits(stream).values():
            shift += BIT_WEIGHT * rows.shift(leaf)
        parts.append(shift)
    return np.concatenate(parts)


SLICES = [(first, second) for first in ([], ["u"]) for second in ([], ["u"])]
OTHERS = [(first, second) for first in ([], ["o"]) for second in ([], ["o"])]


def joined(*streams: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[one for part in items for one in part] for items in zip(*streams, strict=True)]


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_an_item_in_one_window_moves_no_more_than_calibrated(relation: str) -> None:
    """All events of u in two windows of two slices, with and without others of the same bit."""
    clock = Clock(1000.0)
    windows = windows_of(
        "distinct", "clock", clock=clock, slices=2, relation=relation, mechanism="haar"
    )
    bound = windows.privacy.sketch.l2_sensitivity**2
    largest = [0, 0]
    for others in itertools.product(OTHERS, repeat=2):
        plain = query_of_distinct(others)
        for ours in itertools.product(SLICES, repeat=2):
            mine = [joined(*pair) for pair in zip(ours, others, strict=True)]
            own = query_of_distinct(mine)
            within = [number for number, stream in enumerate(ours) if any(stream)]
            if not within:
                continue
            # Under zero-out nothing is left; in k windows that is k times the square.
            moved = int(((own - plain) ** 2).sum())
            largest[len(within) - 1] = max(largest[len(within) - 1], moved)
            if relation == "substitution" and len(within) == 1:
                for elsewhere in itertools.product(SLICES, repeat=2):
                    if sum(any(stream) for stream in elsewhere) <= 1:
                        other = [joined(*pair) for pair in zip(elsewhere, others, strict=True)]
                        moved = int(((own - query_of_distinct(other)) ** 2).sum())
                        largest[0] = max(largest[0], moved)
    assert 0 < largest[0] <= bound
    assert largest[1] <= 2 * bound
    if relation == "zero-out":
        assert largest[1] > bound  # an item in two windows is beyond the guarantee of one


def test_an_item_is_protected_within_one_window() -> None:
    windows = windows_of("distinct", "steps")
    assert str(windows.privacy) == (
        "(1, 1e-06)-DP per item within one window, all of its events (substitution)"
    )
    sentence = windows.privacy.sentence
    assert "any one item, with all of its events in one window, was there" in sentence
    assert "for an item with events beyond one window, which add up" in sentence
    events = windows_of("distribution", "steps").privacy
    assert "window" not in f"{events} {events.sentence}"


def test_an_item_in_many_windows_composes_by_their_number() -> None:
    """What holds within one window is no part of a composition; each window is one."""
    windows = windows_of("distinct", "steps")
    windows.tick(40)
    with pytest.raises(ArgumentValueError, match="^parts: expected guarantees for all that a pers"):
        ls.compose(windows)
    for number in (1, 2, 4):
        together = ls.compose(*(window.release for window in windows.windows[:number]))
        assert together.mu == pytest.approx(windows.privacy.sketch.mu * math.sqrt(number))
    assert together.epsilon > 2.0  # not sqrt(4): epsilon grows faster than mu
