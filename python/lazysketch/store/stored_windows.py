"""Windows of a store: what the clock says is part of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, cast

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec
from lazysketch.heavy_hitters.hitters_spec import HittersOptions
from lazysketch.releases.release import Release
from lazysketch.sketches.live_state import exclusive
from lazysketch.store.calls import Call, Counts
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.recovered_objects import Origin
from lazysketch.store.stored_changes import (
    Changes,
    reads_after_commit,
    unknown_change,
)
from lazysketch.store.stored_objects import people_of, tables_of
from lazysketch.store.table_numbers import WITHOUT_EVENTS, number_of_window
from lazysketch.windows.batches import Weights
from lazysketch.windows.batches import people_of as people_of_batch
from lazysketch.windows.boundaries import checked_clock, checked_times
from lazysketch.windows.cuts import LARGEST_WINDOW, ClockCut, Cut
from lazysketch.windows.live_windows import LiveWindows
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.public_facts import Held
from lazysketch.windows.running_windows import RunningWindows, closed_windows
from lazysketch.windows.window import Window, merged
from lazysketch.windows.window_tables import WindowTables
from lazysketch.windows.windows import Windows

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch.releases.items import Item
    from lazysketch.store.journal import Journal

__all__ = [
    "StoredWindows",
    "StoredWindowsOptions",
    "TablesOfWindows",
    "WindowsOfItems",
    "WindowsOfStore",
]


class StoredWindowsOptions(HittersOptions, total=False):
    """Keyword arguments of windows, as for :class:`lazysketch.Windows`.

    Args:
        every: length of a window.
        keep: number of ended windows that are kept.
        begin: begin of a range.
        end: end of a range.
        slices: parts of a window by the clock.
        clock: returns seconds since 1970; it may differ from life to life.
        domain: a public list of items.
    """

    every: str | timedelta | int | None
    keep: int
    begin: str | datetime | None
    end: str | datetime | None
    slices: int | None
    clock: Callable[[], float] | None
    domain: Iterable[Item] | None


class _LoggedClock:
    """A clock that says what the last record about it says."""

    def __init__(self, clock: Callable[[], float], said: float | None) -> None:
        self._clock = clock
        self.reading = self.now() if said is None else said

    def __call__(self) -> float:
        return self.reading

    def now(self) -> float:
        """Return what the clock says now."""
        seconds = self._clock()
        checked_clock(seconds)
        return float(seconds)


class _StoredTables(WindowTables):
    """Maker of the tables of a store: each window has its own id, and they share a hash seed."""

    def __init__(self, spec: HeavyHittersSpec, origin: Origin, *, place: str) -> None:
        self._origin = origin
        super().__init__(spec, key=origin(WITHOUT_EVENTS)[0], place=place)
        # A table that counts nothing gives the seed, the same in every life.
        empty = self.make(WITHOUT_EVENTS)
        self.digest = empty._table._parameters_digest.hex()
        # It identifies people too, the same in all windows: a batch is logged before it is split.
        self.identities = _native.People.of_table(empty._table)
        empty.close()

    def _table(self, number: int) -> HeavyHitters:
        key, state = self._origin(number_of_window(number))
        return HeavyHitters._made(self._spec, key=key, state=state)


def _check_positions(positions: Counts, *, rows: int) -> None:
    """Raise unless the positions ascend and lie within the rows."""
    ascend = bool((positions[1:] > positions[:-1]).all())
    if len(positions) and not (ascend and int(positions[-1]) < rows):
        raise ArgumentValueError(
            "empty_rows: expected ascending positions of rows, got others; nothing was applied"
        )


class _TablesOfStore(Protocol):
    """Maker of tables that are checked against those of the store."""

    digest: str
    identities: _native.People | None

    def check(self, items: object, weights: Weights | None) -> None: ...


class WindowsOfStore(Changes, RunningWindows[Held]):
    """Windows of a store, whatever they hold.

    The clock is asked before each change and each read. If it says that a window or a slice is
    over, a record says so: ends are changes of their own, and a batch that is refused ends nothing.
    """

    _CHANGES = Changes._CHANGES | {"advance"}
    _BOUNDED = "windows have"
    _STEPS_OF_PARTIALS = 0

    _clock: _LoggedClock | None
    _digest: str
    _identities_of_all: _native.People | None
    _check: Callable[[object, Weights | None], None]

    def _begun(
        self, tables: _TablesOfStore, origin: Origin, cut: Cut, kept: int
    ) -> Progress | None:
        """Take the tables of the store, and return how far the windows have come there."""
        self._digest = f"{tables.digest} {cut.description}, {kept} kept"
        self._identities_of_all, self._check = tables.identities, tables.check
        self._clock = None
        origin.check(self._digest)
        if isinstance(cut, ClockCut):
            cut.clock = self._clock = _LoggedClock(cut.clock, origin.clock_said)
        return origin.progress

    def _identities(self) -> _native.People | None:
        return self._identities_of_all

    def _join(self, journal: Journal, name: str) -> None:
        super()._join(journal, name)
        self._lock = journal.lock

    def _count_batch(self, call: Call) -> None:
        """Count a batch after the ends of windows that were before it."""
        self._advance()
        self._journal.change(self, call)

    def _add_one(self, item: Item, weight: int, user: Item | None) -> bool:  # noqa: ARG002
        return False  # every event goes through the log

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as the method without a store."""
        count = checked_integer("steps", steps, least=0, most=LARGEST_WINDOW)
        self._advance()
        self._change("tick", steps=count)

    def advance(self) -> None:
        """End the windows that are over by the clock, as the method without a store."""
        self._advance()
        if self._live.over:
            raise closed_windows()

    def finish(self) -> None:
        """Publish the open windows as the last ones, as the method without a store."""
        self._advance()
        if not self._live.finished:
            self._change("finish")

    def _batch(
        self,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        column: str | None,
        times: object,
        user: object = None,
    ) -> Call:
        call = super()._batch(
            items, weights, empty_rows=empty_rows, column=column, times=None, user=user
        )
        events = len(call.events[0])
        if call.empty_rows is not None:
            _check_positions(call.empty_rows, rows=events + len(call.empty_rows))
        return call if times is None else replace(call, times=checked_times(times, events=events))

    def _carry_out(self, call: Call) -> None:
        if call.method == "advance" and self._clock is not None and call.now is not None:
            self._clock.reading = call.now
        live = self._settled()
        if call.method == "update_many" or (call.method == "update_rows" and live.step is None):
            live.add(self._logged(call), call.weights, call.times, call.user)
        elif call.method == "update_rows":
            self._count_rows(call, live)
        elif call.method == "tick":
            live.tick(call.steps)
        elif call.method == "advance":
            live.advance()
        elif call.method == "finish":
            live.finish()
        else:
            raise unknown_change(call)

    def _logged(self, call: Call) -> object:
        """Return what the tables count of a change."""
        return call.events[0]

    def _count_rows(self, call: Call, live: OpenWindows[Any]) -> None:
        """Count the events between empty rows, and a step for each of these."""
        events, weights = call.events[0], call.weights
        self._check(events, weights)
        bounded = self._identities_of_all is not None
        people = people_of_batch(call.user, events=len(events), bounded=bounded)

        def count(part: slice) -> None:
            """Count some of the events."""
            live.add(
                events[part],
                None if weights is None else weights[part],
                None,
                None if people is None else people[part],
            )

        if call.times is not None:
            raise ArgumentTypeError("times: expected none for windows of steps, got some")
        counted = 0
        for number, row in enumerate([] if call.empty_rows is None else call.empty_rows.tolist()):
            if row - number > counted:
                count(slice(counted, row - number))
                counted = row - number
            live.tick(1)
        count(slice(counted, len(events)))

    @exclusive
    def _advance(self) -> None:
        """Log the ends of windows and slices, before a change."""
        self._refuse_nested()
        self._journal.check()
        self._log_time()

    @exclusive
    def _pass_time(self) -> None:
        # What is within another call reads what was published before that call.
        if not self._lock.nested:
            self._log_time()

    def _log_time(self) -> None:
        if self._clock is not None:
            now = self._clock.now()
            if self._live.is_due(checked_clock(now)):
                self._journal.change(self, Call(object=self._name, method="advance", now=now))

    def _clock_said(self) -> float | None:
        return None if self._clock is None else self._clock.reading

    def _publication(self) -> tuple[Release, ...]:
        window = self._live.open_window()
        if window is None:
            raise closed_windows()
        return tuple(level.release for level in window.levels)

    def _published(self) -> list[Held]:
        """Return the windows of which something is published, oldest first."""
        now = self._live.open_window()
        windows = self._live.ended if now is None else (*self._live.ended, now)
        return cast("list[Held]", list(windows))

    def _progress(self) -> Progress:
        return self._live.progress


