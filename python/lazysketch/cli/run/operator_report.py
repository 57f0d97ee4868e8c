"""What a run tells its operator of the rows that it read, outside of the guarantee."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lazysketch.cli.run.exit_status import FAILED
from lazysketch.cli.view.output import tell
from lazysketch.sources.formats.hints import what_to_check

if TYPE_CHECKING:
    from lazysketch.sources import Source

__all__ = ["report_to_operator", "status_of"]


def report_to_operator(
    source: Source, *, seconds: float, interrupted: bool, refused: str = ""
) -> None:
    """Print what the guarantee does not cover, on a terminal or if rows were not counted.

    Args:
        source: What was read.
        seconds: How long it took.
        interrupted: Whether it ended before the end of the source.
        refused: What a bound of people refused.
    """
    tally = source.tally
    if interrupted:
        rows = f"after {tally.rows:,} rows" if tally.rows else "before the first row"
        tell(f"interrupted {rows}")
    if sys.stderr.isatty():
        for guess in tally.guesses:
            tell(guess)
    for hint in tally.hints:
        tell(f"{hint} (for the operator, outside the guarantee)")
    if refused:
        tell(f"{refused} (for the operator, outside the guarantee)")
    if not (tally.malformed or tally.absent or tally.clipped or sys.stderr.isatty()):
        return
    rate = tally.rows / seconds if seconds else 0.0
    line = f"{tally.rows:,} rows in {seconds:,.2f} s ({rate:,.0f}/s)"
    if tally.malformed:
        places = ", ".join(f"{place.name} row {place.row:,}" for place in tally.first_malformed)
        more = ", ..." if tally.malformed > len(tally.first_malformed) else ""
        line += f", {tally.malformed:,} of them malformed: {places}{more}"
    if tally.without_user:
        line += f"; {tally.without_user:,} malformed for want of a person (no-user)"
    if tally.absent:
        line += f", {tally.absent:,} of them without the field"
    if source.weighted:
        line += f"; total weight {tally.total_weight:,}, {tally.clipped:,} weights clipped"
    tell(f"{line} (for the operator, outside the guarantee)")
    if tally.malformed and tally.malformed == tally.rows:
        check = what_to_check(tally.formats, hints=tally.hints)
        if tally.without_user == tally.rows:
            check = f"since none has a person, {check}, and --user"
        tell(f"every row was malformed, {check}")


def status_of(source: Source) -> int:
    """Return the exit status of a run that read its input; warn if most rows were malformed.

    Args:
        source: What was read.
    """
    tally = source.tally
    if tally.rows > tally.malformed > tally.rows / 2:
        check = what_to_check(tally.formats, hints=tally.hints)
        tell(f"more than half of the rows were malformed, {check}")
    return FAILED if 0 < tally.rows == tally.malformed else 0
