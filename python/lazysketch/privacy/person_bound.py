"""What is counted of one person, and protected together.

In each row of a table at most :attr:`PersonBound.cells` cells hold events of one person, and each
of them at most :attr:`PersonBound.events`. An event beyond that is an empty step in the whole
table. Whether an event is counted depends on the events of its person alone.

Relative to a stream in which a person's steps are empty, the table of counts then moves by at most
sqrt(depth * cells) * events, times the largest weight: sqrt(cells) less than if as many events were
declared with ``max_events_per_user``, which have to be assumed in one cell.

Source: docs/theory.md, "People".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import first_values

__all__ = [
    "CountedEvents",
    "CountedOnce",
    "CountedPerson",
    "PersonBound",
    "bounds_in_words",
    "bounds_of_levels",
    "checked_person_bound",
    "checked_stated_bound",
    "largest_bound",
    "protects_people",
]

_MOST_CELLS: Final = 4_096
_MOST_EVENTS: Final = 65_535
_MOST_PEOPLE: Final = 2**32 - 2


@dataclass(frozen=True, slots=True)
class PersonBound:
    """What is counted of one person.

    Guarantee: the guarantee of a table with a bound covers everything that a person does, however
    many events that is.

    Args:
        cells: cells of each row of the table that hold events of the person, 1 to 4,096: about the
            number of different items that are counted. 1 by default, and for values and keys of
            ranges, which a person may have anywhere.
        events: events of the person in each of these cells, 1 to 65,535; repetitions of an item. Of
            a distribution or of ranges: values or keys of the person.
        most_people: people whose events are counted, the first ones of the stream; None for all. A
            limit bounds the memory, of about 60 + 6 * depth * cells bytes for each person, and
            doubles the noise.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: docs/theory.md, "People".

    Example:
        >>> print(PersonBound(cells=10))
        of whom 1 event in each of 10 cells of every sketch row are counted
    """

    cells: int = 1
    events: int = 1
    most_people: int | None = None

    def __post_init__(self) -> None:
        """Check every field and store plain values."""
        for name, most in (("cells", _MOST_CELLS), ("events", _MOST_EVENTS)):
            self._store(name, checked_integer(name, getattr(self, name), most=most))
        if self.most_people is not None:
            people = checked_integer("most_people", self.most_people, most=_MOST_PEOPLE)
            self._store("most_people", people)

    @property
    def people(self) -> int:
        """The people whose identities may collide with that of one: 2^32, as the account has them.

        A limit does not lower it: a person who is not counted may be taken for one who is.
        """
        return _MOST_PEOPLE + 2

    @property
    def counted_events(self) -> int:
        """The largest number of events of one person that are counted.

        Each takes one of the ``cells * events`` places that every row has for the person.
        """
        return self.cells * self.events

    def _store(self, name: str, value: int) -> None:
        object.__setattr__(self, name, value)

    def __str__(self) -> str:
        """Return the bound in words."""
        return bounds_in_words((self,))


@dataclass(frozen=True, slots=True)
class CountedOnce(PersonBound):
    """What a count of distinct items counts of an item: one bit, however many events it has.

    All events of an item are protected together: those of a person if items are people, which the
    count cannot know.

    Example:
        >>> print(CountedOnce())
        all of its events
    """

    cells: int = 1
    once: bool = True

    def __str__(self) -> str:
        """Return the bound in words."""
        return "all of its events"


@dataclass(frozen=True, slots=True)
class CountedEvents(PersonBound):
    """What a table whose cells are parts of sums counts of a person: so many events, anywhere.

    Any two events may move the same sums, so that a limit of cells would lower no noise.

    Example:
        >>> print(CountedEvents(events=10))
        of whom 10 events are counted
    """

    anywhere: bool = True

    def __str__(self) -> str:
        """Return the bound in words."""
        events = "1 event is" if self.events == 1 else f"{self.events:,} events are"
        return f"of whom {events} counted{_among(self.most_people)}"


@dataclass(frozen=True, slots=True)
class CountedPerson(PersonBound):
    """What a count of distinct people counts of a person: one bit, however many events.

    Whether items are people is known where a column of people is named, as in a pipeline.

    Example:
        >>> print(CountedPerson())
        of whom each is counted once
    """

    person: bool = True

    def __str__(self) -> str:
        """Return the bound in words."""
        return "of whom each is counted once"


def protects_people(bound: PersonBound | None) -> bool:
    """Return True if a bound says what is counted of a person, whatever the items are.

    Args:
        bound: that of a guarantee; None where events are protected.
    """
    return bound is not None and not isinstance(bound, CountedOnce)


def bounds_in_words(bounds: Sequence[PersonBound]) -> str:
    """Return what several tables count of a person, if they count one stream.

    Args:
        bounds: one bound per table, with one limit of people; at least one.

    Returns:
        English text, for the middle of a sentence.

    Example:
        >>> print(bounds_in_words((PersonBound(cells=2, events=9), PersonBound(cells=30))))
        of whom 9 events in each of 2 cells (level 0) and 1 event in each of 30 cells (level 1) of \
