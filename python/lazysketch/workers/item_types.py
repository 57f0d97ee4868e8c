"""What partial counts take of each row: which items, and a value for sums."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentTypeError
from lazysketch.sources.formats.keys import key_type
from lazysketch.sources.formats.numbers import NUMBERS

if TYPE_CHECKING:
    from lazysketch.sketches.partial_counts import PartialCounts
    from lazysketch.sources.formats.selection import Selection

__all__ = ["fitting_request"]


def fitting_request(counts: PartialCounts, request: Selection) -> Selection:
    """Return a request for what partial counts take: numbers for values, keys for ranges.

    Args:
        counts: Of a worker.
        request: What to read of each row, by :func:`~lazysketch.sources.checked_request`; a type of
            items that it names is kept.

    Raises:
        ArgumentTypeError: no value for sums by item, or one for others.
    """
    if counts._has_sums != (request.value is not None):
        if counts._has_sums:
            raise ArgumentTypeError(
                "value: expected the field with the number of each row, for sums, got none"
            )
        raise ArgumentTypeError("value: expected none for counts without sums, got one")
    if request.item_type is not None:
        return request
    if counts._key_bits is not None:
        return replace(request, item_type=key_type(counts._key_bits))
    return replace(request, item_type=NUMBERS) if counts._has_values else request
