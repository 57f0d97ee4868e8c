"""The options of ``lazysketch plan`` of the size of sums and ranges, and of what people have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import gathered, option_with_default
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from lazysketch.cli.options import Command, Decorator
    from lazysketch.privacy.person_bound import PersonBound

__all__ = ["SizeSettings", "size_options"]


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """The bounds and the size of sums by item, the size of ranges of keys, and what people have."""

    low: float | None
    high: float | None
    depth: int
    width: int | None
    bits: int
    prefix: int | None
    per_person: int | None
    cells: int | None
    per_cell: int | None
    most_people: int | None

    def person_bound(self, max_events_per_user: int) -> PersonBound | None:
        """Return what is counted of one person of values or keys; None if events are protected.

        Args:
            max_events_per_user: The number of declared events.

        Raises:
            ArgumentTypeError: A limit of people alone.
            ArgumentValueError: A number outside its range, or events declared too.
        """
        events = self.per_person
        return self._bound("--per-person", max_events_per_user, given=events, events=events)

    def bound_of_cells(self, max_events_per_user: int) -> PersonBound | None:
        """Return what is counted of one person of items; None if events are protected.

        Args:
            max_events_per_user: The number of declared events.

        Raises:
            ArgumentTypeError: Events of a cell or a limit of people alone.
            ArgumentValueError: A number outside its range, or events declared too.
        """
        if self.cells is None and self.per_cell is not None:
            raise ArgumentTypeError("--per-cell: expected --cells too, got none")
        return self._bound(
            "--cells", max_events_per_user, given=self.cells, cells=self.cells, events=self.per_cell
        )

    def _bound(
        self,
        option: str,
        max_events_per_user: int,
        *,
        given: int | None,
        cells: int | None = 1,
        events: int | None,
    ) -> PersonBound | None:
        """Return the bound of an option; None if it is not given."""
        from lazysketch.privacy.person_bound import PersonBound  # late: the help needs no NumPy

        if given is None or cells is None:
            if self.most_people is not None:
                raise ArgumentTypeError(f"--most-people: expected {option} too, got none")
            return None
        if max_events_per_user != 1:
            raise ArgumentValueError(
                f"--max-events-per-user: expected none with {option}, which bounds the events of a "
                f"person, got {max_events_per_user}"
            )
        try:
            return PersonBound(
                cells=cells, events=1 if events is None else events, most_people=self.most_people
            )
        except ArgumentValueError as error:
            name = "per_person" if option == "--per-person" else "per_cell"
            raise ArgumentValueError(str(error).replace("events:", f"{name}:", 1)) from None


def size_options(command: Command) -> Command:
    """Add the options; the command gets them as ``size``."""
    return gathered(SizeSettings, "size", *_SIZE)(command)


_SIZE: Final[tuple[Decorator, ...]] = (
    click.option(
        "--low",
        type=float,
        metavar="VALUE",
        help="With --of sums: smaller values count as this one.  [default: none]",
    ),
    click.option(
        "--high",
        type=float,
        metavar="VALUE",
        help="With --of sums: larger values count as this one.  [default: none]",
    ),
    option_with_default("--depth", type=int, default=5, help="With --of sums: rows."),
    click.option(
        "--width",
        type=int,
        metavar="N",
        help="With --of sums and ranges: buckets per row.  [default: 1024; ranges: 4096]",
    ),
    option_with_default(
        "--bits",
        type=click.IntRange(min=1, max=64),
        default=32,
        metavar="N",
        help="With --of ranges: bits of a key.",
    ),
    click.option(
        "--prefix",
        type=click.IntRange(min=1, max=64),
        metavar="N",
        help="With --of ranges: bits of the networks whose error is predicted.  [default: half of "
        "--bits]",
    ),
    click.option(
        "--per-person",
        type=int,
        metavar="N",
        help="With --of values and ranges: protect people, of whom so many values or keys count.  "
        "[default: none; events are protected]",
    ),
    click.option(
        "--cells",
        type=int,
        metavar="N",
        help="With --of sums: protect people, of whom events of about N different items count.  "
        "[default: none; events are protected]",
    ),
    click.option(
        "--per-cell",
        type=int,
        metavar="N",
        help="With --cells: events of one person that count in each of these cells.  [default: 1]",
    ),
    click.option(
        "--most-people",
        type=int,
        metavar="N",
        help="With --per-person or --cells: count the first N people only, which doubles the "
        "noise.  [default: all]",
    ),
)
