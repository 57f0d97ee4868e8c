"""What someone who reads everything published may conclude, at most, about one event or person.

The observer wants to tell two streams apart: one with the event (or with everything that a person
did), one without. A guarantee bounds how well any method can do that, whatever else the observer
knows. Three numbers say it:

- how often a guess is right (:func:`right_guesses`);
- how sure an observer becomes who was undecided, or had a suspicion (:func:`posterior`);
- how many are found at a given rate of false alarms (:func:`detection`).

All three are computed from delta as a function of epsilon, which holds for all pairs together, so
they say more than one pair (epsilon, delta) does.

Sources: L. Wasserman and S. Zhou, 2010 (hypothesis tests); J. Dong, A. Roth and W. Su, 2022
(trade-off functions); docs/theory.md, "What an observer may conclude".
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import LARGEST_EPSILON

__all__ = ["Curve", "detection", "posterior", "right_guesses"]

# Curves are asked for at these epsilons; a bound between them is looser, never wrong.
_EPSILONS: Final = (*(0.001 * 1.05**step for step in range(236)), LARGEST_EPSILON)


class Curve(Protocol):
    """A guarantee at every epsilon: of a sketch, or of several mechanisms together."""

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at an epsilon."""


def right_guesses(curve: Curve, *, prior: float) -> float:
    """Return how often the best guess is right, at most: was the event there or not?

    Guarantee: for every observer who gives the event the probability ``prior`` before reading
    what is published, whatever method is used.

    Args:
        curve: the guarantee, such as ``sketch.privacy`` or ``compose(release)``.
        prior: probability of the event before, above 0 and below 1.

    Returns:
        A probability, at least that of guessing without looking, max(prior, 1 - prior).

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: outside its range.

    Source: docs/theory.md, "What an observer may conclude".

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> round(right_guesses(sketch.privacy, prior=0.5), 3)
        0.539
    """
    rare = _probability("prior", prior)
    rare = min(rare, 1.0 - rare)  # the guarantee is the same for both streams
    odds = (1.0 - rare) / rare
    exact = min(max(math.log(odds), _EPSILONS[0]), LARGEST_EPSILON)
    gain = min(_excess(curve, odds, epsilon) for epsilon in (exact, *_EPSILONS))
    return min(1.0, 1.0 - rare + rare * gain)


def _excess(curve: Curve, odds: float, epsilon: float) -> float:
    """Return what one pair of the curve allows of sup over S of P(S) - odds Q(S)."""
    delta = curve.delta_at(epsilon)
    if math.exp(epsilon) <= odds:
        return delta
    # The trade-off of one pair has its corner at alpha = (1 - delta) / (1 + e^epsilon).
    return max(0.0, 1.0 - (1.0 + odds) * (1.0 - delta) / (1.0 + math.exp(epsilon)))


def posterior(curve: Curve, *, prior: float, chance: float = 0.01) -> float:
    """Return how sure an observer becomes, at most, except with a small chance.

    Guarantee: if the event was there, the probability that what is published raises the observer's
    probability of the event above the result is at most ``chance``; and the same for the
    probability that it was not there.

    Args:
        curve: the guarantee.
        prior: probability before, above 0 and below 1.
        chance: above 0 and below 1.

    Returns:
        A probability, at least ``prior``.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: outside its range.

    Source: docs/theory.md, "What an observer may conclude".

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> round(posterior(sketch.privacy, prior=0.5), 3)
        0.632
    """
    before, most = _probability("prior", prior), _probability("chance", chance)
    # A ratio of densities of e^level or more has a probability of at most
    # delta(e) / (1 - e^(e - level)) for every e below the level: solved for the level.
    levels = [
        epsilon - math.log1p(-delta / most)
        for epsilon in _EPSILONS
        if (delta := curve.delta_at(epsilon)) < most
    ]
    if not levels:
        return 1.0
    raised = before * math.exp(min(min(levels), 700.0))
    return raised / (raised + 1.0 - before)


def detection(curve: Curve, *, false_alarms: float) -> float:
    """Return how often a test finds the event, at most, at a rate of false alarms.

    Guarantee: for every test that has at most this rate of false alarms.

    Args:
        curve: the guarantee.
        false_alarms: how often the test says yes although the event was not there, above 0 and
            below 1.

    Returns:
        A probability, at least ``false_alarms``.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: outside its range.

    Source: Wasserman and Zhou 2010; Dong, Roth and Su 2022.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> round(detection(sketch.privacy, false_alarms=0.01), 3)
        0.017
    """
    rate = _probability("false_alarms", false_alarms)
    return min(1.0, *(_found(curve, rate, epsilon) for epsilon in _EPSILONS))


def _found(curve: Curve, rate: float, epsilon: float) -> float:
    """Return what one pair of the curve allows, by the two inequalities of its definition."""
    delta = curve.delta_at(epsilon)
    missed = math.exp(-epsilon) * max(0.0, 1.0 - rate - delta)
    return min(math.exp(epsilon) * rate + delta, 1.0 - missed)


def _probability(name: str, value: object) -> float:
    number = checked_real(name, value)
    if number >= 1.0:
        raise ArgumentValueError(f"{name}: expected below 1, got {number:g}")
    return number
