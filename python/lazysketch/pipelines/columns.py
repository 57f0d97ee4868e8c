"""Rows as the columns of the parts, and which rows have no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters import HierarchicalHeavyHitters
from lazysketch.pipelines.part import Live
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.held_table import HeldTables
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.sums.sums import Sums

__all__ = [
    "Column",
    "ColumnWithGaps",
    "PartRows",
    "RowsOfStream",
    "column_of",
    "counted",
    "people_of",
    "rows_of_part",
    "stream_of",
    "tables_of",
    "whole_numbers",
    "without_missing",
]

# The values of a column that are there, the positions of the others, and the number of both.
Column: TypeAlias = tuple[Any, npt.NDArray[np.int64], int]
RowsOfStream: TypeAlias = tuple[
    _native.People | None,
    Sequence[_native.PrivateSketch],
    Sequence[object],
    Sequence[object],
    object,
    object,
]
_NONE: Final = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ColumnWithGaps:
    """A column of rows of which some have no value.

    Attributes:
        values: of the rows that have one, in order.
        missing: the increasing positions of the others, counted from 0 over all rows.
        rows: how many there are.
    """

    values: object
    missing: Sequence[int]
    rows: int


@dataclass(frozen=True, slots=True)
class PartRows:
    """What a part counts of some rows.

    Attributes:
        values: of its column, of the rows that have an event.
        missing: the increasing positions of the others.
        numbers: one for each value, of sums and where rows have weights; else None.
        users: the person of each value, where people are protected; else None.
    """

    values: object
    missing: npt.NDArray[np.int64]
    numbers: object = None
    users: object = None


def tables_of(live: Live) -> list[_native.PrivateSketch]:
    """Return the tables of a statistic, in the order of :func:`counted`."""
    if isinstance(live, PrivateTable):
        return [live]
    if isinstance(live, HierarchicalHeavyHitters | HeldTables):
        return [*live._tables]
    return [live._table]


def counted(live: Live, rows: PartRows) -> list[tuple[object, object]]:
    """Return what each table of a statistic counts of some rows.

    Args:
        live: the statistic.
        rows: what it counts of them.

    Returns:
        One batch with its weights, or None for weight 1, per table.

    Raises:
        ItemError: an item that does not fit.
        ArgumentTypeError: values of a wrong type.
        ArgumentValueError: NaN for a distribution or for sums.
    """
    values = rows.values
    if isinstance(live, Sums):
        return [(values, None), (values, live._weights(rows.numbers))]
    if isinstance(live, Distribution):
        return [(live._bins_of(values), None)]
    weights = None if rows.numbers is None else whole_numbers(rows.numbers)
    if isinstance(live, HierarchicalHeavyHitters):
        return [(column, weights) for column in live.levels._columns(values)]
    return [(values, weights)]


def stream_of(live: Live, rows: PartRows) -> RowsOfStream:
    """Return what the tables of a statistic count of some rows of people.

    Args:
        live: the statistic.
        rows: what it counts of them, with their people.

    Returns:
        Its people or None, its tables, a batch and its weights for each of them, the person of each
        event or None, and the rows without an event.

    Raises:
        LazySketchError: as for :func:`counted`.
    """
    of_tables = counted(live, rows)
    people = people_of(live)
    return (
        people,
        tables_of(live),
        [one[0] for one in of_tables],
        [one[1] for one in of_tables],
        None if people is None else rows.users,
        rows.missing,
    )


def people_of(live: Live) -> _native.People | None:
    """Return what people have contributed to a statistic; None if it has no bound."""
    if isinstance(live, HierarchicalHeavyHitters):
        return live._people_of_levels
    return _native.People.of_table(tables_of(live)[0])


def whole_numbers(weights: Any) -> Any:
    """Return weights as integers where they are floats without a fraction, as pandas makes them.

    Args:
        weights: a column without missing values.
    """
    if str(getattr(weights, "dtype", "")).startswith("float"):
        numbers = np.asarray(weights)
        whole = numbers.astype(np.int64, casting="unsafe") if np.isfinite(numbers).all() else None
        if whole is not None and bool((whole == numbers).all()):
            return whole
    return weights


def rows_of_part(columns: Sequence[Column], users: Column | None = None) -> PartRows:
    """Return what a part counts: the rows that have all of its values, and a person.

    Args:
        columns: results of :func:`without_missing`, of the column of the part and, of sums and of
            weights, of that of the numbers.
        users: that of the people, where they are protected; all of one length.
    """
    given = [*columns] if users is None else [*columns, users]
    missing = given[0][1]
    chosen = [values for values, _, _ in given]
    if not all(np.array_equal(missing, others) for _, others, _ in given[1:]):
        present = [np.ones(rows, dtype=bool) for _, _, rows in given]
        for mask, (_, others, _) in zip(present, given, strict=True):
            mask[others] = False
        kept = np.logical_and.reduce(present)
        missing = np.flatnonzero(~kept)
        chosen = [_chosen(values, kept[mask]) for values, mask in zip(chosen, present, strict=True)]
    return PartRows(
        chosen[0],
        missing,
        numbers=chosen[1] if len(columns) > 1 else None,
        users=None if users is None else chosen[-1],
    )


def _chosen(values: Any, mask: npt.NDArray[np.bool_]) -> Any:
    """Return the values of a column at which a mask is True."""
    if isinstance(values, np.ndarray) or hasattr(values, "isna"):
        return values[mask]
    if hasattr(values, "filter"):  # pyarrow, polars
        return values.filter(mask)
    return [value for value, is_kept in zip(values, mask.tolist(), strict=True) if is_kept]


def column_of(rows: Any, name: str) -> Any:
    """Return a column of rows.

    Args:
        rows: a mapping from names to columns, a data frame, or a table of Arrow.
        name: name of the column.

    Raises:
        ArgumentTypeError: nothing of the kind.
        ArgumentValueError: no such column.
    """
    names = rows.keys() if isinstance(rows, Mapping) else _names_of(rows)
    if name not in names:
        raise ArgumentValueError(f"rows: expected a column {name!r}, got none of that name")
    return rows[name]


def _names_of(rows: object) -> Any:
    for attribute in ("column_names", "columns", "schema"):  # pyarrow; data frames; record batches
        found = getattr(rows, attribute, None)
        names = getattr(found, "names", found) if attribute == "schema" else found
        if names is not None and not callable(names):
            return list(names)
    raise ArgumentTypeError(
        "rows: expected a mapping from names to columns, a data frame or a table of Arrow, got "
        f"{type(rows).__name__}"
    )


def without_missing(values: Any) -> Column:
    """Return the values that are there, the positions of the others, and the number of both.

    Missing are None, nulls of Arrow and of data frames, and what pandas takes for missing.

    Args:
        values: a column.

    Raises:
        ArgumentTypeError: nothing that can be iterated over.
    """
    if isinstance(values, ColumnWithGaps):
        return values.values, np.array(values.missing, dtype=np.int64), values.rows
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values, _NONE, len(values)
    if hasattr(values, "isna"):  # pandas
        missing = np.asarray(values.isna(), dtype=bool)
        return (values[~missing] if missing.any() else values), *_positions(missing)
    if hasattr(values, "is_null"):  # pyarrow, polars
        missing = np.asarray(values.is_null(), dtype=bool)
        return (values.filter(~missing) if missing.any() else values), *_positions(missing)
    if not hasattr(values, "__iter__"):
        got = type(values).__name__
        raise ArgumentTypeError(f"rows: expected columns of values, got {got} in place of one")
    listed = list(values)
    absent = [position for position, value in enumerate(listed) if value is None]
    if not absent:
        return listed, _NONE, len(listed)
    present = [value for value in listed if value is not None]
    return present, np.array(absent, dtype=np.int64), len(listed)


def _positions(missing: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], int]:
    return np.flatnonzero(missing), len(missing)
