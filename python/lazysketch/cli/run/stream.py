"""Feeding a sketch from a source, and telling the operator how that went."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazysketch import sources
from lazysketch.cli.view.output import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lazysketch.sources import RowBatch, Source
    from lazysketch.sources.feed import TakesItems

INTERRUPTED = 130  # 128 + SIGINT, as shells count


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reading of a stream ended.

    Args:
        seconds: How long it took.
        interrupted: Whether Ctrl-C ended it before the stream did.
    """

    seconds: float
    interrupted: bool


def feed(subject: TakesItems, batches: Iterable[RowBatch]) -> Reading:
    """Feed every row as one step, until the stream ends or Ctrl-C."""
    begin = time.perf_counter()
    interrupted = False
    try:
        sources.feed(subject, batches)
    except KeyboardInterrupt:
        interrupted = True
    return Reading(seconds=time.perf_counter() - begin, interrupted=interrupted)


def describe(source: Source) -> str:
    """Say what was read, and as what."""
    return f"{source.name} ({'; '.join(source.tally.formats) or 'nothing read'})"


def tell_operator(source: Source, reading: Reading) -> None:
    """Tell the operator what the guarantee does not cover, if there is need or someone looks."""
    tally = source.tally
    if reading.interrupted:
        tell(f"interrupted after {tally.rows:,} rows" if tally.rows else "interrupted: no row read")
    if not (tally.malformed or tally.absent or tally.clipped or sys.stderr.isatty()):
        return
    rate = tally.rows / reading.seconds if reading.seconds else 0.0
    line = f"{tally.rows:,} rows in {reading.seconds:,.2f} s ({rate:,.0f}/s)"
    if tally.malformed:
        places = ", ".join(f"{place.name} row {place.row:,}" for place in tally.first_malformed)
        more = ", ..." if tally.malformed > len(tally.first_malformed) else ""
        line += f", {tally.malformed:,} of them malformed: {places}{more}"
    if tally.absent:
        line += f", {tally.absent:,} of them without the field"
    if source.weighted:
        line += f"; total weight {tally.total_weight:,}, {tally.clipped:,} weights clipped"
    tell(f"{line} (for the operator, outside the guarantee)")
    if tally.malformed == tally.rows:
        tell(f"every row was malformed, read as {'; '.join(tally.formats)}: is that its format?")
