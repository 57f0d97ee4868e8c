"""Composition: the privacy guarantee of several mechanisms together.

It covers everything that they ever release about the same persons. All releases of *one* sketch are
already one part: reading twice costs no privacy.

===========================================  ====================================================
the parts                                    their joint guarantee
===========================================  ====================================================
count the same stream, or share persons      :func:`compose`: mu = sqrt(sum of mu^2)
count streams whose *persons* are disjoint   that of the weakest part; nothing has to be composed
split one stream by item                     under substitution an event can move from one part
                                             to another and change both: :func:`compose`
===========================================  ====================================================

Names, and mechanisms of other programs, are pairs (epsilon, delta); the module ``charges``.

Sources: J. Dong, A. Roth and W. Su, "Gaussian Differential Privacy", 2022, Corollary 3.3;
docs/theory.md, Theorems 8, 15, 18 and 19.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import plain_tuple
from lazysketch.privacy.accounting import Privacy, dp_accounting_module
from lazysketch.privacy.charges import Charge, PlainPart, charge_of, sum_up, total_of
from lazysketch.privacy.composable import Composable, check_together, mechanisms_of
from lazysketch.privacy.composed_counts import composed_counts
from lazysketch.privacy.curve import GaussianCurve
from lazysketch.privacy.person_bound import (
    CountedOnce,
    CountedPerson,
    PersonBound,
    largest_bound,
    protects_people,
)
from lazysketch.privacy.relations import (
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    Relation,
    checked_delta,
    checked_epsilon,
)
from lazysketch.privacy.wording import guarantee, promise

if TYPE_CHECKING:
    import dp_accounting

__all__ = ["Composition", "compose"]

_STEPS: Final = 100
_TAIL_SHARE: Final = 0.02


@dataclass(frozen=True)
class Composition:
    """The guarantee of several mechanisms together; made by :func:`compose`.

    Guarantee: every (epsilon, delta) that :meth:`delta_at` and :meth:`epsilon_at` return holds
    against an observer who sees everything that all parts ever release, and who chooses what to
    read, the differing event and all others by what was read before. It holds for the ``relation``
    of the parts and for ``max_events_per_user`` events, the fewest that any part protects together.
    The number of parts and their parameters are fixed in advance: see :class:`lazysketch.Ledger`
    for runs whose parameters follow from earlier results.

    Args:
        parts: one description per sketch, all private, all with one relation.
        plain: pairs (epsilon, delta) of other mechanisms, for the same relation and events.
        stated_delta: the delta at which the guarantee is stated; None for that of the parts.

    Raises:
        ArgumentTypeError: ``parts`` is not a tuple of :class:`Privacy`, or ``plain`` not one of
            :class:`PlainPart`.
        ArgumentValueError: no part, a part that is NOT PRIVATE, mixed relations, or a delta outside
            its range.

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
    plain: tuple[PlainPart, ...] = ()
    stated_delta: float | None = None

    def __post_init__(self) -> None:
        """Check that the parts can be composed."""
        parts = plain_tuple(self.parts)
        if parts is None:
            found = type(self.parts).__name__
            raise ArgumentTypeError(f"parts: expected a tuple of Privacy, got {found}")
        object.__setattr__(self, "parts", parts)
        plain = plain_tuple(self.plain)
        if plain is None or not all(isinstance(part, PlainPart) for part in plain):
            found = type(self.plain).__name__
            raise ArgumentTypeError(f"plain: expected a tuple of PlainPart, got {found}")
        object.__setattr__(self, "plain", plain)
        check_together(self.parts, self.plain)
        if self.stated_delta is not None:
            stated = checked_delta(self.stated_delta, "stated_delta")
            object.__setattr__(self, "stated_delta", stated)

    @property
    def relation(self) -> Relation | None:
        """Relation of neighbouring streams, the same in all parts; None if all are plain pairs."""
        return self.parts[0].relation if self.parts else None

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of a person by a part, at most; None if events are protected."""
        return largest_bound([part.person_bound for part in self.parts])

    @property
    def _counted(self) -> PersonBound | str | None:
        """What is counted of a person, to be read: no part may have all the largest numbers."""
        bounds = {part.person_bound for part in self.parts} - {CountedPerson(), CountedOnce()}
        if None in bounds or len(bounds) < 2:
            return self.person_bound
        return "of whom each part counts what its own bound allows"

    @property
    def protects_people(self) -> bool:
        """Whether all parts protect everything that a person does; False if all are pairs."""
        return any(protects_people(part.person_bound) for part in self.parts)

    @property
    def max_events_per_user(self) -> int:
        """Events protected together: the minimum over all parts; 1 if all are plain pairs."""
        return min((part.max_events_per_user for part in self.parts), default=1)

    @property
    def max_weight(self) -> int:
        """Largest weight of one event that every part protects; 1 if all are plain pairs."""
        return min((part.max_weight for part in self.parts), default=1)

    @property
    def mu(self) -> float:
        """The square root of the sum of the parts' mu squared, rounded up.

        Guarantee: plain pairs have the mu of the Gaussian mechanism that dominates them once their
        deltas are removed.

        Returns:
            mu, above 0.

        Source: Dong, Roth and Su 2022, Corollary 3.3; docs/theory.md, Theorem 18.
        """
        return math.hypot(*(part.mu for part in self.parts_to_compose)) * (1.0 + 1e-15)

    @property
    def noise_multiplier(self) -> float:
        """Multiplier of the single Gaussian mechanism with the same mu, rounded down."""
        return (1.0 - 1e-15) / self.mu

    @property
    def rho(self) -> float:
        """The sum of the parts' rho (zero-concentrated differential privacy), of ideal noise."""
        return self.mu**2 / 2.0

    @property
    def delta(self) -> float:
        """The delta at which the guarantee is stated.

        Returns:
            ``stated_delta``; by default the smallest delta of a part, and with plain pairs the sum
            of all deltas, below which no epsilon is known.
        """
        if self.stated_delta is not None:
            return self.stated_delta
        if not self.plain:
            return min(part.delta for part in self.parts)
        deltas = sum_up(part.delta for part in self.parts_to_compose)
        return min(math.nextafter(1.0, 0.0), max(SMALLEST_DELTA, deltas))

    @property
    def epsilon(self) -> float:
        """Epsilon at :attr:`delta`."""
        return self.epsilon_at(self.delta)

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at this epsilon, rounded up.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, in [1e-280, 1].

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.

        Example:
            >>> import lazysketch as ls
            >>> day = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8).privacy
            >>> ls.compose(day, day).delta_at(1.5) < 1e-8
            True
        """
        asked = checked_epsilon(epsilon)
        known = self._with_sums(asked)
        return known if self._counts_suffice(asked) else min(known, self._charge.delta_at(asked))

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at this delta, rounded up.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            epsilon; infinite if none up to 100 holds, see :meth:`why_infinite`.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.

        Example:
            >>> import lazysketch as ls
            >>> day = ls.LazyCountMin(depth=3, width=64, epsilon=0.5, delta=1e-8).privacy
            >>> week = ls.compose(*[day] * 7)
            >>> week.epsilon_at(1e-8) < 3 * 0.5  # about the root of 7, where a sum has 7
            True
        """
        asked = checked_delta(delta)
        known = math.inf if self.plain else self._curve.epsilon_at(asked)
        if self._counts_suffice(known):
            return known
        enough, too_small = min(known, self._charge.epsilon, LARGEST_EPSILON), 0.0
        if self.delta_at(enough) > asked:
            return known
        for _ in range(_STEPS):
            middle = 0.5 * (too_small + enough)
            if not too_small < middle < enough:
                break
            if self.delta_at(middle) <= asked:  # the returned epsilon itself has passed this test
                enough = middle
            else:
                too_small = middle
        return enough

    def why_infinite(self, delta: float) -> str:
        """Return why no epsilon is known at this delta, or empty text if one is.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            A reason with its numbers.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.

        Example:
            >>> compose((1.0, 1e-6), (1.0, 1e-6)).why_infinite(1e-7)
            'the parts spend delta = 2e-06 whatever epsilon is, more than 1e-07'
        """
        if not math.isinf(self.epsilon_at(delta)):
            return ""
        plain = math.fsum(part.delta for part in self.plain)
        spent = max(plain, min(self.delta_at(LARGEST_EPSILON), self._charge.delta))
        if spent > delta:
            return f"the parts spend delta = {spent:.3g} whatever epsilon is, more than {delta:g}"
        largest = f"{LARGEST_EPSILON:g}"
        return f"mu = {self.mu:.4g} needs an epsilon above {largest}, which promises nothing"

    def to_dp_event(self) -> dp_accounting.DpEvent:
        """Return the composition as a ``dp_accounting.ComposedDpEvent``.

        Guarantee: the event describes ideal noise, as that library does; the parts' own
        (epsilon, delta) and :meth:`delta_at` also include the cost of floating point.

        Returns:
            An event with one ``GaussianDpEvent`` per part.

        Raises:
            MissingPackageError: the package dp-accounting is not installed.
            ArgumentValueError: plain pairs, for which that library has no event.
        """
        events = dp_accounting_module()
        if self.plain:
            got = len(self.plain)
            raise ArgumentValueError(f"plain: expected none, as dp-accounting has none, got {got}")
        return events.ComposedDpEvent([part.to_dp_event() for part in self.parts])

    @property
    def sentence(self) -> str:
        """The joint guarantee and its limits, for a reader without formulas.

        Returns:
            What is promised at :attr:`delta`, and what is not.
        """
        what = f"{len(self.parts_to_compose)} {'mechanisms' if self.plain else 'sketches'}"
        start = f"For everything that these {what} ever publish together. "
        if self.relation is None:
            return f"{start}{self}"
        return start + promise(
            person_bound=self._counted,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_events_per_user=self.max_events_per_user,
            max_weight=self.max_weight,
        )

    def __str__(self) -> str:
        """Return the joint guarantee at :attr:`delta`, in one line."""
        epsilon = self.epsilon
        if self.relation is None:
            line = f"({epsilon:g}, {self.delta:g})-DP"
        else:
            line = guarantee(
                person_bound=self._counted,
                epsilon=epsilon,
                delta=self.delta,
                relation=self.relation,
                max_events_per_user=self.max_events_per_user,
            )
        number, reason = len(self.parts_to_compose), self.why_infinite(self.delta)
        because = f": {reason}" if reason else ""
        return f"{line}, {number} parts together (mu = {self.mu:.4g}){because}"

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What each part adds to a total, in the order of ``parts`` and ``plain``."""
        return tuple(charge_of(part) for part in self.parts_to_compose)

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """All parts: ``parts`` and ``plain``."""
        return (*self.parts, *self.plain)

    @cached_property
    def _charge(self) -> Charge:
        return total_of(self.charges)

    def _counts_suffice(self, epsilon: float) -> bool:
        """Tell whether all are counts, whose tails times e^epsilon are little of delta."""
        if self.plain or len(self.parts) == 1:
            return not self.plain
        largest = min(epsilon, LARGEST_EPSILON)
        spent = (1.0 + math.exp(largest)) * self._curve.tail
        return spent <= _TAIL_SHARE * self._curve.delta_at(largest)

    def _with_sums(self, epsilon: float) -> float:
        """Return a delta by composing the counts, to which the plain pairs are added."""
        if not self.plain:
            return self._curve.delta_at(epsilon)
        spent, more = (
            sum_up(getattr(part, name) for part in self.plain) for name in ("epsilon", "delta")
        )
        left = epsilon - spent
        if math.fsum([epsilon, -spent, -left]) < 0.0:
            left = math.nextafter(left, -math.inf)
        if not self.parts:
            return min(1.0, max(SMALLEST_DELTA, more)) if left >= 0.0 else 1.0
        return min(1.0, sum_up([self._curve.delta_at(left), more])) if left > 0.0 else 1.0

    @cached_property
    def _curve(self) -> GaussianCurve:
        return composed_counts(self.parts)


def compose(*parts: Composable) -> Composition:
    """Return the joint guarantee of several mechanisms that share persons.

    Guarantee: mu = sqrt(sum of mu^2), exact for Gaussian mechanisms on the same stream, and the
    cost of integers and of floating point on top. A pair (epsilon, delta) counts as mu =
    2 Phi^-1(e^epsilon / (1 + e^epsilon)) plus its delta, or as epsilon plus its delta, whichever
    gives less. It is an upper bound for streams that share persons in any way. Sketches of
    *disjoint persons* need no composition: a person in one stream only has that stream's guarantee,
    whatever the others publish.

    Args:
        parts: what the library describes: ``x.privacy`` of a sketch, of heavy hitters, a
            hierarchy, windows, a specification or a part of a release, or these themselves;
            releases, with everything that their runs published, each run once; pairs such as
            ``(0.25, 5e-9)`` of other mechanisms, for the same neighbours; or compositions.

    Returns:
        The composition.

    Raises:
        ArgumentTypeError: an argument is not a description.
        ArgumentValueError: no argument, one that is NOT PRIVATE, or mixed relations.

    Source: Dong, Roth and Su 2022, Corollary 3.3; docs/theory.md, Theorems 18 and 19.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
        >>> twice = compose(sketch.privacy, sketch.privacy)  # two sketches with this guarantee
        >>> round(twice.mu / sketch.privacy.mu, 6)
        1.414214
        >>> day = ls.HeavyHitters(share=0.01, epsilon=1.0, delta=1e-8)
        >>> round(compose(*[day] * 365).epsilon_at(1e-5), 1)  # a year of such days
        49.4
    """
    runs: set[bytes] = set()
    flat = [each for part in parts for each in mechanisms_of(part, runs)]
    return Composition(
        parts=tuple(each for each in flat if isinstance(each, Privacy)),
        plain=tuple(each for each in flat if isinstance(each, PlainPart)),
    )
