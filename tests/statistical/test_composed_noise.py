"""The noise of what is made of several tables: merged releases, windows, names and hierarchies.

Fresh secret keys. Each table has the noise that its part of the guarantee asks for, neither less
nor more, and tables share no noise. The claimed distribution is that of `claimed`; the mechanism
and its leaves are those that the release states, and sensitivities are computed here from them.
False-alarm rates: `declared`; power: docs/testing.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical import claimed, declared

import lazysketch as ls
from lazysketch.audit import p_values

BUDGET = declared.budget("composed noise")
DEPTH, WIDTH = 2, 4096
CELLS = DEPTH * WIDTH
EPSILON, DELTA = 1.0, 1e-6
SIZE = {"depth": DEPTH, "width": WIDTH}
PROMISE = {"epsilon": EPSILON, "delta": DELTA, **SIZE}
STEPS = 16 * WIDTH


@dataclass(frozen=True)
class Claim:
    """A table of noise alone and the noise multiplier of its guarantee."""

    release: ls.Release
    multiplier: float

    @property
    def deviation(self) -> float:
        """From the definitions; the table was pushed in full, at one push number."""
        (part,) = self.release.parts
        assert part.mechanism is not None
        name, leaves = part.mechanism.name, part.mechanism.leaves
        (push,) = set(self.release.pushes.tolist())
        table2 = claimed.table_sensitivity2("count-min", depth=DEPTH, relation="substitution")
        mechanism2 = claimed.mechanism_sensitivity2(name, leaves)
        return claimed.deviation(
            name, leaves, push, self.multiplier * math.sqrt(table2 * mechanism2)
        )

    @property
    def standardised(self) -> NDArray[np.float64]:
        """Values in claimed deviations; the mean that rounding adds is below 1/100 of one."""
        return self.release.table.ravel() / self.deviation


def check(claims: Sequence[Claim], what: str) -> None:
    """Mean, variance and shape of each table, and the covariance of every two."""
    for number, claim in enumerate(claims):
        x = claim.standardised
        BUDGET.check(p_values.mean(x), f"mean: {what} {number}")
        BUDGET.check(p_values.variance(x), f"variance: {what} {number}")
        BUDGET.check(
            p_values.shape(claim.release.table.ravel(), claim.deviation), f"shape: {what} {number}"
        )
    for one, other in itertools.combinations(claims, 2):
        p_value = p_values.covariance(one.standardised, other.standardised, 0.0)
        BUDGET.check(p_value, f"covariance: {what}")


def multiplier(epsilon: float = EPSILON, delta: float = DELTA, *, levels: int = 1) -> float:
    """Equal levels of a hierarchy are like one table with the rows of all."""
    return claimed.multiplier(epsilon, delta, levels * DEPTH)


def test_merged_releases() -> None:
    """Two tables under one hash seed: their variances add up."""
    parts = []
    for _ in range(2):
        with ls.LazyCountMin(horizon=STEPS, hash_seed=1, **PROMISE) as sketch:
            sketch.tick(STEPS)
            parts.append(Claim(sketch.release(), multiplier()))
    check(parts, "a part of a merged release")
    merged = parts[0].release.merge(parts[1].release).table.ravel()
    deviation = math.hypot(parts[0].deviation, parts[1].deviation)
    BUDGET.check(p_values.variance(merged / deviation), "variance: merged")
    BUDGET.check(p_values.shape(merged, deviation), "shape: merged")


def by_steps() -> ls.Windows:
    windows = ls.Windows(every=STEPS, domain=["a"], **PROMISE)
    windows.tick(3 * STEPS)
    return windows


def by_time() -> ls.Windows:
    days = {"begin": "2026-01-01", "end": "2026-01-04"}
    windows = ls.Windows(every="1d", domain=["a"], **days, **PROMISE)
    windows.finish()
    return windows


def by_clock() -> ls.Windows:
    now = [0.0]
    windows = ls.Windows(every="60s", slices=6, clock=lambda: now[0], domain=["a"], **PROMISE)
    now[0] = 185.0
    windows.advance()
    return windows


@pytest.mark.parametrize("made", [by_steps, by_time, by_clock])
def test_windows(made: Callable[[], ls.Windows]) -> None:
    """An event is in one window: each has the whole guarantee, and noise of its own."""
    windows = made().windows
    assert len(windows) == 3
    check([Claim(window.release, multiplier()) for window in windows], str(made))


def test_heavy_hitters() -> None:
    """The sketch has the part of the guarantee that names do not use."""
    with ls.HeavyHitters(share=0.1, discovery_epoch=10_000, horizon=STEPS, **PROMISE) as heavy:
        heavy.tick(STEPS)
        release, privacy = heavy.release(), heavy.privacy
    assert privacy.sketch.epsilon + privacy.discovery_epsilon == pytest.approx(EPSILON)
    assert privacy.sketch.delta + privacy.discovery_delta == pytest.approx(DELTA)
    check([Claim(release, multiplier(privacy.sketch.epsilon, privacy.sketch.delta))], "heavy")


@pytest.mark.parametrize("weights", [(1, 1), (1, 3)])
def test_levels_of_a_hierarchy(weights: tuple[int, int]) -> None:
    """mu^2 of a level is proportional to its weight; together they have that of the counts."""
    with ls.HierarchicalHeavyHitters(
        ls.ipv4_prefixes((8, 32)),
        share=0.1,
        level_weights=weights,
        discovery_epoch=10_000,
        horizon=STEPS,
        **PROMISE,
    ) as heavy:
        heavy.tick(STEPS)
        releases, privacy = [heavy.release(level) for level in (0, 1)], heavy.privacy
    assert privacy.counts_epsilon + privacy.discovery_epsilon == pytest.approx(EPSILON)
    whole = multiplier(privacy.counts_epsilon, privacy.counts_delta, levels=2)
    parts = [weight / sum(weights) for weight in weights]
    check(
        [Claim(one, whole / math.sqrt(part)) for one, part in zip(releases, parts, strict=True)],
        f"level, weights {weights}",
    )
