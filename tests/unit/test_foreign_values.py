"""Values of classes that the caller chose: read once, never without end, never where they point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import plain_sequence


class Raising:
    """An iterable whose iterator raises."""

    def __iter__(self) -> Iterator[object]:
        raise ZeroDivisionError


def broken_array() -> pa.Array:
    """A dictionary array whose indices point past its dictionary."""
    indices = pa.array([0, 1 << 20], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array([0.5]), safe=False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, True, "x"], [0.5, True, "x"]),
        ((1, 2), [1, 2]),
        (iter([1, 2]), [1, 2]),
        ({3}, [3]),
        (np.array([0.5, 1.0]), [0.5, 1.0]),
        (pa.array([0.5, 1.0]), [0.5, 1.0]),
        (pa.chunked_array([[1], [2, 3]]), [1, 2, 3]),
        (itertools.count(), [0, 1, 2, 3]),
        (pa.array(range(9)), [0, 1, 2, 3]),
        (np.array(0.5), None),
        ("0.5", None),
        (b"0.5", None),
        ({"a": 1}, None),
        (0.5, None),
        (None, None),
        (Raising(), None),
        (broken_array(), None),
    ],
)
def test_a_sequence_is_read_or_refused(values: object, expected: list[object] | None) -> None:
    assert plain_sequence("values", values, most=3) == expected


@pytest.mark.parametrize("edges", [broken_array(), np.array(0.5), Raising(), "12", {1: 2}, 5])
def test_edges_that_cannot_be_read_are_refused(edges: object) -> None:
    with pytest.raises(ArgumentTypeError, match="edges: expected"):
        ls.Bins(cast("Any", edges))
    with pytest.raises(ArgumentValueError, match="edges: expected"):
        ls.Bins(cast("Any", itertools.count()))


def test_shares_that_cannot_be_read_are_refused() -> None:
    with ls.Distribution(bins=ls.Bins.linear(0, 1), epsilon=1.0, delta=1e-6, horizon=9) as live:
        live.update(0.5)
        release = live.release()
    for shares in (broken_array(), np.array(0.5), Raising(), "0.5", 0.5):
        with pytest.raises(ArgumentTypeError, match="shares: expected a sequence of numbers"):
            release.quantiles(cast("Any", shares))
    with pytest.raises(ArgumentValueError, match="shares: expected at most 1,048,576 numbers"):
        release.quantiles(cast("Any", itertools.repeat(0.5)))
    assert len(release.quantiles(pa.array([0.25, 0.75]))) == 2


def test_values_of_sums_that_cannot_be_read_are_refused() -> None:
    with ls.Sums(low=0, high=1, epsilon=1.0, delta=1e-6, horizon=99) as live:
        for values in (broken_array(), Raising(), "12", 0.5, [None, 0.5], [0.5, "x"]):
            with pytest.raises(ArgumentTypeError, match="values: expected"):
                live.update_many(["a", "b"], cast("Any", values))
            with pytest.raises(ArgumentTypeError, match="values: expected"):
                live.update_rows(["a", "b"], cast("Any", values), empty_rows=[])
        assert live.steps == 0
        for values in (pa.array([0.5, 1.0]), iter([0.5, 1]), np.array([0, 1]), (0.5, True)):
            live.update_many(["a", "b"], cast("Any", values))
        assert live.steps == 8
