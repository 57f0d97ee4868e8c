"""What several sketches promise together to a person who is in all of their streams.

What it computes: independent Gaussian mechanisms compose to one Gaussian mechanism, so
the promise of the whole has a closed form in mu and one equation for epsilon. It costs
some sixty evaluations of the exact delta. Streams of disjoint people need none of it:
there the worst of the parts is the promise of the whole.

Source: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, Corollary 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.calibration import gaussian_delta
from lazysketch.privacy.relations import Relation

__all__ = ["Composition", "composed"]

LARGEST_EPSILON: Final = 100.0
_SMALLEST_EPSILON: Final = 1e-9
_HALVINGS: Final = 64


@dataclass(frozen=True, kw_only=True)
class Composition:
    """The promise of several sketches together.

    Args:
        mu: square root of the sum of the parts' mu squared.
        epsilon: what mu comes to at ``delta``; infinite beyond 100.
        delta: the largest delta of the parts.
        relation: ``"substitution"`` if every part is for that, else ``"zero-out"``.
    """

    mu: float
    epsilon: float
    delta: float
    relation: Relation


def composed(parts: Iterable[Privacy]) -> Composition:
    """Return what some sketches promise to a person who is in each of their streams.

    Guarantee: epsilon is solved from above for the Gaussian mechanisms; the numeric
    account of the parts (below 1 % of each, as a rule below a billionth) comes on top.

    Args:
        parts: the promise of each sketch.

    Returns:
        The promise of all of them.

    Raises:
        ArgumentTypeError: something that is not a Privacy.
        ArgumentValueError: no part, or one that promises nothing.

    Source: Dong, Roth and Su 2022, Corollary 3.3; Balle and Wang 2018, Theorem 8, for
    epsilon. A substitution covers an absence too, hence the relation of a mixture.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=4, width=64, epsilon=1.0, delta=1e-8)
        >>> weeks = composed([sketch.privacy] * 4)
        >>> round(weeks.mu / sketch.privacy.mu, 6), round(weeks.epsilon, 2)
        (2.0, 2.09)
    """
    promises = list(parts)
    for part in promises:
        if not isinstance(part, Privacy):
            raise ArgumentTypeError(f"parts: expected Privacy, got {type(part).__name__}")
        if not part.private:
            raise ArgumentValueError(f"parts: expected private ones, got {part}")
    if not promises:
        raise ArgumentValueError("parts: expected at least one, got none")
    mu = math.sqrt(math.fsum(part.mu**2 for part in promises))
    delta = max(part.delta for part in promises)
    exchanged = all(part.relation == "substitution" for part in promises)
    return Composition(
        mu=mu,
        epsilon=_epsilon(mu, delta),
        delta=delta,
        relation="substitution" if exchanged else "zero-out",
    )


def _epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon for which mu-GDP gives (epsilon, delta), from above."""
    if gaussian_delta(LARGEST_EPSILON, 1.0 / mu) > delta:
        return math.inf
    low, high = _SMALLEST_EPSILON, LARGEST_EPSILON
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if gaussian_delta(middle, 1.0 / mu) <= delta:
            high = middle
        else:
            low = middle
    return high
