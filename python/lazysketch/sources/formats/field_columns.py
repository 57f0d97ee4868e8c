"""Fields of rows as the native core returns them, to batches. NumPy only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.numbers import with_values
from lazysketch.sources.formats.timestamps import times_of_text

if TYPE_CHECKING:
    from lazysketch._native import _FieldRows
    from lazysketch.sources.formats.selection import Selection

__all__ = ["batch_of_fields"]


def batch_of_fields(columns: _FieldRows, selection: Selection) -> RowBatch:
    """Make a batch of the fields of a block of rows.

    Args:
        columns: What ``FieldReader`` or ``DelimitedReader`` of the native core has read.
        selection: Has ``weight``, ``value`` and ``time_unit``.
    """
    items, malformed, weights, clipped, times, written, users, without_user = columns
    batch = RowBatch(
        items=items,
        malformed=malformed.tolist(),
        weights=None if selection.weight is None else weights,
        clipped=clipped.tolist(),
        times=None if times is None else times_of_text(times, unit=selection.time_unit),
        users=users,
        without_user=without_user.tolist(),
    )
    return batch if written is None else with_values(batch, written)
