"""The live tables of windows, and what is published of them.

A live table is a :class:`~lazysketch.HeavyHitters`, or one table per level of a hierarchy. When its
window ends, its release and names, which are public, are kept, and the table is closed: its key and
exact counts are destroyed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Generic, Protocol, TypeAlias, TypeVar

from lazysketch import _native
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec, JointPrivacy, LevelsPrivacy
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key
from lazysketch.windows.batches import Weights, check_batch
from lazysketch.windows.window import AnyWindow, Window

__all__ = [
    "CoreBatch",
    "LiveTable",
    "Moment",
    "One",
    "OneTable",
    "Table",
    "WindowMaker",
    "WindowTables",
    "core_tables",
    "published",
]

Moment: TypeAlias = datetime | int
CoreBatch: TypeAlias = tuple[_native.PrivateSketch, object, object]
"""A table of the core, the items that it counts, and their weights or None."""


class LiveTable(Protocol):
    """What counts the events of one window."""

    @property
    def step(self) -> int:
        """Steps taken."""

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event."""

    def finish(self) -> None:
        """Publish everything pending, as the last step."""

    def close(self) -> None:
        """Destroy keys and counts."""


class OneTable(LiveTable, Protocol):
    """What counts the events of one window in one table of the core."""

    @property
    def _table(self) -> _native.PrivateSketch: ...

    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None:
        """Take one step with an event."""

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Take one step for each of many events."""


Table = TypeVar("Table", bound=LiveTable)
One = TypeVar("One", bound=OneTable)


def core_tables(table: LiveTable) -> tuple[_native.PrivateSketch, ...]:
    """Return the tables of the core in which a window counts.

    Args:
        table: that of the window.
    """
    several: tuple[_native.PrivateSketch, ...] | None = getattr(table, "tables", None)
    return (table._table,) if several is None else tuple(several)  # type: ignore[attr-defined]


class WindowMaker(ABC, Generic[Table]):
    """Makes what counts the events of a window, and knows what is published of it."""

    @abstractmethod
    def make(self, number: int) -> Table:
        """Return the empty table of a new window.

        Args:
            number: number of the window.
        """

    @abstractmethod
    def add(self, table: Table, items: object, weights: object, user: object) -> None:
        """Count events in the open step of a window: all of them, or none if the call raises.

        Args:
            table: that of the window.
            items: items of the events.
            weights: one integer per item, or None.
            user: the person of each event, or None if people are not bounded.
        """

    def check(self, items: object, weights: Weights | None) -> None:
        """Raise every error that any of the tables would raise, before the first of them counts.

        Args:
            items: items of the events, as a sequence.
            weights: of the events, or None.
        """
        check_batch(items, weights, max_weight=self.max_weight)

    def core_batches(self, table: Table, items: object, weights: object) -> tuple[CoreBatch, ...]:
        """Return what each table of the core counts of a batch in the open step of a window.

        Args:
            table: that of the window.
            items: items of the events.
            weights: of the events, or None.
        """
        return ((core_tables(table)[0], items, weights),)

    @abstractmethod
    def published(
        self, table: Table, *, ended: bool, number: int, begin: Moment, end: Moment, whole: bool
    ) -> AnyWindow:
        """Return the published part of a window.

        Args:
            table: that of the window.
            ended: True if the window has ended.
            number: number of the window.
            begin: its begin.
            end: its end, or of an open window of steps the steps so far.
            whole: False if the window was opened late or ended early.
        """

    def refused(self, table: Table) -> int:
        """Return how many events of a window were beyond the bounds of people.

        Args:
            table: that of the window, closed or not.
        """
        people = _native.People.of_table(core_tables(table)[0])
        return 0 if people is None else people.refused

    @property
    @abstractmethod
    def privacy(self) -> JointPrivacy | LevelsPrivacy | SumsPrivacy:
        """The guarantee of one window, which is that of all windows together."""

    @property
    @abstractmethod
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""

    @property
    @abstractmethod
    def bounds_people(self) -> bool:
        """True if windows bound people, each on its own: none depends on what others counted."""

    @property
    @abstractmethod
    def max_weight(self) -> int:
        """Largest weight of one event."""

    @property
    def listed(self) -> tuple[Item, ...]:
        """The public list of items; empty with discovery."""
        return ()


class WindowTables(WindowMaker[HeavyHitters]):
    """Maker of the live tables; all have the same hash seed, so that releases can be merged."""

    def __init__(self, spec: HeavyHittersSpec, *, key: Key, place: str = "one window") -> None:
        """Take the description and the master key of all tables, and what is one of them."""
        self._spec, self._key, self._place = spec, key, place
        self._reasons: tuple[str, ...] = ()

    def make(self, number: int) -> HeavyHitters:
        """Return the empty table of a new window.

        Args:
            number: number of the window.
        """
        table = self._table(number)
        if self._spec.table.hash_seed is None:
            self._spec = table.spec
        self._reasons = table.not_private_because
        return table

    def _table(self, number: int) -> HeavyHitters:  # noqa: ARG002 -- in a store it has an id
        """Return the table of a window, under a fresh sketch id."""
        return HeavyHitters.from_spec(self._spec, key=self._key)

    def add(self, table: HeavyHitters, items: object, weights: object, user: object) -> None:
        """Count events in the open step of a window."""
        table._table._add_to_batch(items, weights, user=user)

    def published(
        self,
        table: HeavyHitters,
        *,
        ended: bool,
        number: int,
        begin: Moment,
        end: Moment,
        whole: bool,
    ) -> Window:
        """Return the published part of a window."""
        return published(table, ended=ended, number=number, begin=begin, end=end, whole=whole)

    @property
    def listed(self) -> tuple[Item, ...]:
        """The public list of items; empty with discovery."""
        return self._spec.domain

    @property
    def bounds_people(self) -> bool:
        """True if windows bound people."""
        return self._spec.table.person_bound is not None

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self._spec.table.max_weight

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of one window, which is that of all windows together.

        A person, whose events may lie in many windows, is protected within one of them.
        """
        counts = self._spec.table.privacy_unless(self._reasons)
        within = None if counts.person_bound is None else self._place
        return self._spec.privacy_of(counts, within=within)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons


def published(
    table: HeavyHitters, *, ended: bool, number: int, begin: Moment, end: Moment, whole: bool
) -> Window:
    """Return the published part of a window, without truncated names, which cannot be queried.

    Args:
        table: live table of the window.
        ended: True if the window has ended.
        number: number of the window.
        begin: its begin.
        end: its end, or of an open window of steps the steps so far.
        whole: False if the window was opened late or ended early.
    """
    names = tuple(item for item, complete, _ in table._candidates() if complete)
    return Window(
        number=number,
        begin=begin,
        end=end,
        ended=ended,
        whole=whole,
        release=table.release(),
        names=names,
    )
