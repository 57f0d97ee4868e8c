"""Operations whose memory grows with an input, a table or a release, for failing allocations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from tests.faults.callbacks import Clock
from tests.faults.campaign import Operation
from tests.faults.subjects import (
    KEY,
    Family,
    Subject,
    seen,
    seen_hitters,
    seen_levels,
    seen_windows,
)

import lazysketch as ls
from lazysketch.testing import seeded_key

__all__ = ["LARGE_OPERATIONS"]

_DAY: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)
_NUMBERS: Final = np.arange(3000) % 70
_MANY: Final = np.arange(140_000) % 70_000  # enough for two threads
_NAMES: Final = [f"name {number}" for number in _NUMBERS]
_WEIGHTS: Final = [1 + number % 3 for number in range(3000)]
_TIMES: Final = [_DAY + timedelta(seconds=10 * number) for number in range(3000)]
# With this bound the counters become wide at step 1024.
_SMALL: Final[dict[str, Any]] = {
    "epsilon": 8.0,
    "delta": 1e-6,
    "hash_seed": 3,
    "max_weight": 2**20,
}
_SIZE: Final = {"depth": 2, "width": 1024}
_FORMS: Final[dict[str, Any]] = {
    "a list of strings": _NAMES,
    "a list of integers": _NUMBERS.tolist(),
    "a mixed list": [*_NAMES, *_NUMBERS.tolist()],
    "a NumPy array": _NUMBERS,
    "a narrow NumPy array": _NUMBERS.astype(np.int16),
    "a NumPy array of text": np.array(_NAMES),
    "an Arrow array of text": pa.array(_NAMES),
    "an Arrow array of integers": pa.array(_NUMBERS),
    "an Arrow dictionary": pa.array(_NAMES).dictionary_encode(),
    "Arrow chunks": pa.chunked_array([_NAMES[:1000], _NAMES[1000:]]),
}
_WEIGHT_FORMS: Final[dict[str, Any]] = {
    "a list": _WEIGHTS,
    "a NumPy array": np.array(_WEIGHTS),
    "a narrow NumPy array": np.array(_WEIGHTS, np.int8),
    "an Arrow array": pa.array(_WEIGHTS),
}


def _updates(family: Family) -> list[Operation]:
    """``update_many`` with items and weights in every form that is converted in its own way."""

    def updating(items: Any, weights: Any = None) -> Callable[[Subject], object]:
        return lambda one: one.live.update_many(items, weights)

    return [
        *(family.operation(f"update_many, {form}", updating(of)) for form, of in _FORMS.items()),
        *(
            family.operation(f"update_many, weights in {form}", updating(_NAMES, of))
            for form, of in _WEIGHT_FORMS.items()
        ),
        family.operation(
            "update_many, an iterator",
            lambda one: one.live.update_many(iter(_NAMES), iter(_WEIGHTS)),
        ),
    ]


def _sketch(kind: Any, **options: Any) -> list[Operation]:
    spec = cache(lambda: kind(key=KEY, **{**_SMALL, **_SIZE, **options}).spec)
    family = Family(
        name=kind.__name__,
        made=lambda _: kind.from_spec(spec(), key=KEY),
        begin=lambda one: one.live.update_many(_NAMES[:900]),
        observe=seen,
        proceed=lambda one: one.live.update_many(_NAMES[::-1], _WEIGHTS),
    )
    of = family.operation
    return [
        *_updates(family),
        *_reads(family),
        of("tick to wide counters", lambda one: one.live.tick(1000)),
        family.construction(),
    ]


def _threads() -> list[Operation]:
    """A batch in two threads: without memory for their counts it is counted in one."""
    spec = cache(lambda: ls.LazyCountMin(key=KEY, **{**_SMALL, "depth": 2, "width": 2**17}).spec)
    family = Family(
        name="LazyCountMin (wide)",
        made=lambda _: ls.LazyCountMin.from_spec(spec(), key=KEY),
        begin=lambda one: one.live.update_many(_MANY[:900]),
        observe=seen,
        proceed=lambda one: one.live.update_many(_MANY[::-1]),
    )
    return [
        family.operation(
            "update_many in two threads", lambda one: one.live.update_many(_MANY, threads=2)
        )
    ]


def _reads(family: Family) -> list[Operation]:
    def read(name: str, call: Callable[[Any], object]) -> Operation:
        return family.operation(name, lambda one: call(one.live), reads=True)

    return [
        read("estimate_many, a list", lambda live: live.estimate_many(_NAMES)),
        read("estimate_many, a NumPy array", lambda live: live.estimate_many(_NUMBERS)),
        read("estimate_many, an Arrow array", lambda live: live.estimate_many(pa.array(_NAMES))),
        read("release", lambda live: live.release()),
    ]


def _exact(kind: Any) -> list[Operation]:
    def made(_: Clock) -> Any:
        return kind(**_SIZE, hash_seed=3)

    family = Family(
        name=kind.__name__,
        made=made,
        begin=lambda one: one.live.update_many(_NAMES[:900]),
        observe=seen,
        proceed=lambda one: one.live.update_many(_NAMES[::-1], _WEIGHTS),
    )
    other = made(Clock())
    return [
        *_updates(family),
        *_reads(family),
        family.operation("merge", lambda one: one.live.merge(other), reads=True),
        family.construction(),
    ]


def _counters() -> list[Operation]:
    spec = cache(
        lambda: (
            ls.ContinualCounters(
                counters=1500, epsilon=8.0, delta=1e-6, horizon=9000, max_weight=2**20, key=KEY
            ).spec
        )
    )
    family = Family(
        name="ContinualCounters",
        made=lambda _: ls.ContinualCounters.from_spec(spec(), key=KEY),
        begin=lambda one: one.live.update_many(_NUMBERS[:900]),
        observe=seen,
        proceed=lambda one: one.live.step([1] * 1500),
    )
    of = family.operation
    return [
        of("step", lambda one: one.live.step([1] * 1500)),
        of("update_many, a list", lambda one: one.live.update_many(_NUMBERS.tolist())),
        of("update_many, a NumPy array", lambda one: one.live.update_many(_NUMBERS, _WEIGHTS)),
        of("tick to wide counters", lambda one: one.live.tick(1000)),
        of("release", lambda one: one.live.release(), reads=True),
        family.construction(),
    ]


def _hitters(name: str, **options: Any) -> list[Operation]:
    family = Family(
        name=name,
        made=lambda _: ls.HeavyHitters(**{**_SMALL, **_SIZE, "key": KEY, **options}),
        begin=lambda one: one.live.update_many(_NAMES[:900]),
        observe=seen_hitters,
        proceed=lambda one: (one.live.update_many(_NAMES), one.live.top(2)),
    )
    of = family.operation
    return [
        *_updates(family),
        of("update_rows", lambda one: one.live.update_rows(_NAMES, empty_rows=range(0, 800, 2))),
        of("tick to wide counters", lambda one: one.live.tick(1000)),
        of("release", lambda one: one.live.release(), reads=True),
        family.construction(),
    ]


def _levels() -> list[Operation]:
    items = [f"10.0.{number % 7}.{number % 5}" for number in range(1500)]
    batches = ls.Batch(horizon=40)

    def family(name: str, begin: Callable[[Subject], object], **options: Any) -> Family:
        return Family(
            name=name,
            made=lambda _: ls.HierarchicalHeavyHitters(
                ls.ipv4_prefixes((8, 24, 32)),
                **{**_SMALL, **_SIZE, "key": KEY, "share": 0.2, **options},
            ),
            begin=begin,
            observe=seen_levels,
            proceed=lambda one: (one.live.tick(3), one.live.top(2)),
        )

    steps = family("HierarchicalHeavyHitters", lambda one: one.live.update_many(items[:900]))
    last = family("HierarchicalHeavyHitters (last narrow step)", lambda one: one.live.tick(1023))
    slices = family(
        "HierarchicalHeavyHitters (batches)",
        lambda one: one.live.tick(1),
        discovery_epoch=4,
        schedule=batches,
    )
    weights = _WEIGHTS[:1500]
    return [
        steps.operation("update_many", lambda one: one.live.update_many(items, weights)),
        steps.operation(
            "update_rows", lambda one: one.live.update_rows(items, empty_rows=range(0, 800, 2))
        ),
        steps.operation("tick to wide counters", lambda one: one.live.tick(1000)),
        last.operation("update to wide counters", lambda one: one.live.update(items[0], 2)),
        slices.operation("update_batch", lambda one: one.live.update_batch(items, weights)),
        steps.construction(),
    ]


def _windows() -> list[Operation]:
    asked = {**_SMALL, **_SIZE, "key": KEY, "share": 0.2}

    def by_steps(one: Subject) -> object:
        one.live.update_many(_NAMES)
        one.live.tick(9)
        return one.live.candidates

    steps = Family(
        name="Windows of steps",
        made=lambda _: ls.Windows(every=1500, keep=3, **asked),
        begin=lambda one: one.live.update_many(_NAMES[:1400]),
        observe=seen_windows,
        proceed=by_steps,
    )

    def at(seconds: float, call: Callable[[Any], object]) -> Callable[[Subject], object]:
        def later(one: Subject) -> object:
            one.clock.now = seconds
            return call(one.live)

        return later

    def by_clock(one: Subject) -> object:
        one.live.update_many(_NAMES[:7])
        one.clock.now = 1000.0
        return one.live.candidates

    clock = Family(
        name="Windows by the clock",
        made=lambda clock: ls.Windows(every="60s", slices=4, clock=clock, keep=3, **asked),
        begin=lambda one: one.live.advance(),
        observe=lambda live: None,
        proceed=lambda one: (by_clock(one), seen_windows(one.live)),
    )

    def by_time(one: Subject) -> object:
        one.live.update_many(_NAMES[:9], times=_TIMES[:9])
        one.live.finish()
        return one.live.candidates

    time = Family(
        name="Windows by time",
        made=lambda _: ls.Windows(every="3h", begin=_DAY, end=_DAY + timedelta(hours=11), **asked),
        begin=lambda one: None,
        observe=seen_windows,
        proceed=by_time,
    )
    return [
        steps.operation("update_many across windows", lambda one: one.live.update_many(_NAMES)),
        steps.operation("tick across windows", lambda one: one.live.tick(4000)),
        steps.construction(),
        clock.operation("update_many", at(1.0, lambda live: live.update_many(_NAMES, _WEIGHTS))),
        clock.operation(
            "update_many in the next window", at(70.0, lambda live: live.update_many(_NAMES))
        ),
        time.operation("update_many", lambda one: one.live.update_many(_NAMES, times=_TIMES)),
        time.operation(
            "update_many with weights",
            lambda one: one.live.update_many(_NAMES, _WEIGHTS, times=_TIMES),
        ),
        time.construction(),
    ]


def _releases() -> list[Operation]:
    """Published tables; one object serves all points."""

    def release() -> ls.Release:
        key = seeded_key(5, sketch_id=None)
        live = ls.LazyCountMin(**_SMALL, **_SIZE, key=key)
        live.update_many(_NAMES)
        return live.release()

    other = cache(release)
    family = Family(
        name="Release",
        made=lambda _: release(),
        begin=lambda one: None,
        observe=lambda live: live.to_bytes(),
        proceed=lambda one: None,
    )

    def read(name: str, call: Callable[[Any], object]) -> Operation:
        return family.operation(name, lambda one: call(one.live), reads=True)

    encoded = cache(lambda: other().to_bytes())
    # A list that could not be decoded is decoded by the next read.
    known = Family(
        name="Release (known names)",
        made=lambda _: ls.Release.from_bytes(encoded()),
        begin=lambda one: None,
        observe=lambda live: live.decode(_NAMES[:70]).tolist(),
        proceed=lambda one: None,
    )
    return [
        known.operation("decode", lambda one: one.live.decode(_NAMES[:70])),
        read("estimate_many, a list", lambda live: live.estimate_many(_NAMES)),
        read("estimate_many, a NumPy array", lambda live: live.estimate_many(_NUMBERS)),
        read("to_bytes", lambda live: live.to_bytes()),
        read("from_bytes", lambda _: ls.Release.from_bytes(encoded())),
        read("merge", lambda live: live.merge(other())),
        read("top of public items", lambda live: live.top(_NAMES, 2)),
        # What a table's reads share is made by the first one.
        read("first estimates", lambda _: ls.Release.from_bytes(encoded()).estimate_many(_NAMES)),
    ]


LARGE_OPERATIONS: Final[tuple[Operation, ...]] = (
    *_sketch(ls.LazyCountMin),
    *_sketch(ls.LazyCountSketch, horizon=20_000),
    *_sketch(ls.PunctualCountMin, horizon=20_000),
    *_sketch(ls.PunctualCountSketch, horizon=20_000),
    *_threads(),
    *_exact(ls.CountMin),
    *_exact(ls.CountSketch),
    *_counters(),
    *_hitters("HeavyHitters", share=0.2, discovery_epoch=1000),
    *_hitters("HeavyHitters (public list)", domain=["name 1", "name 2"]),
    *_levels(),
    *_windows(),
    *_releases(),
)
