"""The live table: what has been published so far, the pace and the time left.

It is shown on standard error while a stream is read, on a terminal only. A thread draws it, by
the clock, so that it lives while the input is silent.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from lazysketch.cli.view.live_table import heading, live_table
from lazysketch.cli.view.output import visible
from lazysketch.cli.view.report import steps_of
from lazysketch.cli.view.trends import Trends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

    from lazysketch.cli.run.targets import Subject

EVERY = 0.25  # seconds from one refresh to the next
_SLOWEST_PAINT = 0.25  # so often is the terminal painted, for one that changes its size
_SHARE_OF_TIME = 10  # the live table may take one part in so many
_LONG = 2.0  # seconds of reading after which the time left is worth a guess
_RECENT = 10.0  # seconds over which the pace is taken
_MINUTE = 60
_HOUR = 60 * _MINUTE


def live(
    subject: Subject,
    *,
    name: str,
    part_read: Callable[[], float | None],
    every: float | None = None,
) -> AbstractContextManager[None]:
    """Show the rows on standard error while the block runs, if that is a terminal.

    Reading a release is always covered by the guarantee, so looking costs no privacy;
    it costs time, at most one part in ten.

    Args:
        subject: What is being fed.
        name: What it is fed with.
        part_read: Tells how much of the input has been read, 0 to 1, or None for a pipe.
        every: Seconds from one refresh to the next; a quarter if None.
    """
    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        return nullcontext()
    table = _LiveTable(
        subject,
        name=name,
        part_read=part_read,
        every=EVERY if every is None else every,
        console=console,
    )
    return _live(table)


def pace(*, steps: int, seconds: float, rate: float, part: float | None) -> str:
    """Say how fast a stream is read and, of a long one whose length is known, the time left.

    Args:
        steps: Read so far.
        seconds: Since the beginning.
        rate: Steps per second of late.
        part: How much of the input has been read, 0 to 1; None if that is not known.

    Example:
        >>> pace(steps=1_000_000, seconds=10.0, rate=90_000.0, part=0.25)
        '1,000,000 steps in 10 s, 90,000/s, 25 %, 30 s left'
    """
    shown = f"{rate:,.0f}" if rate >= 1 or not rate else f"{rate:.2f}"
    line = f"{steps_of(steps)} in {duration(seconds)}, {shown}/s"
    if part is None or not 0 < part <= 1:
        return line
    line += f", {part:.0%}".replace("%", " %")
    if seconds < _LONG:
        return line
    return f"{line}, {duration(seconds * (1 - part) / part)} left"


def duration(seconds: float) -> str:
    """Write a time with the precision that a guess deserves.

    Example:
        >>> duration(42.4), duration(190), duration(8000)
        ('42 s', '3 min 10 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


@contextmanager
def _live(table: _LiveTable) -> Iterator[None]:
    with Live(
        get_renderable=table.render,
        console=table.console,
        refresh_per_second=1 / min(table.every, _SLOWEST_PAINT),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


class _LiveTable:
    """The table as it was when last computed, and anew once that is worth its time."""

    def __init__(
        self,
        subject: Subject,
        *,
        name: str,
        part_read: Callable[[], float | None],
        every: float,
        console: Console,
    ) -> None:
        self.console = console
        self.every = every
        self._subject = subject
        self._name = name
        self._part_read = part_read
        self._trends = Trends()
        self._begin = time.perf_counter()
        self._next_at = self._begin + min(every, EVERY)
        self._pace = deque([(self._begin, 0)])
        self._shown: RenderableType = Text(f"reading {visible(name)} ...")

    def render(self) -> RenderableType:
        now = time.perf_counter()
        if now < self._next_at:
            return self._shown
        self._shown = self._drawn(now)
        finished = time.perf_counter()
        self._next_at = finished + max(_SHARE_OF_TIME * (finished - now), self.every)
        return self._shown

    def _drawn(self, now: float) -> RenderableType:
        moment = self._subject.moment()
        if moment is None:
            return self._shown
        if moment.progress is not None:
            return live_table(
                moment.rows,
                [None] * len(moment.rows),
                head=[heading(self._name, progress=moment.progress), *map(Text, moment.waiting)],
                foot=[Text(moment.promise, style="dim")],
                console=self.console,
            )
        steps = moment.release.step
        progress = pace(
            steps=steps,
            seconds=now - self._begin,
            rate=self._rate(now, steps),
            part=self._part_read(),
        )
        whole = [row for row in moment.rows if row.get("complete", True)]
        found = self._trends.of(moment.release, [row["item"] for row in whole])
        by_item = {row["item"]: ratio for row, ratio in zip(whole, found, strict=True)}
        return live_table(
            moment.rows,
            [by_item.get(row["item"]) for row in moment.rows],
            head=[heading(self._name, progress=progress), *map(Text, moment.waiting)],
            foot=[Text(moment.promise, style="dim")],
            console=self.console,
        )

    def _rate(self, now: float, steps: int) -> float:
        """Return steps per second of late."""
        self._pace.append((now, steps))
        while len(self._pace) > 2 and self._pace[1][0] <= now - _RECENT:
            self._pace.popleft()
        begin, before = self._pace[0]
        return (steps - before) / (now - begin)
