"""From Arrow columns to times: timestamps, dates, numbers since 1970, and text.

A timestamp with a zone is an instant; one without is taken as UTC, as text without an
offset is. A null is unknown, and so is what 64 bits of nanoseconds cannot hold.
Fractions of any kind are read as they are written in decimal digits.

Cost: a few ns per timestamp or integer, 0.1 us per text. Needs pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lazysketch.errors import SourceError
from lazysketch.sources.batch import UNKNOWN_TIME
from lazysketch.sources.formats.timestamps import TIME_UNITS, nanoseconds, times_of_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SCALES = {unit: 10**digits for unit, digits in TIME_UNITS.items()}
_DAY = 86_400 * 10**9
_LARGEST = (1 << 63) - 1
_LARGEST_EXACT = 1 << 53  # up to here a float of a whole number is that number


def check_time_type(kind: Any, *, field: str, name: str) -> None:
    """Raise SourceError unless values of the Arrow type can tell when a row happened."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_integer, pa.types.is_decimal)
    if not (any(is_known(kind) for is_known in known) or _is_float(kind) or _is_text(kind)):
        raise SourceError(
            f"{name}: expected timestamps, dates, numbers or text in field {field!r} for the "
            f"time, got {kind}"
        )


def times_of_column(column: Any, *, unit: str) -> NDArray[np.int64]:
    """Return the instant of each value of an array whose type ``check_time_type`` has passed."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if _is_text(kind):
        return _times_of_text(column, unit=unit)
    if pa.types.is_decimal(kind):
        return _times_of_text(column.cast(pa.string()), unit=unit)
    if _is_float(kind):
        return _times_of_floats(column, unit=unit)
    if pa.types.is_timestamp(kind):
        return _times_of_integers(column.view(pa.int64()), scale=_SCALES[kind.unit])
    if kind == pa.date64():  # milliseconds
        return _times_of_integers(column.view(pa.int64()), scale=_SCALES["ms"])
    if kind == pa.date32():  # days
        return _times_of_integers(column.view(pa.int32()), scale=_DAY)
    return _times_of_integers(column, scale=_SCALES[unit])


def _times_of_integers(column: Any, *, scale: int) -> NDArray[np.int64]:
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    known = np.ones(len(values), dtype=bool)
    if column.null_count:
        known = column.is_valid().to_numpy(zero_copy_only=False)
    if values.dtype == np.uint64:
        known &= values <= _LARGEST
    times = nanoseconds(values.astype(np.int64), scale=scale)
    return np.where(known, times, UNKNOWN_TIME)


def _times_of_floats(column: Any, *, unit: str) -> NDArray[np.int64]:
    values = column.fill_null(np.nan).to_numpy(zero_copy_only=False).astype(np.float64)
    whole = (values == np.floor(values)) & (np.abs(values) <= _LARGEST_EXACT)
    times = nanoseconds(np.where(whole, values, 0).astype(np.int64), scale=_SCALES[unit])
    if not whole.all():
        # The others stand for the shortest decimals that write them, as people wrote them.
        others = column.filter(pa.array(~whole)).cast(pa.string())
        times[~whole] = _times_of_text(others, unit=unit)
    return times


def _times_of_text(column: Any, *, unit: str) -> NDArray[np.int64]:
    # As bytes, since what is no UTF-8 is no time either; with offsets of 64 bits.
    column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    size = len(column) + 1
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + size]
    lengths = np.diff(ends)
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    begin, end = (int(ends[0]), int(ends[-1])) if len(column) else (0, 0)
    texts = np.frombuffer(data, dtype=np.uint8)[begin:end] if data else np.empty(0, np.uint8)
    return times_of_bytes(texts, ends=ends[1:] - begin, lengths=lengths, unit=unit)


def _is_float(kind: Any) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    )
