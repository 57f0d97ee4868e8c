"""Intervals of windows of ranges and of sums cover, and are not far too wide.

All windows of one object have one hash seed, so one object is one trial: its first window, or three
of them in one release. Objects have keys and hash seeds of their own, so the number of misses is
binomial, and Chernoff's bound gives the p-values, in both directions. Keys are seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.testing import seeded_key
from lazysketch.windows.statistic_tables import StatisticTables
from lazysketch.windows.sums_tables import SumsTables

OBJECTS, WINDOWS, EVENTS = 200, 3, 6_000
# Ends of ranges come from an estimate of the law of collisions, as in the tests of single ones.
CONFIDENCE, STATED = 0.95, {"ranges": 0.94, "sums": 0.95}
NARROW, LEAST = 0.3, {"ranges": 0.3, "sums": 0.2}
PLANTED = {"ranges": 0.4, "sums": 0.2}  # of the width: rejected
BUDGET = declared.budget("windows of ranges and sums")
BITS, LOW, HIGH = 20, -100.0, 300.0
HEAVY = 1
CUTS = ("steps", "clock")
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Found = list[tuple[float, ls.Interval]]


@contextmanager
def seeded(number: int) -> Iterator[None]:
    """Each table of each window of an object has an id of its own, the same in every run."""

    def origin(_: object, window: int, table: int = 0) -> tuple[ls.Key, None]:
        place = (number << 32 | window << 1 | table).to_bytes(16, "big")
        return seeded_key(23, sketch_id=place), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StatisticTables, "_origin", origin)
        patch.setattr(SumsTables, "_origin", origin)
        yield


class Clock:
    """Stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def cut_of(cut: str, clock: Clock) -> dict[str, Any]:
    if cut == "steps":
        return {"every": EVENTS, "slices": 1}
    return {"every": "1h", "slices": 4, "clock": clock}


@cache
def keys() -> Integers:
    return np.random.default_rng(5).integers(0, 1 << BITS, (WINDOWS, EVENTS))


@cache
def sold() -> tuple[Integers, Floats]:
    """Items, a few of them with most events, and values of which some are beyond both bounds."""
    chance = np.random.default_rng(8)
    items = chance.zipf(1.4, (WINDOWS, EVENTS)) % 10_000
    return items, chance.normal(20.0, 120.0, (WINDOWS, EVENTS))


@cache
def ranges(cut: str) -> list[tuple[ls.RangesRelease, ls.RangesRelease]]:
    """Of each object the first window, and all three."""
    found = []
    for number in range(OBJECTS):
        clock = Clock()
        with seeded(number):
            windows = ls.RangesWindows(
                bits=BITS,
                width=64,
                epsilon=4.0,
                delta=1e-6,
                hash_seed=1_000 + number,
                **cut_of(cut, clock),
            )
            for window, part in enumerate(keys()):
                for quarter, some in enumerate(np.array_split(part, 4)):
                    clock.now = 3600.0 * window + 900.0 * quarter
                    windows.update_many(some)
            clock.now = 3600.0 * WINDOWS
            found.append((windows.windows[0].release, windows.release(WINDOWS)))
    return found


@cache
def sums(cut: str) -> list[tuple[ls.SumsRelease, ls.SumsRelease]]:
    """Of each object the first window, and all three."""
    found = []
    items, values = sold()
    for number in range(OBJECTS):
        clock = Clock()
        with seeded(number):
            windows = ls.SumsWindows(
                low=LOW,
                high=HIGH,
                width=128,
                epsilon=2.0,
                delta=1e-6,
                hash_seed=number,
                **cut_of(cut, clock),
            )
            for window in range(WINDOWS):
                for quarter, some in enumerate(np.array_split(np.arange(EVENTS), 4)):
                    clock.now = 3600.0 * window + 900.0 * quarter
                    windows.update_many(items[window, some], values[window, some])
            clock.now = 3600.0 * WINDOWS
            found.append((windows.windows[0].release, windows.release(WINDOWS)))
    return found


RANGES = {"range": (123_457, 890_001), "network": (65_536, 131_072)}
SUMS: dict[str, tuple[Callable[[ls.SumsRelease], ls.Interval], Callable[[Floats], float]]] = {
    "sum": (lambda one: one.sum(HEAVY, confidence=CONFIDENCE), np.sum),
    "count": (lambda one: one.count(HEAVY, confidence=CONFIDENCE), len),
    "mean": (lambda one: one.mean(HEAVY, confidence=CONFIDENCE), np.mean),
}
PLACES = [(cut, last) for cut in CUTS for last in (1, WINDOWS)]
QUESTIONS = [
    (kind, question, cut, last)
    for kind, questions in (("ranges", tuple(RANGES)), ("sums", tuple(SUMS)))
    for question in questions
    for cut, last in PLACES
]
# Means come from two intervals, and counts of sums are non-negative: only sums are narrowed.
NARROWED = [one for one in QUESTIONS if one[0] == "ranges" or one[1] == "sum"]


def read(kind: str, question: str, cut: str, last: int) -> Found:
    """The truth, and the interval of each object."""
    at = 0 if last == 1 else 1
    if kind == "ranges":
        low, high = RANGES[question]
        shown = keys()[:last]
        true = float(((shown >= low) & (shown < high)).sum())
        made = [pair[at] for pair in ranges(cut)]
        return [(true, one.count_between(low, high, confidence=CONFIDENCE)) for one in made]
    ask, truth = SUMS[question]
    items, values = sold()
    own = np.clip(values, LOW, HIGH)[:last][items[:last] == HEAVY]
    return [(float(truth(own)), ask(pair[at])) for pair in sums(cut)]


@pytest.mark.parametrize(("kind", "question", "cut", "last"), QUESTIONS)
def test_intervals_of_windows_cover(kind: str, question: str, cut: str, last: int) -> None:
    found = read(kind, question, cut, last)
    missed = sum(not one.low <= true <= one.high for true, one in found)
    where = f"too narrow: {kind}, {question} of {last}, {cut}"
    BUDGET.check(too_many(missed, of=OBJECTS, confidence=STATED[kind]), where)


@pytest.mark.parametrize(("kind", "question", "cut", "last"), NARROWED)
def test_intervals_of_windows_are_not_far_too_wide(
    kind: str, question: str, cut: str, last: int
) -> None:
    found = read(kind, question, cut, last)

    def missed(by: float) -> int:
        ends = [(true, narrowed(one.estimate, one.low, one.high, by=by)) for true, one in found]
        return sum(not low <= true <= high for true, (low, high) in ends)

    where = f"too wide: {kind}, {question} of {last}, {cut}"
    BUDGET.check(too_few(missed(NARROW), of=OBJECTS, least=LEAST[kind]), where)
    # Planted: intervals of 0.4 of the width, of sums of a fifth, are rejected.
    rejected = too_many(missed(PLANTED[kind]), of=OBJECTS, confidence=STATED[kind])
    assert rejected <= BUDGET.alpha
