"""Attacks on the boundary between Python and the core; each was found in a review and fixed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from tests.native_specs import table_spec
from tests.unit.native.native_forks import BATCHES, CALLS, READS, outcome_of

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LazySketchError, LiveStateError, MergeError
from lazysketch.sketches.keys import Key

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def made(**changed: object) -> ls.LazyCountMin:
    options: dict[str, object] = {"depth": 2, "width": 8, "epsilon": 1.0, "delta": 1e-6} | changed
    return ls.LazyCountMin(**options)


@forks
@pytest.mark.parametrize("method", ["update_many", "estimate_many"])
def test_a_generator_that_forks_cannot_use_the_sketch_in_the_child(method: str) -> None:
    """The check follows the conversion of the items, because the conversion runs the generator."""
    sketch = made()
    reader, writer = os.pipe()

    def items() -> Iterator[int]:
        yield 1
        if os.fork() == 0:
            yield 2  # the child continues the call

    parent = os.getpid()
    try:
        getattr(sketch, method)(items())
        outcome = "nothing"
    except LiveStateError:
        outcome = "LiveStateError"
    if os.getpid() != parent:
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "LiveStateError"
    assert outcome == "nothing"


@forks
@pytest.mark.skipif(sys.platform == "darwin", reason="no fork from native code there")
@pytest.mark.parametrize("call", CALLS)
def test_a_fork_from_native_code_is_detected(call: str) -> None:
    """No hook of Python runs in such a fork; the process id shows it."""
    assert outcome_of(call) == "LiveStateError"


@forks
@pytest.mark.skipif(sys.platform == "darwin", reason="no fork from native code there")
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("batch", BATCHES)
def test_counts_of_such_a_child_are_never_published(batch: str, read: str) -> None:
    """Single updates and short batches do not compare the process id; every read does."""
    assert outcome_of(batch, read) == "LiveStateError"


class Changing(int):
    """An integer whose conversion to int gives another number."""

    def __int__(self) -> int:
        return 1000

    def __index__(self) -> int:
        return 1000


@pytest.mark.parametrize("name", ["max_weight", "max_events_per_user", "horizon", "depth"])
def test_the_checked_value_is_the_used_value(name: str) -> None:
    honest, changing = made(**{name: 2}), made(**{name: Changing(2)})
    assert changing.sigma == honest.sigma
    assert changing.horizon == honest.horizon
    assert changing.depth == honest.depth
    with pytest.raises(LazySketchError):
        changing.update("a", 3)


def test_the_core_marks_insufficient_noise() -> None:
    """Python computes the noise, but the core marks a sketch whose noise is below its guarantee."""
    sketch = made()
    facts = sketch._release().parts[0]["noise"]
    assert facts is not None
    arguments = {
        "kind": "count-min",
        "depth": 2,
        "width": 8,
        "hash_seed": 1,
        "schedule": facts["schedule"],
        "mechanism": facts["mechanism"],
        "relation": "substitution",
        "calibration": "analytic",
        "epsilon": 1.0,
        "delta": 1e-6,
        "max_weight": 1,
        "max_events_per_user": 1,
        "max_changes": 1,
    }
    sufficient = _native.PrivateSketch(
        table_spec(sigma=facts["sigma"], **arguments), key=Key.generate()
    )
    assert sufficient.not_private_because == ()
    for sigma in (1e-9, 0.9 * facts["sigma"]):
        insufficient = _native.PrivateSketch(
            table_spec(sigma=sigma, **arguments), key=Key.generate()
        )
        assert insufficient.not_private_because == ("noise below what epsilon and delta ask for",)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    sketch = made()
    with pytest.raises(ArgumentTypeError, match=r"^items: .*mask"):
        sketch.update_many(masked)
    with pytest.raises(ArgumentTypeError, match=r"^weights: .*mask"):
        sketch.update_many([1, 2, 3], masked)
    assert sketch.step == 0


def test_sums_without_a_negation_are_refused() -> None:
    """-2^63 would remain negative when a Count Sketch flips its sign."""
    shape: dict[str, int] = {"depth": 1, "width": 1, "hash_seed": 1}
    halves = [ls.CountSketch(**shape), ls.CountSketch(**shape)]
    item = next(i for i in range(100) if _sign(i) < 0)
    for half in halves:
        half.update(item, 2**62 - 1)
    releases = [half.release() for half in halves]
    both = releases[0].merge(releases[1])
    assert both.table.min() == -(2**63) + 2
    last = ls.CountSketch(**shape)
    last.update(item, 2)
    with pytest.raises(MergeError):
        both.merge(last.release())


def _sign(item: int) -> int:
    sketch = ls.CountSketch(depth=1, width=1, hash_seed=1)
    sketch.update(item)
    return int(sketch.table[0, 0])
