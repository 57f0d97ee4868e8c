"""The statistical tests keep their false-alarm rate: by formula and by simulation.

By formula: the bound is never below the exact tail, computed with mpmath to 30 digits. By
simulation: 2000 seeded samples of the tested distribution, at alpha = 0.05; results are
reproducible.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from lazysketch.audit import p_values


def chi_square_tails(n: int, ratio: float) -> float:
    """The smaller of P(S <= ratio n) and P(S >= ratio n)."""
    with mpmath.workdps(30):
        below = mpmath.gammainc(n / 2, 0, ratio * n / 2, regularized=True)
        return float(min(below, 1 - below))


@pytest.mark.parametrize("n", [1, 10, 300])
@pytest.mark.parametrize("ratio", [0.5, 0.8, 0.95, 1.05, 1.3, 2.0])
def test_variance_bounds_the_chi_square_tail(n: int, ratio: float) -> None:
    p_value = p_values.variance(np.full(n, np.sqrt(ratio)))
    exact = chi_square_tails(n, ratio)
    assert exact <= p_value / 2 + 1e-15
    # Equal weights give the same statistic, and another bound of the same tail.
    assert exact <= p_values.weighted(ratio * n, [1.0], copies=n) / 2 + 1e-15


def test_critical_values_of_the_docstrings() -> None:
    n = 8192
    for ratio, alarm in [(0.900, True), (0.902, False), (1.105, False), (1.107, True)]:
        assert (p_values.variance(np.full(n, np.sqrt(ratio))) <= 1e-9) == alarm
    for covariance, alarm in [(0.073, False), (0.076, True), (-0.076, True)]:
        p_value = p_values.products(covariance * n, pairs=n, correlation=0.0)
        assert (p_value <= 1e-9) == alarm


@pytest.mark.parametrize(("z", "p_value"), [(1.959964, 0.05), (6.109410, 1e-9)])
def test_mean_is_the_normal_tail(z: float, p_value: float) -> None:
    assert p_values.mean(np.full(100, z / 10)) == pytest.approx(p_value, rel=1e-5)
    assert p_values.mean(np.full(100, -z / 10), np.ones(100)) == pytest.approx(p_value, rel=1e-5)
    assert p_values.mean([z, 9.0, 9.0], [1, 0, 0]) == pytest.approx(p_value, rel=1e-5)


@pytest.mark.parametrize("p", [0.5, 0.1, 0.01])
def test_counts_bounds_the_binomial_tail(p: float) -> None:
    n = 60
    for seen in range(n + 1):
        with mpmath.workdps(30):
            pmf = [
                mpmath.binomial(n, k) * mpmath.mpf(p) ** k * mpmath.mpf(1 - p) ** (n - k)
                for k in (range(seen, n + 1) if seen > n * p else range(seen + 1))
            ]
            tail = float(mpmath.fsum(pmf))
        assert tail <= p_values.counts([seen, n - seen], [p, 1 - p]) / 4 * (1 + 1e-9) or tail > 0.25


Sampler = Callable[[np.random.Generator], float]


def correlated(generator: np.random.Generator) -> float:
    x = generator.normal(size=50)
    return p_values.covariance(x, 0.6 * x + 0.8 * generator.normal(size=50), 0.6)


SAMPLERS: dict[str, Sampler] = {
    "mean": lambda g: p_values.mean(g.normal(size=50)),
    "mean along a direction": lambda g: p_values.mean(g.normal(size=50), np.arange(50)),
    "variance": lambda g: p_values.variance(g.normal(size=50)),
    "weighted": lambda g: p_values.weighted(
        float((g.normal(size=(50, 3)) ** 2 @ [4.0, 1.0, 0.1]).sum()), [4.0, 1.0, 0.1], copies=50
    ),
    "covariance": correlated,
    "shape": lambda g: p_values.shape(np.rint(g.normal(size=50) * 3).astype(int), 3.0),
    "shape, narrow": lambda g: p_values.shape(np.rint(g.normal(size=50) * 0.4).astype(int), 0.4),
    "counts": lambda g: p_values.counts(g.multinomial(50, [0.1, 0.2, 0.7]), [0.1, 0.2, 0.7]),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_at_most_one_false_alarm_in_twenty(name: str) -> None:
    """120 of 2000 is 2 deviations above 5 %; the bounds are conservative, `mean` is exact."""
    generator = np.random.default_rng(5)
    alarms = sum(SAMPLERS[name](generator) <= 0.05 for _ in range(2000))
    assert alarms <= 120
    if name.startswith("mean"):
        assert alarms >= 80


def test_a_budget_cannot_be_exceeded() -> None:
    budget = p_values.Budget(total=1e-6, checks=2)
    assert budget.alpha == 5e-7
    budget.check(1e-6, "fine")
    with pytest.raises(AssertionError, match="alarm"):
        budget.check(4e-7, "too far")
    with pytest.raises(AssertionError, match="more than 2"):
        budget.check(1.0, "one too many")
