"""Slices of a public range of time, by the times of the events, in blocks of one sketch each.

Events come in any order of their times, so all slices are open until the end of the input. Until
then the core keeps the exact counts of each slice apart, as steps of its block that have not ended.
``finish`` takes the steps one by one, in the order of time: so blocks publish what those of a clock
would, and each end of a slice is kept.
"""

from __future__ import annotations

from typing import Any

from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.specification.schedules import Batch
from lazysketch.windows.boundaries import TimeRange
from lazysketch.windows.by_time import ByTime
from lazysketch.windows.cuts import TimeCut, leaves_of
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.window import AnyWindow, instant
from lazysketch.windows.window_tables import WindowMaker

__all__ = ["ByTimeSlices", "TimeSlidingCut"]


class TimeSlidingCut(TimeCut):
    """Blocks of slices of a public range."""

    def __init__(
        self, time_range: TimeRange, *, span: int, block: int, discovery_epoch: int
    ) -> None:
        """Cut a range by the time of each event; ``span`` slices are a window."""
        super().__init__(time_range)
        self.span, self._epoch = span, discovery_epoch
        self.steps, self.schedule = block, Batch(horizon=leaves_of(block))
        self.open_windows = -(-time_range.windows // block)
        self.open_steps, self.open_epochs = block, -(-block // discovery_epoch)

    def opened(
        self,
        tables: WindowMaker[Any],
        *,
        most: int,  # noqa: ARG002
        since: Progress | None = None,
    ) -> OpenWindows[Any]:
        """Open all slices of the range; all are kept."""
        return ByTimeSlices(tables, time_range=self._range, slices=self.steps, since=since)

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        blocks = f"{super().description}, {self.steps} slices"
        return f"{blocks}, {self.span} in a window, names every {self._epoch}"

    @property
    def discovery_epoch(self) -> int:
        """Slices after which names are published."""
        return self._epoch


class ByTimeSlices(ByTime[HeavyHitters]):
    """All slices of a public range, open until the end of the input.

    What is kept is as for slices of a clock: the begin of the first slice, and each end.
    """

    @property
    def ended(self) -> tuple[AnyWindow, ...]:
        """The begin of the first slice and the ends of all, after ``finish``."""
        return super().ended if self.finished else ()

    @property
    def finished(self) -> bool:
        """True after ``finish``."""
        return self._over and len(self._done) == self._range.windows + 1

    def _publish(self) -> None:
        if not self._done:
            self._done.append(self._prefix(0, self._live[0], slices=0, ended=False))
        for number, table in enumerate(self._live):
            first = number * self._slices
            slices = min(self._slices, self._range.windows - first)
            # A step that is taken again has no events, and what is published again is the same.
            for ended in range(len(self._done) - first, slices + 1):
                table.tick(ended - table.step)
                is_last = ended == slices
                if is_last:
                    table.finish()
                self._done.append(self._prefix(number, table, slices=ended, ended=is_last))
            table.close()

    def _prefix(self, number: int, table: HeavyHitters, *, slices: int, ended: bool) -> AnyWindow:
        """Return what a block published at the end of some of its slices."""
        first = number * self._slices
        return self._tables.published(
            table,
            ended=ended,
            number=number,
            begin=instant(self._range.begin(first)),
            end=instant(self._range.begin(first + slices)),
            whole=True,
        )
