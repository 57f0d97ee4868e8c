"""JSON lines: each line is an object; the field is a key of it, or a path of keys.

``user.id`` is the key of that name if the object has it, or else ``id`` within ``user``.
Text and integers are items; "1" and 1 are different items. Where numbers are asked for, both are
numbers, and so are those with a fraction. A row is malformed if it is
not one object, if the field is missing, null or of another type, if the weight is not an
integer of at least 0, or if the person is neither text nor an integer. "1" and 1 are one
person. A time is text or a number, read from its written digits: a float could not hold
the nanoseconds.

Each line is decoded independently, so a malformed line does not affect the others, and
types stay as written. A reader of whole blocks would infer one type for all of them.

Python's json module is the reference. The native core reads the lines for which it
certainly agrees (``rust/text/src/json/mod.rs``) and returns the others undecoded: NaN,
lone surrogates, integers beyond 64 bits, broken JSON. This module decodes those.

Items are an array if those of a block are all text or all integers, else a list.

Cost: 0.2 us for a line of 100 bytes, about ten times that for an undecoded line; 0.1 us
more per item of a list.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lazysketch._native import json_rows
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.numbers import NUMBERS, with_values
from lazysketch.sources.formats.timestamps import times_of_text, times_of_texts
from lazysketch.sources.io.text_blocks import row_blocks
from lazysketch.sources.limits import LONGEST_ITEM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lazysketch._native import TextColumn
    from lazysketch.sources.batch import Item, Items
    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream

# ``Kind`` of rust/text/src/json/mod.rs: the kind of a row's item, or of the row.
TEXT, SIGNED, UNSIGNED, MALFORMED, UNSURE, WITHOUT_USER = range(6)
_SPACE = " \t\r"
_BITS = 64

_Object: TypeAlias = dict[str, object]
_Find: TypeAlias = Callable[[_Object], object]


class _Digits(str):
    """A number with a fraction or an exponent, as written; not a str, so never an item."""

    __slots__ = ()


_decode = json.JSONDecoder().raw_decode
_decode_with_digits = json.JSONDecoder(parse_float=_Digits).raw_decode


def read_json_lines(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each object."""
    read = block_reader(selection)
    for block in row_blocks(stream, encoding=selection.encoding, skipped=stream.rows_skipped):
        yield read(block)


def block_reader(selection: Selection) -> Callable[[bytes], RowBatch]:
    """Return a function that reads a block of whole rows in UTF-8, each independently."""
    decode = row_decoder(selection)

    def read(block: bytes) -> RowBatch:
        columns = columns_of(block, selection)
        batch = batch_of(columns, selection)
        unsure = columns.rows_of(UNSURE)
        if len(unsure):
            batch = with_rows(batch, unsure, decode(columns.unsure.tolist()))
        return batch

    return read


class Columns(NamedTuple):
    """A block of rows as read by the native core.

    Args:
        kinds: The kind of each row, TEXT to WITHOUT_USER.
        texts: The items that are text.
        integers: The items that are integers; negative ones in two's complement.
        weights: The weight of each item; empty if not selected.
        clipped: Indices of the items whose weight exceeded the maximum.
        times: The time of each row, as written; None if not selected.
        values: The number of each row, as written; None if not selected.
        users: The person of each item; None if not selected.
        unsure: The rows that only the json module can decode.
    """

    kinds: NDArray[np.uint8]
    texts: TextColumn
    integers: NDArray[np.uint64]
    weights: NDArray[np.int64]
    clipped: NDArray[np.int64]
    times: TextColumn | None
    values: TextColumn | None
    users: TextColumn | None
    unsure: TextColumn

    def rows_of(self, kind: int) -> NDArray[np.int64]:
        """Return the positions of the rows of a kind."""
        return np.flatnonzero(self.kinds == kind)


def columns_of(block: bytes, selection: Selection) -> Columns:
    """Return the selected fields of a block of whole rows."""
    names = (
        selection.field,
        selection.weight,
        selection.time,
        selection.value,
        selection.user,
    )
    field, weight, time, value, user = (
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
        value=value,
        user=user,
    )
    return Columns(*columns)


