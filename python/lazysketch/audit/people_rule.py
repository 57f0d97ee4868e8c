"""Which events of each person are counted: the rule, event by event, and streams with people.

Nothing here is taken from the core, except the columns of an item.

Source: docs/theory.md, "People".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from lazysketch.audit.case import Case, places
from lazysketch.privacy.person_bound import PersonBound

__all__ = ["Event", "Rule", "Stream", "columns_of", "kept"]

Event = tuple[int, int]
"""A person and an item."""

Stream = Sequence[Sequence[Event]]
"""The events of each step: at most one, or any number under the batch schedule."""

Columns = Callable[[int], Sequence[int]]


def columns_of(case: Case, hash_seed: int) -> Columns:
    """Return the function from an item to its column in each row.

    Args:
        case: kind and shape.
        hash_seed: public seed of the hash.
    """
    return lambda item: [column for _, column, _ in places(case, hash_seed, item)]


class Rule:
    """What is known of the people of one table, and whether the next event is counted.

    Args:
        columns: the column of an item in each row.
        bound: what is counted of a person.
    """

    def __init__(self, columns: Columns, bound: PersonBound) -> None:
        """Start without people."""
        self._columns, self._bound = columns, bound
        self._held: dict[int, list[Counter[int]]] = {}

    def is_stranger(self, person: int) -> bool:
        """Return whether a person comes after the limit."""
        limit = self._bound.most_people
        return person not in self._held and limit is not None and len(self._held) >= limit

    def counts(self, person: int, item: int) -> bool:
        """Return whether an event is counted, and note it if it is.

        Args:
            person: whose event.
            item: its item.

        Returns:
            True if the person is known and every row has a place.
        """
        if not self.admits(person, item):
            return False
        self.add(person, item)
        return True

    def admits(self, person: int, item: int) -> bool:
        """Return whether the person is known, or becomes so, and every row has a place.

        Args:
            person: whose event.
            item: its item.
        """
        if self.is_stranger(person):
            return False
        columns = self._columns(item)
        held = self._held.setdefault(person, [Counter() for _ in columns])
        return all(
            len(row) + (column not in row) <= self._bound.cells and row[column] < self._bound.events
            for row, column in zip(held, columns, strict=True)
        )

    def add(self, person: int, item: int) -> None:
        """Note an event that is admitted.

        Args:
            person: whose event.
            item: its item.
        """
        for row, column in zip(self._held[person], self._columns(item), strict=True):
            row[column] += 1


def kept(case: Case, hash_seed: int, stream: Stream) -> list[list[Event]]:
    """Return the stream in which all events that are not counted are missing from their step.

    Args:
        case: a table with a bound.
        hash_seed: public seed of the hash.
        stream: all events.

    Returns:
        As many steps.
    """
    if case.spec.person_bound is None:
        raise AssertionError("case: expected a person_bound, got none")
    rule = Rule(columns_of(case, hash_seed), case.spec.person_bound)

    def counted(step: Iterable[Event]) -> list[Event]:
        return [event for event in step if rule.counts(*event)]

    return [counted(step) for step in stream]
