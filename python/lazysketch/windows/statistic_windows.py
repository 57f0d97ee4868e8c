"""Base of windows of a statistic that is no list of items: how they are cut, and what they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias, TypedDict

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import exclusive
from lazysketch.specification.table_spec import TableSpec
from lazysketch.sums.sums_spec import SumsSpec
from lazysketch.windows.cuts import Cut, cut_of
from lazysketch.windows.durations import instant_of
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.public_facts import Held, KeptWindows
from lazysketch.windows.running_windows import MOST_KEPT, RunningWindows
from lazysketch.windows.statistic_tables import Statistic, StatisticTables
from lazysketch.windows.window_tables import WindowMaker

__all__ = ["KEEP", "CutOptions", "Origins", "StatisticWindows"]

KEEP: Final = 24
"""Ended windows that are kept by default."""
_MOST_MEMORY: Final = 1 << 32
_BYTES_OF_A_CELL: Final = 32  # published, pending and of the open step; of 64 bits at most

Origins: TypeAlias = Callable[[Any, Cut, int], tuple[WindowMaker[Any], Progress | None]]


class CutOptions(TypedDict, total=False):
    """Keyword arguments that say how a stream is cut into windows, as for :class:`Windows`.

    Args:
        every: length of a window.
        keep: number of ended windows that are kept.
        begin: begin of a range.
        end: end of a range.
        slices: parts of a window by the clock.
        clock: returns seconds since 1970.
    """

    every: str | timedelta | int | None
    keep: int
    begin: str | datetime | None
    end: str | datetime | None
    slices: int | None
    clock: Callable[[], float] | None


class StatisticWindows(RunningWindows[Held], KeptWindows[Held]):
    """Windows of which each has one table of its own, of counts that are not those of items."""

    _KIND: ClassVar[type[Statistic]]
    _EXAMPLE: ClassVar[str]

    def _make(
        self,
        origin: Origins,
        *,
        every: str | timedelta | int | None = None,
        keep: int = KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        **options: Any,
    ) -> None:
        """Choose the cut, and open windows with the tables and the progress of ``origin``."""
        if every is None:
            raise ArgumentTypeError(f"every: expected a length, as in {self._EXAMPLE}, got none")
        cut = cut_of(every, begin=begin, end=end, slices=slices, clock=clock)
        kept = checked_integer("keep", keep, most=MOST_KEPT)
        spec = self._spec_of(cut, **options)
        _check_memory(cut, spec)
        tables, since = origin(spec, cut, kept)
        self._run(cut, tables, since, kept)

    @abstractmethod
    def _spec_of(self, cut: Cut, **options: Any) -> Any:
        """Return the description of the table of one window."""

    def _under(self, key: Key | None) -> Origins:
        """Return the origin of tables under a master key, a fresh one if there is none."""
        one = key_or_fresh(key)
        return lambda spec, _cut, _kept: (StatisticTables(spec, self._KIND, key=one), None)

    def _count_one(
        self,
        event: Any,
        time: datetime | None,
        *,
        weight: int = 1,
        user: Item | None = None,
    ) -> None:
        """Count one event."""
        if time is None and self._add_converted(event, weight, user):
            return
        self._count(
            [event],
            None if time is None else [instant_of("time", time)],
            weights=None if type(weight) is int and weight == 1 else [weight],
            user=None if user is None else [user],
        )

    @exclusive
    def _count(
        self, events: object, times: object, *, weights: object = None, user: object = None
    ) -> None:
        """Count many events, each in one window."""
        self._opened().add(self._converted(events), weights, times, user)

    def _add_converted(self, event: Any, weight: int, user: Item | None) -> bool:
        """Count one event without the detours of a batch, if no window ends before or with it."""
        return self._add_one(event, weight, user)

    def _converted(self, events: object) -> object:
        """Return what the tables count of events."""
        return events

    def _described(self, counted: str) -> str:
        """Return the text of the windows.

        Args:
            counted: what a window holds, in words.
        """
        state = "finished" if self._live.over else "open"
        total = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in total"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        kept = len(self._kept())
        return f"<{type(self).__name__} of {counted}, {state}, {kept} ended, {total}{mark}>"


def _check_memory(cut: Cut, spec: TableSpec | SumsSpec) -> None:
    """Raise if the windows of a range, which are all open, need more memory than a machine has."""
    tables = (spec.counts, spec.values) if isinstance(spec, SumsSpec) else (spec,)
    cells = sum(
        table.depth * table.width * (_BYTES_OF_A_CELL + table.bits // 8) for table in tables
    )
    needed = cut.open_windows * cells
    if needed > _MOST_MEMORY:
        raise ArgumentValueError(
            f"every: expected windows of at most {_MOST_MEMORY:,} bytes from begin to end, "
            f"got {needed:,} bytes in {cut.open_windows:,} windows"
        )
