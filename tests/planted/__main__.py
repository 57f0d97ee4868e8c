"""Plants every bug, one at a time, and shows which test catches it.

    python -m tests.planted [NAME ...]

Compiles the native module once with all switches, checks that all named tests pass with
nothing planted, then runs the test of each bug. Exit status 1 if a bug lives.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from tests.planted import runs
from tests.planted.catalogue import BUGS
from tests.planted.runs import Run


def main() -> int:
    """Run the bugs that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bugs; all if none is named")
    names = parser.parse_args().names
    unknown = set(names) - {bug.name for bug in BUGS}
    if unknown:
        parser.error(f"expected names of planted bugs, got {', '.join(sorted(unknown))}")
    bugs = [bug for bug in BUGS if not names or bug.name in names]
    runs.build()
    without = runs.passes_without_bugs(bugs)
    if without is not None:
        print(without, file=sys.stderr)
        return 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return show(pool.map(runs.run, bugs))


def show(found: Iterable[Run]) -> int:
    """Print a row for each run, and the output of those that caught nothing."""
    living, caught = [], 0
    for run in found:
        caught += run.is_caught
        state = "caught" if run.is_caught else "LIVES"
        print(f"| {run.bug.name} | {run.bug.caught_by} | {state} | {run.seconds:.1f} |", flush=True)
        if not run.is_caught:
            living.append(run)
    for run in living:
        print(f"\n{run.bug.name}: {run.bug.claim}\n{run.output}", file=sys.stderr)
    print(f"{caught + len(living)} bugs planted, {caught} caught, {len(living)} alive")
    return 1 if living else 0


if __name__ == "__main__":
    sys.exit(main())