every sketch row are counted
    """
    parts = [_amount(bound) for bound in bounds]
    if len(set(parts)) > 1:
        parts = [f"{part} (level {level})" for level, part in enumerate(parts)]
        parts = [", ".join(parts[:-1]), parts[-1]]
    else:
        parts = parts[:1]
    people = _among(bounds[0].most_people)
    return f"of whom {' and '.join(parts)} of every sketch row are counted{people}"


def _among(most_people: int | None) -> str:
    return "" if most_people is None else f", of the first {most_people:,} people"


def _amount(bound: PersonBound) -> str:
    cells = "1 cell" if bound.cells == 1 else f"each of {bound.cells:,} cells"
    events = "1 event" if bound.events == 1 else f"{bound.events:,} events"
    return f"{events} in {cells}"


def bounds_of_levels(value: object, *, levels: int) -> tuple[PersonBound | None, ...]:
    """Return the bound of each level of a hierarchy, or raise.

    Args:
        value: value of the argument ``person_bound``: a bound for all levels, one per level, or
            None.
        levels: number of levels.

    Raises:
        ArgumentTypeError: neither a bound, nor bounds, nor None; or what
            :func:`checked_person_bound` refuses.
        ArgumentValueError: a wrong number of bounds, or different limits of people.
    """
    if value is None or isinstance(value, PersonBound):
        return (checked_person_bound(value),) * levels
    try:
        given = first_values(value, levels + 1) if isinstance(value, Sequence) else []
    except (TypeError, ValueError):  # cannot be iterated over, such as memory that was released
        given = []
    if not given or not all(isinstance(bound, PersonBound) for bound in given):
        got = type(value).__name__
        raise ArgumentTypeError(
            f"person_bound: expected a PersonBound, a list of one per level, or None, got {got}"
        )
    bounds = tuple(bound for bound in map(checked_person_bound, given) if bound is not None)
    if len(bounds) != levels:
        raise ArgumentValueError(
            f"person_bound: expected {levels}, one per level, got {len(bounds)} or more"
        )
    if len({bound.most_people for bound in bounds}) > 1:
        raise ArgumentValueError(
            "person_bound: expected one most_people for all levels, got different ones"
        )
    return bounds


def checked_person_bound(value: object) -> PersonBound | None:
    """Return a bound to count by, or None, or raise.

    Guarantee: a table states the bound that it counts by. :class:`CountedOnce`,
    :class:`CountedPerson` and :class:`CountedEvents` say what some statistics make of one; of any
    other table they would be false.

    Args:
        value: value of the argument ``person_bound``.

    Raises:
        ArgumentTypeError: neither a bound nor None, or what a statistic states.

    Example:
        >>> checked_person_bound(CountedOnce())
        Traceback (most recent call last):
        lazysketch.errors.ArgumentTypeError: person_bound: expected a PersonBound or None, got \
CountedOnce, which says what a count of distinct items counts
    """
    if isinstance(value, CountedOnce | CountedPerson | CountedEvents):
        got = type(value).__name__
        what = "values or keys" if isinstance(value, CountedEvents) else "distinct items"
        raise ArgumentTypeError(
            f"person_bound: expected a PersonBound or None, got {got}, which says what a count of "
            f"{what} counts"
        )
    return checked_stated_bound(value)


def checked_stated_bound(value: object) -> PersonBound | None:
    """Return what a guarantee says of people, or None, or raise.

    Args:
        value: value of the argument ``person_bound`` of a guarantee.

    Raises:
        ArgumentTypeError: neither a bound nor None.
    """
    if value is None or isinstance(value, PersonBound):
        return value
    got = type(value).__name__
    raise ArgumentTypeError(f"person_bound: expected a PersonBound or None, got {got}")


def largest_bound(bounds: Sequence[PersonBound | None]) -> PersonBound | None:
    """Return what is counted of a person by any of several mechanisms, at most.

    Args:
        bounds: that of each mechanism; None where events are protected.

    Returns:
        A bound within which all are; None if one protects events.
    """
    people = [bound for bound in bounds if bound is not None]
    if not people or len(people) < len(bounds):
        return None
    if all(isinstance(bound, CountedOnce) for bound in people):
        return CountedOnce()
    if all(isinstance(bound, CountedPerson) for bound in people):
        return CountedPerson()
    limits = [bound.most_people for bound in people]
    anywhere = all(isinstance(bound, CountedEvents | CountedPerson) for bound in people)
    return (CountedEvents if anywhere else PersonBound)(
        cells=max(bound.cells for bound in people),
        events=max(bound.events for bound in people),
        most_people=None if None in limits else max(limit for limit in limits if limit),
    )
