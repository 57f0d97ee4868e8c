"""The options of windows of time, or of steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import click

from lazysketch.arguments import shown
from lazysketch.cli.late_settings import cut_settings
from lazysketch.cli.options import gathered, option_with_default
from lazysketch.cli.quantities import DURATION, STEPS
from lazysketch.errors import ArgumentValueError

__all__ = ["KEEP", "RANGE", "WINDOW", "cut_options", "length_of_window"]


def length_of_window(
    _context: click.Context, option: click.Parameter, text: str | None
) -> timedelta | int | None:
    """Return a number of steps or a time."""
    if text is None:
        return None
    try:
        return int(STEPS.convert(text, None, None))
    except click.BadParameter:
        pass
    try:
        return timedelta(seconds=DURATION.convert(text, None, None))
    except (click.BadParameter, OverflowError):
        raise ArgumentValueError(
            f"{option.opts[0]}: expected a time such as 90s, 15m, 1h or 1d, or a number of steps, "
            f"got {shown(text)}"
        ) from None


WINDOW: Final = click.option(
    "--window",
    "length",
    metavar="TIME|STEPS",
    callback=length_of_window,
    help="Count in windows, such as 1h or 100000 steps: a pipe by the clock, files by the "
    "time of each row, with --from and --to.  [default: the whole stream]",
)
KEEP: Final = option_with_default(
    "--keep",
    type=click.IntRange(min=1),
    default=24,
    metavar="N",
    help="With --window: number of windows to list together; a range keeps all.",
)
RANGE: Final = (
    click.option(
        "--from",
        "begin",
        metavar="INSTANT",
        help="With --window, for files: start of a public range, such as 2026-05-17T12:00.  "
        "[default: none]",
    ),
    click.option("--to", "end", metavar="INSTANT", help="End of the range.  [default: none]"),
)
cut_options: Final = gathered(cut_settings, "windows", WINDOW, KEEP, *RANGE)
"""Adds the options of windows that are listed one by one; the command gets ``windows``."""
