"""Which events of each person are counted: the rule, event by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

Columns = Callable[[Hashable], Sequence[int]]
"""The column of an item in each row."""


class Table:
    """A table with a bound: at most `cells` of each row hold `events` events of one person each."""

    def __init__(self, columns: Columns, *, cells: int, events: int) -> None:
        self.columns, self.cells, self.events = columns, cells, events
        self.of: dict[Hashable, list[Counter[int]]] = {}

    def admits(self, person: Hashable, item: Hashable) -> bool:
        """Every row has room for the event."""
        columns = self.columns(item)
        rows = self.of.setdefault(person, [Counter() for _ in columns])
        return all(
            (column in row or len(row) < self.cells) and row[column] < self.events
            for row, column in zip(rows, columns, strict=True)
        )

    def add(self, person: Hashable, item: Hashable) -> None:
        """Count the event."""
        for row, column in zip(self.of[person], self.columns(item), strict=True):
            row[column] += 1


def counted(
    tables: Sequence[Table],
    people: Iterable[Hashable],
    items: Iterable[Sequence[Hashable]],
    *,
    most_people: int | None = None,
) -> list[bool]:
    """Whether each event is counted; `items` has one item per table for each event."""
    known: dict[Hashable, None] = {}
    result = []
    for person, names in zip(people, items, strict=True):
        if person not in known and (most_people is None or len(known) < most_people):
            known[person] = None
        accepted = person in known and all(
            table.admits(person, name) for table, name in zip(tables, names, strict=True)
        )
        if accepted:
            for table, name in zip(tables, names, strict=True):
                table.add(person, name)
        result.append(accepted)
    return result
