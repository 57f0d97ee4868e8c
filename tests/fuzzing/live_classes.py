"""Every public live class: how one is made under a test key, its operations, what is public."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.fuzzing import live_objects, live_ranges
from tests.fuzzing.argument_values import argument
from tests.fuzzing.live_arguments import (
    fitting,
    fitting_many,
    index,
    indices,
    number,
    numbers,
    times,
)
from tests.fuzzing.live_ranges import OF_RANGES
from tests.fuzzing.numbers_of_people import OF_VALUES, of_people, with_values
from tests.fuzzing.operations import (
    ITEM,
    MAKERS,
    Box,
    Call,
    Maker,
    Operation,
    called,
    duplications,
    reads,
)
from tests.fuzzing.scalars import Disturbance, hostile, raised
from tests.fuzzing.verdicts import Planted

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True)
class Family:
    """Classes with the same operations.

    Args:
        name: name of the campaign.
        make: chooses parameters; the function that it returns makes the object.
        operations: every public operation, common ones several times.
        public: what an observer sees, as functions of the object.
        settle: publishes what is pending, so that the whole state is public.
    """

    name: str
    make: Callable[[Random], Callable[[], Box]]
    operations: tuple[Operation, ...]
    public: tuple[Callable[[Any], object], ...]
    settle: Callable[[Any], object]


_ONE: Final = ("weight", "time", "user")
_UPDATES: Final = (
    *[called("update", "item", optional=("weight",))] * 3,
    *[called("update_many", "items", optional=("weights", "column", "threads"))] * 8,
)
_ROWS: Final = called("update_rows", "items", "empty_rows", optional=("weights", "column"))
_BATCH: Final = called("update_batch", "items", optional=("weights", "column"))
_TICK: Final = called("tick", optional=("steps",))
_ESTIMATES: Final = (
    called("estimate", "item"),
    called("estimate_many", "items", optional=("column",)),
    called("interval", "item", optional=("confidence", "at")),
    called(
        "interval_many",
        "items",
        optional=("confidence", "at", "simultaneous", "among", "known", "column"),
    ),
    called("decode", "items", optional=("column",)),
)


def _rarely(operation: Operation) -> Operation:
    """Return an operation that mostly only shows the object: an ended object ends a session."""

    def prepare(box: Box, chance: Random, disturbance: Disturbance) -> Call:
        if chance.random() < 0.9:
            return Call(lambda: repr(box.live))
        return operation.prepare(box, chance, disturbance)

    return Operation(operation.name, prepare)


def _with_block(box: Box, chance: Random, _: Disturbance) -> Call:
    error = raised(chance)

    def block() -> None:
        try:
            with box.live:
                raise error
        except Planted:
            pass

    return Call(block)


_ENDS: Final = (
    *(_rarely(called("close")), _rarely(called("finish"))),
    _rarely(Operation("with", _with_block)),
)


def _time_passes(box: Box, chance: Random, _: Disturbance) -> Call:
    """Move the clock: forwards, far, backwards, or to what is no time."""
    jump = chance.choice([1.0, 900.0, 3600.0, 1e6, -50.0, 0.0, 0.0])
    odd: Any = chance.choice([float("nan"), float("inf"), 1e300, "late", None, -1e18, 2**70])

    def move() -> None:
        now = box.now[0]
        box.now[0] = odd if chance_of_odd else now + jump
        try:
            box.live.advance()
        finally:
            if chance_of_odd:
                box.now[0] = now

    chance_of_odd = chance.random() < 0.2
    return Call(move)


def _merged(box: Box, chance: Random, disturbance: Disturbance) -> Call:
    other = type(box.live)(depth=2, width=8, hash_seed=5)
    given = chance.choice([box.live, other, box.live.release(), hostile(chance, disturbance)])
    return Call(lambda: box.live.merge(given).table.tobytes())


_VECTOR: Final[Maker] = lambda c, d: (  # noqa: E731
    [c.randrange(4) for _ in range(c.choice([1, 4, 9]))] if c.random() < 0.5 else indices(c, d)
)
_BYTES: Final = (lambda live: live.release().to_bytes(),)
_OF_BOTH: Final = ("privacy", "private", "not_private_because", "schedule", "spec", "finished")
_NOTED: Final = ("privacy", "private", "not_private_because", "schedule", "mechanism", "spec")


def _shown(window: Any) -> tuple[object, ...]:
    facts = (window.number, window.begin, window.end, window.ended)
    return (*facts, getattr(window, "names", ()), window.release.to_bytes())


_WINDOWS: Final = (
    lambda live: live.step,
    lambda live: [_shown(window) for window in live.windows],
    lambda live: live.open and _shown(live.open),
)


def _windows_of(name: str, make: Callable[[Random], Callable[[], Box]], *own: Operation) -> Family:
    """Return windows of a statistic with its own operations, and those that all have."""
    ended = reads("windows", "open", "privacy", "private", "takes_times", "step")
    passing = [Operation("time passes", _time_passes)] * 3
    common = (*passing, _TICK, called("advance"), duplications, *_ENDS, ended)
    return Family(name, make, (*own, *common), _WINDOWS, lambda live: live.finish())


FAMILIES: Final = {
    family.name: family
    for family in (
        Family(
            "private sketches",
            live_objects.private_sketch,
            (
                *_UPDATES,
                *([_ROWS, _BATCH, _TICK] * 2),
                *_ESTIMATES,
                duplications,
                *_ENDS,
                called("release"),
                reads("step", "horizon", "sigma", "closed", "sketch_id", *_NOTED),
            ),
            (lambda live: live.step, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "exact sketches",
            live_objects.exact_sketch,
            (
                *_UPDATES,
                *_ESTIMATES,
                duplications,
                called("release"),
                _rarely(called("finish")),
                reads("table", "step"),
                Operation("merge", _merged),
            ),
            (lambda live: live.step, lambda live: live.table),
            lambda live: live.finish(),
        ),
        Family(
            "distinct items",
            live_objects.distinct_items,
            (
                *[called("update", "item")] * 3,
                *[called("update_many", "items", optional=("column",))] * 6,
                called("update_rows", "items", "empty_rows", optional=("column",)),
                called("update_batch", "items", optional=("column",)),
                _TICK,
                called("estimate"),
                called("interval", optional=("confidence",)),
                duplications,
                *_ENDS,
                called("release"),
                reads("steps", "horizon", "closed", "sketch_id", "bits", "levels", *_NOTED),
            ),
            (lambda live: live.steps, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "values",
            live_objects.distribution,
            (
                *OF_VALUES,
                duplications,
                *_ENDS,
                called("release"),
                reads("steps", "horizon", "closed", "sketch_id", "bins", *_NOTED),
            ),
            (lambda live: live.steps, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "ranges",
            live_ranges.ranges,
            (
                *OF_RANGES,
                duplications,
                *_ENDS,
                called("release"),
                reads("steps", "horizon", "closed", "bits", "width", "hash_seed", *_NOTED),
            ),
            (lambda live: live.steps, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "sums",
            live_objects.sums,
            (
                *[called("update", "item", "value", optional=("user",), value=number, user=ITEM)]
                * 3,
                *[with_values("update_many")] * 6,
                *(with_values("update_rows", rows=True), with_values("update_batch"), _TICK),
                *(
                    called(answer, "item", optional=("confidence",))
                    for answer in ("sum", "count", "mean")
                ),
                called("top", "among", optional=("n", "confidence"), among=MAKERS["items"]),
                duplications,
                *_ENDS,
                called("release"),
                reads("steps", "horizon", "closed", "grid", *_OF_BOTH),
            ),
            (lambda live: live.steps, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "counters",
            live_objects.counters_of,
            (
                *[called("update", "item", optional=("weight",), item=index)] * 3,
                *[called("update_many", "items", optional=("weights",), items=indices)] * 4,
                called("update_rows", "items", "empty_rows", items=indices),
                called("update_batch", "items", items=indices),
                *[called("step", "vector", vector=_VECTOR)] * 3,
                called("estimate", "item", item=index),
                called("estimate_many", "items", items=indices),
                called("interval", "item", item=index),
                called("interval_many", "items", optional=("among", "at"), items=indices),
                called("decode", "items", items=indices),
                *(_TICK, called("release"), duplications, *_ENDS),
                reads("steps", "counters", "horizon", "closed", *_NOTED),
            ),
            (lambda live: live.steps, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "heavy hitters",
            live_objects.heavy_hitters,
            (*[called("update", "item", optional=("weight",))] * 3,)
            + (called("update_many", "items", optional=("weights", "column")),) * 6
            + (_ROWS, _BATCH, _TICK, called("end_discovery_epoch"), called("release"))
            + (called("top", "n", optional=("confidence",)), duplications, *_ENDS)
            + (called("above", optional=("share", "confidence")),)
            + (reads("candidates", "threshold", "smallest_share", "memory", "step", *_NOTED),),
            (lambda live: live.step, lambda live: live.candidates, *_BYTES),
            lambda live: live.finish(),
        ),
        Family(
            "hierarchies",
            live_objects.hierarchy,
            (*[called("update", "item", optional=("weight",), item=fitting)] * 3,)
            + (called("update_many", "items", optional=("weights",), items=fitting_many),) * 6
            + (called("update_rows", "items", "empty_rows", items=fitting_many),)
            + (called("update_batch", "items", items=fitting_many), _TICK)
            + (called("end_discovery_epoch"), duplications, *_ENDS)
            + (called("hierarchy", optional=("share", "confidence")),)
            + (
                called("level", "level", level=index),
                called("release", "level", level=index),
            )
            + (called("top", "n", optional=("level", "confidence"), level=index),)
            + (called("above", optional=("share", "confidence")),)
            + (reads("private", "not_private_because", "privacy", "levels"),),
            (
                lambda live: [table.release().to_bytes() for table in live._tables],
                lambda live: [table._candidates() for table in live._tables],
            ),
            lambda live: live.finish(),
        ),
        Family(
            "windows of a hierarchy",
            live_objects.hierarchical_windows,
            (*[called("update", "item", optional=("weight",), item=fitting)] * 3,)
            + (called("update_many", "items", optional=("weights",), items=fitting_many),) * 6
            + (*[Operation("time passes", _time_passes)] * 3, _TICK, called("advance"))
            + (called("estimate", "item", optional=("last",)), duplications, *_ENDS)
            + (called("interval", "item", optional=("last", "confidence")),)
            + (called("top", "n", optional=("last", "confidence", "include_open")),)
            + (called("changes", optional=("confidence", "against")),)
            + (called("changes_at", "position", optional=("confidence", "against")),)
            + (called("hierarchy", optional=("share", "last", "confidence", "include_open")),)
            + (
                called("level", "level", level=index),
                called("release", optional=("last",)),
            )
            + (reads("windows", "open", "candidates", "privacy", "private", "levels", "step"),),
            (
                lambda live: [_shown(one) for window in live.windows for one in window.levels],
                lambda live: live.open and [_shown(one) for one in live.open.levels],
            ),
            lambda live: live.finish(),
        ),
        Family(
            "windows",
            live_objects.windows,
            (*[called("update", "item", optional=("weight", "time"), time=argument)] * 2,)
            + (called("update_many", "items", optional=("weights",)),) * 6
            + (
                called(
                    "update_many",
                    "items",
                    "times",
                    optional=("weights",),
                    times=times,
                ),
            )
            * 6
            + (*[Operation("time passes", _time_passes)] * 3, _TICK, called("advance"))
            + (called("release", optional=("last",)), called("estimate", "item"))
            + (called("interval", "item", optional=("last", "confidence")), duplications)
            + (called("top", "n", optional=("last", "confidence", "include_open")), *_ENDS)
            + (called("changes", optional=("confidence", "against")),)
            + (called("changes_at", "position", optional=("confidence", "against")),)
            + (
                reads("windows", "open", "candidates", "privacy", "private", "takes_times", "step"),
            ),
            _WINDOWS,
            lambda live: live.finish(),
        ),
        _windows_of(
            "windows of distinct items",
            live_objects.windows_of_distinct_items,
            *[called("update", "item", optional=("time",), time=argument)] * 2,
            *[called("update_many", "items")] * 6,
            *[called("update_many", "items", "times", times=times)] * 6,
            called("release", optional=("position",)),
            called("estimate"),
            called("interval", optional=("position", "confidence")),
        ),
        _windows_of(
            "windows of values",
            live_objects.windows_of_values,
            *[called("update", "value", optional=("time",), value=number, time=argument)] * 2,
            *[called("update_many", "values", values=numbers)] * 3,
            *[of_people("update_many", few=(0.0, 2.5))] * 3,
            *[called("update_many", "values", "times", values=numbers, times=times)] * 6,
            called("release", optional=("last",)),
            called("quantile", "share", optional=("last", "confidence")),
            called("quantiles", "shares", optional=("last",), shares=numbers),
            called("cdf", "value", optional=("last", "confidence"), value=number),
            called("total", optional=("last", "confidence")),
            called("histogram", optional=("last", "confidence", "simultaneous")),
            reads("bins"),
        ),
        _windows_of(
            "windows of ranges",
            live_objects.windows_of_ranges,
            *[called("update", "key", optional=_ONE, key=index, time=argument, user=ITEM)] * 2,
            *[called("update_many", "keys", optional=("weights",), keys=indices)] * 3,
            *[of_people("update_many", of="keys", few=(0, 1, 7))] * 3,
            *[called("update_many", "keys", "times", keys=indices, times=times)] * 6,
            called("release", optional=("last",)),
            called("count_between", "low", "high", optional=("last",), low=index, high=index),
            called("prefix", "network", optional=("last", "confidence"), network=argument),
            called("quantile", "share", optional=("last", "confidence")),
            called("total", optional=("last", "confidence")),
            reads("bits"),
        ),
        _windows_of(
            "windows of sums",
            live_objects.windows_of_sums,
            *[called("update", "item", "value", optional=("time",), value=number, time=argument)]
            * 2,
            *[called("update_many", "items", "values", values=numbers)] * 3,
            *[with_values("update_many")] * 3,
            *[called("update_many", "items", "values", "times", values=numbers, times=times)] * 6,
            called("release", optional=("last",)),
            *[called(name, "item", optional=("last",)) for name in ("sum", "count", "mean")],
            called("top", "among", optional=("n", "last"), among=MAKERS["items"]),
            reads("grid"),
        ),
    )
}
