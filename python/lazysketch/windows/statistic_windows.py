"""Base of windows of a statistic that is no list of items: how they are cut, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sketches.live_state import exclusive
from lazysketch.specification.table_spec import TableSpec
from lazysketch.windows.cuts import Cut, cut_of
from lazysketch.windows.durations import instant_of
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.public_facts import Held, KeptWindows
from lazysketch.windows.running_windows import MOST_KEPT, RunningWindows
from lazysketch.windows.window_tables import WindowMaker

__all__ = ["KEEP", "Origins", "StatisticWindows"]

KEEP: Final = 24
"""Ended windows that are kept by default."""
_MOST_MEMORY: Final = 1 << 32
_BYTES_OF_A_CELL: Final = 32  # published, pending and of the open step; of 64 bits at most

Origins: TypeAlias = Callable[[TableSpec, Cut, int], tuple[WindowMaker[Any], Progress | None]]


class StatisticWindows(RunningWindows[Held], KeptWindows[Held]):
    """Windows of which each has one table of its own, of counts that are not those of items."""

    def _make(
        self,
        origin: Origins,
        described: Callable[[Cut], TableSpec],
        *,
        example: str,
        every: str | timedelta | int | None,
        keep: int,
        begin: str | datetime | None,
        end: str | datetime | None,
        slices: int | None,
        clock: Callable[[], float] | None,
    ) -> None:
        """Choose the cut, and open windows with the tables and the progress of ``origin``.

        ``described`` returns the description of the table of a window, which ``origin`` takes.
        """
        if every is None:
            raise ArgumentTypeError(f"every: expected a length, as in {example}, got none")
        cut = cut_of(every, begin=begin, end=end, slices=slices, clock=clock)
        kept = checked_integer("keep", keep, most=MOST_KEPT)
        spec = described(cut)
        _check_memory(cut, spec)
        tables, since = origin(spec, cut, kept)
        self._run(cut, tables, since, kept)

    def _count_one(self, event: Any, time: datetime | None) -> None:
        """Count one event."""
        if time is not None:
            self._count([event], [instant_of("time", time)])
        elif not self._add_converted(event):
            self._count([event], None)

    @exclusive
    def _count(self, events: object, times: object) -> None:
        """Count many events, each in one window."""
        self._opened().add(self._converted(events), None, times)

    def _add_converted(self, event: Any) -> bool:
        """Count one event without the detours of a batch, if no window ends before or with it."""
        return self._add_one(event, 1, None)

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


def _check_memory(cut: Cut, spec: TableSpec) -> None:
    """Raise if the windows of a range, which are all open, need more memory than a machine has."""
    needed = cut.open_windows * spec.width * (_BYTES_OF_A_CELL + spec.bits // 8)
    if needed > _MOST_MEMORY:
        raise ArgumentValueError(
            f"every: expected windows of at most {_MOST_MEMORY:,} bytes from begin to end, "
            f"got {needed:,} bytes in {cut.open_windows:,} windows"
        )
