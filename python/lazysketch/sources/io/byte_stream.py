"""Opening an input: a file or standard input, plain or compressed, as a stream of bytes.

Memory is bounded: at most READ_SIZE bytes are read, and at most as many expanded, at
a time. A read returns what has arrived, so a live pipe is seen at once.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import BufferedReader
    from typing import BinaryIO

STANDARD_INPUT = "-"

_HEAD_SIZE = 1 << 16
_MARK_SIZE = 8  # by so many bytes each binary format is told


class ByteStream:
    """The decompressed bytes of one input, in blocks, with a look at their head.

    Args:
        name: How messages call the input.
        path: Where it lies, for readers that must seek; None if that is not possible:
            a pipe, or a compressed file.
        blocks: The bytes. An empty block, which is the last, says that what is left open
            before it never ends.
        bytes_read: How many bytes of the file, as it lies there, were read so far.
    """

    def __init__(
        self, name: str, *, path: Path | None, blocks: Iterable[bytes], bytes_read: int = 0
    ) -> None:
        self.name = name
        self.path = path
        self.bytes_read = bytes_read
        self._blocks = iter(blocks)
        self._looked_at: list[bytes] = []

    def head(self) -> bytes:
        """Return the first bytes without consuming them, as soon as they hold a whole row.

        Shorter than a row only at the end of the input, where a row is longer than
        64 KiB, or in binary data, which are told from text by a zero byte: there is no
        end of a row to wait for, which in a live capture might take long.
        """
        size = sum(map(len, self._looked_at))
        while size < _HEAD_SIZE and not any(b"\n" in block for block in self._looked_at):
            if size >= _MARK_SIZE and any(b"\0" in block for block in self._looked_at):
                break
            block = next(self._blocks, None)
            if block is None:
                break
            if not block:
                self._looked_at.clear()  # the row that it waited for is lost
                break
            self._looked_at.append(block)
            size += len(block)
        return b"".join(self._looked_at)

    def file(self) -> ReadableBlocks:
        """Return the bytes as a file that can be read once."""
        return ReadableBlocks(self)

    def __iter__(self) -> Iterator[bytes]:
        while self._looked_at:
            yield self._looked_at.pop(0)
        yield from self._blocks


def check_path(path: str | Path) -> None:
    """Raise SourceError unless the path is standard input or something that can be opened.

    Looks without reading, so that a wrong name among several files is told before
    an hour is spent on the others.
    """
    if str(path) == STANDARD_INPUT:
        return
    with naming(str(path)):
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise IsADirectoryError


def size_of(path: str | Path) -> int | None:
    """Return the size of a regular file; None for a pipe, or if it cannot be told."""
    if str(path) == STANDARD_INPUT:
        return None
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


@contextmanager
def open_bytes(
    path: str | Path, *, waits: Waits = PLAIN_WAITS
) -> Generator[ByteStream, None, None]:
    """Open one input as a ByteStream; closed when the block ends.

    Args:
        path: A file, or ``"-"`` for standard input.
        waits: How to wait for what has not arrived.

    Raises:
        SourceError: Missing, a directory, unreadable, damaged or cut short; the
            last two as soon as the reading comes to that place.
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
        uncut = _UncutFile(file, name=name, size=size, waits=waits)
        yield _stream(uncut.read, name=name, path=None if size is None else Path(path))


class _StandardInput:
    """Standard input, of which Python may have read a part into a buffer.

    That part comes first. The rest is read past the buffer: whoever waits in there, if only
    because somebody else took what was there to be read, holds a lock that the end of the
    process needs.

    Args:
        file: Standard input, or what stands in for it.
        waits: How to wait for what has not arrived.
    """

    def __init__(self, file: BufferedReader, *, waits: Waits) -> None:
        self._file = file
        self._descriptor = _descriptor(file)
        self._waits = waits
        self._buffered = True

    def read(self, most: int) -> bytes:
        """Return what has arrived, at most so much; nothing at the end."""
        self._waits.for_input(self._descriptor)
        with self._waits.in_system():
            if self._descriptor is not None and not self._buffered:
                return os.read(self._descriptor, most)
            block = self._file.read1(most)
        self._buffered = len(block) == most
        return block


def _descriptor(file: BufferedReader) -> int | None:
    """Return the number of an open file; None of what merely stands in for one."""
    try:
        return file.fileno()
    except (AttributeError, OSError, ValueError):
        return None


class _UncutFile:
    """A file that may grow while it is read, but not shrink: its rows would be missed unseen.

    Args:
        file: The file.
        name: What messages call it.
        size: Its size at first; None of a pipe. Nothing is known of one of 0, which may not be
            kept on a disk.
        waits: How to wait for what has not arrived.
    """

    def __init__(self, file: BinaryIO, *, name: str, size: int | None, waits: Waits) -> None:
        self._file = file
        self._name = name
        self._size = size or 0
        self._waits = waits
        self._waited_for = file.fileno() if size is None else None

    def read(self, most: int) -> bytes:
        self._waits.for_input(self._waited_for)
        with self._waits.in_system():
            block = self._file.read(most)
        # Files that the system makes up, as below /sys, end before their size, but keep it.
        if not block and self._size and self._file.tell() < self._size > self._size_now():
            raise SourceError(
                f"{self._name}: expected a file that stays whole while it is read, "
                "got one that was cut"
            )
        return block

    def _size_now(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def _stream(read: Callable[[int], bytes | None], *, name: str, path: Path | None) -> ByteStream:
    stream = ByteStream(name, path=path, blocks=())
    blocks, compressed = expanded(_blocks(read, stream=stream), name=name)
    stream._blocks = blocks  # which count into the stream what they read
    if compressed:
        stream.path = None
    return stream


@contextmanager
def naming(name: str) -> Generator[None, None, None]:
    """Turn what the operating system raises into a SourceError that names the input."""
    try:
        yield
    except IsADirectoryError:
        raise SourceError(f"{name}: expected a file, got a directory") from None
    except FileNotFoundError:
        raise SourceError(f"{name}: expected an existing file, got none") from None
    except PermissionError:
        raise SourceError(f"{name}: expected a readable file, got permission denied") from None
    except SourceError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"{name}: expected a readable file, got {reason!r}") from None
    except ValueError:  # a name with a NUL in it, a closed standard input
        raise SourceError(f"{name}: expected a readable file, got none") from None


def _blocks(read: Callable[[int], bytes | None], *, stream: ByteStream) -> Iterator[bytes]:
    while True:
        with naming(stream.name):
            block = read(READ_SIZE)
        if not block:
            return
        stream.bytes_read += len(block)
        yield block
