"""The counts of several tables together, as one curve of (epsilon, delta)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.adaptive import IntegerNoise, Smoothed, smoothed_together
from lazysketch.privacy.curve import GaussianCurve, curve_of
from lazysketch.privacy.relations import LARGEST_EPSILON

__all__ = ["composed_counts"]


class _Counts(NamedTuple):
    """What a composition takes of the counts of a table."""

    epsilon: float
    delta: float
    noise_multiplier: float
    depth: int


def composed_counts(parts: Sequence[Privacy]) -> GaussianCurve:
    """Return the curve of all tables together.

    Guarantee: an upper bound for what they publish about one person.

    Args:
        parts: the guarantee of the counts of each table, at least one.

    Returns:
        The curve; that of a single table is its own.

    Source: Dong, Roth and Su 2022, Corollary 3.3; docs/theory.md, Theorem 15.
    """
    return _composed(
        tuple(_Counts(one.epsilon, one.delta, one.noise_multiplier, one.depth) for one in parts)
    )


# Tables that share a budget are composed again with each of them, and with every further one.
@lru_cache(maxsize=128)
def _composed(parts: tuple[_Counts, ...]) -> GaussianCurve:
    curves = [
        curve_of(part.epsilon, part.delta, part.noise_multiplier, depth=part.depth)
        for part in parts
    ]
    if len(curves) == 1:
        return curves[0]
    slack = 1.0 + 1e-15 * len(curves)
    each = [curve.ideal for curve in curves]
    composed = GaussianCurve(
        # Every part has the smoothing of its own calibration here.
        ideal=Smoothed(
            (2.0 - slack) / math.hypot(*(1.0 / one.noise_multiplier for one in each)),
            slack * math.prod(one.factor for one in each),
        ),
        # Ratios of densities multiply; probabilities outside the reach of the draws add up.
        epsilon_numeric=slack * math.fsum(curve.epsilon_numeric for curve in curves),
        tail=slack * math.fsum(curve.tail for curve in curves),
        # Basic composition gives a pair that always holds.
        epsilon=slack * math.fsum(part.epsilon for part in parts),
        delta=slack * math.fsum(part.delta for part in parts),
    )
    return replace(composed, ideal=_smoothed(parts, composed))


def _smoothed(parts: Sequence[_Counts], composed: GaussianCurve) -> Smoothed:
    """Return a better bound of ideal draws, with the best smoothings for all parts."""
    epsilon = composed.epsilon_at(min(part.delta for part in parts))
    epsilon = min(epsilon, composed.epsilon, LARGEST_EPSILON)
    tables = Counter(IntegerNoise(part.noise_multiplier, part.depth) for part in parts)
    found = smoothed_together(tables, epsilon)
    own = composed.ideal
    return own if found is None or own.delta(epsilon) <= found.delta(epsilon) else found