def batch_of(columns: Columns, selection: Selection) -> RowBatch:
    """Return the rows as a batch, in which unsure rows are malformed."""
    times = None
    if columns.times is not None:
        times = times_of_text(columns.times, unit=selection.time_unit)
    batch = RowBatch(
        items=_items(columns),
        malformed=np.flatnonzero(columns.kinds >= MALFORMED).tolist(),
        weights=None if selection.weight is None else columns.weights,
        clipped=columns.clipped.tolist(),
        times=times,
        users=columns.users,
        without_user=columns.rows_of(WITHOUT_USER).tolist(),
    )
    return batch if columns.values is None else with_values(batch, columns.values)


def with_rows(batch: RowBatch, positions: NDArray[np.int64], others: RowBatch) -> RowBatch:
    """Return the batch with ``others`` in the place of its malformed rows at ``positions``."""
    found = np.delete(positions, others.malformed)
    rows = np.concatenate([np.delete(np.arange(batch.rows), batch.malformed), found])
    # For each place, the index of its item among the batch's items followed by the others'.
    order = np.argsort(rows)
    places = np.argsort(order).tolist()
    clipped = [*batch.clipped, *(len(batch.items) + item for item in others.clipped)]
    items, weights, users = batch.items, batch.weights, batch.users
    if len(found):
        all_items = [*batch.item_list, *others.item_list]
        items = [all_items[item] for item in order.tolist()]
        all_users = [*(batch.user_list or ()), *(others.user_list or ())]
        users = [all_users[item] for item in order.tolist()] if all_users else None
    if weights is not None and others.weights is not None:
        own = np.asarray(weights)
        weights = np.concatenate([own, np.array(others.weights, dtype=own.dtype)])[order]
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
        users=users,
        without_user=sorted([*batch.without_user, *positions[list(others.without_user)].tolist()]),
    )


def _items(columns: Columns) -> Items:
    kinds = columns.kinds[columns.kinds < MALFORMED]
    texts, signed, _ = np.bincount(kinds, minlength=MALFORMED).tolist()
    if not len(kinds):
        return []
    if texts == len(kinds):
        return columns.texts
    if signed == len(kinds):
        return columns.integers.view(np.int64)
    if not texts and not (columns.integers.view(np.int64)[kinds == SIGNED] < 0).any():
        return columns.integers
    integers, integer_kinds = columns.integers, kinds[kinds != TEXT]
    items = np.empty(len(kinds), dtype=object)
    items[kinds == TEXT] = columns.texts.tolist()
    items[kinds == SIGNED] = integers.view(np.int64)[integer_kinds == SIGNED].tolist()
    items[kinds == UNSIGNED] = integers[integer_kinds == UNSIGNED].tolist()
    listed_items: list[Item] = items.tolist()
    return listed_items


def row_decoder(selection: Selection) -> Callable[[list[str]], RowBatch]:
    """Return a function that makes a batch of rows with the json module alone."""
    item_of = _item_reader(selection)
    weight_of = _finder(selection.weight)
    time_of, number_of = _finder(selection.time), _finder(selection.value)
    user_of = _user_reader(selection)
    is_written = time_of is not None or number_of is not None
    decode = _decode_with_digits if is_written else _decode

    def counted(values: list[_Object | None]) -> RowBatch:
        if weight_of is None:
            return _batch(values, item_of)
        return _weighted(values, item_of, weight_of, most=selection.max_weight)

    def decoded(rows: list[str]) -> RowBatch:
        values = [_object(row, decode) for row in rows]
        batch = counted(values)
        if user_of is not None:
            users = [None if value is None else user_of(value) for value in values]
            known = [
                None if user is None else value for user, value in zip(users, values, strict=True)
            ]
            batch = _with_users(batch, counted(known), users)
        if time_of is not None:
            texts = ["" if value is None else _written(time_of(value)) for value in values]
            times = times_of_texts(texts, unit=selection.time_unit)
            batch = dataclasses.replace(batch, times=times)
        if number_of is None:
            return batch
        found = [None if value is None else number_of(value) for value in values]
        return with_values(batch, [_value_written(one) for one in found])

    return decoded


def looks_like_json_lines(head: Head) -> bool:
    """Tell whether more than half of the first rows are objects."""
    if head.is_called(".jsonl", ".ndjson"):
        return True
    return 2 * sum(_object(row, _decode) is not None for row in head.rows) > len(head.rows)


def holds_integers(head: Head, selection: Selection) -> bool:
    """Tell whether the field is an integer in more than half of the first rows."""
    decode = row_decoder(
        dataclasses.replace(
            selection, item_type="int", time=None, weight=None, user=None, value=None
        )
    )
    return 2 * len(decode(list(head.rows)).items) > len(head.rows)


