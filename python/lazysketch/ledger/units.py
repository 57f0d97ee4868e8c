"""The charge of a run to a ledger: its parts must protect the unit of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lazysketch.errors import ArgumentValueError
from lazysketch.ledger.terms import Terms, Unit
from lazysketch.privacy.charges import Charge, sum_up, total_of
from lazysketch.privacy.composable import Composable, described_pair
from lazysketch.privacy.composition import Composition, compose

__all__ = ["charge_for"]

_EVENTS: Final = (
    "unit: expected a run that protects a person, as the ledger of {population} does, got one that "
    "protects single events; bound the events of a person in the run"
)


def charge_for(terms: Terms, parts: Sequence[Composable], *, unit: Unit | None) -> Charge:
    """Return what a run adds to a ledger.

    Guarantee: for the unit and the relation of the ledger. A substitution may leave no event in
    the step, so that it covers zero-out; one of people covers one event; nothing else is converted.

    Args:
        terms: of the ledger.
        parts: everything that the run publishes.
        unit: what the caller states of pairs and bounds; None for what the parts state.

    Returns:
        The charge, whose pair is the sum of the parts' own.

    Raises:
        ArgumentTypeError: a part without a guarantee.
        ArgumentValueError: a part of another relation or unit, or that is NOT PRIVATE.
    """
    together = compose(*parts)
    if together.relation not in (None, "substitution", terms.relation):
        raise ArgumentValueError(
            f"relation: expected {terms.relation!r}, that of the ledger, got {together.relation!r}"
        )
    _check_unit(terms, together, unit)
    pairs = [described_pair(part) for part in parts]
    sums = total_of(together.charges)
    return Charge(
        mu_squared=sums.mu_squared,
        factor=sums.factor,
        epsilon_numeric=sums.epsilon_numeric,
        delta=sums.delta,
        epsilon=sum_up(epsilon for epsilon, _ in pairs),
        pair_delta=sum_up(delta for _, delta in pairs),
    )


def _check_unit(terms: Terms, together: Composition, unit: Unit | None) -> None:
    if terms.unit == "event":
        _check_events(together, unit)
    elif not together.protects_people:
        _check_people(terms, together, unit)
    elif unit == "event":
        raise ArgumentValueError(_EVENTS.format(population=terms.population))


def _check_events(together: Composition, unit: Unit | None) -> None:
    """Raise unless a run protects every event.

    One event more changes what is counted of its person: the old events go, the new ones come. That
    is a substitution of people, and no zero-out.
    """
    if unit == "person" or (together.protects_people and together.relation != "substitution"):
        raise ArgumentValueError(
            "unit: expected a run that protects events, as the ledger does, got one for people"
        )


def _check_people(terms: Terms, together: Composition, unit: Unit | None) -> None:
    """Raise unless the caller states that a run without a bound protects people."""
    if unit == "event" or (unit is None and together.parts):
        raise ArgumentValueError(_EVENTS.format(population=terms.population))
    if any(part.max_events_per_user == 1 for part in together.parts):
        raise ArgumentValueError(
            "unit: expected max_events_per_user above 1 for a run whose events of a person are "
            "bounded elsewhere, got 1, which protects single events"
        )
