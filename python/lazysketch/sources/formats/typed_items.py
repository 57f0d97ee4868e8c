"""Items of a type that formats do not tell apart: numbers, and keys of ranges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lazysketch.sources.formats.keys import key_bits, with_keys
from lazysketch.sources.formats.numbers import NUMBERS, with_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection

__all__ = ["typed_items"]


def typed_items(selection: Selection) -> tuple[Selection, Callable[[RowBatch], RowBatch]]:
    """Return what a format reads for a type of items, and what gives its batches such items.

    Args:
        selection: What is read of each row.

    Example:
        >>> from lazysketch.sources.batch import RowBatch
        >>> from lazysketch.sources.formats.selection import Selection
        >>> read, typed = typed_items(Selection("ip", "utf-8", item_type="key32"))
        >>> read.item_type, typed(RowBatch(["10.0.0.1", "n/a"])).malformed
        (None, [1])
    """
    bits = key_bits(selection.item_type)
    if bits is not None:
        return replace(selection, item_type=None), partial(with_keys, bits=bits)
    return selection, with_numbers if selection.item_type == NUMBERS else _as_they_are


def _as_they_are(batch: RowBatch) -> RowBatch:
    return batch
