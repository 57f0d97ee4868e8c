"""Ingest cost of every input type relative to the closest faster path; none should cost double.

A call with n events costs ``a + b n`` nanoseconds. For a batch, b is the cost per event in the next
larger batch, and a is the cost of a call without events. The baseline of a batch of one event is
one update; for an array of one it also includes a numpy call that reads the value, or a pyarrow
call that exports it. ``over`` is the cost of an input over that of its baseline and such a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

import lazysketch

from .contenders import DEPTH, HORIZON, WIDTH, one_by_one, private
from .measuring import Contender, Results, integers, medians, texts

EVENTS = 1_000_000
LIST = 100_000
CALLS = {4096: 25, 256: 200, 16: 1000, 1: 4000}
READS = 200
UPDATE, UPDATE_OF_STR = "one update per int", "one update per str"
WEIGHTED, UPDATE_OF_HEAVY = "one update with a weight", "one update of heavy hitters"
ESTIMATE, HEAVY = "one estimate per int", "heavy hitters, int64"
READ_VALUE, NEW_ARRAY = "one value read by numpy", "a new array of one value by numpy"
EXPORT = "one text exported by pyarrow"
DICTIONARY, CATEGORICAL = "dictionary of text", "Categorical of polars"
FIXED_TEXT = ("numpy text", "numpy bytes", "numpy text of any length")


class Items(Protocol):
    """A list, a tuple, an array of numpy; or of pyarrow, which is untyped."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> Items: ...


Method: TypeAlias = Callable[[Any], object]  # a sketch's method, whose items may have any type


@dataclass(frozen=True, kw_only=True)
class Case:
    """Calls to measure, their baseline, and a call whose cost cannot be avoided."""

    name: str
    run: Callable[[], object]
    events: int
    calls: int = 1
    baseline: str | None = None
    unavoidable: str | None = None


@dataclass(frozen=True, kw_only=True)
class InputType:
    """Items of one type, passed in one call or in many.

    Args:
        name: The name of the type.
        method: Counts or estimates a batch.
        items: The items.
        baseline: The case that all items in one call are compared with.
        single: The case that a batch of one is compared with.
        unavoidable: A call that a batch of one cannot avoid.
        sizes: The number of calls for each batch size.
    """

    name: str
    method: Method
    items: Items
    baseline: str | None = None
    single: str = UPDATE
    unavoidable: str | None = None
    sizes: dict[int, int] = field(default_factory=lambda: CALLS)

    def cases(self) -> Iterator[Case]:
        """Yield one call, then each batch size; the last one is compared with an update."""
        yield self._called(self.name, [self.items], baseline=self.baseline)
        nothing, baseline = f"{self.name}, nothing in a call", self.name
        yield self._called(nothing, [self.items[:0]] * max(self.sizes.values()))
        for size, calls in self.sizes.items():
            name = f"{self.name} in batches of {size}"
            parts = parts_of(self.items, size, calls)
            if size > 1:
                yield self._called(name, parts, baseline=baseline, unavoidable=nothing)
            else:
                yield self._called(name, parts, baseline=self.single, unavoidable=self.unavoidable)
            baseline = name

    def _called(
        self,
        name: str,
        parts: list[Items],
        *,
        baseline: str | None = None,
        unavoidable: str | None = None,
    ) -> Case:
        return Case(
            name=name,
            run=one_by_one(self.method, parts),
            events=sum(map(len, parts)) or len(parts),
            calls=len(parts),
            baseline=baseline,
            unavoidable=unavoidable,
        )


def parts_of(items: Items, size: int, calls: int) -> list[Items]:
    """Return the batches, sliced in advance; they repeat if there are too few items."""
    most = len(items) // size
    return [items[at * size : (at + 1) * size] for at in (call % most for call in range(calls))]


def with_weights(method: Callable[..., object], weights: Items) -> Method:
    sliced = {size: weights[:size] for size in (0, *CALLS, len(weights))}
    return lambda items: method(items, sliced[len(items)])


def of_arrays(items: np.ndarray) -> Iterator[InputType]:
    """Arrays that are read in place, arrays that are widened, and weights."""
    sketch = private(lazysketch.LazyCountMin)
    weighted = private(lazysketch.LazyCountMin, max_weight=5)
    ones = np.ones(EVENTS, dtype=np.int64)
    for name, given, baseline in (
        ("int64", items, None),
        ("uint64", items.view(np.uint64), "int64"),
        ("int32", items.astype(np.int32), "int64"),
        ("uint16", items.astype(np.uint16), "int64"),
    ):
        yield InputType(
            name=name,
            method=sketch.update_many,
            items=given,
            baseline=baseline,
            unavoidable=READ_VALUE,
        )
    for dtype in ("int64", "uint64", "int32"):
        yield InputType(
            name=f"int64 with {dtype} weights",
            method=with_weights(weighted.update_many, ones.astype(dtype)),
            items=items,
            baseline="int64",
            single=WEIGHTED,
            unavoidable=READ_VALUE,
        )


