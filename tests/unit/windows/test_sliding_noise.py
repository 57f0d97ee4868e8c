"""Noise of the last m slices: sums of slices against differences of prefixes (Lemma 12a)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from lazysketch.audit.strategy import strategy

_ROOT = Path(__file__).resolve().parents[3]
_PUSHES = 1024
_LONGEST = 60

Reals = npt.NDArray[np.float64]


@cache
def covariances(mechanism: str, pushes: int) -> Reals:
    """Covariance of the noise of pushes 0 .. n per unit of sensitivity; push 0 has none."""
    rows = strategy(mechanism, pushes)
    weights = np.zeros((pushes + 1, rows.size + 1))
    for push in range(1, pushes + 1):
        for node, weight in rows.weights(push).items():
            weights[push, node] = float(weight)
    found: Reals = rows.sensitivity2 * (weights @ weights.T)
    return found


def differences(mechanism: str, slices: int) -> Reals:
    """Variance of the difference of pushes p and p - m, for p = m .. n."""
    found = covariances(mechanism, _PUSHES)
    late = np.arange(slices, _PUSHES + 1)
    early = late - slices
    result: Reals = found[late, late] + found[early, early] - 2 * found[late, early]
    return result


def of_slices(slices: int) -> float:
    """Variance of the sum of m sketches of one push each."""
    return slices * float(covariances("haar", 1)[1, 1])


@pytest.mark.parametrize("mechanism", ["haar", "tree"])
def test_the_covariance_is_that_of_the_inverse_matrix(mechanism: str) -> None:
    """Lemma 12a by definition: the rows of U^-1, inverted as a whole matrix."""
    rows = strategy(mechanism, 16)
    matrix = np.zeros((16, 16))
    for push in range(1, 17):
        for node, entry in zip(rows.path(push), rows.row(push), strict=True):
            matrix[push - 1, node - 1] = entry
    inverse = np.vstack([np.zeros(16), np.linalg.inv(matrix)])
    found = covariances(mechanism, 16)
    for late in range(1, 17):
        for early in range(late):
            by_definition = rows.sensitivity2 * ((inverse[late] - inverse[early]) ** 2).sum()
            stated = found[late, late] + found[early, early] - 2 * found[late, early]
            assert stated == pytest.approx(by_definition, rel=1e-9)


def test_the_table_of_the_page() -> None:
    """Every row of docs/windows.md, to the decimal it states."""
    page = (_ROOT / "docs" / "windows.md").read_text(encoding="utf-8")
    section = page.split("## The last hour at every minute")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", section, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 9, 12, 15, 20, 30, 60]
    for slices, summed, mean, worst in rows:
        found = differences("tree", int(slices))
        assert float(summed) == pytest.approx(of_slices(int(slices)))
        assert (mean, worst) == (f"{found.mean():.1f}", f"{found.max():.1f}")


def test_where_differences_begin_to_win() -> None:
    """In the mean from 9 slices on, at worst from 18 on, and for all longer spans."""
    spans = range(1, _LONGEST + 1)
    in_the_mean = [m for m in spans if differences("tree", m).mean() < of_slices(m)]
    at_worst = [m for m in spans if differences("tree", m).max() < of_slices(m)]
    assert in_the_mean == list(range(9, _LONGEST + 1))
    assert at_worst == list(range(18, _LONGEST + 1))


def test_noise_as_if_independent_would_be_seen() -> None:
    """The wrong formula, without the covariance, is far from the variance of a difference."""
    found = covariances("tree", _PUSHES)
    late = np.arange(_LONGEST, _PUSHES + 1)
    independent = found[late, late] + found[late - _LONGEST, late - _LONGEST]
    assert independent.mean() > 1.4 * differences("tree", _LONGEST).mean()
