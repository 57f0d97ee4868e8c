"""The live table on standard error: counts published so far, pace and time left.

It is shown only on a terminal, on a screen of its own. Its first line is redrawn four times a
second whatever the load, because it needs only numbers that the reading thread leaves; the table
is computed in a thread of its own, which takes at most about a tenth of the time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.text import Text

from lazysketch.cli.view.controls import HELP, Controls
from lazysketch.cli.view.courses import Courses
from lazysketch.cli.view.keys import opened_keys
from lazysketch.cli.view.live_table import heading, live_table, table_of_values
from lazysketch.cli.view.pace import pace
from lazysketch.cli.view.screen import EVERY, shown_screen, terminal_console
from lazysketch.cli.view.trends import Trends
from lazysketch.releases.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.console import Console, RenderableType

    from lazysketch.cli.view.report import Moment

__all__ = ["EVERY", "Reading", "live", "progress"]

_MIN_PAUSE: Final = 10  # times the duration of a refresh
_PACE_SECONDS: Final = 10.0  # over which the pace is averaged
_BAR_COLUMNS: Final = 40
_SPINNER: Final = ("-", "\\", "|", "/")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a display shows of the reading; its functions are called from another thread.

    Args:
        name: The name of the input.
        rows: Returns the number of rows so far.
        part_read: Returns the fraction of the input that has been read, or None for a pipe.
        end: Ends the run as Ctrl-C does.
        rows_are_typed: Whether standard input is an input.
        has_items: Whether there are items to sort and to filter.
    """

    name: str
    rows: Callable[[], int]
    part_read: Callable[[], float | None]
    end: Callable[[], object]
    rows_are_typed: bool = False
    has_items: bool = True


def live(
    moment: Callable[[], Moment | None], reading: Reading, *, every: float | None = None
) -> AbstractContextManager[None]:
    """Show the rows on standard error while the block runs, if that is a terminal.

    The guarantee covers every read of a release, so the display costs no privacy.

    Args:
        moment: Returns the public state, None before the first one; called from another thread.
        reading: What is read.
        every: Seconds from one refresh of the table to the next; 0.25 if None.
    """
    console = terminal_console()
    if console is None:
        return nullcontext()
    return _shown(moment, reading, every=EVERY if every is None else every, console=console)


def progress(reading: Reading) -> AbstractContextManager[None]:
    """Show how much is read on standard error while the block runs, if that is a terminal.

    For a run that publishes nothing before the end of its input. The numbers are for the operator.

    Args:
        reading: What is read.
    """
    console = terminal_console()
    if console is None:
        return nullcontext()
    return _shown(None, reading, every=EVERY, console=console)


@contextmanager
def _shown(
    moment: Callable[[], Moment | None] | None,
    reading: Reading,
    *,
    every: float,
    console: Console,
) -> Iterator[None]:
    controls = Controls(reading.end, has_items=reading.has_items)
    with opened_keys(rows_are_typed=reading.rows_are_typed) as keys:
        table = None if moment is None else _Table(moment, every=every, controls=controls)
        frames = _Frames(reading, table, controls=controls, has_keys=keys is not None)
        if table is not None:
            table.start()
        try:
            with shown_screen(
                lambda: frames.lines(console), console=console, keys=keys, press=controls.press
            ):
                yield
        finally:
            if table is not None:
                table.stop()


@dataclass(frozen=True, slots=True)
class _Shown:
    """What was computed of one moment."""

    moment: Moment
    trends: list[float | None]
    courses: dict[str | int, list[float]] = field(default_factory=dict)


class _Table:
    """The thread that computes the rows of the latest moment."""

    def __init__(
        self, moment: Callable[[], Moment | None], *, every: float, controls: Controls
    ) -> None:
        self.latest: _Shown | None = None
        self._moment = moment
        self._every = every
        self._controls = controls
        self._trends = Trends()
        self._courses = Courses()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live table", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End; a moment that is being computed is waited for: it reads what is closed next."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = min(self._every, EVERY)
        while not self._ended.wait(pause):
            begin = time.perf_counter()
            if not self._controls.paused:
                self._compute()
            pause = max(_MIN_PAUSE * (time.perf_counter() - begin), self._every)

    def _compute(self) -> None:
        moment = self._moment()
        if moment is None:
            return
        if moment.progress is not None:
            self.latest = _Shown(moment, [None] * len(moment.rows))
            return
        self._courses.keep(moment)
        self.latest = _Shown(moment, self._trends_of(moment), self._courses.of(moment.item_rows))

    def _trends_of(self, moment: Moment) -> list[float | None]:
        """Return the trend of each row; a truncated item has none, nor has a number."""
        if not isinstance(moment.release, Release):
            return [None] * len(moment.rows)
        items = [row["item"] for row in moment.item_rows if row.get("complete", True)]
        by_item = dict(zip(items, self._trends.of(moment.release, items), strict=True))
        return [by_item.get(row["item"]) for row in moment.item_rows]