class WindowsOfItems(WindowsOfStore[Window], LiveWindows):
    """Windows of items of a store, with levels or without."""

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count many events, each in one window, as the method without a store."""
        self._count_batch(
            self._batch(items, weights, empty_rows=None, column=column, times=times, user=user)
        )

    def update(
        self,
        item: Item,
        weight: int = 1,
        *,
        time: datetime | None = None,
        user: Item | None = None,
    ) -> None:
        """Count one event, as the method without a store."""
        LiveWindows.update(self, item, weight, time=time, user=user)

    def _last_published(self) -> list[bytes]:
        levels = zip(*(window.levels for window in self._published()), strict=True)
        return [merged(level).to_bytes() for level in levels]


class TablesOfWindows(WindowsOfItems):
    """Windows of a store with one table each."""

    def _stored(
        self, spec: HeavyHittersSpec, origin: Origin, cut: Cut, kept: int, *, place: str
    ) -> tuple[WindowTables, Progress | None]:
        """Return the tables of the store, and how far the windows have come there."""
        tables = _StoredTables(spec, origin, place=place)
        return tables, self._begun(tables, origin, cut, kept)

    def _people(self) -> dict[int, _native.People]:
        return people_of(tables_of(self))

    def _partial_table(self) -> _native.PrivateSketch:
        tables = tables_of(self)
        if self._clock is None:
            return super()._partial_table()
        if not tables:
            raise closed_windows()
        (table,) = tables.values()
        return table

    def _carry_out(self, call: Call) -> None:
        if call.method != ADDED:
            super()._carry_out(call)
            return
        self._settled()
        self._gathered(call).add_to(self._partial_table(), in_open_step=True)


@reads_after_commit
class StoredWindows(TablesOfWindows, Windows):
    """Windows of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredWindowsOptions]) -> Self:
        self = cls.__new__(cls)

        def origin_of(
            spec: HeavyHittersSpec, cut: Cut, kept: int
        ) -> tuple[WindowTables, Progress | None]:
            return self._stored(spec, origin, cut, kept, place="one window")

        self._make(origin_of, self._spec_of, **options)
        return self
