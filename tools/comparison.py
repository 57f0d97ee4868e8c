"""Other factorisations of continual counting, computed from their definitions.

    python -m tools.comparison

Prints the largest variance of a release at sensitivity 1 for 2^10, 2^14 and 2^20 pushes, as
docs/theory.md shows it: the largest squared norm of a row of B times that of a column of C, where
B C is the matrix of lower-triangular ones.

Sources: Chan, Shi and Song 2011 (binary tree; R. Pagh and S. Sejer, arXiv:2606.11760, draw from its
distribution); H. Fichtenberger, M. Henzinger and J. Upadhyay 2023 (square root); arXiv:2509.14334
(the square root with columns of norm 1).
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from lazysketch import Mechanism

__all__ = ["binary_tree", "normalised_rows", "normalised_square_root", "square_root", "table"]

Array = npt.NDArray[np.float64]
PUSHES = (2**10, 2**14, 2**20)


def binary_tree(n: int) -> float:
    """Return the largest variance of a binary tree: most nodes of a prefix, times its depth.

    Args:
        n: number of pushes, a power of two.

    Returns:
        log2(n) nodes of a prefix, log2(n) + 1 nodes of a leaf.

    Example:
        >>> binary_tree(1024)
        110.0
    """
    depth = n.bit_length() - 1
    return float(depth * (depth + 1))


def _root(n: int, sign: int) -> Array:
    """Return the coefficients of (1 - x)^(-1/2), or of (1 - x)^(1/2) for the inverse."""
    j = np.arange(1, n, dtype=np.float64)
    ratios = (2 * j - 1) / (2 * j) if sign < 0 else (2 * j - 3) / (2 * j)
    return np.concatenate([[1.0], np.cumprod(ratios)])


def square_root(n: int) -> float:
    """Return the largest variance of the square-root factorisation, that of the last push.

    Args:
        n: number of pushes.

    Returns:
        The square of the sum of the squared coefficients.
    """
    return float(np.square(_root(n, -1)).sum()) ** 2


def normalised_rows(n: int) -> Array:
    """Return the variances of all pushes where the columns of the square root have norm 1.

    C is the root with column i divided by its norm s_i, so B = A diag(s) A^(-1/2): row t has the
    sums of s_i r_(i - j) over i from j to t. Time n^2.

    Args:
        n: number of pushes.

    Returns:
        One variance per push.
    """
    norms = _column_norms(n)
    inverse = _root(n, 1)
    row, found = np.zeros(n), np.empty(n)
    for t in range(n):
        row[: t + 1] += norms[t] * inverse[t::-1]
        found[t] = row[: t + 1] @ row[: t + 1]
    return found


def _column_norms(n: int) -> Array:
    """Return the norms of the columns of the square root of A; the last has one entry."""
    norms: Array = np.sqrt(np.cumsum(np.square(_root(n, -1))))[::-1]
    return norms


def normalised_square_root(n: int) -> float:
    """Return the largest variance where the columns of the square root have norm 1.

    The variances rise up to somewhat more than half of the pushes and then fall; a test compares
    the search with all pushes for small n. Time n log^2 n.

    Args:
        n: number of pushes.

    Returns:
        The largest squared norm of a row of B.
    """
    norms, inverse = _column_norms(n), _root(n, 1)

    def variance(push: int) -> float:
        # The correlation of the norms up to this push with the coefficients of the inverse.
        spectrum = np.fft.rfft(norms[:push], 2 * push) * np.conj(
            np.fft.rfft(inverse[:push], 2 * push)
        )
        row = np.fft.irfft(spectrum, 2 * push)[:push]
        return float(row @ row)

    first, last = 1, n
    while first < last:
        middle = (first + last) // 2
        if variance(middle) < variance(middle + 1):
            first = middle + 1
        else:
            last = middle
    return variance(first)


def trees(n: int) -> tuple[str, float]:
    """Return the tree that the library uses for a number of pushes, and its largest variance.

    Args:
        n: number of pushes, a power of two.

    Returns:
        Name and variance; beyond 2^16 pushes over a sample of them.
    """
    mechanism = Mechanism("tree" if n <= 2**14 else "tree-deep", leaves=n)
    pushes = np.arange(1, n + 1)
    if n > 2**16:
        generator = np.random.default_rng(1)
        pushes = np.unique(generator.integers(1, n + 1, 2**15))
    return mechanism.name, float(mechanism.sensitivity2 * mechanism.variances(pushes).max())


def table() -> str:
    """Return the table of docs/theory.md."""
    rows = [
        ("binary tree; Pagh and Sejer 2026", binary_tree),
        ("square root", square_root),
        ("square root, columns of norm 1", normalised_square_root),
        ("`tree`, beyond 2^14 pushes `tree-deep`", lambda n: trees(n)[1]),
    ]
    lines = ["| largest variance | n = 2^10 | n = 2^14 | n = 2^20 |", "| --- | --- | --- | --- |"]
    for name, variance in rows:
        figures = " | ".join(f"{variance(n):.2f}" for n in PUSHES)
        lines.append(f"| {name} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
