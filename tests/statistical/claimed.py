"""The claimed distribution of a cell's noise, computed without the package under test.

sigma = multiplier(epsilon, delta, depth) x sqrt(squared sensitivity of the table x that of the
mechanism), each factor from its definition; the weights of the draws in a release from the
oracle's mechanisms. A draw is a normal rounded to an integer; its variance is sigma^2 + 1/12
(Sheppard; the error is below exp(-2 pi^2 sigma^2) / 2, negligible for every sigma used here).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from tests.locations import ROOT
from tests.oracle.gaussian_binary_mechanism import GaussianBinaryMechanism
from tests.oracle.haar import noise_at, padded
from tests.oracle.tree import Tree

from lazysketch.audit.p_values import normal_distribution_function

Weights = dict[int, Fraction]
TABLES = ROOT / "rust" / "core" / "src" / "mechanism" / "tree" / "tables"


def theta(v: float) -> float:
    """The sum over all integers j but 0 of e^(-2 pi^2 v j^2)."""
    return sum(math.exp(-2 * math.pi**2 * v * j * j) for j in range(-9, 10) if j)


@cache
def smoothings() -> list[tuple[float, float]]:
    """Every smoothing s that is tried, with its theta."""
    return [(float(s), theta(float(s))) for s in np.linspace(0.05, 1, 96)]


@cache
def multiplier(epsilon: float, delta: float, depth: int) -> float:
    """The smallest m at which noise m makes a table of this depth (epsilon, delta)-private.

    docs/theory.md, Theorem 15, for an event that is chosen from releases: delta is at most
    F(s) G(epsilon), with G of Balle and Wang 2018, Theorem 8, for every smoothing s. By bisection;
    0 for the depth gives Theorem 8 itself. The cancellation of the two terms of G matters only if
    delta is far below 1e-12.
    """

    def gaussian(m: float) -> float:
        near, far = 1 / (2 * m) - epsilon * m, -1 / (2 * m) - epsilon * m
        return math.erfc(-near / math.sqrt(2)) / 2 - math.exp(epsilon) * (
            math.erfc(-far / math.sqrt(2)) / 2
        )

    def least(m: float) -> float:
        if depth == 0:
            return gaussian(m)
        found, own = [1.0], theta(depth * m * m)
        for s, of_smoothing in smoothings():
            if s / depth < m * m:
                factor = ((1 + of_smoothing) / (1 - own)) ** depth
                found.append(factor * gaussian(math.sqrt(m * m - s / depth)))
        return min(found)

    low, high = 1e-3, 1e6
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if least(middle) > delta else (low, middle)
    return high


def table_sensitivity2(kind: str, *, depth: int, relation: str) -> int:
    """The table in docs/guarantees.md, under "Sensitivity"."""
    substitution = relation == "substitution"
    if kind == "counters":
        return 2 if substitution else 1
    return depth * ({"count-min": 2, "count-sketch": 4}[kind] if substitution else 1)


@cache
def tree(mechanism: str, leaves: int) -> Tree:
    """The smallest table of rows for this number of leaves, from the bytes of its file."""
    smallest = max(2, (leaves - 1).bit_length())
    name = (
        f"tree_k{smallest}" if mechanism == "tree" else f"tree_k{10 if smallest <= 10 else 12}_log"
    )
    return Tree.from_bytes((TABLES / f"{name}.i16").read_bytes())


def square_root_coefficients(count: int) -> list[Fraction]:
    """C(2j, j) / 4^j, the coefficients of (1 - x)^(-1/2)."""
    return [Fraction(math.comb(2 * j, j), 4**j) for j in range(count)]


def blocks(n: int) -> list[tuple[int, int, int]]:
    """(left, mid, right) of every dyadic block of 0..n of at least two steps; n = 2^k."""
    sizes = [n >> level for level in range(n.bit_length() - 1)]
    return [(left, left + size // 2, left + size) for size in sizes for left in range(0, n, size)]


def node_shift(mechanism: str, leaves: int, first: int) -> NDArray[np.int64]:
    """The change of every node's exact sum if the count is one larger from push `first` on.

    U 1_{t >= first}, node v at position v - 1.
    """
    if mechanism == "binary":
        node = np.arange(1, leaves + 1)
        return ((node - (node & -node) < first) & (first <= node)).astype(np.int64)
    n = padded(leaves)
    shift = np.zeros(n, dtype=np.int64)
    shift[n - 1] = 3 * (n >= first)
    if n > 1:
        left, mid, right = np.array(blocks(n)).T
        shift[mid - 1] = (
            4 * (mid >= first) - 2 * ((left > 0) & (left >= first)) - 2 * (right >= first)
        )
    return shift


@cache
def mechanism_sensitivity2(mechanism: str, leaves: int) -> int | float:
    """The largest squared norm of `node_shift`, by trying every leaf."""
    if mechanism == "square-root":
        j = np.arange(1, leaves)
        return 1.0 + float(np.square(np.cumprod((2 * j - 1) / (2 * j))).sum())
    if mechanism in ("tree", "tree-log"):
        return max(tree(mechanism, leaves).changes()[0])
    if leaves > 256:  # closed forms; tests compare them with this loop up to 256
        return leaves.bit_length() if mechanism == "binary" else 4 * padded(leaves).bit_length() + 5
    shifts = (node_shift(mechanism, leaves, first) for first in range(1, leaves + 1))
    return max(int((shift * shift).sum()) for shift in shifts)


def sigma(
    *,
    kind: str,
    depth: int,
    mechanism: str,
    leaves: int,
    epsilon: float,
    delta: float,
    relation: str = "substitution",
) -> float:
    """The standard deviation of a node's noise; analytic calibration, weight and events 1."""
    table2 = table_sensitivity2(kind, depth=depth, relation=relation)
    return multiplier(epsilon, delta, depth) * math.sqrt(
        table2 * mechanism_sensitivity2(mechanism, leaves)
    )