def of_columns(items: np.ndarray) -> Iterator[InputType]:
    """Arrow data, whose export takes time itself."""
    import pyarrow as pa

    method, text = private(lazysketch.LazyCountMin).update_many, pa.array(texts(items))
    integers_of = pa.array(items)
    yield InputType(
        name="Arrow int64", method=method, items=integers_of, baseline="int64", unavoidable=EXPORT
    )
    yield InputType(
        name="text", method=method, items=text, single=UPDATE_OF_STR, unavoidable=EXPORT
    )
    strings = texts(items)
    for name, array in (
        ("numpy text", np.array(strings)),
        ("numpy bytes", np.array([string.encode() for string in strings])),
        ("numpy text of any length", np.array(strings, dtype=np.dtypes.StringDType())),
    ):
        yield InputType(
            name=name,
            method=method,
            items=array,
            baseline="text",
            single=UPDATE_OF_STR,
            unavoidable=READ_VALUE,
        )
    columns: dict[str, Items] = {
        "large text": text.cast(pa.large_string()),
        "text views": text.cast(pa.string_view()),
        DICTIONARY: text.dictionary_encode(),
        **of_polars(strings),
    }
    for name, given in columns.items():
        # A slice of a dictionary array contains the whole dictionary.
        calls = {4096: 1} if name in (DICTIONARY, CATEGORICAL) else CALLS
        yield InputType(
            name=name,
            method=method,
            items=given,
            baseline="text",
            single=UPDATE_OF_STR,
            unavoidable=EXPORT,
            sizes=calls,
        )


def of_polars(strings: list[str]) -> dict[str, Items]:
    """Return a column whose values polars numbers, if it is installed."""
    try:
        import polars as pl
    except ImportError:
        return {}
    column: Items = pl.Series(strings, dtype=pl.Categorical)
    return {CATEGORICAL: column}


def of_lists(items: np.ndarray) -> Iterator[InputType]:
    """Lists and tuples of Python objects, which are converted one by one."""
    sketch = private(lazysketch.LazyCountMin)
    weighted = private(lazysketch.LazyCountMin, max_weight=5)
    part = items[:LIST]
    ints, strings = part.tolist(), texts(part)
    for name, given, baseline, single in (
        ("list of int", ints, "list of str", UPDATE),
        ("list of uint64", part.view(np.uint64).tolist(), "list of int", "one update per uint64"),
        ("tuple of int", tuple(ints), "list of int", UPDATE),
        ("list of str", strings, "list of int", UPDATE_OF_STR),
        ("list of bytes", [text.encode() for text in strings], "list of str", UPDATE_OF_STR),
        ("list of numpy.int64", list(part), None, "one update per numpy.int64"),
        ("numpy array of str", np.array(strings, dtype=object), "list of str", UPDATE_OF_STR),
    ):
        yield InputType(
            name=name, method=sketch.update_many, items=given, baseline=baseline, single=single
        )
    yield InputType(
        name="list of int with weights",
        method=with_weights(weighted.update_many, [1] * LIST),
        items=ints,
        baseline="list of int",
        single=WEIGHTED,
    )


def of_other_tables(items: np.ndarray) -> Iterator[InputType]:
    """Exact sketches, counters, and heavy hitters, which also discover items."""
    exact = lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    counters = lazysketch.ContinualCounters(
        counters=WIDTH, epsilon=1.0, delta=1e-8, horizon=HORIZON
    )
    heavy = private(lazysketch.HeavyHitters, share=0.05)
    part = items[:LIST]
    for name, table, given, baseline, single in (
        ("exact, int64", exact, items, "int64", UPDATE),
        ("exact, list of int", exact, part.tolist(), "list of int", UPDATE),
        ("counters, int64", counters, items % WIDTH, "int64", UPDATE),
        ("heavy hitters, int64", heavy, part, None, UPDATE_OF_HEAVY),
        ("heavy hitters, int32", heavy, part.astype(np.int32), HEAVY, UPDATE_OF_HEAVY),
        ("heavy hitters, list of int", heavy, part.tolist(), HEAVY, UPDATE_OF_HEAVY),
        ("heavy hitters, list of str", heavy, texts(part), HEAVY, UPDATE_OF_HEAVY),
    ):
        unavoidable = None if "list" in name else READ_VALUE
        yield InputType(
            name=name,
            method=table.update_many,
            items=given,
            baseline=baseline,
            single=single,
            unavoidable=unavoidable,
        )


