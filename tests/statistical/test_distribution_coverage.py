"""Intervals of a distribution of values cover the true answers, and are not far too wide.

Each interval comes from a distribution of its own, with its own key, so the number of misses is
binomial, and Chernoff's bound gives the p-values. Two-sided: an interval misses with at most 5 %,
and with at least 30 % if it is narrowed to 0.3 of its width. Questions lie on edges, where an
interval has nothing but noise; quantiles lie where many bins hold some values. Keys are seeded, so
results are reproducible; `declared` has the rate over seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.testing import seeded_key

Floats = npt.NDArray[np.float64]
COUNTS = 200
CONFIDENCE, NARROW, LEAST = 0.95, 0.3, 0.3
BUDGET = declared.budget("distribution")
BINS = ls.Bins.linear(0, 100, number=250)
VALUES = 6_000


def _even(chance: np.random.Generator) -> Floats:
    return chance.uniform(0.0, 100.0, VALUES)


def _skewed(chance: np.random.Generator) -> Floats:
    """Like latencies: most are small, and some beyond the last edge."""
    return chance.lognormal(3.0, 0.8, VALUES)


def _peaks(chance: np.random.Generator) -> Floats:
    """Two narrow peaks on edges, with nothing in between, over a few that are even."""
    parts = [np.full(2 * VALUES // 5, 20.0), np.full(2 * VALUES // 5, 80.0)]
    return chance.permutation(np.concatenate([*parts, chance.uniform(0, 100, VALUES // 5)]))


def _few(chance: np.random.Generator) -> Floats:
    """Fewer than the noise of most answers."""
    return chance.uniform(30.0, 70.0, VALUES // 20)


STREAMS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "even": _even,
    "skewed": _skewed,
    "peaks": _peaks,
    "few": _few,
}
Read = Callable[[ls.DistributionRelease], ls.Interval]
READS: dict[str, tuple[Read, Callable[[Floats], float]]] = {
    "median": (
        lambda release: release.quantile(0.5, confidence=CONFIDENCE),
        lambda values: float(np.quantile(values, 0.5, method="inverted_cdf")),
    ),
    "95 %": (
        lambda release: release.quantile(0.95, confidence=CONFIDENCE),
        lambda values: float(np.quantile(values, 0.95, method="inverted_cdf")),
    ),
    "cdf": (
        lambda release: release.cdf(40, confidence=CONFIDENCE),
        lambda values: float((values < 40).mean()),
    ),
    "range": (
        lambda release: release.count_between(20, 60, confidence=CONFIDENCE),
        lambda values: float(((values >= 20) & (values < 60)).sum()),
    ),
    "total": (
        lambda release: release.total(confidence=CONFIDENCE),
        lambda values: float(len(values)),
    ),
    "bin": (
        lambda release: release.histogram(confidence=CONFIDENCE)[51],  # from 20 to 20.4
        lambda values: float(((values >= 20) & (values < 20.4)).sum()),
    ),
}
# A quantile in a peak, or where few bins lie between its ends, has no width to narrow, nor has a
# count that is cut off at 0.
NARROWED = [
    *((shape, read) for shape in ("even", "skewed", "peaks") for read in ("cdf", "range", "total")),
    ("even", "median"),
    ("even", "95 %"),
    ("skewed", "median"),
]


@cache
def releases(shape: str) -> tuple[Floats, tuple[ls.DistributionRelease, ...]]:
    """Return the values of a stream and many releases of it, under half of the horizon."""
    values = STREAMS[shape](np.random.default_rng(5))
    spec = ls.Distribution(bins=BINS, epsilon=1.0, delta=1e-6, schedule=ls.Batch(horizon=64)).spec
    found = []
    for number in range(COUNTS):
        key = seeded_key(13, sketch_id=number.to_bytes(16, "big"))
        with ls.Distribution.from_spec(spec, key=key) as live:
            for part in np.array_split(values, 30):
                live.update_batch(part)
            found.append(live.release())
    return values, tuple(found)


def intervals(shape: str, read: str) -> tuple[float, list[ls.Interval]]:
    values, found = releases(shape)
    asked, truth = READS[read]
    return truth(values), [asked(release) for release in found]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("shape", STREAMS)
def test_intervals_of_values_cover(shape: str, read: str) -> None:
    true, found = intervals(shape, read)
    missed = sum(not one.low <= true <= one.high for one in found)
    BUDGET.check(too_many(missed, of=COUNTS, confidence=CONFIDENCE), f"too narrow: {shape} {read}")


@pytest.mark.parametrize(("shape", "read"), NARROWED)
def test_intervals_of_values_are_not_far_too_wide(shape: str, read: str) -> None:
    true, found = intervals(shape, read)

    def missed(by: float) -> int:
        ends = (narrowed(one.estimate, one.low, one.high, by=by) for one in found)
        return sum(not low <= true <= high for low, high in ends)

    BUDGET.check(too_few(missed(NARROW), of=COUNTS, least=LEAST), f"too wide: {shape} {read}")
    # Planted: intervals of half the width are rejected.
    assert too_many(missed(0.5), of=COUNTS, confidence=CONFIDENCE) <= BUDGET.alpha
