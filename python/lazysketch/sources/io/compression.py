"""Decompression of inputs in bounded memory; the first bytes decide, not the name.

At most READ_SIZE bytes are decompressed at a time, and data may expand at most
MOST_EXPANSION-fold, so a decompression bomb costs bounded time, and no memory. Multiple
members or frames, as parallel compressors write them, are joined.
gzip, xz and bz2 use the standard library, zstd uses pyarrow. Data are decompressed as
soon as they arrive (zstd: as soon as they fill a block or the input ends).

A name that ends like that of a compressed file is no reason to decompress, but plain data under
such a name are refused: a download that went wrong is otherwise counted as text.

Every failure is a SourceError that names the input.
"""

from __future__ import annotations

import io
import re
import zlib
from typing import TYPE_CHECKING, Protocol

from lazysketch.errors import SourceError
from lazysketch.sources.limits import check_expansion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

READ_SIZE = 1 << 19
COMPRESSED_NAMES = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bz2"}

_GZIP = 31  # zlib's window bits for a gzip header and trailer
_FIRST_PIECE = 1 << 9  # bytes that a member gets first
_NOT_ZERO = re.compile(rb"[^\0]")
_MEMORY_LIMIT = 1 << 28  # of an xz decoder; `xz -9` needs a quarter of it


class ReadableBlocks(io.RawIOBase):
    """Blocks of bytes as a file object that can be read once, from beginning to end.

    A read returns at most the rest of one block, so it never waits for a second one.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._block, self._place = b"", 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes, none only at the end; all bytes if negative."""
        if size < 0:
            rest, self._block = self._block[self._place :], b""
            return b"".join([rest, *self._blocks])
        if self._place >= len(self._block):
            self._block, self._place = next(self._blocks, b""), 0
        taken = self._block[self._place : self._place + size]
        self._place += len(taken)
        return taken


def expanded(blocks: Iterator[bytes], *, name: str) -> tuple[Iterator[bytes], bool]:
    """Return the blocks, decompressed if they begin with a known magic number.

    Returns:
        The blocks, and whether they were compressed.

    Raises:
        SourceError: Plain data in a file with the name of a compressed one; a Python without the
            module that the data need. While iterating: damaged, truncated, or zstd without pyarrow.
    """
    first = b""
    # Wait for more bytes only while these could still become a known magic number.
    while any(magic != first and magic.startswith(first) for magic in _DECOMPRESSORS):
        block = next(blocks, b"")
        if not block:
            break
        first += block
    rest = _chain(first, blocks)
    for magic, decompress in _DECOMPRESSORS.items():
        if first.startswith(magic):
            return decompress(rest, name), True
    if first:
        _check_plain(name)
    return rest, False


def _check_plain(name: str) -> None:
    """Raise SourceError if plain data are in a file that is called a compressed one."""
    for ending, kind in COMPRESSED_NAMES.items():
        if name.lower().endswith(ending):
            raise SourceError(
                f"{name}: expected {kind} data, as the name ends in {ending}, got data that are "
                "not compressed; if they are rows, rename the file or give it as standard input"
            )


def is_compressed(head: bytes) -> bool:
    """Tell whether the data begin with the magic number of a known compression."""
    return head.startswith(tuple(_DECOMPRESSORS))


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


class _Decompressor(Protocol):
    """Common interface of the decompressors."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Inflate:
    """zlib with the interface of bz2 and lzma: it keeps the input that it has not consumed."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        plain = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        # After a full block, output may be pending although all input is consumed.
        self.needs_input = not self._inflate.unconsumed_tail and len(plain) < max_length
        return plain


