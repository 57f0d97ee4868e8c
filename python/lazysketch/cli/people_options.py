"""The options of people that several verbs have, and how they go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_PEOPLE", "USER", "are_bounded"]

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
