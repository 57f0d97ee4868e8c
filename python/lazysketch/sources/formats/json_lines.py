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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazysketch._native import json_rows
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.lines import items_of_text, listed
from lazysketch.sources.formats.timestamps import times_of_text, times_of_texts
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lazysketch.sources.formats.lines import ToItems
    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream
    from lazysketch.sources.io.text_blocks import TextColumn

# ``Kind`` of rust/text/src/json/mod.rs: what the item of a row is, or the row.
TEXT, SIGNED, UNSIGNED, MALFORMED, UNSURE = range(5)
_SPACE = " \t\r"
_BITS = 64


class _Digits(str):
    """A number with a fraction or an exponent, as it is written; no text, so no item."""

    __slots__ = ()


_decode = json.JSONDecoder().raw_decode
_decode_with_digits = json.JSONDecoder(parse_float=_Digits).raw_decode


def read_json_lines(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield one field of each object, with others as its weight and time if they are asked for."""
    to_items, decode = items_of_text(), row_decoder(selection)
    for block in row_blocks(stream, encoding=selection.encoding):
        columns = columns_of(block, selection)
        batch = batch_of(columns, selection, to_items=to_items)
        unsure = columns.rows_of(UNSURE)
        if len(unsure):
            batch = with_rows(batch, unsure, decode(listed(columns.unsure)))
        yield batch


class Columns(NamedTuple):
    """What the native core reads of rows.

    Args:
        kinds: Of each row, TEXT to UNSURE.
        texts: The items that are text.
        integers: The items that are integers; of negative ones the two's complement.
        weights: Of each item; empty if they are not asked for.
        clipped: Which items had a larger weight.
        times: Of each row, as it is written; None if they are not asked for.
        unsure: The rows that only the standard library's decoder can judge.
    """

    kinds: NDArray[np.uint8]
    texts: TextColumn
    integers: NDArray[np.uint64]
    weights: Any
    clipped: NDArray[np.int64]
    times: TextColumn | None
    unsure: TextColumn

    def rows_of(self, kind: int) -> NDArray[np.int64]:
        """Return the positions of the rows of a kind."""
        return np.flatnonzero(self.kinds == kind)


def columns_of(block: bytes, selection: Selection) -> Columns:
    """Return what is selected of a block of whole rows."""
    names = (selection.field, selection.weight, selection.time)
    field, weight, time = (
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
    )
    return Columns(*columns)


def batch_of(columns: Columns, selection: Selection, *, to_items: ToItems) -> RowBatch:
    """Return the rows, of which those that are not sure are malformed."""
    times = None
    if columns.times is not None:
        times = times_of_text(columns.times, unit=selection.time_unit)
    return RowBatch(
        items=_items(columns, to_items),
        malformed=np.flatnonzero(columns.kinds >= MALFORMED).tolist(),
        weights=None if selection.weight is None else columns.weights,
        clipped=columns.clipped.tolist(),
        times=times,
    )


def with_rows(batch: RowBatch, positions: NDArray[np.int64], others: RowBatch) -> RowBatch:
    """Return the batch with others in the places of rows that are malformed in it."""
    found = np.delete(positions, others.malformed)
    rows = np.concatenate([np.delete(np.arange(batch.rows), batch.malformed), found])
    # Which of all items, those of the batch before the others', stands at each place.
    order = np.argsort(rows)
    places = np.argsort(order).tolist()
    clipped = [*batch.clipped, *(len(batch.items) + item for item in others.clipped)]
    items: Sequence[Any] = batch.items
    weights: Any = batch.weights
    if len(found):
        listed_items = [*batch.item_list, *others.items]
        items = [listed_items[item] for item in order.tolist()]
    if weights is not None and others.weights is not None:
        weights = np.concatenate([weights, np.array(others.weights, dtype=np.int64)])[order]
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
    )


def _items(columns: Columns, to_items: ToItems) -> Any:
    kinds = columns.kinds[columns.kinds < MALFORMED]
    texts, signed, _ = np.bincount(kinds, minlength=MALFORMED).tolist()
    if not len(kinds):
        return []
    if texts == len(kinds):
        return to_items(columns.texts)
    if signed == len(kinds):
        return columns.integers.view(np.int64)
    if not texts and not (columns.integers.view(np.int64)[kinds == SIGNED] < 0).any():
        return columns.integers
    integers, of_integers = columns.integers, kinds[kinds != TEXT]
    items = np.empty(len(kinds), dtype=object)
    items[kinds == TEXT] = listed(columns.texts)
    items[kinds == SIGNED] = integers.view(np.int64)[of_integers == SIGNED].tolist()
    items[kinds == UNSIGNED] = integers[of_integers == UNSIGNED].tolist()
    return items.tolist()


def row_decoder(selection: Selection) -> Callable[[list[str]], RowBatch]:
    """Return what makes a batch of rows by the standard library's decoder alone."""
    item_of = _item_reader(selection)
    weight_of = _finder(selection.weight)
    time_of = _finder(selection.time)
    decode = _decode if time_of is None else _decode_with_digits

    def decoded(rows: list[str]) -> RowBatch:
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


def _batch(
    values: list[dict[str, Any] | None], item_of: Callable[[dict[str, Any]], Any]
) -> RowBatch:
    items: list[Any] = []
    malformed: list[int] = []
    for position, value in enumerate(values):
        item = None if value is None else item_of(value)
        if item is None:
            malformed.append(position)
        else:
            items.append(item)
    return RowBatch(items, malformed)


def _weighted(
    values: list[dict[str, Any] | None],
    item_of: Callable[[dict[str, Any]], Any],
    weight_of: Callable[[dict[str, Any]], Any],
    *,
    most: int,
) -> RowBatch:
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
    return RowBatch(items, malformed, weights, clipped)


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
