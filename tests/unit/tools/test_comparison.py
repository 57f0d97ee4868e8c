"""Other factorisations: their variances against dense matrices, and the table in the document."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.locations import ROOT
from tools import comparison


def dense_root(n: int) -> np.ndarray:
    """The lower-triangular square root of the matrix of ones, by its definition."""
    coefficients = [math.comb(2 * j, j) / 4**j for j in range(n)]
    return np.array([[coefficients[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("n", [1, 2, 16, 64])
def test_variances_equal_dense_matrices(n: int) -> None:
    ones, root = np.tril(np.ones((n, n))), dense_root(n)
    np.testing.assert_allclose(root @ root, ones, atol=1e-12)
    rows, columns = (np.square(root).sum(axis=axis).max() for axis in (1, 0))
    assert comparison.square_root(n) == pytest.approx(rows * columns)
    normalised = root / np.linalg.norm(root, axis=0)
    variances = np.square(ones @ np.linalg.inv(normalised)).sum(axis=1)
    np.testing.assert_allclose(comparison.normalised_rows(n), variances)


@pytest.mark.parametrize("n", [2, 7, 256, 1024])
def test_the_search_finds_the_largest_variance(n: int) -> None:
    largest = comparison.normalised_rows(n).max()
    assert comparison.normalised_square_root(n) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("n", [2, 16, 1024])
def test_the_binary_tree_by_counting_nodes(n: int) -> None:
    """A node is a dyadic block; a prefix is the sum of those of its binary digits."""
    prefix = max(push.bit_count() for push in range(1, n))
    assert comparison.binary_tree(n) == prefix * n.bit_length()


@pytest.mark.long
def test_the_document_shows_the_table() -> None:
    text = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    assert comparison.table() in text
