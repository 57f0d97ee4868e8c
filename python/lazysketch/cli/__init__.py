"""The command ``lazysketch``.

Each verb is one call of the library: options -> settings -> a sketch, an input ->
batches, a release -> a table. Results go to standard output, and hold only what the
privacy guarantee covers; what is for the operator's eyes (malformed rows, events/s,
progress, errors) goes to standard error.

Floors, downward: group -> top, estimate, query, inspect, merge, plan, audit, demo, completion,
configuration -> counting -> stream, traffic, ticker, course, picture, live -> live_table ->
trends -> subjects -> names, saving -> answers -> options, quantities -> display.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: What follows the command's name; ``sys.argv[1:]`` if None.

    Returns:
        0; 1 after an alarm of an audit; 2 after an error (one line on standard error); 130 after
        Ctrl-C, 143 after SIGTERM; 141 where the reader of standard output has gone.
    """
    try:
        from lazysketch.cli.group import run
    except ModuleNotFoundError as missing:
        if missing.name not in ("click", "rich", "tomli"):
            raise
        sys.stderr.write(
            f"lazysketch: the command line needs {missing.name}: pip install 'lazysketch[cli]'\n"
        )
        return 2
    return run(arguments)