class _Frames:
    """Frames of the screen: the first line of now, and the latest table."""

    def __init__(
        self, reading: Reading, table: _Table | None, *, controls: Controls, has_keys: bool
    ) -> None:
        self._reading = reading
        self._table = table
        self._controls = controls
        self._has_keys = has_keys
        self._begin = time.perf_counter()
        self._pace = deque([(self._begin, 0)])
        self._number = 0
        self._body: tuple[object, list[str]] = (None, [])

    def lines(self, console: Console) -> list[str]:
        """Return the lines of the next frame."""
        self._number += 1
        head = _rendered(console, self._heading(), height=1, no_wrap=True)
        room = console.height - len(head)
        # The table is rendered again only if something of it has changed.
        key = (self._state(), console.width, room)
        if self._body[0] != key:
            self._body = (key, _rendered(console, self._below(console, room), height=room))
        return [*head, *self._body[1]]

    def _heading(self) -> Text:
        shown = None if self._table is None else self._table.latest
        now = time.perf_counter()
        steps = self._reading.rows()
        line = pace(
            steps=steps,
            seconds=now - self._begin,
            rate=self._rate(now, steps),
            part=self._reading.part_read(),
        )
        if shown is not None and shown.moment.progress is not None:
            line = f"{shown.moment.progress}; {line}"
        mark = "=" if self._controls.paused else _SPINNER[self._number % len(_SPINNER)]
        ends = "" if self._has_keys else "; Ctrl-C ends"
        return heading(self._reading.name, mark=mark, progress=f"{line}{ends}")

    def _state(self) -> object:
        controls = self._controls
        part = None if self._table is not None else self._reading.part_read()
        shown = None if self._table is None else id(self._table.latest)
        state = controls.line, controls.order, controls.filter, controls.shows_help
        return (*state, shown, part)

    def _below(self, console: Console, room: int) -> RenderableType:
        keys = [Text(self._controls.line, style="reverse")] if self._has_keys else []
        if self._controls.shows_help:
            return Group(*(Text(f" {key:6} {what}") for key, what in HELP), *keys)
        if self._table is None:
            bar = ProgressBar(
                total=1.0,
                completed=self._reading.part_read() or 0.0,
                width=min(_BAR_COLUMNS, console.width),
            )
            end = Text("one row is one step; the result is published once, at the end", style="dim")
            return Group(bar, end, *keys)
        shown = self._table.latest
        if shown is None:
            return Group(Text("one row is one step; nothing is published yet", style="dim"), *keys)
        head = [Text(line) for line in shown.moment.waiting]
        foot = [Text(f"{shown.moment.guarantee}; one row is one step", style="dim"), *keys]
        if not shown.moment.item_rows:
            found = shown.moment.rows
            return table_of_values(found, head=head, foot=foot, console=console, height=room)
        rows, trends = self._controls.chosen(shown.moment.item_rows, shown.trends)
        return live_table(
            rows,
            trends,
            head=head,
            foot=foot,
            console=console,
            height=room,
            courses=shown.courses,
        )

    def _rate(self, now: float, steps: int) -> float:
        """Return the recent steps per second."""
        self._pace.append((now, steps))
        while len(self._pace) > 2 and self._pace[1][0] <= now - _PACE_SECONDS:
            self._pace.popleft()
        begin, before = self._pace[0]
        return (steps - before) / max(now - begin, 1e-9)


def _rendered(
    console: Console, what: RenderableType, *, height: int, no_wrap: bool | None = None
) -> list[str]:
    """Return the lines of a part of the screen, with its colours."""
    with console.capture() as captured:
        console.print(what, no_wrap=no_wrap)
    return captured.get().splitlines()[:height]
