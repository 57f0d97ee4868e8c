"""The cases of slow tests that ``make test`` runs: one in a few, others with every commit.

``--sample`` asks for it. A case that is named on the command line is run in any case, because
whoever names one does not give the option.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).parents[1]
LIST: Final = ROOT / "tests/sampled_cases.toml"
_NO_COMMIT: Final = 0  # in a copy without its history


def listed() -> dict[tuple[str, str], int]:
    """Return, by file and name of a test, of how many cases one is run."""
    files = tomllib.loads(LIST.read_text("utf-8"))
    return {(file, test): step for file, tests in files.items() for test, step in tests.items()}


def number_of_commit() -> int:
    """Return a number that differs from one commit to the next."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return _NO_COMMIT
    return int(found.stdout.strip()[:8], 16)


def sample(items: Iterable[pytest.Item], *, number: int) -> tuple[list[pytest.Item], set[str]]:
    """Return the tests to run, in order, and the names of those that are left out."""
    steps = listed()
    chosen, left_out = [], set[str]()
    for name, group in groupby(items, key=_name_of):
        cases = list(group)
        step = min(steps.get(name, 1), len(cases))
        kept = cases[number % step :: step]
        chosen += kept
        left_out |= {case.nodeid for case in cases} - {case.nodeid for case in kept}
    return chosen, left_out


def _name_of(item: pytest.Item) -> tuple[str, str]:
    file, _, test = item.nodeid.partition("::")
    return file, test.partition("[")[0]
