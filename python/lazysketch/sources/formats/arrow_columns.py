"""Arrow columns to batches: items, weights, times and people; lookup of columns by name.

A row is malformed if its item or its weight is missing (null), or if its
weight is not an integer of at least 0, or if its person is missing. Each row is judged
independently. People are text: an integer becomes its decimal digits, so that one person is
the same in a column of integers and in a column of text.

Cost: a few ns per row; ``arrow_times`` has that of times. Needs pyarrow, which is untyped: to
mypy its classes are Any, so annotations with them only document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lazysketch.arguments import shown
from lazysketch.errors import SourceError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.arrow_times import check_time_type, times_of_column
from lazysketch.sources.formats.numbers import NUMBERS
from lazysketch.sources.formats.selection import names_shown, type_shown
from lazysketch.sources.limits import LONGEST_ITEM

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from numpy.typing import NDArray

    from lazysketch.sources.formats.selection import Selection

    # People, as text, and which rows have one; None: all.
    _People: TypeAlias = tuple[pa.Array, NDArray[np.bool_] | None]

_LARGE_DICTIONARY = 1 << 20  # bytes
_WIDTHS_OF_ENDS = {
    pa.string(): np.int32,
    pa.binary(): np.int32,
    pa.large_string(): np.int64,
    pa.large_binary(): np.int64,
}


def batch_of_columns(
    items: pa.Array,
    weights: pa.Array | None,
    selection: Selection,
    *,
    times: pa.Array | None = None,
    users: pa.Array | None = None,
    values: pa.Array | None = None,
) -> RowBatch:
    """Make a batch of columns whose types ``check_types`` has accepted.

    Args:
        items: The items.
        weights: The weights, integers, or None.
        selection: Has ``max_weight`` and ``time_unit``.
        times: The times, or None.
        users: The people, or None.
        values: Numbers that are the weights, or None.
    """
    people = None if users is None else _people(users)
    instants = None if times is None else times_of_column(times, unit=selection.time_unit)
    items, valid = _real(items) if selection.item_type == NUMBERS else _readable(items)
    if values is not None:
        numbers, known = _real(values)
        valid = _both(valid, known)
        own = numbers.fill_null(0.0).to_numpy(zero_copy_only=False)
        return _batch(items, own, valid, selection, times=instants, people=people)
    if weights is None:
        return _batch(items, None, valid, selection, times=instants, people=people)
    integers = weights.fill_null(0).to_numpy(zero_copy_only=False)
    valid = _both(valid, _validity(weights))
    if integers.dtype.kind == "i" and integers.size and integers.min() < 0:
        valid = _both(valid, integers >= 0)
    return _batch(items, integers, valid, selection, times=instants, people=people)


def _readable(items: pa.Array) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    """Return values that can be filtered, and which of them are items."""
    if pa.types.is_dictionary(items.type):
        return _items_of_dictionary(items)
    if items.type in (pa.string_view(), pa.binary_view()):  # pyarrow cannot filter views
        items = items.cast(pa.large_string() if items.type == pa.string_view() else pa.binary())
    valid = _validity(items)
    if not _is_valid_text(items):
        valid = _both(valid, _decodable(items))
    return items, _both(valid, short_values(items, longest=LONGEST_ITEM))


def _real(items: pa.Array) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    """Return numbers as floats, and which rows have one; NaN counts as missing."""
    if pa.types.is_dictionary(items.type):
        items = items.dictionary_decode()
    items = items.cast(pa.float64(), safe=False)
    return items, _mask(pc.fill_null(pc.invert(pc.is_nan(items)), fill_value=False))


def _people(users: pa.Array) -> _People:
    """Return people as text."""
    is_dictionary = pa.types.is_dictionary(users.type)
    if is_dictionary and pa.types.is_integer(users.dictionary.type):
        entries = users.dictionary.cast(pa.string())
        users = pa.DictionaryArray.from_arrays(users.indices, entries)
    elif pa.types.is_integer(users.type):
        users = users.cast(pa.string())
    users, known = _readable(users)
    if not pa.types.is_dictionary(users.type):
        return users, _both(known, _mask(pc.fill_null(pc.not_equal(users, ""), fill_value=False)))
    full = pc.not_equal(users.dictionary, "").to_numpy(zero_copy_only=False)
    if full.all():
        return users, known
    places = users.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return users, _both(known, full[places])


def check_types(types: dict[str, pa.DataType], selection: Selection, *, name: str) -> None:
    """Raise SourceError unless the Arrow types can hold items, weights and times.

    Args:
        types: The types of the "field" and, if selected, of "weight", "time" and "user".
        selection: The selected fields.
        name: The name of the input in messages.
    """
    item, weight, field = types["field"], types.get("weight"), shown(selection.field)
    if selection.time is not None:
        check_time_type(types["time"], field=selection.time, name=name)
    if selection.user is not None:
        _check_user_type(types["user"], field=selection.user, name=name)
    if pa.types.is_dictionary(item):
        item = item.value_type
    kind = _kind_of(item)
    if selection.item_type == NUMBERS:
        if not (pa.types.is_integer(item) or _is_real(item)):
            raise SourceError(f"{name}: expected numbers in field {field}, got {type_shown(item)}")
    elif kind is None:
        raise SourceError(
            f"{name}: expected text, bytes or integers in field {field}, got {type_shown(item)}"
        )
    elif kind == "bytes" and selection.item_type is not None:
        raise SourceError(
            f"{name}: expected items of type {selection.item_type} in field "
            f"{field}, got {item}: bytes are counted in Python only (item_type=None); "
            "otherwise convert the column to text"
        )
    elif selection.item_type not in (None, kind):
        raise SourceError(
            f"{name}: expected items of type {selection.item_type} in field "
            f"{field}, got {item}: write --items-type {kind} "
            f"(in Python item_type={kind!r})"
        )
    value = types.get("value")
    if value is not None and not (pa.types.is_integer(value) or _is_real(value)):
        raise SourceError(
            f"{name}: expected numbers in field {shown(selection.value)} for the value, "
            f"got {type_shown(value)}"
        )
    if weight is not None and not pa.types.is_integer(weight):
        raise SourceError(
            f"{name}: expected integers in field {shown(selection.weight)} for the weight, "
            f"got {type_shown(weight)}"
        )


def _check_user_type(user: pa.DataType, *, field: str, name: str) -> None:
    if pa.types.is_dictionary(user):
        user = user.value_type
    if _kind_of(user) not in ("str", "int"):
        raise SourceError(
            f"{name}: expected text or integers in field {shown(field)} for the user, "
            f"got {type_shown(user)}"
        )


def _is_real(item: pa.DataType) -> bool:
    return bool(pa.types.is_floating(item) or pa.types.is_decimal(item))


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
    weights: NDArray[np.integer] | NDArray[np.float64] | None,
    valid: NDArray[np.bool_] | None,
    selection: Selection,
    *,
    times: NDArray[np.int64] | None,
    people: _People | None = None,
) -> RowBatch:
    malformed: list[int] = []
    users, known = (None, None) if people is None else people
    without_user: list[int] = []
    if known is not None:
        without_user = np.flatnonzero(~known if valid is None else valid & ~known).tolist()
        valid = _both(valid, known)
    if valid is not None:
        malformed = np.flatnonzero(~valid).tolist()
        items = items.filter(pa.array(valid))
        users = None if users is None else users.filter(pa.array(valid))
        weights = None if weights is None else weights[valid]
    clipped: list[int] = []
    counted: NDArray[np.int64] | NDArray[np.float64] | None = None
    if weights is not None and selection.value is not None:
        counted = weights.astype(np.float64, copy=False)
    elif weights is not None:
        most = selection.max_weight
        if weights.size and int(weights.max()) > most:
            clipped = np.flatnonzero(weights > most).tolist()
            weights = np.minimum(weights, np.array(most).astype(weights.dtype))
        counted = weights.astype(np.int64, copy=False)
    return RowBatch(
        items, malformed, counted, clipped, times=times, users=users, without_user=without_user
    )


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
    good = _both(good, short_values(entries, longest=LONGEST_ITEM))
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


def short_values(items: pa.Array, *, longest: int) -> NDArray[np.bool_] | None:
    """Return which values have at most a number of bytes; None if all have.

    Args:
        items: Integers, text or bytes; not a dictionary, nor views.
        longest: The largest number of bytes.
    """
    if pa.types.is_integer(items.type) or items.nbytes <= longest:
        return None
    if pa.types.is_fixed_size_binary(items.type):
        is_long = items.type.byte_width > longest
        return np.zeros(len(items), dtype=bool) if is_long else None
    width = _WIDTHS_OF_ENDS.get(items.type)
    if width is not None:
        # Read in place: a call of pyarrow.compute costs as much as a small batch.
        ends = np.frombuffer(items.buffers()[1], dtype=width)[items.offset :][: len(items) + 1]
        if int((ends[1:] - ends[:-1]).max(initial=0)) <= longest:
            return None
    is_short = pc.less_equal(pc.binary_length(items), longest)
    return _mask(pc.fill_null(is_short, fill_value=True))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except ValueError:
        return False
    return True


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
