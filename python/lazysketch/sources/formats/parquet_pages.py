"""The sizes of Parquet pages, read from their headers before any page is decompressed.

A page of a few bytes may expand to gigabytes, and a value of a dictionary may be repeated
by any number of rows, so the number of rows that are read together must follow from the
sizes of pages. The footer states sizes too, but pyarrow allocates what the pages state.

A header is a struct in Thrift's compact protocol. Unknown fields are skipped.

Cost: two small reads per page.

Source: Apache Parquet format, ``PageHeader``; Apache Thrift, "Compact protocol encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from lazysketch.sources.limits import MOST_DICTIONARY, MOST_PAGE, check_size

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData

_HEADER_READ = 1 << 10
_LONGEST_HEADER = 1 << 24  # as in pyarrow
_DICTIONARY_PAGE = 2
_DEEPEST = 8  # structs within structs
_DELTA_BYTE_ARRAY = 7

# Field numbers of PageHeader.
_TYPE, _EXPANDED, _STORED = 1, 2, 3
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8

# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 12

_Struct: TypeAlias = "dict[int, int | _Struct]"


class Page(NamedTuple):
    """One page.

    Args:
        size: Its size in bytes after decompression.
        values: The number of its values; an upper bound of its rows.
        is_dictionary: Whether it holds the dictionary of the pages after it.
        is_prefixed: Whether a value states how much of the value before it it repeats.
    """

    size: int
    values: int
    is_dictionary: bool
    is_prefixed: bool


class DamagedPageError(Exception):
    """A header that is not one."""


def pages_of(file: BinaryIO, chunk: ColumnChunkMetaData, *, name: str) -> Iterator[Page]:
    """Yield the pages of a column chunk.

    Raises:
        DamagedPageError: A header is damaged.
        SourceError: A page or a dictionary is larger than its limit.
    """
    begin = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        begin = min(begin, chunk.dictionary_page_offset)
    at, end, values = begin, begin + chunk.total_compressed_size, 0
    while at < end and values < chunk.num_values:
        file.seek(at)
        header, length = _header(file, end - at)
        stored, size = header.get(_STORED), header.get(_EXPANDED)
        if not isinstance(stored, int) or not isinstance(size, int) or min(stored, size) < 0:
            raise DamagedPageError
        at += length + stored
        is_dictionary = header.get(_TYPE) == _DICTIONARY_PAGE
        page = header.get(_DICTIONARY if is_dictionary else _DATA, header.get(_DATA_V2))
        found = page.get(1) if isinstance(page, dict) else 0  # an index page has no values
        if not isinstance(found, int) or found < 0:
            raise DamagedPageError
        if is_dictionary:
            check_size(size, most=MOST_DICTIONARY, of="a dictionary", name=name)
        check_size(size, most=MOST_PAGE, of="a page", name=name)
        encoding = None
        if isinstance(page, dict):
            encoding = page.get(4 if _DATA_V2 in header else 2)
        values += 0 if is_dictionary else found
        yield Page(size, found, is_dictionary, encoding == _DELTA_BYTE_ARRAY)


def _header(file: BinaryIO, available: int) -> tuple[_Struct, int]:
    """Return the header at the position of a file, and its length."""
    size = _HEADER_READ
    while True:
        data = file.read(min(size, available))
        try:
            return _struct(data, 0, _DEEPEST)
        except (IndexError, RecursionError):
            if size >= min(available, _LONGEST_HEADER) or not data:
                raise DamagedPageError from None
        file.seek(-len(data), 1)
        size *= 4


def _struct(data: bytes, at: int, depth: int) -> tuple[_Struct, int]:
    """Return the integers and structs of a struct by field number, and the position after it."""
    if not depth:
        raise DamagedPageError
    found: _Struct = {}
    number = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        if kind == _STRUCT:
            found[number], at = _struct(data, at, depth - 1)
        elif _BYTE < kind <= _I64:
            found[number], at = _integer(data, at)
        else:
            at = _skipped(data, at, kind, depth)
    return found, at + 1


def _skipped(data: bytes, at: int, kind: int, depth: int) -> int:
    """Return the position after a value that is of no interest."""
    if kind in (_TRUE, _FALSE):  # the value is the type
        return at
    if kind == _BYTE:
        return at + 1
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError
        return at + length
    if kind in (_LIST, _SET) and depth:
        length, element = data[at] >> 4, data[at] & 15
        at += 1
        if length == 15:
            length, at = _varint(data, at)
        for _ in range(length):
            if element == _STRUCT:
                _, at = _struct(data, at, depth - 1)
            elif _BYTE < element <= _I64:
                _, at = _varint(data, at)
            elif element in (_TRUE, _FALSE):
                at += 1
            else:
                at = _skipped(data, at, element, depth - 1)
            if at > len(data):
                raise IndexError
        return at
    raise DamagedPageError


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag integer and the position after it."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise DamagedPageError


def rows_together(pages: list[Page], *, most: int) -> int:
    """Return how many consecutive rows may be read together.

    This number of consecutive rows, wherever they begin, lies in pages of at most MOST_PAGE bytes
    (or in one page). A value that repeats the one before it is at most as long as its page,
    which such values may fill a second time each.
    """
    data = [page for page in pages if not page.is_dictionary]
    if not data:
        return most
    if any(page.is_prefixed for page in data):
        longest = max(page.size for page in data)
        most = max(1, min(most, MOST_PAGE // (4 * max(longest, 1))))
    while most > 1 and _widest(data, most) > MOST_PAGE:
        most //= 2
    return most


def _widest(pages: list[Page], rows: int) -> int:
    """Return the most bytes in the pages of any such number of consecutive rows."""
    begin = held = size = widest = 0
    for page in pages:
        held += page.values
        size += page.size
        # The first page may contribute a single row.
        while held - pages[begin].values >= rows - 1 and pages[begin] is not page:
            held -= pages[begin].values
            size -= pages[begin].size
            begin += 1
        widest = max(widest, size)
    return widest
