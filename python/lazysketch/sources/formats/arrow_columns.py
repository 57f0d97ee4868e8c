"""Arrow columns to batches: items, weights and times, and the lookup of columns by name.

A row is malformed if its item or its weight is missing (null; in text, empty), or if its
weight is not an integer of at least 0. Each row is judged independently.

Times are timestamps, dates, numbers since 1970, or text. A timestamp with a zone is an
instant; one without a zone is taken as UTC, like text without an offset. A null is
unknown, as is a time that does not fit 64 bits of nanoseconds. Fractions are read as
their decimal digits.

Cost: a few ns per row, timestamp or integer; 0.1 us per text that is a time. Needs pyarrow,
which is untyped: to mypy its classes are Any, so annotations with them only document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lazysketch.arguments import shown
from lazysketch.errors import SourceError
from lazysketch.sources.batch import UNKNOWN_TIME, RowBatch
from lazysketch.sources.formats.selection import names_shown, type_shown
from lazysketch.sources.formats.timestamps import TIME_UNITS, nanoseconds, times_of_bytes
from lazysketch.sources.io.text_blocks import UNDECODABLE
from lazysketch.sources.limits import LONGEST_ITEM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lazysketch.sources.formats.selection import Selection

_SAFE_DIGITS = 18  # any number of 18 digits fits into 64 bits
_SCALES = {unit: 10**digits for unit, digits in TIME_UNITS.items()}
_DAY = 86_400 * 10**9
_LARGEST = (1 << 63) - 1
_LARGE_DICTIONARY = 1 << 20  # bytes
_LARGEST_EXACT = 1 << 53  # floats represent all integers up to here exactly


def batch_of_columns(
    items: pa.Array,
    weights: pa.Array | None,
    selection: Selection,
    *,
    times: pa.Array | None = None,
) -> RowBatch:
    """Make a batch of columns whose types ``check_types`` has accepted.

    Args:
        items: The items.
        weights: The weights, integers, or None.
        selection: Has ``max_weight`` and ``time_unit``.
        times: The times, or None.
    """
    instants = None if times is None else times_of_column(times, unit=selection.time_unit)
    valid: NDArray[np.bool_] | None
    if pa.types.is_dictionary(items.type):
        items, valid = _items_of_dictionary(items)
    else:
        if items.type in (pa.string_view(), pa.binary_view()):  # pyarrow cannot filter views
            items = items.cast(pa.large_string() if items.type == pa.string_view() else pa.binary())
        valid = _validity(items)
        if not _is_valid_text(items):
            valid = _both(valid, _decodable(items))
        valid = _both(valid, _short(items))
    if weights is None:
        return _batch(items, None, valid, selection, times=instants)
    values = weights.fill_null(0).to_numpy(zero_copy_only=False)
    valid = _both(valid, _validity(weights))
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        valid = _both(valid, values >= 0)
    return _batch(items, values, valid, selection, times=instants)


def batch_of_text(
    items: pa.Array,
    weights: pa.Array | None,
    selection: Selection,
    *,
    times: pa.Array | None = None,
    unparsed: Sequence[int] = (),
    missing: Sequence[str] = (),
    undecodable: bool = False,
) -> RowBatch:
    """Make a batch of columns of text without nulls; the empty text means "missing".

    Args:
        items: The items, strings.
        weights: The weights, strings, or None.
        selection: Has ``max_weight`` and ``time_unit``.
        times: The times, strings, or None.
        unparsed: Positions, among all rows, of rows that are not in the arrays.
        missing: Other texts that mean "missing".
        undecodable: Whether an item may contain the replacement of undecodable bytes.
    """
    valid: NDArray[np.bool_] | None = None
    for absent in ("", *missing):
        valid = _both(valid, _mask(pc.not_equal(items, absent)))
    if undecodable:
        valid = _both(valid, _mask(pc.invert(pc.match_substring(items, UNDECODABLE))))
    valid = _both(valid, _short(items))
    values = None
    if weights is not None:
        values, good = _whole_numbers(weights)
        valid = _both(valid, good)
    instants = None if times is None else times_of_column(times, unit=selection.time_unit)
    return _batch(items, values, valid, selection, times=instants, unparsed=unparsed)


def check_types(types: dict[str, pa.DataType], selection: Selection, *, name: str) -> None:
    """Raise SourceError unless the Arrow types can hold items, weights and times.

    Args:
        types: The types of the "field" and, if selected, of the "weight" and the "time".
        selection: The selected fields.
        name: The name of the input in messages.
    """
    item, weight, field = types["field"], types.get("weight"), shown(selection.field)
    if selection.time is not None:
        check_time_type(types["time"], field=selection.time, name=name)
    if pa.types.is_dictionary(item):
        item = item.value_type
    kind = _kind_of(item)
    if kind is None:
        raise SourceError(
            f"{name}: expected text, bytes or integers in field {field}, got {type_shown(item)}"
        )
    if kind == "bytes" and selection.item_type is not None:
        raise SourceError(
            f"{name}: expected items of type {selection.item_type} in field "
            f"{field}, got {item}: bytes are counted in Python only (item_type=None); "
            "otherwise convert the column to text"
        )
    if selection.item_type not in (None, kind):
        raise SourceError(
            f"{name}: expected items of type {selection.item_type} in field "
            f"{field}, got {item}: write --items-type {kind} "
            f"(in Python item_type={kind!r})"
        )
    if weight is not None and not pa.types.is_integer(weight):
        raise SourceError(
            f"{name}: expected integers in field {shown(selection.weight)} for the weight, "
            f"got {type_shown(weight)}"
        )


def _kind_of(item: pa.DataType) -> str | None:
    if pa.types.is_integer(item):
        return "int"
    if pa.types.is_string(item) or pa.types.is_large_string(item) or item == pa.string_view():
        return "str"
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if any(is_binary(item) for is_binary in binary) or item == pa.binary_view():
        return "bytes"
    return None


def _batch(
    items: pa.Array,
    weights: NDArray[np.integer] | None,
    valid: NDArray[np.bool_] | None,
    selection: Selection,
    *,
    times: NDArray[np.int64] | None,
    unparsed: Sequence[int] = (),
) -> RowBatch:
    malformed: list[int] = list(unparsed)
    places = np.arange(len(items) + len(unparsed))
    if unparsed:
        places = np.delete(places, np.asarray(unparsed))
        if times is not None:
            parsed_times, times = times, np.full(len(items) + len(unparsed), UNKNOWN_TIME)
            times[places] = parsed_times
    if valid is not None:
        malformed = np.sort(np.concatenate([places[~valid], unparsed]).astype(np.int64)).tolist()
        items = items.filter(pa.array(valid))
        weights = None if weights is None else weights[valid]
    clipped: list[int] = []
    counted: NDArray[np.int64] | None = None
    if weights is not None:
        most = selection.max_weight
        if weights.size and int(weights.max()) > most:
            clipped = np.flatnonzero(weights > most).tolist()
            weights = np.minimum(weights, np.array(most).astype(weights.dtype))
        counted = weights.astype(np.int64, copy=False)
    return RowBatch(items, malformed, counted, clipped, times=times)


def _whole_numbers(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return the values of decimal digits, 0 for other text, and which are digits."""
    digits = pc.ascii_is_decimal(column)
    short = pc.less_equal(pc.binary_length(column), _SAFE_DIGITS)
    easy = pc.and_(digits, short)
    good = _mask(digits)
    if easy.true_count == len(column):
        return column.cast(pa.int64()).to_numpy(), good
    values = pc.if_else(easy, column, "0").cast(pa.int64()).to_numpy().copy()
    for place in np.flatnonzero(pc.and_not(digits, short).to_numpy(zero_copy_only=False)).tolist():
        significant = column[place].as_py().lstrip("0")
        large = np.iinfo(np.int64).max
        values[place] = int(significant or "0") if len(significant) <= _SAFE_DIGITS else large
    return values, good