def of_reads(items: np.ndarray) -> Iterator[InputType]:
    """Many estimates, whose result is a new array."""
    sketch = private(lazysketch.LazyCountMin)
    exact = lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    few, calls = items[:4096], {256: 3, 16: 20, 1: READS}
    for name, table, given, baseline, single, sizes in (
        ("estimates of int64", sketch, few, None, ESTIMATE, calls),
        ("estimates of a list", sketch, few.tolist(), "estimates of int64", ESTIMATE, calls),
        ("exact estimates of int64", exact, items[:LIST], None, f"exact {ESTIMATE}", CALLS),
    ):
        yield InputType(
            name=name,
            method=table.estimate_many,
            items=given,
            baseline=baseline,
            single=single,
            unavoidable=NEW_ARRAY,
            sizes=sizes,
        )


def single_calls(items: np.ndarray) -> Iterator[Case]:
    """One call per event."""
    import pyarrow as pa

    sketch, exact = private(lazysketch.LazyCountMin), lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    heavy = private(lazysketch.HeavyHitters, share=0.05)
    ints, arrays = items[: READS * 100].tolist(), parts_of(items, 1, CALLS[1])
    strings = texts(items[: len(ints)])
    columns = parts_of(pa.array(strings), 1, CALLS[1])
    for name, method, stream, baseline in (
        (UPDATE, sketch.update, ints, None),
        (UPDATE_OF_STR, sketch.update, strings, UPDATE),
        ("one update per bytes", sketch.update, [text.encode() for text in strings], UPDATE),
        ("one update per uint64", sketch.update, [item % 2**64 for item in ints], UPDATE),
        ("one update per numpy.int64", sketch.update, list(items[: len(ints)]), UPDATE),
        (WEIGHTED, lambda item: sketch.update(item, 1), ints, UPDATE),
        ("one exact update per int", exact.update, ints, UPDATE),
        (UPDATE_OF_HEAVY, heavy.update, ints, None),
        (ESTIMATE, sketch.estimate, ints[:READS], None),
        (f"exact {ESTIMATE}", exact.estimate, ints, UPDATE),
        (READ_VALUE, lambda array: array.item(0), arrays, None),
        (NEW_ARRAY, lambda _: np.empty(1), arrays, None),
        (EXPORT, lambda array: array.__arrow_c_array__(), columns, None),
    ):
        run = one_by_one(method, stream)
        yield Case(name=name, run=run, events=len(stream), calls=len(stream), baseline=baseline)


def sliced_and_counted(items: np.ndarray) -> Iterator[Case]:
    """Slicing a small batch out of an array costs as much as counting it."""
    sketch = private(lazysketch.LazyCountMin)
    for size in (16, 1):
        calls, slices = CALLS[size], [slice(at, at + size) for at in range(CALLS[size])]
        events, alone = size * calls, f"cuts of {size}, nothing done"
        run = one_by_one(items.__getitem__, slices)
        yield Case(name=alone, run=run, events=events, calls=calls)
        yield Case(
            name=f"int64 cut and counted in batches of {size}",
            run=one_by_one(lambda part: sketch.update_many(items[part]), slices),
            events=events,
            calls=calls,
            baseline=f"int64 in batches of {size}",
            unavoidable=alone,
        )


def relative(cases: list[Case], results: Results) -> Results:
    """Return the results with the cost per call and the cost relative to the baseline."""
    cost = {row["name"]: row["cpu_ns"] for row in results}
    events_per_call = {case.name: case.events / case.calls for case in cases}
    rows = []
    for case, row in zip(cases, results, strict=True):
        row = {**row, "call_ns": row["cpu_ns"] * events_per_call[case.name]}
        if case.baseline is not None:
            baseline = cost[case.baseline]
            if case.unavoidable is not None:
                per_call = cost[case.unavoidable] * events_per_call[case.unavoidable]
                baseline += per_call / events_per_call[case.name]
            # The keys are those of the recorded results.
            row |= {"baseline": case.baseline, "over": row["cpu_ns"] / baseline}
        rows.append(row)
    return rows


def input_types(*, rounds: int) -> Results:
    """Return the results of all cases, interleaved."""
    items = integers(EVENTS, skew=1.3)
    groups = (of_arrays, of_columns, of_lists, of_other_tables, of_reads)
    cases = [case for group in groups for kind in group(items) for case in kind.cases()]
    cases += [*single_calls(items), *sliced_and_counted(items)]
    contenders = [
        Contender(name=case.name, events=case.events, run=case.run, facts={}) for case in cases
    ]
    return relative(cases, medians("input types", contenders, rounds=rounds))
