"""Every large allocation of every operation fails once: MemoryError, and nothing has changed.

The native module is compiled for it, so it is part of ``make faults`` and ``make test-long`` only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from tests import native_build
from tests.faults.operations_on_large_tables import LARGE_OPERATIONS
from tests.faults.test_live_classes import Record

_FAMILIES = dict.fromkeys(operation.family for operation in LARGE_OPERATIONS)


@pytest.mark.long
def test_every_large_allocation_fails_once(record_property: Record) -> None:
    """One test, as two processes must not compile at once."""
    package = native_build.build("faults")
    wrong, operations = [], 0
    for family in _FAMILIES:
        results, end = _campaigns(family, str(package))
        wrong += end
        operations += len(results)
        if not any(points for _, points, *_ in results):
            wrong.append(f"{family}: expected large allocations, got none")
        for operation, points, injected, violations, examples in results:
            record_property("faults", (operation, "allocations", points, injected, violations))
            wrong += examples
    assert not wrong
    assert operations == len(LARGE_OPERATIONS)


def _campaigns(family: str, package: str) -> tuple[list[Any], list[str]]:
    """Return the counts of each operation, and how the process ended if it did so early."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.allocations", family],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((package, str(native_build.ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    results = [row for row in rows if isinstance(row, list)]
    if done.returncode == 0:
        return results, []
    return results, [f"{rows[-1]}: status {done.returncode}: {done.stderr[-2000:]}"]