def _validity(column: pa.Array) -> NDArray[np.bool_] | None:
    if not column.null_count:
        return None
    mask: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return mask


def _mask(flags: pa.Array) -> NDArray[np.bool_] | None:
    if flags.true_count == len(flags):
        return None
    mask: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
    return mask


def _both(
    first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _is_valid_text(items: pa.Array) -> bool:
    """Tell whether text is valid UTF-8, which readers of columnar files do not check."""
    try:
        items.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _items_of_dictionary(items: pa.Array) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    """Return the rows over the entries that are items and occur, and which rows those are.

    An entry is read once, however many rows refer to it; of a dictionary that is larger than
    its rows, only the entries that occur. It is never decoded: that would copy an entry for
    every row.
    """
    valid = _validity(items)
    places = items.indices.fill_null(0).to_numpy(zero_copy_only=False)
    entries = items.dictionary
    if not len(entries):  # all rows are null
        return pa.array([None] * len(items), entries.type), valid
    if len(entries) > len(places) or entries.nbytes > _LARGE_DICTIONARY:
        used, places = np.unique(places, return_inverse=True)
        entries = entries.take(pa.array(used))
    good = _validity(entries)
    if not _is_valid_text(entries):
        good = _both(good, _decodable(entries))
    good = _both(good, _short(entries))
    if good is not None:
        # No row refers to the entries that are left out, so any place will do for theirs.
        valid = _both(valid, good[places])
        entries = entries.filter(pa.array(good))
        places = np.maximum(np.cumsum(good) - 1, 0)[places]
    if not len(entries):
        return pa.array([None] * len(items), entries.type), valid
    rows = pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), entries)
    return rows, valid


