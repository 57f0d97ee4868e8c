"""Weights of a batch: all input types, all limits; a batch with a bad weight is not applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError

ITEMS = ["a", "b", "a", "c"]
WEIGHTS = [3, 0, 1, 9]


def numpy_array(dtype: str | type) -> Callable[[list[int]], object]:
    return lambda weights: np.array(weights, dtype=dtype)


def arrow_array(arrow: pa.DataType) -> Callable[[list[int]], object]:
    return lambda weights: pa.array(weights, arrow)


DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", object)
ARROW = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
INPUTS: dict[str, Callable[[list[int]], object]] = {
    "list": lambda weights: weights,
    "tuple": tuple,
    "generator": lambda weights: (weight for weight in weights),
    "numpy scalars": lambda weights: [np.uint8(weight) for weight in weights],
    "strided": lambda weights: np.repeat(np.array(weights), 2)[::2],
    "chunked": lambda weights: pa.chunked_array([weights[:1], weights[1:]]),
    "sliced": lambda weights: pa.array([5, *weights, 5])[1:-1],
    "table": lambda weights: pa.table({"w": weights}),
    "polars": pl.Series,
    "pandas": pd.Series,
    **{f"numpy {dtype}": numpy_array(dtype) for dtype in DTYPES},
    **{f"arrow {name}": arrow_array(getattr(pa, name)()) for name in ARROW},
}


def exact() -> ls.CountMin:
    return ls.CountMin(depth=3, width=4096, hash_seed=5)


def private() -> ls.LazyCountMin:
    return ls.LazyCountMin(depth=2, width=4, epsilon=1.0, delta=1e-6, horizon=100, max_weight=9)


@pytest.mark.parametrize("form", INPUTS)
def test_weights_of_all_input_types(form: str) -> None:
    batch, single = exact(), exact()
    batch.update_many(ITEMS, INPUTS[form](WEIGHTS))
    for item, weight in zip(ITEMS, WEIGHTS, strict=True):
        single.update(item, weight)
    np.testing.assert_array_equal(batch.table, single.table)
    assert batch.step == single.step == 4
    noisy = private()
    noisy.update_many(ITEMS, weights=INPUTS[form](WEIGHTS))
    assert noisy.step == 4


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype="u8"), pa.array([], pa.int8())])
def test_no_weights_for_no_items(empty: object) -> None:
    sketch = exact()
    sketch.update_many([], empty)
    assert sketch.step == 0


def assert_refused(error: type[LazySketchError], match: str, weights: object) -> None:
    for sketch in (exact(), private()):
        sketch.update_many(["a"] * 10)
        before = sketch.release().to_bytes()
        with pytest.raises(error, match=match):
            sketch.update_many(ITEMS, weights)
        assert sketch.release().to_bytes() == before


@pytest.mark.parametrize(
    "weights",
    [[1, 1, 1], [1] * 5, [], np.ones(3, dtype="i8"), pa.array([1] * 5), iter([1])],
)
def test_another_number_of_weights_than_items(weights: Iterable[int]) -> None:
    weights = list(weights) if not isinstance(weights, (np.ndarray, pa.Array)) else weights
    assert_refused(ArgumentValueError, "^weights: ", weights)


@pytest.mark.parametrize("bad", [1.0, 1.5, float("nan"), "1", b"1", None, True, np.True_, [1]])
def test_a_weight_of_a_wrong_type_at_its_position(bad: object) -> None:
    assert_refused(ArgumentTypeError, r"^weights at position 2: ", [1, 1, bad, 1])
    boxed = np.array([1, 1, None, 1], dtype=object)
    boxed[2] = bad
    assert_refused(ArgumentTypeError, r"^weights at position 2: ", boxed)


@pytest.mark.parametrize(
    "weights",
    [
        np.ones(4),
        np.ones(4, dtype=bool),
        np.array(["1"] * 4),
        np.ones(4, dtype="timedelta64[s]"),
        pa.array([1.0] * 4),
        pa.array(["1"] * 4),
        pa.array([True] * 4),
        pl.Series([1.0] * 4),
        5,
        True,
        1.5,
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_of_a_wrong_type(weights: object) -> None:
    assert_refused(ArgumentTypeError, "^weights: ", weights)


@pytest.mark.parametrize("bad", [-1, -(2**70), 2**62, 2**64, 10**400])
def test_a_weight_outside_its_range(bad: int) -> None:
    """The message has the position, whichever check detects it."""
    position = r"\bat position 2\b"
    assert_refused(ArgumentValueError, rf"^weights.*{position}", [1, 1, bad, 1])
    assert_refused(
        ArgumentValueError, rf"^weights.*{position}", np.array([1, 1, bad, 1], dtype=object)
    )


@pytest.mark.parametrize(
    "weights",
    [
        np.array([1, 1, -1, 1]),
        pa.array([1, 1, -1, 1]),
        pa.chunked_array([[1, 1], [-1, 1]]),
        pa.array([1, 1, 2**63, 1], pa.uint64()),
        np.array([1, 1, 2**63, 1], dtype=np.uint64),
        pd.Series([1, 1, -1, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_weight_outside_its_range_in_an_array(weights: object) -> None:
    assert_refused(ArgumentValueError, r"^weights.*\bat position 2\b", weights)


@pytest.mark.parametrize(
    "weights",
    [
        pa.array([1, 1, None, 1]),
        pa.chunked_array([[1], [1, None, 1]]),
        pl.Series([1, 1, None, 1]),
        pd.Series([1, 1, None, 1], dtype="Int64"),
    ],
    ids=["array", "chunks", "polars", "pandas"],
)
def test_a_null_weight_at_its_position(weights: object) -> None:
    assert_refused(LazySketchError, r"^weights.*\bat position 2\b", weights)


def test_weights_above_max_weight() -> None:
    sketch = private()
    before = sketch.release().to_bytes()
    with pytest.raises(ArgumentValueError, match=r"^weights: .* at position 3\b"):
        sketch.update_many(ITEMS, [9, 9, 9, 10])
    with pytest.raises(ArgumentValueError, match=r"^weight: .*9"):
        sketch.update("a", 10)
    assert sketch.release().to_bytes() == before
    sketch.update_many(ITEMS, [9, 9, 9, 9])


def test_exact_totals_stay_below_two_to_the_62() -> None:
    sketch = exact()
    sketch.update("a", 2**62 - 2)
    before = sketch.table
    with pytest.raises(ArgumentValueError, match="^weights?: "):
        sketch.update_many(["a", "b"], [1, 1])
    np.testing.assert_array_equal(sketch.table, before)
    sketch.update("a")
    assert sketch.estimate("a") == float(2**62 - 1)
    assert sketch.table.max() == 2**62 - 1


def test_wide_tables_are_refused_as_weights() -> None:
    wide = pa.table({"a": WEIGHTS, "b": WEIGHTS})
    assert_refused(ArgumentTypeError, "^weights: ", wide)
