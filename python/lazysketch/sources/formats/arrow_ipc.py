"""Arrow IPC files (also called Feather) and streams, read by pyarrow.

A file is a magic number, a stream, and a footer with the positions of its parts; so both
are read as streams, also from a pipe. Columns and items are as in Parquet.

Memory: one record batch of the input, whose size the writer of the file chose.

Cost: about 10 ns per row. Needs pyarrow.
"""

from __future__ import annotations

import os
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

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream

FILE_MAGIC = b"ARROW1\0\0"

_ROWS = 1 << 16


def read_arrow(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight and time of each row."""
    try:
        with _opened(stream) as file:
            size = os.fstat(file.fileno()).st_size if stream.path is not None else 0
            for rows in _record_batches(file, selection, name=stream.name):
                rows.validate()
                columns = {
                    of: _validated(column_of(rows, field)) for of, field in selection.columns()
                }
                for begin in range(0, rows.num_rows, _ROWS):
                    part = {of: column.slice(begin, _ROWS) for of, column in columns.items()}
                    yield batch_of_columns(
                        part["field"], part.get("weight"), selection, times=part.get("time")
                    )
                if stream.path is not None:
                    stream.bytes_read = file.tell()
            # A stream may end after any message, so one truncated there looks complete.
            if stream.path is not None and os.fstat(file.fileno()).st_size < size:
                raise _damaged(stream.name)
    except (pa.ArrowException, SystemError, UnicodeDecodeError) as error:
        # SystemError: a negative length passed to a Python stream; UnicodeDecodeError: a
        # column name that is not text.
        raise _damaged(stream.name) from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise _damaged(stream.name) from None


@contextmanager
def _opened(stream: ByteStream) -> Generator[pa.NativeFile, None, None]:
    """Open the input, positioned after the magic number of a file."""
    # Not memory-mapped: truncating the file while it is read would end the process.
    file = pa.OSFile(str(stream.path)) if stream.path else pa.PythonFile(stream.file(), "r")
    with file:
        if stream.head().startswith(FILE_MAGIC):
            file.read(len(FILE_MAGIC))
        yield file


def _record_batches(
    file: pa.NativeFile, selection: Selection, *, name: str
) -> Iterator[pa.RecordBatch]:
    fields = selection.columns()
    with pa.ipc.open_stream(file) as reader:
        schema = reader.schema
        types = {of: type_of(schema, field, of=of, name=name) for of, field in fields}
        check_types(types, selection, name=name)
        wanted = {path_of(schema.names, field)[0] for _, field in fields}
        for batch in reader:
            # Only selected columns are validated: others may be damaged or huge.
            yield batch.select([column for column in schema.names if column in wanted])


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
