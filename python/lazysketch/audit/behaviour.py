"""Behaviour: nothing but the released numbers depends on the counts.

The same valid and invalid calls run in child processes on a sketch that counted nothing (events of
weight 0) and on one whose counters are saturated: results, sizes, errors, texts and allocations
must be equal.

Detects: a message, size or allocation that depends on counts. Cannot detect: timing (the dudect
test of the core does).
"""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import pickle
import sys
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from lazysketch.audit.child_process import SOUND, Sketches, child
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Geometric, Punctual, RoundRobin, Schedule

__all__ = ["show_states", "states_are_alike"]

WEIGHT = 2**30
STEPS = 32
WIDTH = 2**12  # a difference of one byte per cell is 8 KiB
SLACK = 2**12  # bytes; malloc may take another free chunk in another process


def _allocated() -> int | None:
    """Bytes that malloc has handed out in this process; None if the C library cannot report it."""
    try:
        count = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

    count.restype = Info
    info = count()
    return int(info.uordblks + info.hblkhd)


def show_states(variant: type[Sketches], weight: str) -> None:
    """Write the state of sketches of several kinds and schedules after events of one weight.

    Args:
        variant: the sketches.
        weight: weight of the events.
    """
    for _ in range(2):  # the first round only fills caches
        shown = [
            _state_of(cls, schedule, int(weight))
            for cls in (variant.count_min, variant.count_sketch)
            for schedule in (RoundRobin(horizon=64), Punctual(horizon=64), Geometric())
        ]
    sys.stdout.write(json.dumps(shown))


def _state_of(
    cls: Callable[..., PrivateTable], schedule: Schedule, weight: int
) -> dict[str, object]:
    items, weights = np.zeros(STEPS, dtype=np.int64), np.full(STEPS, weight)
    gc.collect()
    before = _allocated()
    sketch = cls(
        depth=2,
        width=WIDTH,
        epsilon=8.0,
        delta=1e-6,
        max_weight=WEIGHT,
        hash_seed=1,
        schedule=schedule,
    )
    sketch.update_many(items, weights)
    gc.collect()
    after = _allocated()
    tracemalloc.start()
    release = sketch.release()
    live, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = _allocated()
    shown: dict[str, object] = {
        "native bytes of a sketch": _grown(before, after),
        "native bytes of a release": _grown(after, held),
        "Python bytes of a release": [live, peak],
        "bytes of the object": sys.getsizeof(sketch),
        "bytes on disk": len(release.to_bytes()),
        "shape": [release.table.shape, str(release.table.dtype), release.table.strides],
    }
    shown.update(_answers(sketch))
    shown["repr of a release"] = repr(release).replace(release.sketch_id.hex(), "<id>")
    return shown


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _answers(sketch: PrivateTable) -> dict[str, str]:
    """The result of each call, or its error in full."""
    calls: dict[str, Callable[[], object]] = {
        "repr": lambda: repr(sketch),
        "privacy": lambda: repr(sketch.privacy),
        "estimate": lambda: type(sketch.estimate(0)).__name__,
        "estimate_many": lambda: sketch.estimate_many([0, "x"]).shape,
        "update": lambda: sketch.update("x"),
        "a float": lambda: sketch.update(1.5),
        "None": lambda: sketch.update(None),
        "a heavy event": lambda: sketch.update("x", WEIGHT + 1),
        "a negative event": lambda: sketch.update("x", -1),
        "a bad batch": lambda: sketch.update_many(["x", None]),
        "a bare str": lambda: sketch.update_many("x"),
        "weights of another length": lambda: sketch.update_many([0], [1, 2]),
        "a batch in a step": lambda: sketch.update_batch([0]),
        "a tick": lambda: sketch.tick(3),
        "past the horizon": lambda: sketch.tick(64),
        "events past the horizon": lambda: sketch.update_many(np.zeros(64, dtype=np.int64)),
        "a copy": lambda: copy.copy(sketch),
        "a pickle": lambda: pickle.dumps(sketch),
        "the table": lambda: sketch.table,  # type: ignore[attr-defined]
        "the state": lambda: sorted(vars(sketch)) if hasattr(sketch, "__dict__") else [],
        "close": sketch.close,
        "closed": lambda: sketch.update("x"),
        "closed, estimate": lambda: sketch.estimate("x"),
        "closed, release": lambda: sketch.release(),
    }
    shown: dict[str, str] = {}
    for name, call in calls.items():
        try:
            shown[name] = str(call())
        except Exception as error:
            shown[name] = f"{type(error).__name__}: {error}"
    return shown


def states_are_alike(variant: str = SOUND) -> Outcome:
    """Check that an empty and a saturated sketch differ in the released numbers only.

    Args:
        variant: :data:`SOUND` or :data:`LEAKY`.

    Returns:
        Failed if a result, error, text, size or allocation differs.
    """
    shown = []
    for weight in (0, WEIGHT):
        out, error = child(show_states, variant, str(weight)).communicate(timeout=120)
        if error:
            return exact_outcome("a child process succeeds", iter([error.decode()[-300:]]), cases=1)
        shown.append(json.loads(out))

    def failures() -> Iterator[str]:
        for empty, full in zip(*shown, strict=True):
            yield from (
                f"{name}: {empty[name]} if empty, {full[name]} if saturated"
                for name in empty
                if not _alike(empty[name], full[name], slack=SLACK if "native" in name else 0)
            )

    cases = sum(len(state) for state in shown[0])
    return exact_outcome("an empty and a saturated sketch behave alike", failures(), cases=cases)


def _alike(one: object, other: object, *, slack: int) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= slack
    return one == other
