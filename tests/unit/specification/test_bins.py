"""Public bins: edges are checked once, and every number has a bin."""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

VALUES = [-math.inf, -7.0, -0.0, 0, 1, 2.5, 9.999, 10, 1e300, math.inf]


def test_every_number_has_the_bin_between_its_edges() -> None:
    edges = np.array(ls.Bins([-1, 0, 2.5, 10]).edges)
    expected = [bisect.bisect_right(edges, value) for value in VALUES]
    inputs: list[Any] = [
        VALUES,
        tuple(VALUES),
        iter(VALUES),
        np.array(VALUES, dtype=np.float64),
        np.array(VALUES, dtype=object),
        pa.array([float(value) for value in VALUES]),
        pa.chunked_array([[float(value) for value in VALUES]]),
    ]
    for values in inputs:
        assert _native.bins_of_values(values, edges).tolist() == expected


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_numbers_of_every_width(kind: str) -> None:
    values = np.array([0, 1, 2, 3, 100], dtype=kind)
    for column in (values, values[::-1][::-1], pa.array(values)):
        assert _native.bins_of_values(column, np.array([1.0, 2.5])).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, math.nan], "values: expected numbers, at position 1 too, got NaN"),
        ([1, "a"], "values: expected numbers, got str at position 1"),
        ([True], "values: expected numbers, got bool at position 0"),
        ([np.bool_(True)], "values: expected numbers, got bool"),
        ([None], "values: expected numbers, got NoneType at position 0"),
        ([1 + 2j], "values: expected numbers, got complex at position 0"),
        ([10**400], "values: expected numbers within the range of a float, got a larger one"),
        ("12", "values: expected a list, array or column of values, got str"),
        ({1: 2}, "values: expected a list, array or column of values, got dict"),
        (7, "values: expected an iterable of numbers, got int"),
        (np.array(["1"]), "values: expected an array of numbers, got dtype <U1"),
        (np.zeros((2, 2)), "values: expected one dimension, got 2"),
        (np.ma.masked_array([1.0], mask=[True]), "values: expected an array without a mask"),
        (pa.array(["1"]), "values: expected numbers, got Arrow type"),
        (pa.array([1.0, None]), "values: expected no nulls"),
        (np.array([1], dtype="m8[s]"), "values: expected an array of numbers, got dtype"),
    ],
)
def test_what_is_no_number_is_refused(values: object, message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as refused:
        _native.bins_of_values(values, np.array([1.0]))
    assert str(refused.value).startswith(message)


def test_bins_of_a_range() -> None:
    linear = ls.Bins.linear(-1, 1, number=4)
    assert linear.edges == (-1.0, -0.5, 0.0, 0.5, 1.0)
    assert linear.number == 6
    assert ls.Bins.linear(0, 100).number == ls.Bins.logarithmic(1e-3, 1e3).number == 1024
    assert ls.Bins.logarithmic(0.01, 100, number=4).edges == (0.01, 0.1, 1.0, 10.0, 100.0)
    ratios = np.diff(np.log(ls.Bins.logarithmic(0.003, 777.7, number=50).edges))
    assert ratios == pytest.approx(ratios[0])
    assert ls.Bins([1, 2]) == ls.Bins(np.array([1.0, 2.0])) != ls.Bins([1, 3])
    assert repr(linear) == "<Bins: 6, 5 edges from -1 to 1>"


@pytest.mark.parametrize(
    ("edges", "error"),
    [
        ([], ArgumentValueError),
        ([1.0, 1.0], ArgumentValueError),
        ([2.0, 1.0], ArgumentValueError),
        ([0.0, math.nan], ArgumentValueError),
        ([0.0, math.inf], ArgumentValueError),
        (range(2**14), ArgumentValueError),
        ("12", ArgumentTypeError),
        (5, ArgumentTypeError),
        (["a"], ArgumentTypeError),
        ([[1.0], [2.0]], ArgumentTypeError),
        ([True, False], ArgumentTypeError),
    ],
)
def test_wrong_edges_are_refused(edges: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^edges: expected 1 to 16,383 finite numbers that rise, got"):
        ls.Bins(edges)


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (ls.Bins.linear, {"low": 2, "high": 2}, "high: expected a number above low, 2, got 2"),
        (ls.Bins.linear, {"low": math.nan}, "low: expected a finite number, got nan"),
        (ls.Bins.linear, {"high": math.inf}, "high: expected a finite number, got inf"),
        (ls.Bins.linear, {"low": -1e308, "high": 1e308}, "high: expected a number above low"),
        (ls.Bins.linear, {"low": 1, "high": 1 + 1e-15, "number": 100}, "edges: expected 1 to"),
        (ls.Bins.linear, {"number": 0}, "number: expected an integer from 1 to 16382, got 0"),
        (ls.Bins.linear, {"number": 2**14}, "number: expected an integer from 1 to 16382"),
        (ls.Bins.linear, {"low": "1"}, "low: expected a finite number, got str"),
        (ls.Bins.logarithmic, {"low": 0}, "low: expected a number above 0, got 0"),
        (ls.Bins.logarithmic, {"low": 5e-324, "high": 1e308}, "high: expected a finite ratio"),
    ],
)
def test_wrong_ranges_are_refused(make: Any, wrong: dict[str, Any], message: str) -> None:
    arguments = {"low": 1, "high": 10, "number": 8, **wrong}
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as refused:
        make(arguments["low"], arguments["high"], number=arguments["number"])
    assert str(refused.value).startswith(message)