def _object(row: str, decode: Callable[[str], tuple[object, int]]) -> _Object | None:
    row = row.strip(_SPACE)
    try:
        value, end = decode(row)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict and end == len(row) else None


def _batch(values: list[_Object | None], item_of: Callable[[_Object], Item | None]) -> RowBatch:
    items: list[Item] = []
    malformed: list[int] = []
    for position, value in enumerate(values):
        item = None if value is None else item_of(value)
        if item is None:
            malformed.append(position)
        else:
            items.append(item)
    return RowBatch(items, malformed)


def _weighted(
    values: list[_Object | None],
    item_of: Callable[[_Object], Item | None],
    weight_of: _Find,
    *,
    most: int,
) -> RowBatch:
    items: list[Item] = []
    weights: list[int] = []
    malformed: list[int] = []
    clipped: list[int] = []
    for position, value in enumerate(values):
        item = None if value is None else item_of(value)
        weight = None if item is None or value is None else weight_of(value)
        if item is None or type(weight) is not int or weight < 0:  # a bool is no weight
            malformed.append(position)
            continue
        if weight > most:
            clipped.append(len(items))
        items.append(item)
        weights.append(min(weight, most))
    return RowBatch(items, malformed, weights, clipped)


def _with_users(batch: RowBatch, known: RowBatch, users: list[str | None]) -> RowBatch:
    """Return the rows whose person is known, with their people.

    Args:
        batch: All rows.
        known: The rows, malformed where the person is not known.
        users: The person of each row.
    """
    lacking = set(known.malformed)
    return dataclasses.replace(
        known,
        users=[user for row, user in enumerate(users) if user is not None and row not in lacking],
        without_user=sorted(lacking.difference(batch.malformed)),
    )


def _written(time: object) -> str:
    """Return a time as written, the empty text if it is neither text nor a number."""
    if type(time) is str or type(time) is _Digits:
        return str(time)
    return str(time) if type(time) is int and time.bit_length() < _BITS else ""


def _value_written(value: object) -> str:
    """Return a value as written, as the core does, and infinities, which the core leaves."""
    return repr(value) if type(value) is float else _written(value)


def _item_reader(selection: Selection) -> Callable[[_Object], Item | None]:
    find = _finder(selection.field)
    assert find is not None, "the format requires a field"  # noqa: S101
    if selection.item_type == NUMBERS:
        return lambda value: _number_written(find(value))
    take_text = selection.item_type in (None, "str")
    take_integers = selection.item_type in (None, "int")

    def item_of(value: _Object) -> Item | None:
        item = find(value)
        if type(item) is str:
            return item if take_text and _is_text(item) else None
        # Not isinstance, which would accept a bool as an integer.
        return item if type(item) is int and take_integers else None

    return item_of


def _number_written(value: object) -> str | None:
    """Return a number, or text that may be one, as text."""
    if type(value) is str or type(value) is _Digits:
        return str(value) if _is_text(value) else None
    if type(value) is not int and type(value) is not float:  # a bool is no number
        return None
    try:
        return repr(float(value))
    except OverflowError:
        return "inf" if value > 0 else "-inf"


def _user_reader(selection: Selection) -> Callable[[_Object], str | None] | None:
    find = _finder(selection.user)
    if find is None:
        return None

    def user_of(value: _Object) -> str | None:
        user = find(value)
        if type(user) is int:  # a bool is no person
            user = str(user)
        return user if type(user) is str and user and _is_text(user) else None

    return user_of


def _finder(field: str | None) -> _Find | None:
    """Return a function that finds the field in an object and returns None if it is missing."""
    if field is None:
        return None
    if "." not in field:
        return lambda value: value.get(field)
    path = field.split(".")

    def find(value: _Object) -> object:
        if field in value:
            return value[field]
        found: object = value
        for key in path:
            if type(found) is not dict:
                return None
            found = found.get(key)
        return found

    return find


def _is_text(item: str) -> bool:
    r"""Tell whether a string is no longer than an item may be and has no lone surrogate.

    JSON can contain one (``"\ud800"``).
    """
    if item.isascii():
        return len(item) <= LONGEST_ITEM
    try:
        return len(item.encode()) <= LONGEST_ITEM
    except UnicodeEncodeError:
        return False
