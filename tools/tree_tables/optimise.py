"""Search for low-noise rows by L-BFGS, starting from the Haar rows, and their rounding to integers.

It finds decoder rows L (then U = L^-1) that minimise

    even:  max over p of Var(p)             times  max over l of ||U 1_{t >= l}||^2,
    log:   mean of Var(p) with weights 1/p  times  the same.

The maxima are smoothed to power means with a growing exponent. The problem is not convex; the
result is within some per cent of the optimum where that is known (docs/theory.md). Cost: seconds up
to k = 8, minutes at k = 12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from tools.tree_tables.layout import Rows, depth_of, nodes_at, times
from tools.tree_tables.strategy import Geometry, inverse, inverse_gradient

__all__ = [
    "EXPONENTS",
    "SCALE_BITS",
    "Target",
    "haar_decoder",
    "objective",
    "optimise",
    "quantise",
]

Reals = npt.NDArray[np.float64]
Target = Literal["even", "log"]
EXPONENTS = (4.0, 16.0, 64.0, 256.0, 1024.0)
SCALE_BITS = 8
_PENALTY = 1e6  # value where a step of the line search made the rows singular


def haar_decoder(k: int) -> list[Reals]:
    """Return the decoder rows of the Haar mechanism: a ramp for the root, triangles below."""
    n = 1 << k
    rows = [np.array([[1.0 / 3.0]])]
    for depth in range(1, k + 1):
        time = times(k, depth)[:, -1]
        row = np.empty((nodes_at(depth), depth + 1))
        row[:, 0] = time / (3.0 * n)
        for i in range(1, depth + 1):
            block = n >> (i - 1)
            within = time % block
            row[:, i] = np.minimum(within, block - within) / (2.0 * block)
        rows.append(row)
    return rows


def _smooth_maximum(values: Reals, exponent: float) -> tuple[float, Reals]:
    """Return the logarithm of the power mean, and its gradient."""
    largest = values.max()
    scaled = (values / largest) ** exponent
    total = scaled.sum()
    logarithm = np.log(largest) + np.log(total / values.size) / exponent
    return float(logarithm), scaled / (total * values)


def objective(
    k: int, target: Target, exponent: float
) -> Callable[[npt.NDArray[np.float64]], tuple[float, npt.NDArray[np.float64]]]:
    """Return the objective with its gradient, as a function of the decoder's entries."""
    geometry = Geometry(k)
    early = [1.0 / times(k, depth)[:, -1] for depth in range(k + 1)]
    total = sum(float(each.sum()) for each in early)

    def value_and_gradient(x: Reals) -> tuple[float, Reals]:
        decoder = split(x, k)
        if min(np.abs(row[:, -1]).min() for row in decoder) < 1e-9:
            return _PENALTY, np.zeros_like(x)
        strategy, paths = inverse(decoder)
        sums = geometry.suffix_sums(strategy)
        sensitivity, by_sensitivity = _smooth_maximum(geometry.sensitivities(sums), exponent)
        variance = [np.square(row).sum(1) for row in decoder]
        if target == "even":
            noise, by_variance = _smooth_maximum(np.concatenate(variance), exponent)
            starts = np.cumsum([row.shape[0] for row in decoder])[:-1]
            weights = np.split(by_variance, starts)
        else:
            mean = sum(float(a @ b) for a, b in zip(early, variance, strict=True)) / total
            noise = float(np.log(mean))
            weights = [each / (total * mean) for each in early]
        by_strategy = geometry.sensitivities_gradient(sums, by_sensitivity)
        by_decoder = inverse_gradient(decoder, paths, by_strategy)
        gradient = [
            2.0 * row * weight[:, None] + other
            for row, weight, other in zip(decoder, weights, by_decoder, strict=True)
        ]
        return noise + sensitivity, np.concatenate([each.ravel() for each in gradient])

    return value_and_gradient


def split(x: Reals, k: int) -> list[Reals]:
    """Split one vector into rows by depth."""
    sizes = [nodes_at(depth) * (depth + 1) for depth in range(k + 1)]
    parts = np.split(x, np.cumsum(sizes)[:-1])
    return [part.reshape(-1, depth + 1) for depth, part in enumerate(parts)]


def optimise(k: int, *, target: Target = "even", iterations: int = 1500) -> list[Reals]:
    """Return real strategy rows U for 2^k pushes, with a largest sensitivity of 1.

    Needs scipy. Deterministic on one machine; between machines the last bits differ.
    """
    from scipy.optimize import minimize  # only this function needs scipy

    x = np.concatenate([row.ravel() for row in haar_decoder(k)])
    for exponent in EXPONENTS:
        found = minimize(
            objective(k, target, exponent),
            x,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30},
        )
        x = found.x
    strategy, _ = inverse(split(x, k))
    geometry = Geometry(k)
    scale = np.sqrt(geometry.sensitivities(geometry.suffix_sums(strategy)).max())
    return [row / scale for row in strategy]


def quantise(rows: Rows, *, scale_bits: int = SCALE_BITS) -> list[npt.NDArray[np.int64]]:
    """Return integer rows at scale 2^scale_bits of rows whose largest sensitivity is 1.

    Privacy and accuracy depend on ||U 1_{t >= l}||^2, a function of the suffix sums of the rows in
    the order of time. So the suffix sums are rounded, and the rows are their differences: each step
    has an error of at most 1/2 per node, while rounding the entries would add up to k / 2.
    """
    geometry = Geometry(depth_of(rows))
    sums = geometry.suffix_sums([row.astype(np.float64) for row in rows])
    scale = 2.0**scale_bits / np.sqrt(geometry.sensitivities(sums).max())
    rounded = geometry.from_suffix_sums([np.rint(scale * each) for each in sums])
    return [row.astype(np.int64) for row in rounded]
