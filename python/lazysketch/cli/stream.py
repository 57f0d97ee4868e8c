"""Feeding a sketch from a source, with a live table, and asking the sketch for counts."""

from __future__ import annotations

import dataclasses
import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lazysketch.cli.display import (
    Report,
    as_number,
    can_show_blocks,
    table_of,
    tell,
    visible,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from rich.console import RenderableType

    from lazysketch import Release
    from lazysketch.cli.options import PrivateSketch, SketchSettings
    from lazysketch.sources import Batch, Source

    Rows = Callable[[Release], list[dict[str, Any]]]

INTERRUPTED = 130  # 128 + SIGINT, as shells count
_REFRESHES_PER_SECOND = 4
_LAG_WORTH_TELLING = 0.05  # the part of the stream that may be missing
_SHARE_OF_TIME = 10  # the live table may take one part in so many


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reading of a stream ended.

    Args:
        seconds: How long it took.
        interrupted: Whether Ctrl-C ended it before the stream did.
    """

    seconds: float
    interrupted: bool


def feed(sketch: PrivateSketch, batches: Iterable[Batch]) -> Reading:
    """Feed every row as one step, until the stream ends or Ctrl-C."""
    begin = time.perf_counter()
    interrupted = False
    try:
        for batch in batches:
            for items, empty_steps in batch.segments():
                if items:
                    sketch.update_many(items)
                if empty_steps:
                    sketch.tick(empty_steps)
    except KeyboardInterrupt:
        interrupted = True
    return Reading(seconds=time.perf_counter() - begin, interrupted=interrupted)


def heaviest(release: Release, items: Sequence[str], *, most: int) -> list[dict[str, Any]]:
    """Return the rows of the items with the largest estimates, ties in the list's order."""
    estimates = release.estimate_many(items)
    if most < len(items):
        least = np.partition(estimates, -most)[-most]
        candidates = np.flatnonzero(estimates >= least)
    else:
        candidates = np.arange(len(items))
    order = candidates[np.argsort(-estimates[candidates], kind="stable")][:most]
    return _rows(release, [items[i] for i in order], estimates[order], ranked=True)


def counts(release: Release, items: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of all items, in their order."""
    return _rows(release, items, release.estimate_many(items), ranked=False)


def count(
    source: Source,
    settings: SketchSettings,
    *,
    rows: Rows,
    rows_while_reading: Rows,
    output: str,
) -> int:
    """Count a source with a fresh sketch, write the result and return the exit status."""
    with settings.create() as sketch:
        with live(sketch, name=source.name, rows=rows_while_reading):
            reading = feed(sketch, source)
        release = sketch.release()
    if release.step:
        write(report(release, rows(release), of=describe(source)), output=output)
    tell_operator(source, reading)
    return INTERRUPTED if reading.interrupted else 0


def report(release: Release, rows: list[dict[str, Any]], *, of: str) -> Report:
    """Join rows with what the release says about itself.

    Args:
        release: Where the rows come from.
        rows: The rows.
        of: What was counted, for the line of text.
    """
    privacy = release.privacy
    table = f"{release.kind} {release.depth} x {release.width:,}"
    summary = {
        "steps": release.step,
        "kind": release.kind,
        "depth": release.depth,
        "width": release.width,
        "privacy": dataclasses.asdict(privacy),
    }
    lines = [f"{release.step:,} steps of {of}; {table}", str(privacy)]
    if lag := _lag(release):
        lines.append(lag)
    return Report(rows=rows, summary=summary, lines=lines)


def describe(source: Source) -> str:
    """Say what was read, and as what."""
    return f"{source.name} ({'; '.join(source.tally.formats) or 'nothing read'})"


def tell_operator(source: Source, reading: Reading) -> None:
    """Tell the operator what the guarantee does not cover, if there is need or someone looks."""
    tally = source.tally
    if reading.interrupted:
        tell(f"interrupted after {tally.rows:,} rows" if tally.rows else "interrupted: no row read")
    if not (tally.malformed or sys.stderr.isatty()):
        return
    rate = tally.rows / reading.seconds if reading.seconds else 0.0
    line = f"{tally.rows:,} rows in {reading.seconds:,.2f} s ({rate:,.0f}/s)"
    if tally.malformed:
        places = ", ".join(f"{place.name} row {place.row:,}" for place in tally.first_malformed)
        more = ", ..." if tally.malformed > len(tally.first_malformed) else ""
        line += f", {tally.malformed:,} of them malformed: {places}{more}"
    tell(f"{line} (for the operator, outside the guarantee)")
    if tally.malformed == tally.rows:
        tell(f"every row was malformed, read as {'; '.join(tally.formats)}: is that its format?")


def live(sketch: PrivateSketch, *, name: str, rows: Rows) -> AbstractContextManager[None]:
    """Show the rows on standard error while the block runs, if that is a terminal.

    Reading a release is always covered by the guarantee, so looking costs no privacy;
    it costs time, at most one part in ten.
    """
    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        return nullcontext()
    return _live(_LiveTable(sketch, name=name, rows=rows, console=console))


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
        console: Console,
    ) -> None:
        self.console = console
        self._sketch = sketch
        self._name = name
        self._rows = rows
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
        rows = self._rows(release)
        elapsed = now - self._begin
        head = (
            f"reading {visible(self._name)}: {release.step:,} steps, "
            f"{release.step / elapsed:,.0f}/s; Ctrl-C ends"
        )
        table = table_of(rows, fold=False, blocks=can_show_blocks(self.console))
        self._shown = Group(Text(head), table)
        finished = time.perf_counter()
        self._next_at = finished + _SHARE_OF_TIME * (finished - now)
        return self._shown


def _rows(
    release: Release, items: Sequence[str], estimates: Any, *, ranked: bool
) -> list[dict[str, Any]]:
    steps = max(release.step, 1)
    noise = _noise_95(release)
    rows = []
    for rank, (item, estimate) in enumerate(zip(items, estimates, strict=True), start=1):
        row: dict[str, Any] = {"rank": rank} if ranked else {}
        row["item"] = item
        row["estimate"] = as_number(estimate)
        row["noise_95"] = noise
        row["share"] = float(estimate) / steps
        rows.append(row)
    return rows


def _lag(release: Release) -> str:
    """Say that the stream is too short for the width, if it is: a column waits `width` steps."""
    waiting = int(np.count_nonzero(release.pushes == 0))
    share = release.width / release.step
    if waiting:
        return (
            f"{waiting:,} of {release.width:,} columns wait for their first publication and "
            "count as 0: so short a stream needs a smaller --width"
        )
    if share > _LAG_WORTH_TELLING:
        return (
            f"counts are up to {release.width:,} steps old ({share:.0%} of the stream): "
            "a smaller --width gives fresher ones"
        )
    return ""


def _noise_95(release: Release) -> float:
    """Return 1.96 standard deviations of a cell's noise, root mean square over columns.

    Approximate for an estimate: a minimum or median of several cells varies less than
    one cell, and a minimum lies below the truth on average.
    """
    deviations = release.noise_deviation
    published = deviations[deviations > 0]
    return round(1.96 * float(np.sqrt(np.mean(published**2))), 1) if published.size else 0.0
