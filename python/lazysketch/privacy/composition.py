"""Composition: the privacy guarantee of several sketches together.

It covers everything that several Gaussian mechanisms ever release about the same persons. Making
a composition is free; computing a delta or an epsilon costs as much as for one sketch. All
releases of *one* sketch are already one part: reading twice costs no privacy.

===========================================  ====================================================
the parts                                    their joint guarantee
===========================================  ====================================================
count the same stream, or share persons      :func:`compose`: mu = sqrt(sum of mu^2)
count streams whose *persons* are disjoint   that of the weakest part; nothing has to be composed
split one stream by item                     under substitution an event can move from one part
                                             to another and change both: :func:`compose`
===========================================  ====================================================

Sources: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, Corollary 3.3;
docs/theory.md, Theorems 8 and 15.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import plain_tuple
from lazysketch.privacy.accounting import Privacy, dp_accounting_module
from lazysketch.privacy.adaptive import IntegerNoise, Smoothed, smoothed_together
from lazysketch.privacy.curve import GaussianCurve, curve_of
from lazysketch.privacy.relations import LARGEST_EPSILON, Relation
from lazysketch.privacy.wording import guarantee, promise

if TYPE_CHECKING:
    import dp_accounting

__all__ = ["Composition", "compose"]


@dataclass(frozen=True)
class Composition:
    """The guarantee of several sketches together; made by :func:`compose`.

    Guarantee: every (epsilon, delta) that :meth:`delta_at` and :meth:`epsilon_at` return holds
    against an observer who sees everything that all parts ever release, and who chooses what to
    read, the differing event and all others by what was read before. It holds for the ``relation``
    of the parts and for ``max_events_per_user`` events, the fewest that any part protects together.

    Args:
        parts: one description per sketch, all private, all with one relation.

    Raises:
        ArgumentTypeError: ``parts`` is not a tuple of :class:`Privacy`.
        ArgumentValueError: no part, a part that is NOT PRIVATE, or mixed relations.

    Source: Dong, Roth and Su 2022, Corollary 3.3.

    Example:
        >>> import lazysketch as ls
        >>> sketches = [
        ...     ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8) for _ in range(2)
        ... ]
        >>> together = ls.compose(*(sketch.privacy for sketch in sketches))
        >>> round(together.epsilon_at(1e-8), 2)  # less than 1 + 1
        1.44
    """

    parts: tuple[Privacy, ...]

    def __post_init__(self) -> None:
        """Check that the parts can be composed."""
        parts = plain_tuple(self.parts)
        if parts is None:
            found = type(self.parts).__name__
            raise ArgumentTypeError(f"parts: expected a tuple of Privacy, got {found}")
        object.__setattr__(self, "parts", parts)
        for part in self.parts:
            if not isinstance(part, Privacy):
                raise ArgumentTypeError(
                    "parts: expected Privacy descriptions such as sketch.privacy, got "
                    f"{type(part).__name__}"
                )
        if not self.parts:
            raise ArgumentValueError("parts: expected at least one description, got none")
        for index, part in enumerate(self.parts):
            if not part.private:
                reasons = "; ".join(part.not_private_because)
                raise ArgumentValueError(
                    f"parts: expected private ones only, got number {index + 1}, NOT PRIVATE: "
                    f"{reasons}; a composition with it has no guarantee"
                )
        relations = sorted({part.relation for part in self.parts})
        if len(relations) > 1:
            raise ArgumentValueError(
                f"parts: expected one relation, got {' and '.join(map(repr, relations))}; "
                "they define different neighbouring streams: state each part separately"
            )

    @property
    def relation(self) -> Relation:
        """Relation of neighbouring streams, the same in all parts."""
        return self.parts[0].relation

    @property
    def max_events_per_user(self) -> int:
        """Events protected together: the minimum over all parts."""
        return min(part.max_events_per_user for part in self.parts)

    @property
    def mu(self) -> float:
        """The square root of the sum of the parts' mu squared, rounded up.

        Returns:
            mu, above 0.

        Source: Dong, Roth and Su 2022, Corollary 3.3.
        """
        return math.hypot(*(part.mu for part in self.parts)) * (1.0 + 1e-15)

    @property
    def noise_multiplier(self) -> float:
        """Multiplier of the single Gaussian mechanism with the same mu, rounded down."""
        return (1.0 - 1e-15) / self.mu

    @property
    def rho(self) -> float:
        """The sum of the parts' rho (zero-concentrated differential privacy), of ideal noise."""
        return self.mu**2 / 2.0

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at this epsilon, rounded up.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, in [1e-280, 1].

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.
        """
        return self._curve.delta_at(epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at this delta, rounded up.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            epsilon; infinite if none up to 100 holds.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.
        """
        return self._curve.epsilon_at(delta)

    def to_dp_event(self) -> dp_accounting.DpEvent:
        """Return the composition as a ``dp_accounting.ComposedDpEvent``.

        Guarantee: the event describes ideal noise, as that library does; the parts' own
        (epsilon, delta) and :meth:`delta_at` also include the cost of floating point.

        Returns:
            An event with one ``GaussianDpEvent`` per part.

        Raises:
            MissingPackageError: the package dp-accounting is not installed.
        """
        events = dp_accounting_module()
        return events.ComposedDpEvent([part.to_dp_event() for part in self.parts])

    @property
    def sentence(self) -> str:
        """The joint guarantee and its limits, for a reader without formulas.

        Returns:
            What is promised at the smallest delta of a part, and what is not.
        """
        delta = min(part.delta for part in self.parts)
        return (
            f"For everything that these {len(self.parts)} sketches ever publish together. "
            + promise(
                epsilon=self.epsilon_at(delta),
                delta=delta,
                relation=self.relation,
                max_events_per_user=self.max_events_per_user,
                max_weight=min(part.max_weight for part in self.parts),
            )
        )

    def __str__(self) -> str:
        """Return the joint guarantee at the smallest delta of a part, in one line."""
        delta = min(part.delta for part in self.parts)
        line = guarantee(
            epsilon=self.epsilon_at(delta),
            delta=delta,
            relation=self.relation,
            max_events_per_user=self.max_events_per_user,
        )
        return f"{line}, {len(self.parts)} parts together (mu = {self.mu:.4g})"

    @cached_property
    def _curve(self) -> GaussianCurve:
        curves = [
            curve_of(part.epsilon, part.delta, part.noise_multiplier, depth=part.depth)
            for part in self.parts
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
            epsilon=slack * math.fsum(part.epsilon for part in self.parts),
            delta=slack * math.fsum(part.delta for part in self.parts),
        )
        return replace(composed, ideal=self._smoothed_together(composed))

    def _smoothed_together(self, composed: GaussianCurve) -> Smoothed:
        """Return a better bound of ideal draws, with the best smoothings for all parts."""
        epsilon = composed.epsilon_at(min(part.delta for part in self.parts))
        epsilon = min(epsilon, composed.epsilon, LARGEST_EPSILON)
        tables = Counter(IntegerNoise(part.noise_multiplier, part.depth) for part in self.parts)
        found = smoothed_together(tables, epsilon)
        own = composed.ideal
        return own if found is None or own.delta(epsilon) <= found.delta(epsilon) else found


def compose(*parts: Privacy | Composition) -> Composition:
    """Return the joint guarantee of several sketches that share persons.

    Guarantee: mu = sqrt(sum of mu^2), exact for Gaussian mechanisms on the same stream, and the
    cost of integers and of floating point on top. It is an upper bound for streams that share
    persons in any way. Sketches of *disjoint persons* need no composition: a person in one stream
    only has that stream's guarantee, whatever the others publish.

    Args:
        parts: ``sketch.privacy``, ``part.privacy`` of each of ``release.parts``, or compositions.

    Returns:
        The composition.

    Raises:
        ArgumentTypeError: an argument is not a description.
        ArgumentValueError: no argument, one that is NOT PRIVATE, or mixed relations.

    Source: Dong, Roth and Su 2022, Corollary 3.3.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> twice = compose(sketch.privacy, sketch.privacy)  # two sketches with this guarantee
        >>> round(twice.mu / sketch.privacy.mu, 6)
        1.414214
    """
    flat: list[Privacy] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Composition) else [part])
    return Composition(tuple(flat))
