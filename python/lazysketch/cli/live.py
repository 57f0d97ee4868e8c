"""The live table: what has been published so far, the pace and the time left.

It is shown on standard error while a stream is read, on a terminal only.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lazysketch.cli.answers import steps_of, waiting
from lazysketch.cli.display import fitting_table, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

    from lazysketch.cli.answers import Rows
    from lazysketch.cli.options import PrivateSketch

_REFRESHES_PER_SECOND = 4
_SHARE_OF_TIME = 10  # the live table may take one part in so many
_LONG = 2.0  # seconds of reading after which the time left is worth a guess
_MINUTE = 60
_HOUR = 60 * _MINUTE


def live(
    sketch: PrivateSketch, *, name: str, rows: Rows, part_read: Callable[[], float | None]
) -> AbstractContextManager[None]:
    """Show the rows on standard error while the block runs, if that is a terminal.

    Reading a release is always covered by the guarantee, so looking costs no privacy;
    it costs time, at most one part in ten.

    Args:
        sketch: What is being fed.
        name: What it is fed with.
        rows: The rows of a release.
        part_read: Tells how much of the input has been read, 0 to 1, or None for a pipe.
    """
    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        return nullcontext()
    return _live(
        _LiveTable(sketch, name=name, rows=rows, part_read=part_read, console=console),
    )


def pace(*, steps: int, seconds: float, part: float | None) -> str:
    """Say how fast a stream is read and, of a long one whose length is known, the time left.

    Example:
        >>> pace(steps=1_000_000, seconds=10.0, part=0.25)
        '1,000,000 steps, 100,000/s, 25 %, 30 s left'
    """
    line = f"{steps_of(steps)}, {steps / seconds:,.0f}/s"
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
        refresh_per_second=_REFRESHES_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


class _LiveTable:
    """The table as it was when last computed, and anew once that is worth its time."""

    def __init__(
        self,
        sketch: PrivateSketch,
        *,
        name: str,
        rows: Rows,
        part_read: Callable[[], float | None],
        console: Console,
    ) -> None:
        self.console = console
        self._sketch = sketch
        self._name = name
        self._rows = rows
        self._part_read = part_read
        self._begin = time.perf_counter()
        self._next_at = self._begin + 1 / _REFRESHES_PER_SECOND
        self._shown: RenderableType = Text(f"reading {visible(name)} ...")

    def render(self) -> RenderableType:
        now = time.perf_counter()
        if now < self._next_at:
            return self._shown
        release = self._sketch.release()
        if not release.step:
            return self._shown
        progress = pace(steps=release.step, seconds=now - self._begin, part=self._part_read())
        head = Text(f"reading {visible(self._name)}: {progress}; Ctrl-C ends")
        late = waiting(release)
        table = fitting_table(self._rows(release), console=self.console, fold=False)
        self._shown = Group(head, *([Text(late)] if late else []), table)
        finished = time.perf_counter()
        self._next_at = finished + _SHARE_OF_TIME * (finished - now)
        return self._shown
