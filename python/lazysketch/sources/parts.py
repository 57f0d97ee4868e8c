"""Files in parts that several workers read: each row in exactly one part.

A part is a range of bytes of a text file, some row groups of a Parquet file, or a whole file. A
row of text belongs to the part in which it begins. CSV, Zeek logs, Arrow and captures, and every
compressed file, are one part: whether a line end is inside quotes depends on all bytes before it.

A part knows the size and the modification time of its file. A file that has others when the part is
read, or after it, is refused: its parts would be of two contents. Content that changed with both
kept is not seen here. The store sees it: a batch that is committed is refused with other counts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from lazysketch.errors import SourceError
from lazysketch.sources.formats.hints import missing_field
from lazysketch.sources.formats.registry import AUTO, FORMATS, check_format, find_format
from lazysketch.sources.io.byte_stream import ByteStream, open_bytes
from lazysketch.sources.io.compression import READ_SIZE
from lazysketch.sources.io.naming import naming

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection

__all__ = ["FilePart", "parts_of", "read_part"]

_PARQUET: Final = "parquet"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file.

    Args:
        path: The file.
        format: The format of its rows; empty for a file without a byte.
        size: The size of the whole file in bytes, when it was listed.
        modified: Its modification time, in nanoseconds since 1970.
        begin: The first byte, or of Parquet the first row group.
        end: The byte or the row group after the last one; None for the end of the file.
        weight: About how many bytes have to be read.
    """

    path: str
    format: str
    size: int
    modified: int
    begin: int = 0
    end: int | None = None
    weight: int = 0

    @property
    def is_whole(self) -> bool:
        """True for the whole file."""
        return self.begin == 0 and self.end is None


def parts_of(
    path: str | Path,
    request: Selection,
    *,
    format: str = AUTO,  # noqa: A002 -- the usual word
    most_bytes: int,
) -> list[FilePart]:
    """Return the parts of a file, which together have each of its rows once.

    Args:
        path: A regular file.
        request: What to read of each row, as by ``checked_request``.
        format: As for :func:`~lazysketch.sources.open_source`. A guess reads the first rows.
        most_bytes: About the size of a part. A row group of Parquet is not divided.

    Raises:
        SourceError: A missing or unreadable file, or one without the field.
        ArgumentTypeError: The recognised format requires a field.
        ArgumentValueError: An unknown format, or one that lacks what was requested.
    """
    check_format(format, request, follow=False)
    with naming(str(path)):
        status = Path(path).stat()
    if not S_ISREG(status.st_mode):
        raise SourceError(f"{path}: expected a regular file, got another one")
    with open_bytes(path) as stream:
        whole = FilePart(str(path), "", status.st_size, status.st_mtime_ns, weight=status.st_size)
        if not stream.head():
            return [whole]
        form = find_format(format, request, stream=stream)
        if form.needs_field and not request.field:
            raise missing_field(form, stream=stream)
        form.select(request)
        whole = replace(whole, format=form.name)
        if stream.path is None or whole.size <= most_bytes:
            return [whole]
    if form.name == _PARQUET:
        return _parts_of_parquet(whole, most_bytes)
    if not form.skips:
        return [whole]
    count = -(-whole.size // most_bytes)
    bounds = [whole.size * number // count for number in range(count + 1)]
    return [
        replace(whole, begin=begin, end=end, weight=end - begin) for begin, end in pairwise(bounds)
    ]


def read_part(part: FilePart, request: Selection) -> Iterator[RowBatch]:
    """Yield the rows of a part.

    Args:
        part: One of :func:`parts_of`.
        request: What to read of each row.

    Raises:
        SourceError: The file is missing or damaged, or has changed since it was listed.
    """
    _check_unchanged(part)
    if part.format:
        form = FORMATS[part.format]
        with _opened(part) as stream:
            yield from form.batches(stream, form.select(request))
    _check_unchanged(part)


@contextmanager
def _opened(part: FilePart) -> Generator[ByteStream, None, None]:
    if part.is_whole or part.format == _PARQUET:
        with open_bytes(part.path) as stream:
            if not part.is_whole:
                assert part.end is not None, "only a whole file has no end"  # noqa: S101
                stream.row_groups = range(part.begin, part.end)
            yield stream
        return
    with naming(part.path), Path(part.path).open("rb", buffering=0) as file:
        stream = ByteStream(part.path, path=None, blocks=_rows_that_begin_in(part, file))
        # The reader leaves out the row in which the byte before the part lies.
        stream.rows_skipped = int(part.begin > 0)
        yield stream


def _rows_that_begin_in(part: FilePart, file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes from that before the part up to the end of the last row that begins in it."""
    assert part.end is not None, "only a whole file has no end"  # noqa: S101
    at = max(part.begin - 1, 0)
    last = part.end - 1  # the byte in whose row the part ends
    file.seek(at)
    while block := file.read(READ_SIZE):
        end = block.find(b"\n", max(last - at, 0)) + 1 if at + len(block) > last else 0
        if end:
            yield block[:end]
            return
        yield block
        at += len(block)


def _check_unchanged(part: FilePart) -> None:
    with naming(part.path):
        status = Path(part.path).stat()
    if (status.st_size, status.st_mtime_ns) != (part.size, part.modified):
        raise SourceError(
            f"{part.path}: expected the file as it was listed, got one of another size or "
            "modification time; its parts would be of two contents"
        )


def _parts_of_parquet(whole: FilePart, most_bytes: int) -> list[FilePart]:
    """Return runs of row groups of about the same number of bytes, which end nearest to that."""
    from lazysketch.sources.formats.parquet import row_group_sizes

    sizes = row_group_sizes(whole.path)
    decoded = max(sum(sizes), 1)
    count = -(-whole.size // most_bytes)
    parts: list[FilePart] = []
    begin, before, read = 0, 0, 0
    for group, (of_group, of_next) in enumerate(zip(sizes, [*sizes[1:], 0], strict=True)):
        read += of_group
        is_near = (2 * read + of_next) * count >= 2 * decoded * (len(parts) + 1)
        if is_near or group + 1 == len(sizes):
            weight = whole.size * (read - before) // decoded
            parts.append(replace(whole, begin=begin, end=group + 1, weight=weight))
            begin, before = group + 1, read
    return parts or [whole]
