"""Parquet files, read by pyarrow page by page.

``user.id`` is the column of that name, or else the field ``id`` of the column ``user``.
Integers are integers, text is text, binary is bytes. A null is a malformed row.

Memory: a few pages of the columns that are read. The file must be on disk, because
Parquet is read from its end.

Cost: about 10 ns per row. Needs pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet as pq

from lazysketch.errors import SourceError
from lazysketch.sources.formats.arrow_columns import (
    batch_of_columns,
    check_types,
    column_of,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream

_ROWS = 1 << 16
_BUFFER = 1 << 20


def read_parquet(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight and time of each row."""
    path = stream.path
    if path is None:
        raise SourceError(
            f"{stream.name}: expected a Parquet file on disk, which is read from its end, "
            "got a pipe or a compressed file"
        )
    size = path.stat().st_size
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            rows_of_file = max(file.metadata.num_rows, 1)
            rows = 0
            for batch, done in _batches(file, selection, name=stream.name):
                yield batch
                rows += done
                stream.bytes_read = size * rows // rows_of_file
            if rows < file.metadata.num_rows:  # for example, the file was emptied meanwhile
                raise _damaged(stream.name)
    except pa.ArrowException as error:
        raise _damaged(stream.name) from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise _damaged(stream.name) from None


def _batches(
    file: pq.ParquetFile, selection: Selection, *, name: str
) -> Iterator[tuple[RowBatch, int]]:
    schema = file.schema_arrow
    wanted = dict(selection.columns())
    types = {of: type_of(schema, field, of=of, name=name) for of, field in wanted.items()}
    check_types(types, selection, name=name)
    names = list(dict.fromkeys(wanted.values()))
    for rows in file.iter_batches(batch_size=_ROWS, columns=names, use_threads=False):
        columns = {of: column_of(rows, field) for of, field in wanted.items()}
        batch = batch_of_columns(
            columns["field"], columns.get("weight"), selection, times=columns.get("time")
        )
        yield batch, rows.num_rows


def _damaged(name: str) -> SourceError:
    return SourceError(f"{name}: expected a Parquet file, got damaged data")
