"""JSON lines: each line is an object; the field is a key of it, or a path of keys.

``user.id`` is the key of that name if the object has it, or else ``id`` within ``user``.
Text and integers are items, and "1" and 1 are different ones. A row is malformed if it
is not one object, if the field is missing, null or of another type, or if the weight
is not an integer from 0 on. A time is text or a number, whose digits are taken as they
are written: a float could not hold the nanoseconds.

Each line is decoded by itself, so one that is malformed changes nothing for the others,
and types stay as they are written. A reader of whole blocks would guess one type for all
of them.

What a line means is said by the standard library's decoder, here. The native core reads
those of which it is sure that it reads the same (``rust/text/src/json/mod.rs``) and gives
the others back: NaN, halves of surrogate pairs, integers beyond 64 bits, broken JSON.

Cost: 0.2 us for a line of 100 bytes, about ten times that for one given back.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazysketch.sources.batch import Batch
from lazysketch.sources.formats.json_columns import UNSURE, batch_of, columns_of, with_rows
from lazysketch.sources.formats.text_columns import items_of_text, listed
from lazysketch.sources.formats.timestamps import times_of_texts
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream

_SPACE = " \t\r"
_BITS = 64


class _Digits(str):
    """A number with a fraction or an exponent, as it is written; no text, so no item."""

    __slots__ = ()


_decode = json.JSONDecoder().raw_decode
_decode_with_digits = json.JSONDecoder(parse_float=_Digits).raw_decode


def read_json_lines(stream: ByteStream, selection: Selection) -> Iterator[Batch]:
    """Yield one field of each object, with others as its weight and time if they are asked for."""
    to_items, decode = items_of_text(), row_decoder(selection)
    for block in row_blocks(stream, encoding=selection.encoding):
        columns = columns_of(block, selection)
        batch = batch_of(columns, selection, to_items=to_items)
        unsure = columns.rows_of(UNSURE)
        if len(unsure):
            batch = with_rows(batch, unsure, decode(listed(columns.unsure)))
        yield batch


def row_decoder(selection: Selection) -> Callable[[list[str]], Batch]:
    """Return what makes a batch of rows by the standard library's decoder alone."""
    item_of = _item_reader(selection)
    weight_of = _finder(selection.weight)
    time_of = _finder(selection.time)
    decode = _decode if time_of is None else _decode_with_digits

    def decoded(rows: list[str]) -> Batch:
        values = [_object(row, decode) for row in rows]
        if weight_of is None:
            batch = _batch(values, item_of)
        else:
            batch = _weighted(values, item_of, weight_of, most=selection.max_weight)
        if time_of is None:
            return batch
        texts = ["" if value is None else _written(time_of(value)) for value in values]
        return dataclasses.replace(batch, times=times_of_texts(texts, unit=selection.time_unit))

    return decoded


def looks_like_json_lines(head: Head) -> bool:
    """Tell whether more than half of the first rows are objects."""
    if head.is_called(".jsonl", ".ndjson"):
        return True
    return 2 * sum(_object(row, _decode) is not None for row in head.rows) > len(head.rows)


def _object(row: str, decode: Callable[[str], tuple[Any, int]]) -> dict[str, Any] | None:
    row = row.strip(_SPACE)
    try:
        value, end = decode(row)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict and end == len(row) else None


def _batch(values: list[dict[str, Any] | None], item_of: Callable[[dict[str, Any]], Any]) -> Batch:
    items: list[Any] = []
    malformed: list[int] = []
    for position, value in enumerate(values):
        item = None if value is None else item_of(value)
        if item is None:
            malformed.append(position)
        else:
            items.append(item)
    return Batch(items, malformed)


def _weighted(
    values: list[dict[str, Any] | None],
    item_of: Callable[[dict[str, Any]], Any],
    weight_of: Callable[[dict[str, Any]], Any],
    *,
    most: int,
) -> Batch:
    items: list[Any] = []
    weights: list[int] = []
    malformed: list[int] = []
    clipped: list[int] = []
    for position, value in enumerate(values):
        item = None if value is None else item_of(value)
        weight = None if item is None or value is None else weight_of(value)
        if type(weight) is not int or weight < 0:  # a bool is no weight
            malformed.append(position)
            continue
        if weight > most:
            clipped.append(len(items))
        items.append(item)
        weights.append(min(weight, most))
    return Batch(items, malformed, weights, clipped)


def _written(time: Any) -> str:
    """Return what is written for a time, nothing if it is neither text nor a number."""
    kind = type(time)
    if kind is str or kind is _Digits:
        return str(time)
    return str(time) if kind is int and time.bit_length() < _BITS else ""


def _item_reader(selection: Selection) -> Callable[[dict[str, Any]], Any]:
    find = _finder(selection.field)
    assert find is not None, "the format requires a field"  # noqa: S101
    take_text = selection.item_type in (None, "str")
    take_integers = selection.item_type in (None, "int")

    def item_of(value: dict[str, Any]) -> Any:
        item = find(value)
        kind = type(item)  # isinstance would take a bool for an integer
        if kind is str:
            return item if take_text and (item.isascii() or _is_text(item)) else None
        return item if kind is int and take_integers else None

    return item_of


def _finder(field: str | None) -> Callable[[dict[str, Any]], Any] | None:
    """Return a function that takes the field out of an object, None where it is missing."""
    if field is None:
        return None
    if "." not in field:
        return lambda value: value.get(field)
    path = field.split(".")

    def find(value: Any) -> Any:
        if field in value:
            return value[field]
        for key in path:
            if type(value) is not dict:
                return None
            value = value.get(key)
        return value

    return find


def _is_text(item: str) -> bool:
    r"""Tell whether a string is text: JSON can write half of a surrogate pair (``"\ud800"``)."""
    try:
        item.encode()
    except UnicodeEncodeError:
        return False
    return True
