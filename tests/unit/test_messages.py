"""Messages about the most common mistakes."""

from __future__ import annotations

from typing import Any

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError


def sketch(**settings: Any) -> ls.LazyCountMin:
    return ls.LazyCountMin(**{"depth": 2, "width": 8, "epsilon": 1.0, "delta": 1e-8, **settings})


@pytest.mark.parametrize("delta", [0, 1, 0.0, 1.0, -1, 2])
def test_every_delta_out_of_range_has_the_same_message(delta: float) -> None:
    with pytest.raises(ArgumentValueError, match=r"^delta: expected a number above 0 and below 1,"):
        sketch(delta=delta)


def test_bounds_that_are_not_one_are_in_the_repr() -> None:
    plain, bounded = sketch(), sketch(max_weight=9, max_events_per_user=2)
    for one in (bounded, bounded.release()):
        assert "max_weight=9, max_events_per_user=2" in repr(one)
    for one in (plain, plain.release()):
        assert "max_" not in repr(one)
    assert repr(bounded.release()).endswith("max_events_per_user=2>")


def test_a_frame_of_two_columns_needs_a_name() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"host": ["a"], "path": ["b"]})
    with pytest.raises(
        ArgumentTypeError, match="^column: expected the name of one of 2 columns, got none"
    ):
        sketch().update_many(table)


def test_a_lazy_frame_must_be_collected() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"host": ["a"]}).lazy()
    with pytest.raises(ArgumentTypeError, match=r"got LazyFrame; call .collect\(\) first"):
        sketch().update_many(frame)


class Unwilling:
    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self._error("secret")


def test_a_column_that_does_not_convert() -> None:
    with pytest.raises(ArgumentTypeError, match="got Unwilling, whose .* raised KeyError") as error:
        sketch().update_many(Unwilling(KeyError))
    assert "secret" not in str(error.value)
    with pytest.raises(KeyboardInterrupt):
        sketch().update_many(Unwilling(KeyboardInterrupt))


def test_a_pandas_column_of_mixed_types() -> None:
    pandas = pytest.importorskip("pandas")
    mixed = pandas.Series(["a", 1], dtype=object)
    counted = sketch()
    counted.update_many(mixed)  # as a list of them
    assert counted.release().step == 2
    with pytest.raises(ArgumentTypeError, match="^items: expected a column of one type"):
        sketch().update_many(pandas.DataFrame({"mixed": mixed}), column="mixed")
