"""Every way in beside its best neighbour, in one run: none should cost twice as much.

A call costs ``a + b n`` nanoseconds for n events. For a batch, b is what an event costs in the next
larger batch, and a what a call costs that brings no events. A batch of one event is held against
one update, and an array of one also against a call of numpy's own that looks at its value, or of
pyarrow's own that hands it over. ``over`` is the cost of a door over that of its neighbour and such
a call together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

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
LOOK, NEW_ARRAY = "a look at one value by numpy", "a new array of one value by numpy"
EXPORT = "one text handed over by pyarrow, to nobody"


@dataclass(frozen=True, kw_only=True)
class Door:
    """A way in, the neighbour that it is held against, and a call that it cannot do without."""

    name: str
    run: Callable[[], object]
    events: int
    calls: int = 1
    beside: str | None = None
    call: str | None = None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Items that come in one call or in many."""

    name: str
    method: Callable[[Any], object]
    items: Any
    beside: str | None = None
    single: str = UPDATE
    look: str | None = None
    sizes: dict[int, int] = field(default_factory=lambda: CALLS)

    def doors(self) -> Iterator[Door]:
        """All at once, then each size of batch beside the next larger, and one beside an update."""
        yield self._called(self.name, [self.items], beside=self.beside)
        nothing, beside = f"{self.name}, nothing in a call", self.name
        yield self._called(nothing, [self.items[:0]] * max(self.sizes.values()))
        for size, calls in self.sizes.items():
            name = f"{self.name} in batches of {size}"
            parts = parts_of(self.items, size, calls)
            if size > 1:
                yield self._called(name, parts, beside=beside, call=nothing)
            else:
                yield self._called(name, parts, beside=self.single, call=self.look)
            beside = name

    def _called(self, name: str, parts: list[Any], **facts: Any) -> Door:
        events = sum(map(len, parts)) or len(parts)
        run = one_by_one(self.method, parts)
        return Door(name=name, run=run, events=events, calls=len(parts), **facts)


def parts_of(items: Any, size: int, calls: int) -> list[Any]:
    """Cut beforehand; the same again where the items run out."""
    most = len(items) // size
    return [items[at * size : (at + 1) * size] for at in (call % most for call in range(calls))]


def with_weights(method: Callable[..., object], weights: Any) -> Callable[[Any], object]:
    cut = {size: weights[:size] for size in (0, *CALLS, len(weights))}
    return lambda items: method(items, cut[len(items)])


def of_arrays(items: np.ndarray) -> Iterator[Kind]:
    """Types that are read in place, one that is widened, and weights."""
    sketch = private(lazysketch.LazyCountMin)
    weighted = private(lazysketch.LazyCountMin, max_weight=5)
    ones = np.ones(EVENTS, dtype=np.int64)
    for name, given, beside in (
        ("int64", items, None),
        ("uint64", items.view(np.uint64), "int64"),
        ("int32", items.astype(np.int32), "int64"),
        ("uint16", items.astype(np.uint16), "int64"),
    ):
        yield Kind(name=name, method=sketch.update_many, items=given, beside=beside, look=LOOK)
    for dtype in ("int64", "uint64", "int32"):
        yield Kind(
            name=f"int64 with {dtype} weights",
            method=with_weights(weighted.update_many, ones.astype(dtype)),
            items=items,
            beside="int64",
            single=WEIGHTED,
            look=LOOK,
        )


def of_columns(items: np.ndarray) -> Iterator[Kind]:
    """Arrow data, which take their time to change hands."""
    import pyarrow as pa

    method, text = private(lazysketch.LazyCountMin).update_many, pa.array(texts(items))
    integers_of = pa.array(items)
    yield Kind(name="Arrow int64", method=method, items=integers_of, beside="int64", look=EXPORT)
    yield Kind(name="text", method=method, items=text, single=UPDATE_OF_STR, look=EXPORT)
    for name, given in (
        ("large text", text.cast(pa.large_string())),
        ("text views", text.cast(pa.string_view())),
        ("dictionary of text", text.dictionary_encode()),
    ):
        # A part of a dictionary has all its entries.
        calls = {4096: 1} if name.startswith("dictionary") else CALLS
        yield Kind(
            name=name,
            method=method,
            items=given,
            beside="text",
            single=UPDATE_OF_STR,
            look=EXPORT,
            sizes=calls,
        )


def of_lists(items: np.ndarray) -> Iterator[Kind]:
    """Python objects, each converted by itself."""
    sketch = private(lazysketch.LazyCountMin)
    weighted = private(lazysketch.LazyCountMin, max_weight=5)
    part = items[:LIST]
    ints, strings = part.tolist(), texts(part)
    for name, given, beside, single in (
        ("list of int", ints, "list of str", UPDATE),
        ("list of uint64", part.view(np.uint64).tolist(), "list of int", "one update per uint64"),
        ("tuple of int", tuple(ints), "list of int", UPDATE),
        ("list of str", strings, "list of int", UPDATE_OF_STR),
        ("list of bytes", [text.encode() for text in strings], "list of str", UPDATE_OF_STR),
        ("list of numpy.int64", list(part), None, "one update per numpy.int64"),
    ):
        yield Kind(name=name, method=sketch.update_many, items=given, beside=beside, single=single)
    yield Kind(
        name="list of int with weights",
        method=with_weights(weighted.update_many, [1] * LIST),
        items=ints,
        beside="list of int",
        single=WEIGHTED,
    )


