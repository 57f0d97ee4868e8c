"""Parquet files: one column, read by pyarrow page by page.

``user.id`` is the column of that name, or else the field ``id`` of the column ``user``.
Integers are integers, text is text, binary is bytes. A null is a malformed row.

Memory: a few pages of the columns that are read. A file has to lie on disk, as
Parquet is read from its end.

Cost: about 10 ns per row. Needs pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet as pq

from lazysketch.errors import SourceError
from lazysketch.sources.columns import batch_of_columns, check_types
from lazysketch.sources.nested import column_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.batch import Batch
    from lazysketch.sources.opening import ByteStream
    from lazysketch.sources.reader import Selection

_ROWS = 1 << 16
_BUFFER = 1 << 20


def read_parquet(stream: ByteStream, selection: Selection) -> Iterator[Batch]:
    """Yield one column of each row, with another as its weight if that is asked for."""
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
    except pa.ArrowException as error:
        raise _damaged(stream.name) from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise _damaged(stream.name) from None


def _batches(file: Any, selection: Selection, *, name: str) -> Iterator[tuple[Batch, int]]:
    schema = file.schema_arrow
    assert selection.field is not None, "the format requires a field"  # noqa: S101
    item = type_of(schema, selection.field, of="field", name=name)
    weight = None
    wanted = [selection.field]
    if selection.weight is not None:
        weight = type_of(schema, selection.weight, of="weight", name=name)
        wanted.append(selection.weight)
    check_types(item, weight, selection, name=name)
    for rows in file.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False):
        items = column_of(rows, selection.field)
        weights = None if selection.weight is None else column_of(rows, selection.weight)
        yield batch_of_columns(items, weights, selection), rows.num_rows


def _damaged(name: str) -> SourceError:
    return SourceError(f"{name}: expected a Parquet file, got damaged data")