def _decodable(items: pa.Array) -> NDArray[np.bool_]:
    """Return which rows decode; raise an Arrow error if the array itself is damaged."""
    items.validate()
    bytes_of = items.cast(pa.large_binary())
    return np.array([not text.is_valid or _is_utf8(text.as_py()) for text in bytes_of], dtype=bool)


def _short(items: pa.Array) -> NDArray[np.bool_] | None:
    """Return which texts or bytes are not too long for an item; None if all are."""
    if pa.types.is_integer(items.type) or items.nbytes <= LONGEST_ITEM:
        return None
    if pa.types.is_fixed_size_binary(items.type):
        is_long = items.type.byte_width > LONGEST_ITEM
        return np.zeros(len(items), dtype=bool) if is_long else None
    is_short = pc.less_equal(pc.binary_length(items), LONGEST_ITEM)
    return _mask(pc.fill_null(is_short, fill_value=True))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except ValueError:
        return False
    return True


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


def type_of(schema: pa.Schema, field: str, *, of: str, name: str) -> pa.DataType:
    """Return the type of a column, or of a field inside a struct column.

    Raises:
        SourceError: Neither exists, or several columns have the name.
    """
    top, *path = path_of(schema.names, field)
    if schema.names.count(top) > 1:
        raise SourceError(f"{name}: expected one column {shown(top)} for {of}, got several")
    found: pa.DataType | None = schema.field(top).type if top in schema.names else None
    for part in path:
        if found is None or not pa.types.is_struct(found) or found.get_field_index(part) < 0:
            found = None
            break
        found = found.field(found.get_field_index(part)).type
    if found is None:
        known = names_shown(schema.names)
        raise SourceError(f"{name}: expected one of {known} for {of}, got {shown(field)}")
    return found


def column_of(batch: pa.RecordBatch, field: str) -> pa.Array:
    """Return the column, or the field inside a struct column, that ``type_of`` has found."""
    top, *path = path_of(batch.schema.names, field)
    column = batch.column(top)
    return pc.struct_field(column, path) if path else column


def path_of(names: Iterable[str], field: str) -> list[str]:
    """Return the column; if no column has the whole name, a column and fields inside it.

    Example:
        >>> path_of(["user.id"], "user.id"), path_of(["user"], "user.id")
        (['user.id'], ['user', 'id'])
    """
    return [field] if field in names else field.split(".")
