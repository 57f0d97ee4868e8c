"""The command ``lazysketch``.

Each verb is one call of the library: options -> settings -> a sketch, an input -> batches,
a release -> a table. Standard output gets the results, which the privacy guarantee covers.
Standard error gets messages for the operator: malformed rows, events/s, progress, errors.

Layers, downward: group -> verbs -> commands (a module per verb) -> run (counting, saving) -> view
(tables, JSON, plots) -> options -> settings, configuration.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "process"]

_THREADS: Final = "OPENBLAS_NUM_THREADS"
# Objects, more than a start makes: Python's own 700 would be reached hundreds of times.
_COLLECTED_EVERY: Final = 200_000


def main(arguments: Sequence[str] | None = None, *, ends_process: bool = False) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: The arguments after the command's name; ``sys.argv[1:]`` if None.
        ends_process: Whether the process ends with the command. SIGINT, SIGTERM and SIGHUP are
            then ignored once the status is known; otherwise their handlers are restored.

    Returns:
        0; 1 after an alarm of an audit; 2 after an error (one line on standard error); 130 after
        Ctrl-C, 143 after SIGTERM, 129 after SIGHUP; 141 if the reader of standard output has
        closed it.
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
    return run(arguments, ends_process=ends_process)


def process() -> int:
    """Run the command line as a process of its own, and return its exit status."""
    gc.set_threshold(_COLLECTED_EVERY)
    if _THREADS not in os.environ:
        # NumPy starts a pool of threads for products of matrices, which costs a fifth of a start.
        # No run multiplies large ones. Commands that a run starts are not told.
        os.putenv(_THREADS, "1")
    try:
        return main(ends_process=True)
    finally:
        gc.freeze()  # the process ends: to look for cycles among its modules costs as much again