@cache
def weights(mechanism: str, leaves: int, push: int) -> Weights:
    """The weight of each draw in the noise of one push, read from the oracle."""
    if mechanism == "binary":
        # Node v draws 2^v, so the bits of the release show which nodes it sums.
        oracle, total = GaussianBinaryMechanism(lambda node: 1 << node), 0
        for _ in range(push):
            total = oracle.feed(0)
        return {v: Fraction(1) for v in range(1, push + 1) if total >> v & 1}
    if mechanism == "square-root":
        return dict(zip(range(push, 0, -1), square_root_coefficients(push), strict=True))
    if mechanism in ("tree", "tree-log"):
        return tree(mechanism, leaves).weights(push)
    n, touched = padded(leaves), set[int]()

    def note(node: int) -> int:
        touched.add(node)
        return 0

    noise_at(push, n, note)
    return {v: noise_at(push, n, lambda node, v=v: int(node == v)) for v in sorted(touched)}  # type: ignore[misc]


def covariance(mechanism: str, leaves: int, push: int, other: int) -> Fraction:
    """The covariance of the noise of two pushes of one cell, for draws of variance 1."""
    one, two = weights(mechanism, leaves, push), weights(mechanism, leaves, other)
    return sum((w * two[v] for v, w in one.items() if v in two), Fraction(0))


def rounding(mechanism: str, leaves: int, push: int) -> tuple[float, float]:
    """Mean and variance that the final floor(N + 1/2) adds.

    N lies on a lattice of step 1 / den and sigma is many steps, so N is uniform on it modulo 1.
    If den is even, ties round up; if den is 1, rounding adds nothing.
    """
    den = math.lcm(*(w.denominator for w in weights(mechanism, leaves, push).values()))
    return (0.5 / den if den % 2 == 0 else 0.0, (1 - 1 / den**2) / 12)


def deviation(mechanism: str, leaves: int, push: int, sigma: float) -> float:
    """The standard deviation of the released noise of one push."""
    drawn = float(covariance(mechanism, leaves, push, push)) * (sigma**2 + 1 / 12)
    return math.sqrt(drawn + rounding(mechanism, leaves, push)[1])


def covariance_matrix(
    mechanism: str, leaves: int, pushes: list[int], sigma: float
) -> NDArray[np.float64]:
    """The covariance matrix of the released noise of several pushes of one cell."""
    matrix = np.array(
        [[float(covariance(mechanism, leaves, p, q)) for q in pushes] for p in pushes]
    )
    added = [rounding(mechanism, leaves, p)[1] for p in pushes]
    return matrix * (sigma**2 + 1 / 12) + np.diag(added)


def probabilities(
    mechanism: str, leaves: int, push: int, sigma: float
) -> tuple[int, NDArray[np.float64]]:
    """The exact distribution of the released noise: (smallest value, probabilities from there on).

    The convolution of the rounded normals on the lattice of N, then floor(N + 1/2). Only for
    small sigma: the lattice has about 20 sigma den points.
    """
    path = weights(mechanism, leaves, push)
    den = math.lcm(*(w.denominator for w in path.values()))
    bound = math.ceil(9 * sigma + 1)  # a draw beyond it has probability 2e-19
    edges = normal_distribution_function((np.arange(-bound, bound + 2) - 0.5) / sigma)
    distribution, start = np.ones(1), 0
    for weight in path.values():
        stride = int(weight * den)
        assert stride > 0
        spread = np.zeros(stride * 2 * bound + 1)
        spread[::stride] = np.diff(edges)
        distribution, start = np.convolve(distribution, spread), start - stride * bound
    released = (2 * (start + np.arange(distribution.size)) + den) // (2 * den)
    smallest = int(released[0])
    summed = np.bincount(released - smallest, weights=distribution)
    return smallest, summed.astype(np.float64)
