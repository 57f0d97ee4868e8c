"""Slices of a public range of time, by the times of the events: each is a block of its own.

Events come in any order of their times, so all slices are open until the end of the input, where
they are published together: there is no end of a slice at which a block could have published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.windows.boundaries import TimeRange
from lazysketch.windows.by_time import ByTime
from lazysketch.windows.cuts import TimeCut
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.window import AnyWindow
from lazysketch.windows.window_tables import WindowMaker

__all__ = ["ByTimeSlices", "TimeSlidingCut"]


class TimeSlidingCut(TimeCut):
    """Slices of a public range."""

    def __init__(self, time_range: TimeRange, *, span: int) -> None:
        """Cut a range by the time of each event; ``span`` slices are a window."""
        super().__init__(time_range)
        self.span = span

    def opened(
        self,
        tables: WindowMaker[Any],
        *,
        most: int,  # noqa: ARG002
        since: Progress | None = None,
    ) -> OpenWindows[Any]:
        """Open all slices of the range; all are kept."""
        return ByTimeSlices(tables, time_range=self._range, since=since)

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        return f"{super().description}, {self.span} in a window"


class ByTimeSlices(ByTime[HeavyHitters]):
    """All slices of a public range, open until the end of the input.

    What is kept is as for slices of a clock: the begin of the first slice, and each end.
    """

    @property
    def ended(self) -> tuple[AnyWindow, ...]:
        """The begin of the first slice and the ends of all, after ``finish``."""
        if not self.finished:
            return ()
        first, *others = super().ended
        return (replace(first, end=first.begin), first, *others)
