"""Sessions of twins: one object gets every call, its twin only the calls that were accepted.

After every error both must be equal in everything public, and at the end also in what was pending.
Both have one seeded key and one id, so that equal streams publish equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from random import Random
from typing import Any, Final

import numpy as np
from tests.fuzzing.live_classes import Family
from tests.fuzzing.operations import Box, Inner
from tests.fuzzing.verdicts import Finding, Kind, Planted, attempt, fault_of

import lazysketch as ls

__all__ = ["CALLS", "session"]

CALLS: Final = 40  # of one session


def session(
    family: Family, name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Make the calls of a session; return their number and the defects.

    Args:
        family: the classes.
        name: the seed; equal names give equal calls.
        beat: called before each call with its number.
        kept: numbers of the calls to make; all if None.
    """
    make = family.make(Random(name))
    one, twin = make(), make()
    cases, made = 0, range(CALLS) if kept is None else sorted(kept)
    for number in made:
        beat(number)
        cases += 1
        found = _call(family, one, twin, f"{name}.{number}")
        if found is not None:
            return cases, [Finding(family.name, name, number, *found)]
    beat(CALLS)
    for box in (one, twin):
        attempt(lambda box=box: family.settle(box.live))  # type: ignore[misc]
    if _public(family, one) != _public(family, twin):
        text = "the objects differ after what was pending is published"
        return cases, [Finding(family.name, name, CALLS, "half applied", text)]
    return cases, []


def _call(family: Family, one: Box, twin: Box, seed: str) -> tuple[Kind, str] | None:
    operation = Random(seed).choice(family.operations)
    inner, call = _prepared(operation.prepare, one, seed)
    before = _steps(one)
    result, error = attempt(call.make)
    label = f"{operation.name}: "
    if error is None:
        if call.steps is not None and not inner.accepted:
            taken = _steps(one) - before
            if taken not in (call.steps, math.inf) and not math.isnan(taken):
                return "half applied", f"{label}{taken} steps for {call.steps} items"
        again, call = _prepared(operation.prepare, twin, seed)
        other, refused = attempt(call.make)
        if refused is not None:
            return "half applied", f"{label}accepted, but the twin raised {refused!r:.300}"
        if _plain(result) != _plain(other):
            return "half applied", f"{label}twins gave {result!r:.200} and {other!r:.200}"
        return None
    fault = fault_of(error)
    if fault is not None:
        return fault[0], label + fault[1]
    # The calls that the value itself made were accepted: the twin gets them too.
    again = Inner(twin, Random(f"{seed} inner"))
    for _ in range(inner.accepted):
        attempt(again)
    if _public(family, one) != _public(family, twin):
        return "half applied", f"{label}changed the object and raised {error!r:.300}"
    return None


def _prepared(prepare: Any, box: Box, seed: str) -> tuple[Inner, Any]:
    inner = Inner(box, Random(f"{seed} inner"))
    return inner, prepare(box, Random(f"{seed} call"), inner)


def _steps(box: Box) -> float:
    """Return the steps of a table; NaN for an object without such a number."""
    step, error = attempt(lambda: box.live.step)
    return step if error is None and isinstance(step, int) else math.nan


def _public(family: Family, box: Box) -> list[object]:
    """Return everything public, or the class of the error instead."""
    seen: list[object] = []
    for read in family.public:
        value, error = attempt(lambda read=read: read(box.live))  # type: ignore[misc]
        seen.append(_plain(value) if error is None else type(error))
        if isinstance(error, Planted):
            raise AssertionError("a reader has no hostile argument") from error
    return seen


def _plain(value: object) -> object:
    """Return a result in a form that compares by value, with NaN equal to itself."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, ls.Release):  # exact sketches have fresh ids, so their bytes differ
        return value.table.tobytes(), value.step, value.names
    return repr(value) if isinstance(value, (bool, int, float, str, bytes, dict)) else type(value)
