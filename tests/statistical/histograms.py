"""Histograms of the tests of the core: probabilities of their classes at any scale.

The classes are those of rust/core/src/pearson.rs: integers between fixed quantiles of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special
from tests.statistical.power import Found, Probabilities

Below = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def rust_classes(below: Below, reach: int) -> NDArray[np.float64]:
    """The edges of `Classes` in rust/core/src/pearson.rs."""
    levels = np.concatenate([[1e-4, 1e-3], np.arange(1, 64) / 64, [1 - 1e-4, 1 - 1e-3]])
    low, high = np.full(levels.size, -float(reach)), np.full(levels.size, float(reach))
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        enough = below(middle) >= levels
        low, high = (
            np.where(enough, low, np.minimum(middle + 1, high)),
            np.where(enough, middle, high),
        )
    return np.unique(high)


def histogram(below: Callable[[float], Below], reach: int) -> Probabilities:
    """The probabilities of the classes of the claim at a factor of the scale."""
    edges = rust_classes(below(1.0), reach)

    def probabilities(factor: float) -> NDArray[np.float64]:
        cumulated = np.concatenate([[0.0], below(factor)(edges), [1.0]])
        return np.maximum(np.diff(cumulated), 1e-300)

    return probabilities


def rounded_gaussian(sigma: float) -> Probabilities:
    def below(factor: float) -> Below:
        return lambda z: special.ndtr((z + 0.5) / (factor * sigma))

    return histogram(below, int(6 * sigma) + 1)


def gaussian_tail(shift: int, sigma: float = 1e6) -> Probabilities:
    """|z| given that the leading bits are zero; at another scale the same blocks."""

    def below(factor: float) -> Below:
        scale = factor * sigma
        return lambda z: 1 - np.minimum(2.0 ** (1 + shift) * special.ndtr(-(z + 0.5) / scale), 1)

    return histogram(below, int(14 * sigma))


def discrete_laplace(epsilon: float) -> Probabilities:
    def below(factor: float) -> Below:
        ratio = math.exp(-epsilon / factor)
        return lambda z: np.where(
            z < 0,
            ratio ** np.maximum(-z, 0) / (1 + ratio),
            1 - ratio ** (np.maximum(z, 0) + 1) / (1 + ratio),
        )

    return histogram(below, math.ceil(60 / epsilon))


def worst(found: list[Found]) -> Found:
    return Found(min(one.below for one in found), max(one.above for one in found))
