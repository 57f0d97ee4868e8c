"""Fast paths for arrays, lists and tuples of exact types, which copy short batches.

The reference is one ``update`` per event; other types must not enter a fast path by mistake.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.testing import seeded_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = npt.NDArray[Any]
MAX_WEIGHT = 200
LENGTHS = [0, 1, 17, 256, 257]  # short ones are copied, long ones read in place
DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
PRIVATE: dict[str, object] = {
    "depth": 3,
    "width": 17,
    "epsilon": 1.0,
    "delta": 1e-6,
    "max_weight": MAX_WEIGHT,
    "hash_seed": 99,
}


def private() -> ls.LazyCountSketch:
    return ls.LazyCountSketch(**PRIVATE, key=seeded_key(4))


def heavy() -> ls.HeavyHitters:
    """A guarantee so weak that nearly all names are published."""
    loose = PRIVATE | {"epsilon": 20.0, "delta": 0.2}
    return ls.HeavyHitters(share=0.2, discovery_epoch=16, **loose, key=seeded_key(4))


def exact() -> ls.CountSketch:
    return ls.CountSketch(depth=3, width=17, hash_seed=99)


Sketch = ls.LazyCountSketch | ls.HeavyHitters | ls.CountSketch | ls.ContinualCounters


def public(sketch: Sketch) -> object:
    """Everything public of a sketch, now and after all pending counts have been published."""
    if isinstance(sketch, ls.CountSketch):
        return sketch.step, sketch.table.tolist()
    seen = []
    for ticks in (0, 1, 60):
        sketch.tick(ticks)
        seen.append((sketch.release().to_bytes(), getattr(sketch, "candidates", None)))
    return seen


def one_by_one(
    sketch: Sketch, items: Sequence[object], weights: Sequence[int] | None = None
) -> Sketch:
    for position, item in enumerate(items):
        sketch.update(item, 1 if weights is None else weights[position])
    return sketch


def filled(dtype: str, length: int) -> Array:
    limits = np.iinfo(dtype)
    ends = [0, 1, limits.max, limits.min, limits.max // 3, 7, 7, 7]
    return np.resize(np.array(ends, dtype=dtype), length)


class Subclass(np.ndarray[Any, Any]):
    """A subclass of arrays without new behaviour."""


def record_field(values: Array) -> Array:
    records = np.zeros(len(values), dtype=[("pad", "i1"), ("value", values.dtype)])
    records["value"] = values
    return records["value"]


def read_only(values: Array) -> Array:
    values.setflags(write=False)
    return values


FORMS: dict[str, Callable[[Array], object]] = {
    "plain": lambda values: values,
    "read-only": read_only,
    "strided": lambda values: np.repeat(values, 3)[1::3],
    "backwards": lambda values: values[::-1].copy()[::-1],
    "column": lambda values: np.stack([values, values + 1], axis=1)[:, 0],
    "part": lambda values: np.concatenate([values[:1], values, values])[
        len(values[:1]) : len(values[:1]) + len(values)
    ],
    "odd address": lambda values: np.frombuffer(
        b"x" + values.tobytes(), dtype=values.dtype, offset=1, count=len(values)
    ),
    "field of records": record_field,
    "byte-swapped": lambda values: values.astype(values.dtype.newbyteorder()),
    "subclass": lambda values: values.view(Subclass),
    "objects": lambda values: values.astype(object),
    "numpy scalars": list,
    "list": lambda values: values.tolist(),
    "tuple": lambda values: tuple(values.tolist()),
    "generator": lambda values: iter(values.tolist()),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_items_in_every_form(form: str, dtype: str, length: int) -> None:
    values = filled(dtype, length)
    items = values.tolist()
    for make in (private, exact):
        sketch = make()
        sketch.update_many(FORMS[form](values.copy()))
        assert public(sketch) == public(one_by_one(make(), items))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_one_item_in_every_form(form: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    for value in (0, 1, limits.max, limits.min, limits.min // 3):
        values = np.array([value], dtype=dtype)
        for make in (private, exact):
            sketch, single = make(), make()
            sketch.update_many(FORMS[form](values.copy()))
            single.update(value)
            assert public(sketch) == public(single)


@pytest.mark.parametrize("length", [1, 17, 256, 257])
@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u8"])
@pytest.mark.parametrize("form", FORMS)
def test_names_of_items_in_every_form(form: str, dtype: str, length: int) -> None:
    values = filled(dtype, length)
    sketch, single = heavy(), one_by_one(heavy(), values.tolist())
    sketch.update_many(FORMS[form](values.copy()))
    assert public(sketch) == public(single)
    assert length == 1 or 7 in sketch.candidates


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_indices_and_estimates_in_every_form(form: str, dtype: str, length: int) -> None:
    indices = np.resize(np.array([0, 3, 99, 3], dtype=dtype), length)
    options: dict[str, object] = {"counters": 100, "epsilon": 1.0, "delta": 1e-6, "horizon": 1000}
    batch, single = (ls.ContinualCounters(**options, key=seeded_key(4)) for _ in range(2))
    batch.update_many(FORMS[form](indices.copy()))
    one_by_one(single, indices.tolist())
    assert public(batch) == public(single)
    found = batch.estimate_many(FORMS[form](indices.copy()))
    assert found.dtype == np.float64
    assert found.tolist() == [single.estimate(index) for index in indices.tolist()]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_weights_in_every_form(form: str, dtype: str, length: int) -> None:
    weights = np.resize(np.array([0, 1, 9, 100, 127], dtype=dtype), length)
    items = np.arange(length) % 5
    for make in (private, exact):
        sketch = make()
        sketch.update_many(items, FORMS[form](weights.copy()))
        assert public(sketch) == public(one_by_one(make(), items.tolist(), weights.tolist()))


@pytest.mark.parametrize("length", [1, 17, 256, 257])
@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("subclass", "generator")])
def test_values_out_of_range_are_refused_with_their_position(form: str, length: int) -> None:
    items, at = np.zeros(length, dtype=np.int64), rf"\bat position {length - 1}\b"
    for bad in (-1, MAX_WEIGHT, MAX_WEIGHT + 1):
        values = items.copy()
        values[-1] = bad
        counters = ls.ContinualCounters(counters=MAX_WEIGHT, epsilon=1.0, delta=1e-6, horizon=1000)
        with pytest.raises(ItemError, match=f"^items: .*{at}"):
            counters.update_many(FORMS[form](values))
        sketch = private()
        if bad != MAX_WEIGHT:
            with pytest.raises(ArgumentValueError, match=f"^weights.*{at}"):
                sketch.update_many(items, FORMS[form](values))
        assert sketch.step == counters.steps == 0


@pytest.mark.parametrize("length", [1, 256, 257])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", ">i8"])
def test_a_negative_weight_is_reported_as_negative(dtype: str, length: int) -> None:
    """Not as a large one, as an unsigned reading would give."""
    weights = np.ones(length, dtype=dtype)
    weights[-1] = -1
    for make in (private, heavy, exact):
        with pytest.raises(ArgumentValueError, match=rf"negative one at position {length - 1}\b"):
            make().update_many(np.arange(length), weights)


NO_INTEGERS: dict[str, Callable[[int], object]] = {
    "truth values": lambda length: np.ones(length, dtype=bool),
    "durations": lambda length: np.ones(length, dtype="timedelta64[s]"),
    "times": lambda length: np.ones(length, dtype="datetime64[s]"),
    "floats": np.ones,
    "complex": lambda length: np.ones(length, dtype=np.complex64),
    "halves": lambda length: np.ones(length, dtype=np.float16),
    "records": lambda length: np.zeros(length, dtype=[("a", "i4"), ("b", "i4")]),
    "raw": lambda length: np.zeros(length, dtype="V8"),
    "two dimensions": lambda length: np.zeros((length, 1), dtype=np.int64),
    "no dimension": lambda _: np.array(5),
    "masked": lambda length: np.ma.array(np.zeros(length, dtype=np.int64)),
    "masked here and there": lambda length: np.ma.array(np.zeros(length, "i8"), mask=[1] * length),
    "a list with a bool": lambda length: [*range(length - 1), True],
    "a bool alone": lambda _: [False],
    "a list with a numpy bool": lambda length: [*range(length - 1), np.False_],
    "a list with a float": lambda length: [*range(length - 1), 1.0],
    "a list with a duration": lambda length: [*range(length - 1), np.timedelta64(1, "s")],
    "a list with None": lambda length: [*range(length - 1), None],
    "a list with an array": lambda length: [*range(length - 1), np.array([1, 2])],
    "a tuple with a list": lambda length: (*range(length - 1), [1]),
}


@pytest.mark.parametrize("length", [1, 17, 300])
@pytest.mark.parametrize("kind", NO_INTEGERS)
def test_values_that_are_not_integers_are_refused(kind: str, length: int) -> None:
    for make in (private, heavy, exact):
        sketch = make()
        for role in ("items", "weights"):
            batch = {"items": np.zeros(length, dtype=np.int64)} | {role: NO_INTEGERS[kind](length)}
            with pytest.raises(
                (ItemError, ArgumentTypeError, ArgumentValueError), match=f"^{role}"
            ):
                sketch.update_many(**batch)
        assert public(sketch) == public(make())


class OddInteger(int):
    """An int whose conversions give another number."""

    def __index__(self) -> int:
        return 1000

    __int__ = __index__


class Forged(np.int64):
    """A numpy scalar of a class outside numpy."""

    def __index__(self) -> int:
        return 1000


@pytest.mark.parametrize("before", [0, 1, 30])
def test_subclasses_of_integers(before: int) -> None:
    sketch, twin = exact(), exact()
    sketch.update_many([*range(before), OddInteger(5), 6])
    assert public(sketch) == public(one_by_one(twin, [*range(before), 5, 6]))
    with pytest.raises(ItemError, match=rf"^items: .*got Forged at position {before}\b"):
        sketch.update_many([*range(before), Forged(5)])


EDGES = [
    0,
    1,
    -1,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
    2**64,
    -(2**63) - 1,
    2**4000,
]
integers = st.one_of(st.sampled_from(EDGES), st.integers(-(2**65), 2**65))


@given(items=st.lists(st.one_of(integers, st.sampled_from(["a", "1", b"1", "é"])), max_size=30))
def test_lists_of_any_items(items: list[str | bytes | int]) -> None:
    for make in (private, heavy):
        single = public(one_by_one(make(), items))
        for batch in (items, tuple(items), np.array(items, dtype=object), iter(items)):
            sketch = make()
            sketch.update_many(batch)
            assert public(sketch) == single


@settings(deadline=None, max_examples=60)
@given(
    stream=st.lists(st.tuples(st.integers(-3, 3), st.integers(0, MAX_WEIGHT)), max_size=60),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=20),
)
def test_batches_of_a_few_events(stream: list[tuple[int, int]], sizes: list[int]) -> None:
    """Batches of one to four events, one after the other."""
    items, weights = np.array(stream, dtype=np.int64).reshape(-1, 2).T
    for make in (private, heavy, exact):
        sketch, start = make(), 0
        while start < len(stream):
            size = sizes[start % len(sizes)]
            part = slice(start, start + size)
            sketch.update_many(items[part], weights[part])
            start += size
        assert public(sketch) == public(one_by_one(make(), items.tolist(), weights.tolist()))


class Meddler:
    """An item whose conversion runs Python code, which changes the list that contains it."""

    __module__ = "pyarrow.lookalike"

    def __init__(self, meddle: Callable[[], object]) -> None:
        self.meddle = meddle

    def as_py(self) -> int:
        self.meddle()
        gc.collect()
        return 7

    def __index__(self) -> int:
        self.meddle()
        gc.collect()
        return 7


@pytest.mark.parametrize("length", [4, 400])
def test_a_list_that_changes_while_it_is_read(length: int) -> None:
    """Removed objects are skipped, appended ones are ignored; nothing is read twice."""

    def read(meddle: Callable[[list[object]], object]) -> object:
        items: list[object] = [f"text {n}" for n in range(length)]
        items[1] = Meddler(lambda: meddle(items))
        sketch = exact()
        sketch.update_many(items)
        return public(sketch)

    texts = [f"text {n}" for n in range(2, length)]
    assert read(lambda items: items.clear()) == public(one_by_one(exact(), ["text 0", 7]))
    assert read(lambda items: items.extend(["new"] * 9)) == public(
        one_by_one(exact(), ["text 0", 7, *texts])
    )
    assert read(lambda items: items.__setitem__(2, "other")) == public(
        one_by_one(exact(), ["text 0", 7, "other", *texts[1:]])
    )


def test_weights_that_change_while_they_are_read() -> None:
    weights: list[object] = [1, 2, 3, 4]
    weights[1] = Meddler(weights.clear)
    sketch = exact()
    with pytest.raises(ArgumentValueError, match="^weights: expected one weight per item"):
        sketch.update_many([1, 2, 3, 4], weights)
    assert sketch.step == 0


def test_items_that_change_while_their_weights_are_read() -> None:
    """The items of a short array are copied before the conversion of a weight runs Python code."""
    items = np.arange(4)
    weights = [1, Meddler(lambda: items.fill(99)), 1, 1]
    sketch = exact()
    sketch.update_many(items, weights)
    assert public(sketch) == public(one_by_one(exact(), [0, 1, 2, 3], [1, 7, 1, 1]))


@pytest.mark.parametrize("length", [1, 256, 257])
def test_no_reference_to_an_array_is_kept(length: int) -> None:
    """Neither a reference nor a borrow: numpy resizes only arrays that are not shared."""
    items, weights = np.arange(length), np.ones(length, dtype=np.int64)
    private().update_many(items, weights)
    heavy().update_many(items, weights)
    exact().estimate_many(items)
    items.resize(length + 1)
    weights.resize(length + 1)


def test_estimates_own_their_memory() -> None:
    for length in (1, 256, 257):
        found = exact().estimate_many(np.arange(length))
        found += 1.0
        assert found.tolist() == [1.0] * length
        assert found.flags.writeable
        assert found.flags.c_contiguous
