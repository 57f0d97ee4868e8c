"""From columns of JSON lines, as the native core reads them, to batches.

Items are an array if all of a block are text or all integers, else a list. Cost: next to
nothing for an array, 0.1 us per item for a list.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazysketch._native import json_rows
from lazysketch.sources.batch import Batch
from lazysketch.sources.formats.text_columns import listed, times_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.formats.text_columns import TextColumn, ToItems

# ``Kind`` of rust/text/src/json/mod.rs: what the item of a row is, or the row.
TEXT, SIGNED, UNSIGNED, MALFORMED, UNSURE = range(5)


class Columns(NamedTuple):
    """What the native core reads of rows.

    Args:
        kinds: Of each row, TEXT to UNSURE.
        texts: The items that are text.
        integers: The items that are integers; of negative ones the two's complement.
        weights: Of each item; empty if they are not asked for.
        clipped: Which items had a larger weight.
        times: Of each row, as it is written; None if they are not asked for.
        unsure: The rows that only the standard library's decoder can judge.
    """

    kinds: NDArray[np.uint8]
    texts: TextColumn
    integers: NDArray[np.uint64]
    weights: Any
    clipped: NDArray[np.int64]
    times: TextColumn | None
    unsure: TextColumn

    def rows_of(self, kind: int) -> NDArray[np.int64]:
        """Return the positions of the rows of a kind."""
        return np.flatnonzero(self.kinds == kind)


def columns_of(block: bytes, selection: Selection) -> Columns:
    """Return what is selected of a block of whole rows."""
    names = (selection.field, selection.weight, selection.time)
    field, weight, time = (
        None if name is None else name.encode("utf-8", "surrogatepass") for name in names
    )
    assert field is not None, "the format requires a field"  # noqa: S101
    columns = json_rows(
        block,
        field=field,
        item_type=selection.item_type,
        weight=weight,
        max_weight=selection.max_weight,
        time=time,
    )
    return Columns(*columns)


def batch_of(columns: Columns, selection: Selection, *, to_items: ToItems) -> Batch:
    """Return the rows, of which those that are not sure are malformed."""
    times = None
    if columns.times is not None:
        times = times_of_text(columns.times, unit=selection.time_unit)
    return Batch(
        items=_items(columns, to_items),
        malformed=np.flatnonzero(columns.kinds >= MALFORMED).tolist(),
        weights=None if selection.weight is None else columns.weights,
        clipped=columns.clipped.tolist(),
        times=times,
    )


def with_rows(batch: Batch, positions: NDArray[np.int64], others: Batch) -> Batch:
    """Return the batch with others in the places of rows that are malformed in it."""
    found = np.delete(positions, others.malformed)
    rows = np.concatenate([np.delete(np.arange(batch.rows), batch.malformed), found])
    # Which of all items, those of the batch before the others', stands at each place.
    order = np.argsort(rows)
    places = np.argsort(order).tolist()
    clipped = [*batch.clipped, *(len(batch.items) + item for item in others.clipped)]
    items: Sequence[Any] = batch.items
    weights: Any = batch.weights
    if len(found):
        listed_items = [*batch.item_list, *others.items]
        items = [listed_items[item] for item in order.tolist()]
    if weights is not None and others.weights is not None:
        weights = np.concatenate([weights, np.array(others.weights, dtype=np.int64)])[order]
    times = batch.times
    if times is not None and others.times is not None:
        times = times.copy()
        times[positions] = others.times
    return dataclasses.replace(
        batch,
        items=items,
        malformed=np.setdiff1d(batch.malformed, found).tolist(),
        weights=weights,
        clipped=sorted(places[item] for item in clipped),
        times=times,
    )


def _items(columns: Columns, to_items: ToItems) -> Any:
    kinds = columns.kinds[columns.kinds < MALFORMED]
    texts, signed, _ = np.bincount(kinds, minlength=MALFORMED).tolist()
    if not len(kinds):
        return []
    if texts == len(kinds):
        return to_items(columns.texts)
    if signed == len(kinds):
        return columns.integers.view(np.int64)
    if not texts and not (columns.integers.view(np.int64)[kinds == SIGNED] < 0).any():
        return columns.integers
    integers, of_integers = columns.integers, kinds[kinds != TEXT]
    items = np.empty(len(kinds), dtype=object)
    items[kinds == TEXT] = listed(columns.texts)
    items[kinds == SIGNED] = integers.view(np.int64)[of_integers == SIGNED].tolist()
    items[kinds == UNSIGNED] = integers[of_integers == UNSIGNED].tolist()
    return items.tolist()
