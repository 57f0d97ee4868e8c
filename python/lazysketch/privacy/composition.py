"""What several sketches cost together.

What it computes: the guarantee of everything that several Gaussian mechanisms ever release about
the same persons. It costs nothing; a delta or an epsilon of it costs as much as that of one
sketch. All releases of *one* sketch are already one part: reading twice is free.

===========================================  ====================================================
the parts                                    together
===========================================  ====================================================
count the same stream, or share persons      :func:`compose`: mu = sqrt(sum of mu^2)
count streams whose *persons* are disjoint   the worst part alone; there is nothing to compose
split one stream by item                     under substitution an event can move from one part
                                             to another, and changes both: :func:`compose`
===========================================  ====================================================

Source: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, Corollary 3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.curve import GaussianCurve, curve_of
from lazysketch.privacy.dp_events import composed_event
from lazysketch.privacy.relations import Relation
from lazysketch.privacy.wording import promise

__all__ = ["Composition", "compose"]


@dataclass(frozen=True)
class Composition:
    """The guarantee of several sketches together; made by :func:`compose`.

    Guarantee: an observer of everything that all parts ever release, who chooses what to read and
    which later events to send by what was read before, is held to every (epsilon, delta) that
    :meth:`delta_at` and :meth:`epsilon_at` return, for the ``relation`` of the parts and for
    ``max_events_per_user`` events: the fewest that any part protects together.

    Args:
        parts: one description per sketch, all private, all for one relation.

    Raises:
        ArgumentTypeError: parts that are no tuple of :class:`Privacy`.
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
        """Check that the parts compose."""
        if not isinstance(self.parts, tuple):
            found = type(self.parts).__name__
            raise ArgumentTypeError(f"parts: expected a tuple of Privacy, got {found}")
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
                    f"{reasons}; nothing can be promised of it and others together"
                )
        relations = sorted({part.relation for part in self.parts})
        if len(relations) > 1:
            raise ArgumentValueError(
                f"parts: expected one relation, got {' and '.join(map(repr, relations))}; "
                "each says what its neighbouring streams are: state the parts one by one"
            )

    @property
    def relation(self) -> Relation:
        """What is hidden, the same in all parts."""
        return self.parts[0].relation

    @property
    def max_events_per_user(self) -> int:
        """Events protected together: the fewest of all parts."""
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
        """The multiplier of the one Gaussian mechanism that costs as much, rounded down."""
        return (1.0 - 1e-15) / self.mu

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds with this epsilon, rounded up.

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
        """Return an epsilon that holds with this delta, rounded up.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            epsilon; infinite where none up to 100 holds.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.
        """
        return self._curve.epsilon_at(delta)

    def to_dp_event(self) -> Any:
        """Return the composition as a ``dp_accounting.ComposedDpEvent``.

        Guarantee: the event speaks of ideal noise, as that library does; the parts' own
        (epsilon, delta) and :meth:`delta_at` pay for floating point as well.

        Returns:
            An event with one ``GaussianDpEvent`` per part.

        Raises:
            MissingPackageError: the package dp-accounting is not installed.
        """
        return composed_event(part.noise_multiplier for part in self.parts)

    @property
    def sentence(self) -> str:
        """What all parts together promise, and what they do not, for a reader without formulas.

        Returns:
            Two sentences: the promise at the smallest delta of a part, and its limits.
        """
        delta = min(part.delta for part in self.parts)
        return (
            f"For everything that these {len(self.parts)} sketches ever publish together: "
            + promise(
                epsilon=self.epsilon_at(delta),
                delta=delta,
                relation=self.relation,
                max_events_per_user=self.max_events_per_user,
                max_weight=min(part.max_weight for part in self.parts),
            )
        )

    def __str__(self) -> str:
        """Return one line: the cost at the smallest delta of a part."""
        delta = min(part.delta for part in self.parts)
        return (
            f"private: {len(self.parts)} parts, together epsilon = {self.epsilon_at(delta):.4g}, "
            f"delta = {delta:g} (mu = {self.mu:.4g}), relation {self.relation}"
        )

    @cached_property
    def _curve(self) -> GaussianCurve:
        curves = [curve_of(part.epsilon, part.delta, part.noise_multiplier) for part in self.parts]
        if len(curves) == 1:
            return curves[0]
        slack = 1.0 + 1e-15 * len(curves)
        return GaussianCurve(
            noise_multiplier=self.noise_multiplier,
            # Ratios of densities multiply, and what lies outside the draws' reach adds up.
            epsilon_numeric=slack * math.fsum(curve.epsilon_numeric for curve in curves),
            tail=slack * math.fsum(curve.tail for curve in curves),
            # Basic composition, a pair that always holds.
            epsilon=slack * math.fsum(part.epsilon for part in self.parts),
            delta=slack * math.fsum(part.delta for part in self.parts),
        )


def compose(*parts: Privacy | Composition) -> Composition:
    """Return what several sketches that share persons cost together.

    Guarantee: mu = sqrt(sum of mu^2), exact for Gaussian mechanisms on the same stream. It is an
    upper bound for streams that share persons in any way. Sketches of *disjoint persons* need no
    composition: whoever is in one stream only is held to that stream's guarantee, whatever the
    others publish.

    Args:
        parts: ``sketch.privacy``, ``part.privacy`` of each of ``release.parts``, or compositions.

    Returns:
        The composition.

    Raises:
        ArgumentTypeError: an argument is no description.
        ArgumentValueError: no argument, one that is NOT PRIVATE, or mixed relations.

    Source: Dong, Roth and Su 2022, Corollary 3.3.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> twice = compose(sketch.privacy, sketch.privacy)  # as if it had run two times
        >>> round(twice.mu / sketch.privacy.mu, 6)
        1.414214
    """
    flat: list[Any] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Composition) else [part])
    return Composition(tuple(flat))
