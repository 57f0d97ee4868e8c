"""The terms of a ledger: whom it protects, how much may be spent, and in which period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.ledger.periods import Period
from lazysketch.privacy.charges import Charge
from lazysketch.privacy.gaussian import noise_multiplier
from lazysketch.privacy.relations import Relation, checked_delta, checked_epsilon, checked_relation

__all__ = ["Terms", "Unit"]

Unit: TypeAlias = Literal["event", "person"]

_MOST_CHARACTERS: Final = 200
# Parts of the cap for what is not mu. Together they cost about 5 % of mu. With 0.5 % for numerics
# and a factor of 0.01, at 1.7 % less, these bound daily runs with discovery after 128 runs, mu
# after 564; now all of them do after 517 to 545.
_DELTA_SHARE: Final = 0.5
_NUMERIC_SHARE: Final = 0.02
_FACTOR: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of a ledger; they never change.

    Guarantee: all runs that the ledger admits are (``epsilon``, ``delta``)-private together, for
    the unit in each period, whatever the parameters of later runs depend on.

    Args:
        population: a name for the people whose data the runs count.
        unit: ``"event"``, or ``"person"`` for all events of a person; with a period, what is
            counted of them within it.
        epsilon: cap on epsilon, 0 < epsilon <= 100.
        delta: cap on delta, 0 < delta < 1.
        relation: ``"substitution"`` or ``"zero-out"``.
        period: such as ``"1y"``, ``"1mo"`` or ``"30d"``; None for one cap for ever.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorem 20.

    Example:
        >>> terms = Terms(population="visitors", unit="event", epsilon=4.0, delta=1e-6)
        >>> round(terms.bounds.mu_squared ** 0.5, 2)
        0.8
    """

    population: str
    unit: Unit
    epsilon: float
    delta: float
    relation: Relation = "substitution"
    period: str | None = None

    def __post_init__(self) -> None:
        """Check every term."""
        if not isinstance(self.population, str):
            got = type(self.population).__name__
            raise ArgumentTypeError(f"population: expected a name, got {got}")
        if not 0 < len(self.population) <= _MOST_CHARACTERS or not self.population.isprintable():
            raise ArgumentValueError(
                f"population: expected a name of 1 to {_MOST_CHARACTERS} printable characters, got "
                f"{shown(self.population)}"
            )
        if self.unit not in get_args(Unit):
            raise ArgumentValueError(
                f"unit: expected 'event' or 'person', got {shown(str(self.unit))}"
            )
        checked_relation(self.relation)
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))
        if self.period is not None:
            Period(self.period)

    @cached_property
    def periods(self) -> Period | None:
        """The periods; None without."""
        return None if self.period is None else Period(self.period)

    @cached_property
    def bounds(self) -> Charge:
        """The largest sums that keep the cap: of Theorem 20, and of epsilon and delta.

        Returns:
            Bounds that are fixed by the cap alone. Half of delta is for parts that are pairs and
            for numerics.
        """
        delta = self.delta * _DELTA_SHARE
        numeric = self.epsilon * _NUMERIC_SHARE
        ideal = (self.delta * math.exp(-_FACTOR) - delta) * (1.0 - 1e-12)
        multiplier = noise_multiplier(self.epsilon - numeric, ideal)
        return Charge(
            mu_squared=multiplier**-2.0 * (1.0 - 1e-14),
            factor=_FACTOR,
            epsilon_numeric=numeric,
            delta=delta,
            epsilon=self.epsilon,
            pair_delta=self.delta,
        )

    def __str__(self) -> str:
        """Return the terms in one line."""
        within = f" within {self.period}" if self.period else ""
        return (
            f"{self.population}: at most ({self.epsilon:g}, {self.delta:g})-DP per {self.unit}"
            f"{within} ({self.relation})"
        )