def _members(
    blocks: Iterator[bytes],
    name: str,
    *,
    kind: str,
    create: Callable[[], _Decompressor],
    undecodable: type[Exception],
) -> Iterator[bytes]:
    """Decompress one or more members; zero padding after a member is allowed.

    ``undecodable`` is what the decompressor raises for damaged data, beside common errors: Python
    may have been built without the modules of other kinds.

    A member gets short pieces first, then longer ones. What follows its end in a piece is
    copied, so with long pieces a block of empty members would cost its square.
    """
    member: _Decompressor | None = None
    read = expanded_to = 0
    piece = _FIRST_PIECE
    for block in blocks:
        at = 0
        while at < len(block):
            if member is None:
                at = _after_zeros(block, at)
                if at == len(block):
                    break
                member, piece = create(), _FIRST_PIECE
            fed = block[at : at + piece]
            at += len(fed)
            read += len(fed)
            piece = min(2 * piece, READ_SIZE)
            while True:
                try:
                    plain = member.decompress(fed, READ_SIZE)
                except (OSError, ValueError, EOFError, undecodable) as error:
                    raise _undecodable(error, name, kind) from None
                expanded_to += len(plain)
                check_expansion(expanded_to, read=read, of="bytes", name=name)
                if plain:
                    yield plain
                if member.eof:
                    at -= len(member.unused_data)
                    read -= len(member.unused_data)
                    member = None
                    break
                if member.needs_input:
                    break
                fed = b""
    if member is not None:
        raise _truncated(name, kind)


def _after_zeros(block: bytes, at: int) -> int:
    """Return the position of the next byte that is not zero."""
    found = _NOT_ZERO.search(block, at)
    return len(block) if found is None else found.start()


def _gunzip(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    return _members(blocks, name, kind="gzip", create=_Inflate, undecodable=zlib.error)


def _unbzip2(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        import bz2  # late, as lzma: most inputs are not compressed
    except ImportError:
        raise _built_without("bz2", name=name, kind="bz2", command="bzip2") from None
    return _members(blocks, name, kind="bz2", create=bz2.BZ2Decompressor, undecodable=OSError)


def _unxz(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        import lzma
    except ImportError:
        raise _built_without("lzma", name=name, kind="xz", command="xz") from None

    def create() -> _Decompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY_LIMIT)

    return _members(blocks, name, kind="xz", create=create, undecodable=lzma.LZMAError)


def _unzstd(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise SourceError(
            f"{name}: expected pyarrow for zstd data (pip install 'lazysketch[arrow]'), got none"
        ) from None
    read = expanded_to = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for block in blocks:
            read += len(block)
            yield block

    with pa.CompressedInputStream(pa.PythonFile(ReadableBlocks(counted()), "r"), "zstd") as plain:
        while True:
            try:
                block: bytes = plain.read(READ_SIZE)
            except SourceError:
                raise  # raised by the reader of the compressed bytes
            except OSError as error:
                truncated = "runcated" in str(error)
                raise (_truncated if truncated else _damaged)(name, "zstd") from None
            if not block:
                return
            expanded_to += len(block)
            check_expansion(expanded_to, read=read, of="bytes", name=name)
            yield block


def _built_without(module: str, *, name: str, kind: str, command: str) -> SourceError:
    """Return the error of a Python that was built, or is installed, without a library."""
    return SourceError(
        f"{name}: expected a Python with the module {module} for {kind} data, got one that was "
        f"built without it; use another Python, or decompress the data first ({command} -dc)"
    )


def _undecodable(error: Exception, name: str, kind: str) -> SourceError:
    if kind == "xz" and "emory" in str(error):
        return SourceError(
            f"{name}: expected xz data that need at most {_MEMORY_LIMIT >> 20} MiB to decompress "
            "(a limit of this reader), got data that need more"
        )
    return _damaged(name, kind)


def _damaged(name: str, kind: str) -> SourceError:
    return SourceError(f"{name}: expected {kind} data, got damaged data")


def _truncated(name: str, kind: str) -> SourceError:
    return SourceError(f"{name}: expected a whole {kind} file, got one that is cut short")


_DECOMPRESSORS: dict[bytes, Callable[[Iterator[bytes], str], Iterator[bytes]]] = {
    b"\x1f\x8b": _gunzip,
    b"BZh": _unbzip2,
    b"\xfd7zXZ\0": _unxz,
    b"\x28\xb5\x2f\xfd": _unzstd,
    b"\x50\x2a\x4d\x18": _unzstd,  # the skippable frame with which parallel zstd begins
}
