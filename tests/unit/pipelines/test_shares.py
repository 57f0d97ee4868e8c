"""Shares of the privacy: the best ones, and errors that grow as predicted."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.pipelines.predictions import Growth, growth_of
from lazysketch.pipelines.shares import best_shares
from lazysketch.testing import seeded_key

growths = st.floats(0.0, 1.0).map(Growth)
weights = st.floats(0.01, 100.0)


def cost(parts: list[tuple[Growth, float]], shares: Any) -> float:
    return sum(
        weight * growth.at(share) for (growth, weight), share in zip(parts, shares, strict=True)
    )


@given(st.lists(st.tuples(growths, weights), min_size=2, max_size=3))
def test_no_other_shares_have_smaller_errors(parts: list[tuple[Growth, float]]) -> None:
    """Against all shares on a grid that are allowed, for two and three parts."""
    found = best_shares([growth for growth, _ in parts], [weight for _, weight in parts])
    least = 0.25 / len(parts)
    assert sum(found) == pytest.approx(1.0)
    assert min(found) >= least * (1.0 - 1e-9)
    grid = np.linspace(least, 1.0, 40)
    best = min(
        cost(parts, (*some, rest))
        for some in product(grid, repeat=len(parts) - 1)
        if (rest := 1.0 - sum(some)) >= least
    )
    assert cost(parts, found) <= best * (1.0 + 1e-6)


@given(st.floats(0.001, 1.0), growths)
def test_errors_grow_with_less_privacy(share: float, growth: Growth) -> None:
    assert 1.0 <= growth.at(share) <= share**-0.5 * (1.0 + 1e-12)
    assert growth.at(1.0) == pytest.approx(1.0)


def _half_width(live: Any, items: list[int]) -> float:
    release = live.release()
    if isinstance(release, ls.DistinctRelease):
        return release.interval().width
    if isinstance(release, ls.DistributionRelease):
        return float(np.mean([release.count_between(low, low + 30).width for low in range(30)]))
    return float(np.mean([release.interval(item).width for item in items]))


ROWS = 20_000
CASES: dict[str, tuple[ls.Part, float]] = {
    "narrow": (ls.Part(ls.LazyCountMin, "x", depth=3, width=64), 0.25),
    "wide": (ls.Part(ls.LazyCountMin, "x", depth=3, width=4096), 0.25),
    "sketch": (ls.Part(ls.LazyCountSketch, "x", depth=3, width=512), 0.25),
    "heavy": (ls.Part(ls.HeavyHitters, "x", share=0.05, depth=3, width=512), 0.25),
    "distinct": (ls.Part(ls.DistinctCount, "x", bits=256), 0.25),
    "distribution": (ls.Part(ls.Distribution, "x", bins=ls.Bins(range(61))), 0.05),
}


@pytest.mark.parametrize("case", list(CASES))
def test_measured_errors_grow_as_predicted(case: str) -> None:
    """Widths of intervals with a quarter of mu^2, on a Zipf stream; twice the noise."""
    part, tolerance = CASES[case]
    skewed = np.random.default_rng(3)
    ranks = np.arange(1, 20_001)
    items = skewed.choice(ranks, size=ROWS, p=ranks**-1.1 / (ranks**-1.1).sum())
    if case == "distinct":
        items = ranks
    whole: Any = part.made(2.0, 1e-6, relation="substitution", horizon=ROWS, key=seeded_key(1))
    weaker = _with_twice_the_noise(part, _sigma(whole))
    widths = []
    for live in (whole, weaker):
        live.update_many(items)
        live.finish()
        widths.append(_half_width(live, list(range(20, 60))))
    predicted = growth_of(whole, ROWS).at(0.25)
    assert widths[1] / widths[0] == pytest.approx(predicted, rel=tolerance)


def _sigma(live: Any) -> float:
    spec = live.spec
    return float(spec.table.sigma if isinstance(spec, ls.HeavyHittersSpec) else spec.sigma)


def _with_twice_the_noise(part: ls.Part, sigma: float) -> Any:
    low, high = 0.01, 2.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        live = part.made(middle, 1e-6, relation="substitution", horizon=ROWS, key=seeded_key(1))
        low, high = (low, middle) if _sigma(live) <= 2.0 * sigma else (middle, high)
    return part.made(high, 1e-6, relation="substitution", horizon=ROWS, key=seeded_key(1))
