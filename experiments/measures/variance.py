"""Variances of the mechanisms and the lower bound on their mean: exact, no randomness.

Variances are at squared sensitivity 1, so that mechanisms can be compared; multiplied by
noise_multiplier^2 and the squared sensitivity of the table they are the variance of a cell.

Source of the bound: M. Henzinger, J. Upadhyay and S. Upadhyay, "Almost Tight Error Bounds on
Differentially Private Continual Counting", 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from experiments.cell import Cell, Observation
from experiments.settings import Settings
from lazysketch import Mechanism
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy import adaptive_noise_multiplier, classical_noise_multiplier
from lazysketch.specification.mechanisms import checked_mechanism

__all__ = ["BOUND", "PROMISES", "deviations", "mean_bound", "measure", "variances"]

BOUND = "lower bound"
PROMISES = ((0.3, 1e-3), (1.0, 1e-6), (0.1, 1e-6))
_LEAVES = 1024
_SUMMED = 1 << 22  # singular values that are added up one by one
_DEPTH = 3
_CELLS = 2 * _DEPTH  # squared sensitivity of a Count-Min table under substitution


def variances(name: str, n: int) -> npt.NDArray[np.float64] | None:
    """Return the variance of releases 1..n at sensitivity 1.

    Args:
        name: one of the library's mechanisms.
        n: number of pushes.

    Returns:
        One variance per push, or None if the mechanism supports fewer than n pushes.
    """
    try:
        mechanism = Mechanism(checked_mechanism("name", name), leaves=n)
    except ArgumentValueError:
        return None
    return float(mechanism.sensitivity2) * mechanism.variances(np.arange(1, n + 1))


def mean_bound(n: int, *, summed: int = _SUMMED) -> float:
    """Return the least mean variance of any mechanism: (sum of the singular values of A, over n)^2.

    The j-th singular value of the n x n matrix of lower-triangular ones is
    1 / (2 sin((2 j - 1) pi / (4 n + 2))). They fall with j, so the sum of many is at least an
    integral.

    Args:
        n: number of pushes.
        summed: singular values that are added up; the others are bounded by the integral.

    Returns:
        The bound, or slightly less if n is larger than ``summed``.
    """
    first = min(n, summed)
    step = np.pi / (2 * n + 1)
    total = np.sum(0.5 / np.sin((np.arange(1, first + 1) - 0.5) * step))
    if first < n:
        begin, end = (first + 0.5) * step, (n - 0.5) * step
        total += 0.5 / step * (np.log(np.tan(0.5 * end)) - np.log(np.tan(0.5 * begin)))
    return float((total / n) ** 2)


def deviations() -> Iterator[tuple[str, list[float]]]:
    """Yield the standard deviation of one cell, rms over 1024 pushes, for each of PROMISES.

    The table has the depth of the paper's, 3.
    """
    for name, multiplier in (
        ("binary, classical calibration (the paper)", classical_noise_multiplier),
        ("binary", partial(adaptive_noise_multiplier, depth=_DEPTH)),
        ("haar", partial(adaptive_noise_multiplier, depth=_DEPTH)),
        ("tree", partial(adaptive_noise_multiplier, depth=_DEPTH)),
    ):
        found = variances(name.split(",")[0], _LEAVES)
        assert found is not None
        root = float(np.sqrt(_CELLS * found.mean()))
        yield name, [root * multiplier(*promise) for promise in PROMISES]


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Compute the variances of mechanisms for a number of pushes.

    Args:
        parameters: ``leaves``, the number of pushes.
        contenders: names of mechanisms.
        cell: value.

    Returns:
        ``mean`` and ``largest`` variance over the pushes, and the bound on the mean.
    """
    leaves = parameters.integer("leaves")
    found = [Observation(BOUND, cell.value, "mean", mean_bound(leaves))]
    for name in contenders:
        each = variances(name, leaves)
        if each is not None:
            found.append(Observation(name, cell.value, "mean", float(each.mean())))
            found.append(Observation(name, cell.value, "largest", float(each.max())))
    return found
