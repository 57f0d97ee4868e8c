"""From chunks of bytes to large blocks of whole rows of text.

Rows end at "\\n" ("\\r\\n" counts as one end). A row that cannot be decoded, or is
longer than LONGEST_ROW bytes, becomes an empty row: it remains a step, and its content
is dropped. Memory is bounded by the longest row.

Cost: one decode and one scan per block, none for UTF-8 that the native core reads;
only a block with an undecodable row is processed row by row.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_ROW = 1 << 20
# Replaces undecodable bytes in text that another parser splits into rows. It is a
# noncharacter, which Unicode excludes from interchange, so an item that contains it is malformed.
UNDECODABLE = "\ufdd0"
UNDECODABLE_BYTES = UNDECODABLE.encode()

# Encodings that carry state from row to row, or decode to something other than text.
_UNSUPPORTED = ("utf-7", "hz", "iso2022", "idna", "punycode", "raw-unicode-escape")


def check_encoding(encoding: str) -> str:
    """Return Python's name of an encoding in which rows can be split before decoding.

    Raises:
        ArgumentValueError: Unknown, or one (UTF-16, UTF-7, ISO-2022, EBCDIC, ...)
            in which a row does not end with the byte 0x0A or needs the rows before it.

    Example:
        >>> check_encoding("Latin1")
        'iso8859-1'
    """
    try:
        name = codecs.lookup(encoding).name
        fits = "\n".encode("utf-8" if name == "utf-8-sig" else name) == b"\n"
    except (LookupError, ValueError):
        raise ArgumentValueError(
            f"encoding: expected the name of a text encoding, got {shown(encoding)}"
        ) from None
    if not fits or name.startswith(_UNSUPPORTED):
        raise ArgumentValueError(
            "encoding: expected one whose rows end with the byte 0x0A and decode independently "
            f"(utf-8, latin-1, cp1252, ...), got {shown(encoding)}"
        )
    return "utf-8" if name == "utf-8-sig" else name


def row_blocks(chunks: Iterable[bytes], *, encoding: str, skipped: int = 0) -> Iterator[bytes]:
    r"""Yield blocks of whole rows in UTF-8, ended by "\n" or "\r\n", for the native core.

    The native core validates UTF-8 and treats an invalid row as empty, so UTF-8 input is
    not decoded here.

    Args:
        chunks: Bytes split anywhere, each chunk shorter than LONGEST_ROW. An empty chunk is
            the last one and marks a truncated stream: its incomplete last row is dropped.
        encoding: A name from ``check_encoding``. A byte-order mark of UTF-8 is dropped.
        skipped: The number of rows at the beginning that are left out.

    Example:
        >>> list(row_blocks([b"a\r\nb", b"\xff\nc"], encoding="utf-8"))
        [b'a\r\n', b'b\xff\n', b'c\n']
    """
    if skipped:
        chunks = _after_rows(chunks, skipped)
    if encoding != "utf-8":
        for block in _whole_rows(chunks):
            # A decoder may yield lone surrogates, which then are invalid UTF-8 to the core.
            yield _decoded(block, encoding).encode("utf-8", "surrogatepass")
        return
    first = not skipped
    for block in _whole_rows(chunks):
        yield block.removeprefix(codecs.BOM_UTF8) if first else block
        first = False


def utf8_blocks(chunks: Iterable[bytes], *, encoding: str) -> Iterator[bytes]:
    r"""Yield blocks of whole lines in valid UTF-8, for parsers that split rows themselves.

    Undecodable bytes become UNDECODABLE, so the line keeps its columns. Each line is
    decoded independently. Lines that are too long become empty.

    Args:
        chunks: As for ``row_blocks``.
        encoding: As for ``row_blocks``.

    Example:
        >>> list(utf8_blocks([b"a\r\nb", b"\xff\nc"], encoding="utf-8"))
        [b'a\r\n', b'b\xef\xb7\x90\n', b'c\n']
    """
    first = True
    for block in _whole_rows(chunks):
        if first and encoding == "utf-8":
            block = block.removeprefix(codecs.BOM_UTF8)
        first = False
        if block.isascii() and encoding == "utf-8":
            yield block
            continue
        try:
            text = block.decode(encoding)
        except ValueError:
            text = "\n".join(_marked(row, encoding) for row in block.split(b"\n"))
        else:
            if encoding == "utf-8":
                yield block
                continue
        # A decoder may yield lone surrogates.
        yield text.encode("utf-8", _MARK)


def _after_rows(chunks: Iterable[bytes], rows: int) -> Iterator[bytes]:
    """Yield the bytes after some rows; a row without its end counts, and so does its end later."""
    for chunk in chunks:
        if not rows or not chunk:  # an empty chunk marks a truncated stream
            yield chunk
            continue
        ends = chunk.count(b"\n")
        if ends < rows:
            rows -= ends
            continue
        at = 0
        for _ in range(rows):
            at = chunk.index(b"\n", at) + 1
        rows = 0
        if at < len(chunk):
            yield chunk[at:]


def _whole_rows(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []  # the beginning of a row whose end has not arrived
    held_size = 0
    for chunk in chunks:
        if not chunk:  # truncated: drop the incomplete row
            return
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            held_size += len(chunk)
            held.append(chunk)
            if held_size > LONGEST_ROW:
                held.clear()
            continue
        row_end = chunk.find(b"\n")
        if held_size + row_end > LONGEST_ROW:
            yield chunk[row_end:end]
        elif held_size:
            yield b"".join([*held, memoryview(chunk)[:end]])  # one copy, not two
        else:
            yield chunk[:end]
        held_size = len(chunk) - end
        held = [chunk[end:]] if held_size else []
    if held_size:
        yield b"\n" if held_size > LONGEST_ROW else b"".join([*held, b"\n"])


def _decoded(block: bytes, encoding: str) -> str:
    try:
        return block.decode(encoding)
    except ValueError:
        return "\n".join(_decoded_row(row, encoding) for row in block.split(b"\n"))


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)):
        raise error
    return UNDECODABLE, error.end


_MARK = "lazysketch-mark"
codecs.register_error(_MARK, _mark)


def _marked(row: bytes, encoding: str) -> str:
    # Per row, because a decoder that resumes after an error might skip the end of a row.
    return row.decode(encoding, _MARK).replace("\n", UNDECODABLE)


def _decoded_row(row: bytes, encoding: str) -> str:
    try:
        return row.decode(encoding)
    except ValueError:
        return ""
