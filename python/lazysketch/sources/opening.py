"""Opening an input: a file or standard input, plain or compressed, as a stream of bytes.

Compression is told by the first bytes, never by the name. Memory is bounded: at
most READ_SIZE bytes are read and at most READ_SIZE bytes are expanded at a time,
so a small file that expands to a huge one costs time, not memory. A read returns
what has arrived, so a live pipe is seen at once.

Every failure is a SourceError that names the input.
"""

from __future__ import annotations

import stat
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lazysketch.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import BufferedReader
    from typing import BinaryIO

READ_SIZE = 1 << 18
STANDARD_INPUT = "-"

_HEAD_SIZE = 1 << 16
_GZIP = 31  # zlib's window bits for a gzip header and trailer


class ByteStream:
    """The decompressed bytes of one input, in blocks, with a look at their head.

    Args:
        name: How messages call the input.
        path: Where it lies, or None for standard input; for formats whose reader
            must seek.
        blocks: The bytes.
    """

    def __init__(self, name: str, *, path: Path | None, blocks: Iterable[bytes]) -> None:
        self.name = name
        self.path = path
        self._blocks = iter(blocks)
        self._looked_at: list[bytes] = []

    def head(self) -> bytes:
        """Return the first bytes without consuming them, as soon as they hold a whole row.

        Shorter than a row only at the end of the input, or where a row is longer
        than 64 KiB.
        """
        size = sum(map(len, self._looked_at))
        while size < _HEAD_SIZE and not any(b"\n" in block for block in self._looked_at):
            block = next(self._blocks, b"")
            if not block:
                break
            self._looked_at.append(block)
            size += len(block)
        return b"".join(self._looked_at)

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
    with _naming(str(path)):
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise IsADirectoryError


@contextmanager
def open_bytes(path: str | Path) -> Generator[ByteStream, None, None]:
    """Open one input as a ByteStream; closed when the block ends.

    Args:
        path: A file, or ``"-"`` for standard input.

    Raises:
        SourceError: Missing, a directory, unreadable, damaged or cut short; the
            last two as soon as the reading comes to that place.
    """
    if str(path) == STANDARD_INPUT:
        name = "standard input"
        if sys.stdin is None:
            raise SourceError(f"{name}: expected an open stream, got a closed one")
        # Unlike read(), read1() returns what has arrived.
        standard_input = cast("BufferedReader", sys.stdin.buffer)
        blocks = _blocks(standard_input.read1, name=name)
        yield ByteStream(name, path=None, blocks=_expanded(blocks, name=name))
        return
    name = str(path)
    with _naming(name):
        file: BinaryIO = Path(path).open("rb", buffering=0)  # noqa: SIM115 -- closed below
    with file:
        blocks = _blocks(file.read, name=name)
        yield ByteStream(name, path=Path(path), blocks=_expanded(blocks, name=name))


@contextmanager
def _naming(name: str) -> Generator[None, None, None]:
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


def _blocks(read: Callable[[int], bytes | None], *, name: str) -> Iterator[bytes]:
    while True:
        with _naming(name):
            block = read(READ_SIZE)
        if not block:
            return
        yield block


def _expanded(blocks: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    """Decompress the blocks if their first bytes are those of a known compression."""
    first = b""
    # Waits for more only while the bytes so far could still become a known beginning.
    while any(magic != first and magic.startswith(first) for magic in _DECOMPRESSORS):
        block = next(blocks, b"")
        if not block:
            break
        first += block
    rest = _chain(first, blocks)
    for magic, decompress in _DECOMPRESSORS.items():
        if first.startswith(magic):
            return decompress(rest, name)
    return rest


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _gunzip(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Decompress gzip data of one or more members; zero padding after a member is allowed."""
    inflate = zlib.decompressobj(_GZIP)
    inside = False  # within a member whose trailer has not been seen
    for compressed in blocks:
        while True:
            if not inside:
                compressed = compressed.lstrip(b"\0")
                if not compressed:
                    break
                inside = True
            try:
                block = inflate.decompress(compressed, READ_SIZE)
            except zlib.error:
                raise SourceError(f"{name}: expected gzip data, got damaged data") from None
            if block:
                yield block
            if inflate.eof:
                compressed, inside = inflate.unused_data, False
                inflate = zlib.decompressobj(_GZIP)
                continue
            compressed = inflate.unconsumed_tail
            # A full block may have more behind it although all its input is taken.
            if not compressed and len(block) < READ_SIZE:
                break
    if inside:
        raise SourceError(f"{name}: expected a whole gzip file, got one that is cut short")


_DECOMPRESSORS: dict[bytes, Callable[[Iterator[bytes], str], Iterator[bytes]]] = {
    b"\x1f\x8b": _gunzip,
}
