"""Joint privacy of the sketch and of discovery, by basic composition.

Discovery is not a Gaussian mechanism, so the privacy parameters add up:
(epsilon_1 + epsilon_2, delta_1 + delta_2).

Source: C. Dwork and A. Roth, "The Algorithmic Foundations of Differential Privacy", 2014,
Theorem 3.16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart, check_everywhere
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import checked_delta, checked_epsilon
from lazysketch.privacy.wording import guarantee, promise

__all__ = ["JointPrivacy", "Split", "split_of"]

# Compared with half, a quarter makes discovery epochs twice as long, but gives the counts, which
# are read at every step, a third less noise.
_EPSILON_SHARE: Final = 0.25
_DELTA_SHARE: Final = 0.5


@dataclass(frozen=True)
class Split:
    """Privacy of the sketch and of discovery.

    Attributes:
        sketch_epsilon: epsilon of the counts.
        sketch_delta: delta of the counts.
        discovery_epsilon: epsilon of the names.
        discovery_delta: delta of the names.
    """

    sketch_epsilon: float
    sketch_delta: float
    discovery_epsilon: float
    discovery_delta: float


@dataclass(frozen=True)
class JointPrivacy:
    """The guarantee of all names and counts that heavy hitters publish.

    Guarantee: (``epsilon``, ``delta``)-DP for the relation of the sketch, by basic composition.

    Attributes:
        epsilon: epsilon of names and counts together.
        delta: delta of names and counts together.
        sketch: guarantee of the counts.
        discovery_epsilon: part of ``epsilon`` used by the names; 0 for a public domain.
        discovery_delta: part of ``delta`` used by the names.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere, or if events are protected.
    """

    epsilon: float
    delta: float
    sketch: Privacy
    discovery_epsilon: float
    discovery_delta: float
    within: str | None = None

    @property
    def private(self) -> bool:
        """True if the guarantee holds."""
        return self.sketch.private

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self.sketch.max_weight

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of a person; None if events are protected."""
        return self.sketch.person_bound

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The counts, and the names as a pair.

        Raises:
            ArgumentValueError: a guarantee within a part of the stream, which says nothing about a
                person in several parts.
        """
        check_everywhere(self.within)
        if not self.discovery_epsilon:
            return (self.sketch,)
        return self.sketch, PlainPart(self.discovery_epsilon, self.discovery_delta)

    @property
    def sentence(self) -> str:
        """The guarantee and its limits in words.

        Returns:
            English text in one line.
        """
        if not self.private:
            return self.sketch.sentence
        return promise(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.sketch.relation,
            max_events_per_user=self.sketch.max_events_per_user,
            max_weight=self.sketch.max_weight,
            person_bound=self.sketch.person_bound,
            within=self.within,
        )

    def __str__(self) -> str:
        if not self.private:
            return str(self.sketch)
        line = guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.sketch.relation,
            max_events_per_user=self.sketch.max_events_per_user,
            max_weight=self.sketch.max_weight,
            person_bound=self.sketch.person_bound,
            within=self.within,
        )
        if self.discovery_epsilon:
            names = f"({self.discovery_epsilon:.4g}, {self.discovery_delta:.4g})"
            line += f", of which {names} for names"
        return line


def split_of(
    epsilon: float,
    delta: float,
    *,
    discovery_epsilon: float | None,
    discovery_delta: float | None,
) -> Split:
    """Return the privacy parameters of the sketch and of discovery.

    Guarantee: they add up to at most ``epsilon`` and ``delta``.

    Args:
        epsilon: epsilon of both together, above 0 and at most 100.
        delta: delta of both together, above 0 and below 1.
        discovery_epsilon: below ``epsilon``; a quarter of it when None.
        discovery_delta: below ``delta``; half of it when None.

    Returns:
        The split.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: outside its range.

    Example:
        >>> split_of(1.0, 1e-6, discovery_epsilon=None, discovery_delta=None).discovery_epsilon
        0.25
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    names_epsilon = _part("discovery_epsilon", discovery_epsilon, epsilon, _EPSILON_SHARE)
    names_delta = _part("discovery_delta", discovery_delta, delta, _DELTA_SHARE)
    return Split(
        sketch_epsilon=_rest(epsilon, names_epsilon),
        sketch_delta=_rest(delta, names_delta),
        discovery_epsilon=names_epsilon,
        discovery_delta=names_delta,
    )


def _rest(total: float, part: float) -> float:
    """Return what is left, rounded down: the two never add up to more than the total."""
    rest = total - part
    return math.nextafter(rest, 0.0) if math.fsum([rest, part, -total]) > 0.0 else rest


def _part(name: str, value: object, total: float, share: float) -> float:
    if value is None:
        return total * share
    if isinstance(value, bool):
        raise ArgumentTypeError(f"{name}: expected a number, got bool")
    part = checked_real(name, value)
    if part >= total:
        of = name.removeprefix("discovery_")
        raise ArgumentValueError(f"{name}: expected a part of {of} = {total:g}, got {part:g}")
    return part
