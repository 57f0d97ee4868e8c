"""An error at every point of every public operation of every live class.

Afterwards the object is as before the call or as after it, goes on like one that was not
interrupted, and nothing waits for ever. ``make test`` takes every k-th line, ``make faults`` and
``make test-long`` every line, and the bytecodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.faults.campaign import Operation, Result, run
from tests.faults.injection import Between
from tests.faults.operations import OPERATIONS
from tests.faults.subjects import known_descriptions

Record = Callable[[str, object], None]
_SEED = 20_261_122
# Points of an operation in `make test`: more where state changes in Python.
_FEW = {"Windows": 16, "HierarchicalHeavyHitters": 12}
# Queries compute intervals in some ten thousand lines.
_MOST: dict[Between, int] = {"lines": 2_500, "bytecodes": 1_500}


@pytest.fixture(autouse=True)
def descriptions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Calibrate once for all points, but not where the construction is tested as a whole."""
    operation: Operation = request.getfixturevalue("operation")
    if operation.name == "construction" and request.node.get_closest_marker("long"):
        yield
        return
    with known_descriptions():
        yield


def _require_none(result: Result) -> None:
    assert not result.violations, result.examples
    if result.points:
        assert result.injected >= 3


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_some_lines(operation: Operation) -> None:
    few = 2 if operation.reads else _FEW.get(operation.family.split(" ")[0], 4)
    result = run(operation, operation.points("lines"), most=few, seed=_SEED)
    _require_none(result)


@pytest.mark.long
@pytest.mark.parametrize("between", ["lines", "bytecodes"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_all_points(operation: Operation, between: Between, record_property: Record) -> None:
    result = run(operation, operation.points(between), most=_MOST[between], seed=_SEED)
    counts = (result.points, result.injected, dict(result.violations))
    record_property("faults", (result.operation, between, *counts))
    _require_none(result)
