"""Arrow IPC files (also called Feather) and streams, read by pyarrow.

A file is a magic number, a stream, and a footer with the positions of its parts; so both
are read as streams, also from a pipe. Columns and items are as in Parquet.

Memory: one record batch of the input, of at most MOST_BATCH bytes.

Cost: about 10 ns per row. Needs pyarrow.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lazysketch.errors import SourceError
from lazysketch.sources.formats.arrow_columns import (
    batch_of_columns,
    check_types,
    column_of,
    path_of,
    type_of,
)
from lazysketch.sources.formats.arrow_messages import (
    FILE_MAGIC,
    CheckedMessages,
    DamagedMessageError,
    check_messages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream
    from lazysketch.sources.io.compression import ReadableBlocks

_ROWS = 1 << 16
_ITEM_BYTES = 1 << 24


def read_arrow(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each row."""
    with _damage_named(stream.name), _opened(stream) as read:
        messages = CheckedMessages(read, name=stream.name)
        yield from _batches(pa.PythonFile(messages, "r"), selection, name=stream.name)


def read_arrow_bytes(data: bytes, selection: Selection, *, name: str) -> Iterator[RowBatch]:
    """Yield the same of data that are all in memory, where their columns stay.

    Args:
        data: The whole input, not compressed.
        selection: The fields to read.
        name: The name of the input in messages.
    """
    with _damage_named(name):
        begin = len(FILE_MAGIC) if data.startswith(FILE_MAGIC) else 0
        check_messages(memoryview(data)[begin:], name=name)
        yield from _batches(pa.py_buffer(data)[begin:], selection, name=name)


def _batches(
    opened: pa.NativeFile | pa.Buffer, selection: Selection, *, name: str
) -> Iterator[RowBatch]:
    """Yield the rows of messages that are checked."""
    for rows in _record_batches(opened, selection, name=name):
        rows.validate()
        columns = {of: _validated(column_of(rows, field)) for of, field in selection.columns()}
        texts = [columns[of] for of in ("field", "user") if of in columns]
        together = min(map(_rows_together, texts))
        for begin in range(0, rows.num_rows, together):
            part = {of: column.slice(begin, together) for of, column in columns.items()}
            yield batch_of_columns(
                part["field"],
                part.get("weight"),
                selection,
                times=part.get("time"),
                users=part.get("user"),
                values=part.get("value"),
            )


@contextmanager
def _damage_named(name: str) -> Generator[None, None, None]:
    """Raise what pyarrow raises of damaged data as a SourceError that names the input."""
    try:
        yield
    except DamagedMessageError:
        raise _damaged(name) from None
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, SystemError, UnicodeDecodeError) as error:
        # SystemError: a negative length passed to a Python stream; UnicodeDecodeError: a
        # column name that is not text.
        raise _damaged(name) from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise _damaged(name) from None


@contextmanager
def _opened(stream: ByteStream) -> Generator[Callable[[int], bytes], None, None]:
    """Return a function that reads the input, after the magic number of a file."""
    file = stream.file()
    if stream.head().startswith(FILE_MAGIC):
        _whole(file, len(FILE_MAGIC))
    yield lambda size: _whole(file, size)


def _whole(file: ReadableBlocks, size: int) -> bytes:
    """Return ``size`` bytes, fewer only at the end of the input."""
    data = file.read(size)
    if len(data) == size or not data:
        return data
    joined = bytearray(data)
    while len(joined) < size:
        data = file.read(size - len(joined))
        if not data:
            break
        joined += data
    return bytes(joined)


def _record_batches(
    opened: pa.NativeFile | pa.Buffer, selection: Selection, *, name: str
) -> Iterator[pa.RecordBatch]:
    fields = selection.columns()
    with pa.ipc.open_stream(opened) as reader:
        schema = reader.schema
        types = {of: type_of(schema, field, of=of, name=name) for of, field in fields}
        check_types(types, selection, name=name)
        wanted = {path_of(schema.names, field)[0] for _, field in fields}
        for batch in reader:
            # Only selected columns are validated: others may be damaged or huge.
            yield batch.select([column for column in schema.names if column in wanted])


def _rows_together(items: pa.Array) -> int:
    """Return how many rows are counted together, so that a copy of their items is small."""
    if pa.types.is_dictionary(items.type) or not items.nbytes:
        return _ROWS
    size: int = items.nbytes
    return max(1, min(_ROWS, _ITEM_BYTES * len(items) // size))


def _validated(column: pa.Array) -> pa.Array:
    """Return the column, or raise ArrowInvalid if reading it would leave its buffers.

    IPC data contain offsets that pyarrow does not check. Text is validated as bytes, since
    text that is not UTF-8 is a malformed row, not damage.
    """
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    if pa.types.is_dictionary(column.type):
        column.indices.validate(full=True)
        if column.indices.null_count < len(column):
            bounds = pc.min_max(column.indices)
            least, most = bounds["min"].as_py(), bounds["max"].as_py()
            if least < 0 or most >= len(values):
                raise pa.ArrowInvalid("dictionary: expected indices inside it, got others")
    as_bytes = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    kind = as_bytes.get(values.type)
    (values if kind is None else values.view(kind)).validate(full=True)
    return column


def _damaged(name: str) -> SourceError:
    return SourceError(f"{name}: expected Arrow IPC data, got damaged data")