def of_other_tables(items: np.ndarray) -> Iterator[Kind]:
    """Exact sketches, counters, and heavy hitters, which keep names."""
    exact = lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    counters = lazysketch.ContinualCounters(
        counters=WIDTH, epsilon=1.0, delta=1e-8, horizon=HORIZON
    )
    heavy = private(lazysketch.HeavyHitters, share=0.05)
    part = items[:LIST]
    for name, table, given, beside, single in (
        ("exact, int64", exact, items, "int64", UPDATE),
        ("exact, list of int", exact, part.tolist(), "list of int", UPDATE),
        ("counters, int64", counters, items % WIDTH, "int64", UPDATE),
        ("heavy hitters, int64", heavy, part, None, UPDATE_OF_HEAVY),
        ("heavy hitters, int32", heavy, part.astype(np.int32), HEAVY, UPDATE_OF_HEAVY),
        ("heavy hitters, list of int", heavy, part.tolist(), HEAVY, UPDATE_OF_HEAVY),
        ("heavy hitters, list of str", heavy, texts(part), HEAVY, UPDATE_OF_HEAVY),
    ):
        look = None if "list" in name else LOOK
        yield Kind(
            name=name,
            method=table.update_many,
            items=given,
            beside=beside,
            single=single,
            look=look,
        )


def of_reads(items: np.ndarray) -> Iterator[Kind]:
    """Many estimates, which end in a new array."""
    sketch = private(lazysketch.LazyCountMin)
    exact = lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    few, calls = items[:4096], {256: 3, 16: 20, 1: READS}
    for name, table, given, beside, single, sizes in (
        ("estimates of int64", sketch, few, None, ESTIMATE, calls),
        ("estimates of a list", sketch, few.tolist(), "estimates of int64", ESTIMATE, calls),
        ("exact estimates of int64", exact, items[:LIST], None, f"exact {ESTIMATE}", CALLS),
    ):
        yield Kind(
            name=name,
            method=table.estimate_many,
            items=given,
            beside=beside,
            single=single,
            look=NEW_ARRAY,
            sizes=sizes,
        )


def single_calls(items: np.ndarray) -> Iterator[Door]:
    """One call per event."""
    import pyarrow as pa

    sketch, exact = private(lazysketch.LazyCountMin), lazysketch.CountMin(depth=DEPTH, width=WIDTH)
    heavy = private(lazysketch.HeavyHitters, share=0.05)
    ints, arrays = items[: READS * 100].tolist(), parts_of(items, 1, CALLS[1])
    strings = texts(items[: len(ints)])
    columns = parts_of(pa.array(strings), 1, CALLS[1])
    for name, method, stream, beside in (
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
        (LOOK, lambda array: array.item(0), arrays, None),
        (NEW_ARRAY, lambda _: np.empty(1), arrays, None),
        (EXPORT, lambda array: array.__arrow_c_array__(), columns, None),
    ):
        run = one_by_one(method, stream)
        yield Door(name=name, run=run, events=len(stream), calls=len(stream), beside=beside)


def cut_and_counted(items: np.ndarray) -> Iterator[Door]:
    """What cuts a small batch out of an array costs as much as to count it."""
    sketch = private(lazysketch.LazyCountMin)
    for size in (16, 1):
        calls, cuts = CALLS[size], [slice(at, at + size) for at in range(CALLS[size])]
        facts: dict[str, Any] = {"events": size * calls, "calls": calls}
        alone = f"cuts of {size}, nothing done"
        yield Door(name=alone, run=one_by_one(items.__getitem__, cuts), **facts)
        yield Door(
            name=f"int64 cut and counted in batches of {size}",
            run=one_by_one(lambda cut: sketch.update_many(items[cut]), cuts),
            beside=f"int64 in batches of {size}",
            call=alone,
            **facts,
        )


def judged(doors: list[Door], results: Results) -> Results:
    """The results with what a call costs, and each door over its neighbour."""
    cost = {row["name"]: row["cpu_ns"] for row in results}
    calls = {door.name: door.events / door.calls for door in doors}
    rows = []
    for door, row in zip(doors, results, strict=True):
        row = {**row, "call_ns": row["cpu_ns"] * calls[door.name]}
        if door.beside is not None:
            beside = cost[door.beside]
            if door.call is not None:
                beside += cost[door.call] * calls[door.call] / calls[door.name]
            row |= {"beside": door.beside, "over": row["cpu_ns"] / beside}
        rows.append(row)
    return rows


def input_types(*, rounds: int) -> Results:
    """All of them, interleaved."""
    items = integers(EVENTS, skew=1.3)
    ways = (of_arrays, of_columns, of_lists, of_other_tables, of_reads)
    doors = [door for way in ways for kind in way(items) for door in kind.doors()]
    doors += [*single_calls(items), *cut_and_counted(items)]
    contenders = [
        Contender(name=door.name, events=door.events, run=door.run, facts={}) for door in doors
    ]
    return judged(doors, medians("side doors", contenders, rounds=rounds))
