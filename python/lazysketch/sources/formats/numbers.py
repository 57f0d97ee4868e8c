"""Items that are numbers: the values of a distribution.

Formats of text give numbers as they are written, columnar ones as they are stored. A row whose
value is missing or no number is malformed, like a row without an item; so is NaN, which has no
place among numbers. Infinities have one.

Cost: some 30 ns per number that was text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch._native import TextColumn, numbers_of_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lazysketch.sources.batch import Items, RowBatch

__all__ = ["NUMBERS", "with_numbers"]

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
