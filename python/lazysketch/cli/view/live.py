"""The live table on standard error: counts published so far, pace and time left.

It is shown only on a terminal. A thread redraws it at regular times, also while the input is
silent.
"""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from lazysketch.cli.view.live_table import heading, live_table
from lazysketch.cli.view.output import visible
from lazysketch.cli.view.pace import pace
from lazysketch.cli.view.trends import Trends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

    from lazysketch.cli.view.report import Moment

EVERY: Final = 0.25  # seconds from one refresh to the next
_MAX_REPAINT: Final = 0.25  # seconds between repaints, to follow changes of the terminal's size
_MIN_PAUSE: Final = 10  # times the duration of a refresh
_PACE_SECONDS: Final = 10.0  # over which the pace is averaged
_BAR_COLUMNS: Final = 40


def live(
    moment: Callable[[], Moment | None],
    *,
    name: str,
    part_read: Callable[[], float | None],
    every: float | None = None,
) -> AbstractContextManager[None]:
    """Show the rows on standard error while the block runs, if that is a terminal.

    The guarantee covers every read of a release, so the display costs no privacy. It takes at most
    about a tenth of the time.

    Args:
        moment: Returns the public state, None before the first one; called from another thread.
        name: The name of the input.
        part_read: Returns the fraction of the input that has been read, or None for a pipe.
        every: Seconds from one refresh to the next; 0.25 if None.
    """
    if not sys.stderr.isatty():
        return nullcontext()
    console = Console(file=_Terminal(), highlight=False)
    if console.is_dumb_terminal:
        return nullcontext()
    table = _LiveTable(
        moment,
        name=name,
        part_read=part_read,
        every=EVERY if every is None else every,
        console=console,
    )
    return _shown(table.render, every=table.every, console=console)


def progress(
    *, name: str, rows: Callable[[], int], part_read: Callable[[], float | None]
) -> AbstractContextManager[None]:
    """Show how much is read on standard error while the block runs, if that is a terminal.

    For a run that publishes nothing before the end of its input. The numbers are for the operator.

    Args:
        name: The name of the input.
        rows: Returns the number of rows so far; called from another thread.
        part_read: Returns the fraction of the input that has been read.
    """
    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        return nullcontext()
    begin = time.perf_counter()

    def render() -> RenderableType:
        seconds = time.perf_counter() - begin
        steps, part = rows(), part_read() or 0.0
        line = pace(steps=steps, seconds=seconds, rate=steps / max(seconds, 1e-9), part=part)
        bar = ProgressBar(total=1.0, completed=part, width=_BAR_COLUMNS)
        end = Text("the result is published once, at the end", style="dim")
        return Group(heading(name, progress=line), bar, end)

    return _shown(render, every=EVERY, console=console)


@contextmanager
def _shown(
    render: Callable[[], RenderableType], *, every: float, console: Console
) -> Iterator[None]:
    with Live(
        get_renderable=render,
        console=console,
        refresh_per_second=1 / min(every, _MAX_REPAINT),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


class _Terminal(io.TextIOWrapper):
    """Standard error, to which writing does not fail: a closed terminal must not end the run."""

    def __init__(self) -> None:
        stream = sys.stderr
        super().__init__(
            io.FileIO(stream.fileno(), "w", closefd=False),
            encoding=stream.encoding,
            errors="backslashreplace",
            write_through=True,
        )

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)


class _LiveTable:
    """The last drawn table, redrawn once the pause after it has passed."""

    def __init__(
        self,
        moment: Callable[[], Moment | None],
        *,
        name: str,
        part_read: Callable[[], float | None],
        every: float,
        console: Console,
    ) -> None:
        self.console = console
        self.every = every
        self._moment = moment
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
        self._next_at = finished + max(_MIN_PAUSE * (finished - now), self.every)
        return self._shown

    def _drawn(self, now: float) -> RenderableType:
        moment = self._moment()
        if moment is None:
            return self._shown
        if moment.progress is None:
            progress, trends = self._pace_of(moment, now), self._trends_of(moment)
        else:
            progress, trends = moment.progress, [None] * len(moment.rows)
        return live_table(
            moment.rows,
            trends,
            head=[heading(self._name, progress=progress), *map(Text, moment.waiting)],
            foot=[Text(moment.guarantee, style="dim")],
            console=self.console,
        )

    def _trends_of(self, moment: Moment) -> list[float | None]:
        """Return the trend of each row; a truncated item has none."""
        items = [row["item"] for row in moment.rows if row.get("complete", True)]
        by_item = dict(zip(items, self._trends.of(moment.release, items), strict=True))
        return [by_item.get(row["item"]) for row in moment.rows]

    def _pace_of(self, moment: Moment, now: float) -> str:
        steps = moment.release.step
        return pace(
            steps=steps,
            seconds=now - self._begin,
            rate=self._rate(now, steps),
            part=self._part_read(),
        )

    def _rate(self, now: float, steps: int) -> float:
        """Return the recent steps per second."""
        self._pace.append((now, steps))
        while len(self._pace) > 2 and self._pace[1][0] <= now - _PACE_SECONDS:
            self._pace.popleft()
        begin, before = self._pace[0]
        return (steps - before) / (now - begin)
