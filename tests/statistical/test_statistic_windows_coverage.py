"""Intervals of windows of distinct items and of distributions cover, and are not far too wide.

One object has many windows, each with a table and draws of its own, so the number of misses is
binomial; three windows together are one reading of their sum. As in the tests of single statistics,
Chernoff's bound gives the p-values, in both directions. Keys are seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.testing import seeded_key
from lazysketch.windows.statistic_tables import StatisticTables

WINDOWS = 240
CONFIDENCE, NARROW, LEAST = 0.95, 0.3, 0.3
BUDGET = declared.budget("windows of statistics")
EVENTS = 1_500
PEOPLE = 900
Found = list[tuple[float, ls.Interval]]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Each window has an id of its own, as always, but one that is the same in every run."""

    def origin(_: StatisticTables, number: int) -> tuple[ls.Key, None]:
        return seeded_key(seed, sketch_id=number.to_bytes(16, "big")), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StatisticTables, "_origin", origin)
        yield


@cache
def values() -> npt.NDArray[np.float64]:
    return np.random.default_rng(5).lognormal(3.0, 0.8, (WINDOWS, EVENTS))


@cache
def releases(cut: str) -> tuple[ls.DistributionRelease, ...]:
    """Windows of steps, and of time; in the former ends alone are published."""
    options = {"bins": ls.Bins.linear(0, 100, number=250), "epsilon": 1.0, "delta": 1e-6}
    now = [0.0]
    with seeded(13):
        windows = ls.DistributionWindows(
            **options,
            keep=WINDOWS,
            **({"every": EVENTS} if cut == "steps" else {"every": "1h", "clock": lambda: now[0]}),
        )
        for number, part in enumerate(values()):
            for third, some in enumerate(np.array_split(part, 3)):
                now[0] = 3600.0 * number + 1200.0 * third
                windows.update_many(some)
        now[0] = 3600.0 * WINDOWS
        return tuple(window.release for window in windows.windows)


def median(release: ls.DistributionRelease) -> ls.Interval:
    return release.quantile(0.5, confidence=CONFIDENCE)


def below(release: ls.DistributionRelease) -> ls.Interval:
    return release.count_between(-np.inf, 20, confidence=CONFIDENCE)


def truths_of(read: Callable[..., object], shown: npt.NDArray[np.float64]) -> float:
    if read is median:
        return float(np.quantile(shown, 0.5, method="inverted_cdf"))
    return float((shown < 20).sum())


def of_values(cut: str, read: Callable[[ls.DistributionRelease], ls.Interval], last: int) -> Found:
    found = []
    for start in range(0, WINDOWS, last):
        first, *others = releases(cut)[start : start + last]
        release = first.merge(*others) if others else first
        shown = values()[start : start + last].ravel()
        found.append((truths_of(read, shown), read(release)))
    return found


@cache
def of_people() -> Found:
    """People have several events in one window each, since their bits do not change."""
    with seeded(14):
        windows = ls.DistinctWindows(
            every=EVENTS, epsilon=1.0, delta=1e-6, hash_seed=5, keep=WINDOWS, slices=1
        )
        for number in range(WINDOWS):
            windows.update_many([f"{number} {event % PEOPLE}" for event in range(EVENTS)])
    return [(PEOPLE, window.release.interval(confidence=CONFIDENCE)) for window in windows.windows]


SOURCES: dict[str, Callable[[], Found]] = {
    "people": of_people,
    **{
        f"{read.__name__} of {last}, {cut}": partial(of_values, cut, read, last)
        for cut in ("steps", "clock")
        for read, last in ((median, 1), (below, 1), (below, 3))
    },
}


@pytest.mark.parametrize("source", SOURCES)
def test_intervals_of_windows_cover(source: str) -> None:
    found = SOURCES[source]()
    missed = sum(not one.low <= true <= one.high for true, one in found)
    BUDGET.check(too_many(missed, of=len(found), confidence=CONFIDENCE), f"too narrow: {source}")


@pytest.mark.parametrize("source", [source for source in SOURCES if "median" not in source])
def test_intervals_of_windows_are_not_far_too_wide(source: str) -> None:
    found = SOURCES[source]()

    def missed(by: float) -> int:
        ends = [(true, narrowed(one.estimate, one.low, one.high, by=by)) for true, one in found]
        return sum(not low <= true <= high for true, (low, high) in ends)

    BUDGET.check(too_few(missed(NARROW), of=len(found), least=LEAST), f"too wide: {source}")
    # Planted: intervals of half the width are rejected.
    assert too_many(missed(0.5), of=len(found), confidence=CONFIDENCE) <= BUDGET.alpha
