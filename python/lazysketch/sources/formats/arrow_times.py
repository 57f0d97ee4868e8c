"""Arrow columns of times to instants.

Times are timestamps, dates, numbers since 1970, or text. A timestamp with a zone is an
instant; one without a zone is taken as UTC, like text without an offset. A null is
unknown, as is a time that does not fit 64 bits of nanoseconds. Fractions are read as
their decimal digits.

Cost: a few ns per timestamp or integer; 0.1 us per text. Needs pyarrow, which is untyped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lazysketch.arguments import shown
from lazysketch.errors import SourceError
from lazysketch.sources.batch import UNKNOWN_TIME
from lazysketch.sources.formats.selection import type_shown
from lazysketch.sources.formats.timestamps import TIME_UNITS, nanoseconds, times_of_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SCALES = {unit: 10**digits for unit, digits in TIME_UNITS.items()}
_DAY = 86_400 * 10**9
_LARGEST = (1 << 63) - 1
_LARGEST_EXACT = 1 << 53  # floats represent all integers up to here exactly


def check_time_type(kind: pa.DataType, *, field: str, name: str) -> None:
    """Raise SourceError unless values of the Arrow type can be times."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_integer, pa.types.is_decimal)
    if not (any(is_known(kind) for is_known in known) or _is_float(kind) or _is_text(kind)):
        raise SourceError(
            f"{name}: expected timestamps, dates, numbers or text in field {shown(field)} for the "
            f"time, got {type_shown(kind)}"
        )


def times_of_column(column: pa.Array, *, unit: str) -> NDArray[np.int64]:
    """Return the instant of each value of an array that ``check_time_type`` has accepted."""
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


def _times_of_integers(column: pa.Array, *, scale: int) -> NDArray[np.int64]:
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    known = np.ones(len(values), dtype=bool)
    if column.null_count:
        known = column.is_valid().to_numpy(zero_copy_only=False)
    if values.dtype == np.uint64:
        known &= values <= _LARGEST
    times = nanoseconds(values.astype(np.int64), scale=scale)
    return np.where(known, times, UNKNOWN_TIME)


def _times_of_floats(column: pa.Array, *, unit: str) -> NDArray[np.int64]:
    values = column.fill_null(np.nan).to_numpy(zero_copy_only=False).astype(np.float64)
    whole = (values == np.floor(values)) & (np.abs(values) <= _LARGEST_EXACT)
    times = nanoseconds(np.where(whole, values, 0).astype(np.int64), scale=_SCALES[unit])
    if not whole.all():
        # A float with a fraction is read as its shortest decimal, which is what people wrote.
        others = column.filter(pa.array(~whole)).cast(pa.string())
        times[~whole] = _times_of_text(others, unit=unit)
    return times


def _times_of_text(column: pa.Array, *, unit: str) -> NDArray[np.int64]:
    # As bytes: text that is not UTF-8 is no time either. Large: 64-bit offsets.
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


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    )
