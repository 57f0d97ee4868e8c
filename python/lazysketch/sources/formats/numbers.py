"""Items that are numbers, the values of a distribution, and numbers beside items, those of sums.

Formats of text give numbers as they are written, columnar ones as they are stored. A row whose
value is missing or no number is malformed, like a row without an item; so is NaN, which has no
place among numbers. Infinities have one.

Cost: some 30 ns per number that was text.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch._native import TextColumn, numbers_of_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lazysketch.sources.batch import Items, RowBatch

__all__ = ["NUMBERS", "with_numbers", "with_values"]

NUMBERS: Final = "float"
"""The type of items that are numbers, as of ``open_source``."""


def with_numbers(batch: RowBatch) -> RowBatch:
    """Return a batch whose items are 64-bit floats; rows with other items are malformed.

    Args:
        batch: Rows whose items are text, integers or floats.

    Example:
        >>> from lazysketch.sources.batch import RowBatch
        >>> batch = with_numbers(RowBatch(["1.5", "n/a", "2e3"]))
        >>> batch.items.tolist(), batch.malformed
        ([1.5, 2000.0], [1])
    """
    numbers, others = _numbers(batch.items)
    return batch.with_items(numbers, others=others)


def with_values(batch: RowBatch, written: TextColumn | list[str]) -> RowBatch:
    """Return a batch whose weights are numbers; rows without one are malformed.

    Args:
        batch: Rows.
        written: The number of each row as text, with or without an item.

    Example:
        >>> from lazysketch.sources.batch import RowBatch
        >>> batch = with_values(RowBatch(["a", "b"], [1]), ["-1.5", "7", "n/a"])
        >>> batch.items, batch.weights.tolist(), batch.malformed
        (['a'], [-1.5], [1, 2])
    """
    numbers, others = numbers_of_texts(written)
    values = np.full(len(written), np.nan)
    values[np.delete(np.arange(len(written)), others)] = numbers
    own = np.delete(values, batch.empty_rows)
    unknown = np.flatnonzero(np.isnan(own)).tolist()
    if not unknown:
        return dataclasses.replace(batch, weights=own)
    items = batch.item_list
    left = np.flatnonzero(~np.isnan(own)).tolist()
    weighted = dataclasses.replace(batch, weights=own)
    return weighted.with_items([items[index] for index in left], others=unknown)


def _numbers(items: Items) -> tuple[NDArray[np.float64], Sequence[int]]:
    """Return the items that are numbers, and the indices of the others."""
    if isinstance(items, TextColumn):
        numbers, others = numbers_of_texts(items)
        return numbers, others.tolist()
    if isinstance(items, np.ndarray) or hasattr(items, "to_numpy"):
        values = np.asarray(items, dtype=np.float64)
        missing = np.isnan(values)
        return (
            (values[~missing], np.flatnonzero(missing).tolist()) if missing.any() else (values, ())
        )
    numbers, others = numbers_of_texts([_written(item) for item in items])
    return numbers, others.tolist()


def _written(item: object) -> str:
    """Return an item of a list as text."""
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
