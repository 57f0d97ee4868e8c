"""The quadrature behind every delta of Gaussian noise."""

from __future__ import annotations

import mpmath
import numpy as np

from lazysketch.privacy import gaussian


def test_the_nodes_are_those_of_the_rule_of_legendre() -> None:
    nodes = [node for node, _ in gaussian._LEGENDRE]
    assert len(nodes) == 10
    assert sorted(set(nodes)) == nodes  # all the roots above 0 of a polynomial of degree 20
    with mpmath.workdps(40):
        for node, weight in gaussian._LEGENDRE:
            root = node - legendre(node) / mpmath.diff(legendre, node)  # a step of Newton's
            of_root = 2 / ((1 - root**2) * mpmath.diff(legendre, root) ** 2)
            assert 0 < root < 1
            assert abs(node / root - 1) < 4e-16
            assert abs(weight / of_root - 1) < 1e-13  # of a margin of 1e-11


def legendre(place: mpmath.mpf) -> mpmath.mpf:
    return mpmath.legendre(20, place)


def test_the_points_are_those_of_numpy() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    starts = np.arange(16)[:, np.newaxis]
    points, shares = gaussian._unit_quadrature()
    np.testing.assert_allclose(points, ((starts + 0.5 * (nodes + 1.0)) / 16).ravel(), rtol=1e-13)
    np.testing.assert_allclose(shares, np.tile(weights / 32, 16), rtol=1e-13)
    assert abs(shares.sum() - 1.0) < 1e-14
