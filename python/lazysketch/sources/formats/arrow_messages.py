"""The messages of an Arrow IPC stream, checked before pyarrow reads them.

A message states the size of its body and, if its buffers are compressed, the size of each
after decompression; pyarrow allocates what is stated. A batch of columns without bytes
(of width 0, or of nulls) may state any number of rows. So the description of each message
is read here first, and the body only if it is within the limits.

A description is a FlatBuffers table. Only the few fields that hold sizes are read, with
every position checked by Python.

Memory: one message. Cost: a few microseconds per message.

Source: Arrow Columnar Format, "Serialization and Interprocess Communication"; FlatBuffers,
"Internals".
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.sources.limits import (
    MOST_BATCH,
    MOST_DICTIONARY,
    MOST_METADATA,
    check_expansion,
    check_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILE_MAGIC = b"ARROW1\0\0"  # a file is this, a stream, and a footer
_CONTINUES = b"\xff\xff\xff\xff"
_SCHEMA, _DICTIONARY, _ROWS = 1, 2, 3  # types of messages
_BUFFER = 16  # bytes of the place and the length of a buffer


class DamagedMessageError(Exception):
    """A description that is not one, or a message that is cut short."""


class Message(NamedTuple):
    """The sizes that a message states.

    Args:
        kind: Its type.
        body: The bytes of its body.
        rows: The rows of a batch or entries of a dictionary.
        dictionary: The number of the dictionary, None if it is none.
        is_delta: Whether the entries are added to the dictionary.
        buffers: The position and length in the body of each compressed buffer.
    """

    kind: int
    body: int
    rows: int = 0
    dictionary: int | None = None
    is_delta: bool = False
    buffers: tuple[tuple[int, int], ...] = ()


class CheckedMessages(io.RawIOBase):
    """The bytes of a stream as a file for pyarrow, one checked message after the other.

    Args:
        read: Returns the given number of bytes of the input, fewer only at its end.
        name: The name of the input in messages.
    """

    def __init__(self, read: Callable[[int], bytes | memoryview], *, name: str) -> None:
        self._read = read
        self._name = name
        self._parts = self.messages()
        self._part: bytes | memoryview = b""
        self._bytes = self._rows = 0
        self._dictionaries: dict[int, int] = {}

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes, none only at the end."""
        while not self._part:
            part = next(self._parts, None)
            if part is None:
                return b""
            self._part = part
        if 0 <= size < len(self._part):
            taken, self._part = self._part[:size], memoryview(self._part)[size:]
            return bytes(taken)
        taken, self._part = self._part, b""
        return bytes(taken)

    def messages(self) -> Iterator[bytes | memoryview]:
        """Yield the parts of the messages, each message after it is checked."""
        while True:
            prefix = bytes(self._taken(4))
            if prefix == _CONTINUES:
                prefix += self._taken(4)
            if len(prefix) not in (4, 8) or not any(prefix[-4:]):
                yield prefix  # the end
                return
            (length,) = struct.unpack("<i", prefix[-4:])
            check_size(length, most=MOST_METADATA, of="metadata of a message", name=self._name)
            metadata = self._taken(length)
            try:
                message = message_of(metadata)
            except (struct.error, IndexError) as error:
                raise DamagedMessageError from error
            check_size(message.body, most=MOST_BATCH, of="a record batch", name=self._name)
            body = self._taken(message.body)
            self._check(message, body)
            yield prefix
            yield metadata
            yield body

    def _taken(self, size: int) -> bytes | memoryview:
        if size < 0:
            raise DamagedMessageError
        data = self._read(size) if size else b""
        self._bytes += len(data)
        return data

    def _check(self, message: Message, body: bytes | memoryview) -> None:
        expanded = 0
        for begin, length in message.buffers:
            stated = body[begin : begin + 8]
            if length >= len(stated) == 8:
                expanded += max(*struct.unpack("<q", stated), length)
        check_size(expanded, most=MOST_BATCH, of="a decompressed record batch", name=self._name)
        self._rows += message.rows
        check_expansion(self._rows, read=self._bytes, of="rows", name=self._name)
        number = message.dictionary
        if number is not None:
            size = max(message.body, expanded)
            before = self._dictionaries.get(number, 0) if message.is_delta else 0
            self._dictionaries[number] = before + size
            check_size(
                sum(self._dictionaries.values()),
                most=MOST_DICTIONARY,
                of="dictionaries",
                name=self._name,
            )


def check_messages(data: memoryview, *, name: str) -> None:
    """Raise what :class:`CheckedMessages` raises of a whole stream in memory, without a copy.

    Args:
        data: The stream, from its first message.
        name: The name of the input in messages.

    Raises:
        DamagedMessageError: A description that is not one.
        SourceError: A message beyond a limit.
    """
    place = 0

    def taken(size: int) -> memoryview:
        nonlocal place
        part = data[place : place + size]
        place += len(part)
        return part

    for _ in CheckedMessages(taken, name=name).messages():
        pass


def message_of(metadata: bytes | memoryview) -> Message:
    """Return the sizes that the description of a message states.

    Raises:
        struct.error: A position is outside the description.
        IndexError: The same.
    """
    table = _Table(metadata, _word(metadata, 0))
    kind, body = table.number(1, "B"), table.number(3, "q")
    if kind not in (_DICTIONARY, _ROWS):
        return Message(kind, body)
    header = table.table(2)
    if header is None:
        raise IndexError
    if kind == _ROWS:
        return Message(kind, body, *_batch(header))
    batch = header.table(1)
    if batch is None:
        raise IndexError
    rows, _, _, buffers = _batch(batch)
    return Message(kind, body, rows, header.number(0, "q"), bool(header.number(2, "B")), buffers)


def _batch(table: _Table) -> tuple[int, None, bool, tuple[tuple[int, int], ...]]:
    """Return the rows of a batch, and its buffers if they are compressed."""
    rows = table.number(0, "q")
    if table.table(3) is None:
        return rows, None, False, ()
    return rows, None, False, tuple(table.structs(2))


class _Table:
    """A FlatBuffers table."""

    def __init__(self, data: bytes | memoryview, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - struct.unpack_from("<i", data, _inside(at))[0]
        (self._size,) = struct.unpack_from("<H", data, _inside(self._fields))

    def _place(self, field: int) -> int | None:
        """Return the position of a field, None if the table does not have it."""
        offset = 4 + 2 * field
        if offset + 2 > self._size:
            return None
        (place,) = struct.unpack_from("<H", self._data, _inside(self._fields + offset))
        return self._at + place if place else None

    def number(self, field: int, kind: str) -> int:
        place = self._place(field)
        if place is None:
            return 0
        found: int = struct.unpack_from("<" + kind, self._data, place)[0]
        return found

    def table(self, field: int) -> _Table | None:
        place = self._place(field)
        return None if place is None else _Table(self._data, place + _word(self._data, place))

    def structs(self, field: int) -> list[tuple[int, int]]:
        place = self._place(field)
        if place is None:
            return []
        place += _word(self._data, place)
        length = _word(self._data, place)
        if length * _BUFFER > len(self._data):
            raise IndexError
        numbers = struct.unpack_from(f"<{2 * length}q", self._data, place + 4)
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        return [(begin, size) for begin, size in pairs if begin >= 0]


def _word(data: bytes | memoryview, at: int) -> int:
    found: int = struct.unpack_from("<I", data, _inside(at))[0]
    return found


def _inside(at: int) -> int:
    if at < 0:  # struct would count from the end
        raise IndexError
    return at
