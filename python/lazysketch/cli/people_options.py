"""The options of people that several verbs have, and how they go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import click

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lazysketch.privacy.person_bound import PersonBound

__all__ = [
    "DEFAULT_CELLS",
    "MOST_PEOPLE",
    "OF_CELLS",
    "USER",
    "are_bounded",
    "bound_of_cells",
    "people_options",
]

# Of one person: few have many more different items, and each costs noise: 10 cells cost sqrt(10).
DEFAULT_CELLS: Final = 10

USER: Final = click.option(
    "--user",
    metavar="FIELD",
    help="Field with the person of a row, such as a client or an account: people are protected "
    "instead of events, and what counts of one person is bounded.  [default: none]",
)
MOST_PEOPLE: Final = click.option(
    "--most-people",
    type=int,
    metavar="N",
    help="With --user: count the first N people only, which bounds the memory and doubles the "
    "noise.  [default: all]",
)

OF_CELLS: Final = (
    USER,
    click.option(
        "--cells",
        type=int,
        metavar="N",
        help="With --user: cells of each row of the table, so about N different items, that count "
        f"of one person; the noise grows with sqrt(N).  [default: {DEFAULT_CELLS}]",
    ),
    click.option(
        "--per-cell",
        type=int,
        metavar="N",
        help="With --user: events of one person that count in each of these cells, as for repeated "
        "items; the noise grows with N.  [default: 1]",
    ),
    MOST_PEOPLE,
)


_Command: TypeAlias = "Callable[..., int | None]"


def people_options(counted: str) -> tuple[Callable[[_Command], _Command], ...]:
    """Return the options of people of a verb that counts so much of each person, anywhere.

    Args:
        counted: What is counted, for the help.
    """
    per_person = click.option(
        "--per-person",
        type=int,
        metavar="N",
        help=f"With --user: {counted} of one person that count; the noise grows with N.  "
        "[default: 1]",
    )
    return (USER, per_person, MOST_PEOPLE)


def are_bounded(
    user: str | None, bounds: Mapping[str, int | None], *, max_events_per_user: int
) -> bool:
    """Return whether people are bounded, by the options of a verb.

    Args:
        user: The field of the person.
        bounds: The options that need it.
        max_events_per_user: The number of declared events.

    Raises:
        ArgumentTypeError: An option that needs ``--user``.
        ArgumentValueError: Events that are declared too.
    """
    if user is None:
        for option, given in bounds.items():
            if given is not None:
                raise ArgumentTypeError(
                    f"{option}: expected --user too, the field of the person, got none"
                )
        return False
    if max_events_per_user != 1:
        raise ArgumentValueError(
            "--max-events-per-user: expected none with --user, which bounds the events of a "
            f"person, got {max_events_per_user}"
        )
    return True


def bound_of_cells(
    user: str | None,
    *,
    cells: int | None,
    per_cell: int | None,
    most_people: int | None,
    max_events_per_user: int,
) -> PersonBound | None:
    """Return what is counted of one person in tables of items; None without people.

    Args:
        user: The field of the person.
        cells: Cells of each row that one person has.
        per_cell: Events of the person in each of them.
        most_people: The number of people that count.
        max_events_per_user: The number of declared events.

    Raises:
        ArgumentTypeError: An option that needs ``--user``.
        ArgumentValueError: A number outside its range, or events that are declared too.
    """
    bounds = {"--cells": cells, "--per-cell": per_cell, "--most-people": most_people}
    if not are_bounded(user, bounds, max_events_per_user=max_events_per_user):
        return None
    from lazysketch.privacy.person_bound import PersonBound  # late: few runs bound people

    try:
        return PersonBound(
            cells=DEFAULT_CELLS if cells is None else cells,
            events=1 if per_cell is None else per_cell,
            most_people=most_people,
        )
    except ArgumentValueError as error:
        name, _, rest = str(error).partition(":")
        option = "per_cell" if name == "events" else name
        raise ArgumentValueError(f"{option}:{rest}") from None
