"""The table of bad input: each public argument with wrong types and values out of range.

Every entry must raise an error of lazysketch that is a TypeError or a ValueError and
whose message starts with the argument's name; nothing huge may be allocated on the way.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.locations import ROOT

import lazysketch as ls
from lazysketch.errors import HorizonError, LazySketchError
from lazysketch.testing import draws, fixed_id, seeded_key

NAN = float("nan")
# Calls that must fail take microseconds; a table of 2^28 cells takes far longer.
PATIENCE = 2.0
SPARE_MEMORY = 512 * 2**20


class Thing:
    pass


NO_NUMBERS: list[Any] = ["3", b"3", [3], (3,), {3: 3}, 3j, Thing(), np.array([3]), np.str_("3")]
BOOLEANS: list[Any] = [True, False, np.True_]
FLOATS: list[Any] = [1.5, 2.0, np.float64(2.0), NAN, math.inf, -math.inf]
HUGE: list[Any] = [2**64, 10**30, -(10**30), 10**400, -(10**400)]


def integers(least: int, most: int) -> list[Any]:
    """Values that are not integers from ``least`` to ``most``, including None and timedelta64."""
    limits = [least - 1, most + 1, np.int64(least - 1), np.timedelta64(3), None]
    return [*NO_NUMBERS, *BOOLEANS, *FLOATS, *limits, *HUGE]


def optional(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def reals(above: Any) -> list[Any]:
    """Values that are not real numbers above 0 and below ``above``."""
    limits = [0, 0.0, -0.0, -1, -1e-9, NAN, np.float32("nan"), math.inf, -math.inf, above, None]
    return [*NO_NUMBERS, *BOOLEANS, *limits, *HUGE]


def names(*unknown: str) -> list[Any]:
    return ["", "unknown", "x" * 10**6, *unknown, b"haar", 5, True, 1.5, NAN, ["haar"], Thing()]


def byte_strings(length: int) -> list[Any]:
    wrong = [b"", bytes(length - 1), bytes(length + 1), bytes(10**6)]
    others = [bytearray(length), memoryview(bytes(length)), "x" * length]
    return [*wrong, *others, 5, True, 1.5, [0] * length, Thing()]


NOT_A_KEY: list[Any] = [b"x" * 32, "key", 5, True, 1.5, Thing(), ls.Key]
SIZE: dict[str, Any] = {"depth": 2, "width": 8}
ERRORS: dict[str, Any] = {"relative_error": 0.1, "failure_probability": 0.1}
PRIVATE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 64}
SHAPE_TABLE: dict[str, list[Any]] = {
    "depth": integers(1, 64),
    "width": [*integers(1, 2**24), 2**40],
}
ERROR_TABLE: dict[str, list[Any]] = {
    "relative_error": [*reals(1.0), 1e-300],
    "failure_probability": [*reals(1.0), 1e-300],
}
NOISE_TABLE: dict[str, list[Any]] = {
    "epsilon": [*reals(100.5), 1e-300, 5e-324],
    "delta": [*reals(1.0), 1e-300, 5e-324],
    "horizon": optional(integers(1, 2**48)),
    "relation": names("zero_out", "Substitution"),
    "mechanism": names("trees", "HAAR"),
    "calibration": names("exact"),
    "max_weight": integers(1, 2**32),
    "max_events_per_user": integers(1, 2**63 - 1),
    "key": NOT_A_KEY,
}
SEED_TABLE: dict[str, list[Any]] = {"hash_seed": optional(integers(0, 2**64 - 1))}
PRIVATE_CLASSES = [
    ls.LazyCountMin,
    ls.LazyCountSketch,
    ls.PunctualCountMin,
    ls.PunctualCountSketch,
]
COUNTERS: dict[str, Any] = {"counters": 4, **PRIVATE}

# Label, the call, good arguments, and the bad values of each argument.
Row = tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Any]]]


def constructors() -> Iterator[Row]:
    for exact in (ls.CountMin, ls.CountSketch):
        yield exact.__name__, exact, SIZE, {**SHAPE_TABLE, **SEED_TABLE}
        yield f"{exact.__name__} by errors", exact, ERRORS, {**ERROR_TABLE, **SEED_TABLE}
    for private in PRIVATE_CLASSES:
        noise = {**NOISE_TABLE, **SEED_TABLE}
        yield private.__name__, private, {**SIZE, **PRIVATE}, {**SHAPE_TABLE, **noise}
        yield f"{private.__name__} by errors", private, {**ERRORS, **PRIVATE}, ERROR_TABLE
    table = {
        "counters": [*integers(1, 2**24), 2**40],
        "max_changes": [*integers(1, 4), 2**40],
        "schedule": names("round-robin", "Punctual"),
        **NOISE_TABLE,
    }
    yield "ContinualCounters", ls.ContinualCounters, COUNTERS, table
    shared = ("epsilon", "delta", "relation", "mechanism", "horizon", "key")
    table = {
        "bits": [*integers(64, 2**24), 65, 2**25],
        "levels": [*integers(1, 16), 17],
        **{name: values for name, values in NOISE_TABLE.items() if name in shared},
        **SEED_TABLE,
    }
    yield "DistinctCount", ls.DistinctCount, PRIVATE, table


NO_ITEMS: list[Any] = [
    None,
    True,
    np.True_,
    1.5,
    NAN,
    (1,),
    [1],
    bytearray(b"a"),
    Thing(),
    "\ud800",
]
NO_BATCHES: list[Any] = [None, "a", b"a", {}, 5, True, 1.5, Thing(), [None], [1.5], [["a"]]]
NO_COLUMNS: list[Any] = ["", "absent", 5, True, 1.5, NAN, b"x", ["x"], Thing()]


def sketch_methods() -> Iterator[Row]:
    one = pa.table({"x": [1, 2]})
    private = {**SIZE, **PRIVATE, "max_weight": 9}
    exact_weight = [*integers(0, 2**62 - 1), 2**63]
    sketches: list[tuple[Any, list[Any]]] = [
        (ls.CountMin(**SIZE), exact_weight),
        (ls.CountSketch(**SIZE), exact_weight),
        *((kind(**private), integers(0, 9)) for kind in PRIVATE_CLASSES),
    ]
    for sketch, weight in sketches:
        name = type(sketch).__name__
        update = {"item": NO_ITEMS, "weight": weight}
        yield f"{name}.update", sketch.update, {"item": "a", "weight": 1}, update
        weights = [5, True, 1.5, Thing(), "11", b"11", {}, [1], [1, None], [1, -1], [1, 2**64]]
        many = {"items": NO_BATCHES, "weights": weights, "column": NO_COLUMNS}
        batch = {"items": one, "weights": [1, 1]}
        yield f"{name}.update_many", sketch.update_many, batch, many
        for reader in (sketch, sketch.release()):
            label = f"{name} {type(reader).__name__}"
            yield f"{label}.estimate", reader.estimate, {"item": "a"}, {"item": NO_ITEMS}
            ask = {"items": NO_BATCHES, "column": NO_COLUMNS}
            yield f"{label}.estimate_many", reader.estimate_many, {"items": one}, ask
    other = [None, 5, "a", Thing(), ls.CountSketch(**SIZE), ls.CountMin(**SIZE).release()]
    exact = ls.CountMin(**SIZE)
    yield "CountMin.merge", exact.merge, {"other": exact}, {"other": other}
    ticking = ls.LazyCountMin(**SIZE, **PRIVATE)
    steps = [value for value in integers(0, 2**64 - 1) if value is not False]
    yield "LazyCountMin.tick", ticking.tick, {"steps": 0}, {"steps": steps}


def counter_methods() -> Iterator[Row]:
    counters = ls.ContinualCounters(**COUNTERS, max_weight=9)
    indices: list[Any] = [*NO_ITEMS, "a", b"a", -1, 4, 2**40, *HUGE]
    weight = {"weight": integers(0, 9)}
    yield "ContinualCounters.update", lambda weight: counters.update(0, weight), {}, weight
    for call in (counters.update, counters.estimate, counters.release().estimate):
        yield (
            f"ContinualCounters {call.__name__}",
            lambda index, call=call: call(index),
            {},
            {"index|item": indices},
        )
    vectors: list[Any] = [None, 5, "1111", b"1111", {}, True, [1] * 3, [1] * 5, [], [1, 1, 1, 10]]
    vectors += [[1, 1, None, 1], [1, 1, 1.0, 1], [1, 1, True, 1], [1, 1, -1, 1], np.ones(4)]
    vectors += [np.ones((4, 1), dtype=int), np.array([0, 0, -1, 0]), [2**64] * 4, Thing()]
    yield "ContinualCounters.step", counters.step, {"vector": [0] * 4}, {"vector": vectors}


def releases_and_keys() -> Iterator[Row]:
    release = ls.CountMin(**SIZE).release()
    paths = [None, 5, True, 1.5, b"x", ["x"], Thing()]
    made = {"release": [None, 5, b"x", release, Thing()]}
    yield "Release", lambda release: ls.Release(release), {}, made
    yield "Release.load", lambda path: ls.Release.load(path), {}, {"path": paths}
    yield "Release.save", lambda path: release.save(path), {}, {"path": paths}
    data = [None, 5, True, "x", bytearray(9), memoryview(b"x"), [1], Thing()]
    yield "Release.from_bytes", lambda data: ls.Release.from_bytes(data), {}, {"data": data}
    others = [None, 5, b"x", Thing(), ls.CountMin(**SIZE)]
    yield "Release.merge", lambda others: release.merge(others), {}, {"others": others}
    yield "Key.from_bytes", ls.Key.from_bytes, {}, {"secret": [None, *byte_strings(32)]}
    key = ls.Key.generate()
    seeds = {"seed": integers(0, 2**64 - 1), "sketch_id": byte_strings(16)}
    yield "seeded_key", seeded_key, {"seed": 1}, seeds
    test_keys = [seeded_key(1), fixed_id(key, bytes(16))]
    ids = {"key": [None, *NOT_A_KEY, *test_keys], "sketch_id": [None, *byte_strings(16)]}
    yield "fixed_id", fixed_id, {"key": key, "sketch_id": bytes(16)}, ids
    sketch = ls.LazyCountMin(**SIZE, **PRIVATE, key=seeded_key(1))
    table = {
        "sketch": [None, "a", 5, ls.CountMin(**SIZE), sketch.release(), Thing()],
        "cells": not_numbers_of_a_list(0, 15),
        "nodes": not_numbers_of_a_list(1, 9),
    }
    yield "draws", draws, {"sketch": sketch, "cells": [0], "nodes": [1]}, table


def not_numbers_of_a_list(least: int, most: int) -> list[Any]:
    shapes = [None, "1", b"1", Thing(), [[1]], np.ones((1, 1), dtype=int), [1, [1]]]
    inside = [None, 1.5, NAN, math.inf, True, "1", b"1", least - 1, most + 1, 2**70, 10**400]
    return [*shapes, *([value] for value in inside), np.array([1.5]), np.array([True])]


def descriptions() -> Iterator[Row]:
    mechanism = {"name": [None, *names("trees")], "leaves": integers(1, 2**48)}
    yield "Mechanism", ls.Mechanism, {"name": "haar", "leaves": 8}, mechanism
    haar = ls.Mechanism("haar", leaves=8)
    pushes = {"pushes": not_numbers_of_a_list(0, 9)}
    yield "Mechanism.variances", haar.variances, {}, pushes
    width = [*integers(1, 2**24), 2**40]
    for schedule in (ls.RoundRobin, ls.Punctual):
        name = schedule.__name__
        horizons = integers(1, 2**48)
        asked = horizons if schedule is ls.RoundRobin else optional(horizons)
        yield name, schedule, {"horizon": 5}, {"horizon": asked}
        timed = schedule(horizon=100)
        yield f"{name}.leaves", timed.leaves, {}, {"width": width}
        table = {"width": width, "step": integers(0, 100)}
        yield f"{name}.pushes", timed.pushes, {"width": 4, "step": 5}, table
    yield "Geometric.leaves", ls.Geometric().leaves, {}, {"width": width}
    table = {"width": width, "step": integers(0, 2**62 - 1)}
    yield "Geometric.pushes", ls.Geometric().pushes, {"width": 4, "step": 5}, table
    part = ls.LazyCountMin(**SIZE, **PRIVATE).release().parts[0]
    yield "ReleasePart.pushes", part.pushes, {}, {"width": width}
    yield "ReleasePart.noise_variance", part.noise_variance, {}, {"width": width}


def table_of_bad_input() -> Iterator[Any]:
    tables = (constructors, sketch_methods, counter_methods, releases_and_keys, descriptions)
    for rows in tables:
        for label, call, good, bad in rows():
            for argument, values in bad.items():
                yield pytest.param(call, good, argument, values, id=f"{label} {argument}")


def complaint(call: Callable[..., Any], arguments: dict[str, Any], name: str) -> str | None:
    """Return what is wrong with the error that a call raises, or None."""
    started = time.perf_counter()
    try:
        call(**arguments)
    except LazySketchError as error:
        message = str(error)
        if not isinstance(error, (TypeError, ValueError)):
            return f"{type(error).__name__} is neither a TypeError nor a ValueError"
        if not re.match(rf"({name})(:|, | at position \d+:) ?", message):
            return f"the message starts with {message[:60]!r}"
        if len(message) > 1000:
            return "the message has more than 1000 characters"
    except BaseException as error:
        return f"{type(error).__name__} is no error of lazysketch: {str(error)[:80]}"
    else:
        return "nothing was raised"
    taken = time.perf_counter() - started
    return f"took {taken:.1f} s" if taken > PATIENCE else None


@pytest.mark.parametrize(("call", "good", "argument", "values"), list(table_of_bad_input()))
def test_bad_input_is_refused_by_name(
    call: Callable[..., Any], good: dict[str, Any], argument: str, values: list[Any]
) -> None:
    keyword = argument.split("|")[0]
    complaints = {
        f"{argument} = {value!r:.40}" if not isinstance(value, int) else f"{value:#x}"[:40]: found
        for value in values
        if (found := complaint(call, {**good, keyword: value}, argument))
    }
    assert not complaints


@pytest.mark.parametrize("make", PRIVATE_CLASSES)
def test_good_input_is_accepted(make: Any) -> None:
    """Control: the good arguments of the table are accepted."""
    assert make(**SIZE, **PRIVATE).depth == 2
    assert make(**ERRORS, **PRIVATE).depth > 1
    limits = {"hash_seed": 2**64 - 1, "epsilon": np.float32(0.5), "delta": 0.999}
    assert make(**{**SIZE, **PRIVATE, **limits}).hash_seed == 2**64 - 1
    wide = {"depth": np.int8(64), "width": np.uint16(8), "horizon": np.int64(64)}
    assert make(**{**PRIVATE, **wide}).depth == 64


def test_round_robin_needs_a_horizon() -> None:
    with pytest.raises(ValueError, match="^horizon: "):
        ls.LazyCountMin(**SIZE, epsilon=1.0, delta=1e-6, schedule="round robin")


def test_sizes_and_errors_are_not_mixed() -> None:
    for make, rest in ((ls.CountMin, {}), (ls.LazyCountMin, PRIVATE)):
        for mix in ({**SIZE, **ERRORS}, {"depth": 2, **ERRORS}, {}):
            with pytest.raises(TypeError, match="^depth, width: "):
                make(**mix, **rest)


def test_neither_schedule_takes_the_horizon_of_the_other() -> None:
    make = ls.ContinualCounters
    rest: dict[str, Any] = {"counters": 2, "epsilon": 1.0, "delta": 1e-6}
    for arguments in (
        {"schedule": "geometric", "horizon": 5},
        {"schedule": "round robin"},
    ):
        with pytest.raises(ValueError, match="^horizon: "):
            make(**rest, **arguments)


def test_ticks_beyond_all_horizons() -> None:
    sketch = ls.LazyCountMin(**SIZE, epsilon=1.0, delta=1e-6)
    with pytest.raises(HorizonError, match="^horizon: "):
        sketch.tick(2**64 - 1)
    sketch.tick(2**62 - 1)
    with pytest.raises(HorizonError, match="^horizon: "):
        sketch.update("a")


def refuse_the_huge_in_little_memory() -> None:
    """Runs in a child: constructors with huge arguments, in little address space."""
    import resource

    rows = list(constructors())
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_MEMORY, used + SPARE_MEMORY))
    started = time.perf_counter()
    for label, call, good, bad in rows:
        for argument in ("depth", "width", "counters", "relative_error"):
            for value in (2**31, 2**32 + 1, 2**40, 2**64 + 1, 10**30, 10**400, 1e-9, 1e-300):
                if argument in bad:
                    found = complaint(call, {**good, argument: value}, argument)
                    assert not found, f"{label} {argument}: {found}"
    for make in (ls.CountMin, ls.CountSketch):
        assert not complaint(make, {"depth": 64, "width": 2**24}, "width")
    assert time.perf_counter() - started < 10 * PATIENCE


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_huge_sizes_allocate_nothing() -> None:
    code = "from tests.unit.test_bad_input import refuse_the_huge_in_little_memory as f; f()"
    child = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr[-2000:]
