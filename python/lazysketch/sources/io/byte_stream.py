"""Opening an input (a file or standard input, plain or compressed) as a stream of bytes.

Memory is bounded: at most READ_SIZE bytes are read, and at most READ_SIZE decompressed,
at a time. A read returns what has arrived, so data of a live pipe are not delayed.

Every failure is a SourceError that names the input.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lazysketch.errors import SourceError
from lazysketch.sources.io.compression import READ_SIZE, ReadableBlocks, expanded
from lazysketch.sources.io.interruptible import PLAIN_WAITS, Waits
from lazysketch.sources.io.naming import STANDARD_INPUT, naming

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import BufferedReader
    from typing import BinaryIO

    from lazysketch.sources.io.positions import FileReading, Positions

_HEAD_SIZE = 1 << 16
_MAGIC_SIZE = 8  # bytes that suffice to recognise each binary format


class ByteStream:
    """The decompressed bytes of one input, in blocks, with a preview of their head.

    Args:
        name: The name of the input in messages.
        path: The path, for readers that must seek; None for a pipe or a compressed file,
            where seeking is not possible.
        blocks: The bytes. An empty block is the last one and marks a truncated stream:
            the row before it is incomplete.
        bytes_read: The number of bytes of the file (before decompression) read so far.
        reading: Digests the bytes of the file, for its position; None without one.

    ``rows_skipped`` is the number of rows that the readers of some formats leave out, and
    ``row_groups`` the row groups that the reader of Parquet reads; None for all.
    """

    def __init__(
        self,
        name: str,
        *,
        path: Path | None,
        blocks: Iterable[bytes],
        bytes_read: int = 0,
        reading: FileReading | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.bytes_read = bytes_read
        self.reading = reading
        self.rows_skipped = 0
        self.row_groups: range | None = None
        self._blocks = iter(blocks)
        self._previewed: list[bytes] = []

    def head(self) -> bytes:
        """Return the first bytes without consuming them, as soon as they hold a whole row.

        They are shorter than a row only at the end of the input, if the row is longer
        than 64 KiB, or in binary data, detected by a zero byte: a live capture may not
        contain a line end for a long time.
        """
        size = sum(map(len, self._previewed))
        # Each block is searched once: a pipe may deliver single bytes.
        has_row = any(b"\n" in block for block in self._previewed)
        is_binary = any(b"\0" in block for block in self._previewed)
        while size < _HEAD_SIZE and not has_row:
            if size >= _MAGIC_SIZE and is_binary:
                break
            block = next(self._blocks, None)
            if block is None:
                break
            if not block:
                self._previewed.clear()  # the incomplete row is lost
                break
            self._previewed.append(block)
            size += len(block)
            has_row = b"\n" in block
            is_binary = is_binary or b"\0" in block
        return b"".join(self._previewed)

    def file(self) -> ReadableBlocks:
        """Return the bytes as a file object that can be read once."""
        return ReadableBlocks(self)

    def __iter__(self) -> Iterator[bytes]:
        while self._previewed:
            yield self._previewed.pop(0)
        yield from self._blocks


def check_path(path: str | Path) -> None:
    """Raise SourceError unless the path is standard input or exists and is no directory.

    Nothing is read, so a wrong name among several files is reported before the others
    are processed.
    """
    if str(path) == STANDARD_INPUT:
        return
    with naming(str(path)):
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise IsADirectoryError


def size_of(path: str | Path) -> int | None:
    """Return the size of a regular file; None for a pipe, or if it cannot be determined."""
    if str(path) == STANDARD_INPUT:
        return None
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


@contextmanager
def open_bytes(
    path: str | Path, *, waits: Waits = PLAIN_WAITS, positions: Positions | None = None
) -> Generator[ByteStream, None, None]:
    """Open one input as a ByteStream; closed when the block ends.

    Args:
        path: A file, or ``"-"`` for standard input.
        waits: How to wait for data that has not arrived yet.
        positions: What was counted of each file before; None if that does not matter.

    Raises:
        SourceError: Missing, a directory, unreadable, damaged or truncated; the last two
            when reading reaches that place.
    """
    if str(path) == STANDARD_INPUT:
        name = "standard input"
        if sys.stdin is None:
            raise SourceError(f"{name}: expected an open stream, got a closed one")
        source = _StandardInput(cast("BufferedReader", sys.stdin.buffer), waits=waits)
        yield _stream(source.read, name=name, path=None)
        return
    name = str(path)
    with naming(name), waits.in_system():
        file: BinaryIO = Path(path).open("rb", buffering=0)  # noqa: SIM115 -- closed below
    with file:
        size = size_of(path)
        checked = _NonShrinkingFile(file, name=name, size=size, waits=waits)
        reading = None if positions is None else positions.reading(file.fileno(), path)
        yield _stream(
            checked.read, name=name, path=None if size is None else Path(path), reading=reading
        )


class _StandardInput:
    """Standard input, of which Python may already have buffered a part.

    The buffered part comes first. The rest is read past the buffer: a reader blocked in
    BufferedReader, even if only because another process consumed the input, holds a lock
    that interpreter shutdown needs.

    Args:
        file: Standard input, or a replacement of it.
        waits: How to wait for data that has not arrived yet.
    """

    def __init__(self, file: BufferedReader, *, waits: Waits) -> None:
        self._file = file
        self._descriptor = _descriptor(file)
        self._waits = waits
        self._buffered = True

    def read(self, most: int) -> bytes:
        """Return what has arrived, at most ``most`` bytes; nothing at the end."""
        self._waits.for_input(self._descriptor)
        with self._waits.in_system():
            if self._descriptor is not None and not self._buffered:
                return os.read(self._descriptor, most)
            block = self._file.read1(most)
        self._buffered = len(block) == most
        return block


def _descriptor(file: BufferedReader) -> int | None:
    """Return the file descriptor; None for a replacement without one."""
    try:
        return file.fileno()
    except (AttributeError, OSError, ValueError):
        return None


class _NonShrinkingFile:
    """A file that may grow while it is read but must not shrink, which would silently lose rows.

    Args:
        file: The file.
        name: The name of the input in messages.
        size: Its size when opened; None for a pipe. A size of 0 means unknown, as of files
            that the system generates.
        waits: How to wait for data that has not arrived yet.
    """

    def __init__(self, file: BinaryIO, *, name: str, size: int | None, waits: Waits) -> None:
        self._file = file
        self._name = name
        self._size = size or 0
        self._waits = waits
        self._pipe = file.fileno() if size is None else None

    def read(self, most: int) -> bytes:
        self._waits.for_input(self._pipe)
        with self._waits.in_system():
            block = self._file.read(most)
        # Generated files, as under /sys, end before their stated size, which does not change.
        if not block and self._size and self._file.tell() < self._size > self._size_now():
            raise SourceError(
                f"{self._name}: expected a file that does not shrink while it is read, "
                "got a truncated one"
            )
        return block

    def _size_now(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def _stream(
    read: Callable[[int], bytes | None],
    *,
    name: str,
    path: Path | None,
    reading: FileReading | None = None,
) -> ByteStream:
    stream = ByteStream(name, path=path, blocks=(), reading=reading)
    blocks, compressed = expanded(_blocks(read, stream=stream), name=name)
    stream._blocks = blocks  # they update stream.bytes_read
    if compressed:
        stream.path = None
    return stream


def _blocks(read: Callable[[int], bytes | None], *, stream: ByteStream) -> Iterator[bytes]:
    while True:
        with naming(stream.name):
            block = read(READ_SIZE)
        if not block:
            return
        if stream.reading is not None:
            stream.reading.saw(block, at=stream.bytes_read)
        stream.bytes_read += len(block)
        yield block
