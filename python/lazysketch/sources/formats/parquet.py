"""Parquet files, read by pyarrow page by page.

``user.id`` is the column of that name, or else the field ``id`` of the column ``user``.
Integers are integers, text is text, binary is bytes. A null is a malformed row.

Columns of text with a dictionary are read as dictionaries. The number of rows that are
read together follows from the sizes of the pages (``parquet_pages``).

Memory: pages of at most MOST_PAGE bytes of each column that is read. The file must be
on disk, because Parquet is read from its end.

Cost: about 10 ns per row. Needs pyarrow.
"""

from __future__ import annotations

import os
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
from lazysketch.sources.formats.parquet_pages import (
    DamagedPageError,
    Page,
    pages_of,
    rows_together,
)
from lazysketch.sources.limits import check_expansion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream

_ROWS = 1 << 16
_BUFFER = 1 << 20
_RUN_BYTES = 1 << 22
_RUN_GROUPS = 64


def read_parquet(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each row."""
    path = stream.path
    if path is None:
        raise SourceError(
            f"{stream.name}: expected a Parquet file on disk, which is read from its end, "
            "got a pipe or a compressed file"
        )
    size = path.stat().st_size
    try:
        with path.open("rb") as data, _opened(path, selection, name=stream.name) as file:
            metadata = file.metadata
            check_expansion(metadata.num_rows, read=size, of="rows", name=stream.name)
            groups = range(metadata.num_row_groups)
            if stream.row_groups is not None:
                groups = stream.row_groups
            if groups.stop > metadata.num_row_groups:
                raise _damaged(stream.name)
            expected = sum(metadata.row_group(group).num_rows for group in groups)
            rows = 0
            for batch, done in _batches(file, data, selection, groups, name=stream.name):
                yield batch
                rows += done
                stream.bytes_read = size * rows // max(expected, 1)
            if rows < expected:  # for example, the file was emptied meanwhile
                raise _damaged(stream.name)
    except DamagedPageError:
        raise _damaged(stream.name) from None
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException as error:
        raise _damaged(stream.name) from error
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise _damaged(stream.name) from None


def row_group_sizes(path: str) -> list[int]:
    """Return the size in bytes of each row group when decoded.

    Raises:
        SourceError: A damaged file.
    """
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            groups = range(metadata.num_row_groups)
            return [metadata.row_group(group).total_byte_size for group in groups]
    except (pa.ArrowException, OSError):
        raise _damaged(path) from None


def _opened(path: Path, selection: Selection, *, name: str) -> pq.ParquetFile:
    """Open a file, with columns of text or bytes that have dictionaries as dictionaries.

    Decoded, an entry would be copied for every row that refers to it.
    """
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        wanted = dict(selection.columns())
        schema = file.schema_arrow
        types = {of: type_of(schema, field, of=of, name=name) for of, field in wanted.items()}
        check_types(types, selection, name=name)
        metadata = file.metadata
        as_dictionary = [
            field
            for of, field in wanted.items()
            if _is_variable(types[of]) and _has_dictionary(metadata, field)
        ]
    return pq.ParquetFile(
        path,
        metadata=metadata,
        read_dictionary=as_dictionary,
        pre_buffer=False,
        buffer_size=_BUFFER,
    )


def _is_variable(kind: pa.DataType) -> bool:
    known = (pa.types.is_string, pa.types.is_binary)
    return any(is_known(kind) for is_known in known)


def _has_dictionary(metadata: pq.FileMetaData, field: str) -> bool:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return any(
        chunk.has_dictionary_page for group in groups for _, chunk in _chunks(group, [field])
    )


def _batches(
    file: pq.ParquetFile, data: BinaryIO, selection: Selection, wanted_groups: range, *, name: str
) -> Iterator[tuple[RowBatch, int]]:
    wanted = dict(selection.columns())
    names = list(dict.fromkeys(wanted.values()))
    size = os.fstat(data.fileno()).st_size
    expanded = 0
    for groups, pages in _runs(file, data, names, wanted_groups, name=name):
        expanded += sum(page.size for column in pages for page in column)
        check_expansion(expanded, read=size, of="bytes", name=name)
        together = min((rows_together(column, most=_ROWS) for column in pages), default=_ROWS)
        is_prefixed = any(page.is_prefixed for column in pages for page in column)
        for rows in file.iter_batches(
            batch_size=together, row_groups=groups, columns=names, use_threads=False
        ):
            if is_prefixed:  # only here a page does not state its size when decoded
                expanded += rows.nbytes
                check_expansion(expanded, read=size, of="bytes", name=name)
            columns = {of: column_of(rows, field) for of, field in wanted.items()}
            batch = batch_of_columns(
                columns["field"],
                columns.get("weight"),
                selection,
                times=columns.get("time"),
                users=columns.get("user"),
                values=columns.get("value"),
            )
            yield batch, rows.num_rows


def _runs(
    file: pq.ParquetFile, data: BinaryIO, names: list[str], wanted_groups: range, *, name: str
) -> Iterator[tuple[list[int], list[list[Page]]]]:
    """Yield consecutive row groups, one or many small ones, with the pages of each column.

    Opening a reader costs as much as reading some thousand rows.
    """
    groups: list[int] = []
    pages: dict[str, list[Page]] = {}
    size = 0
    for group in wanted_groups:
        groups.append(group)
        for path, chunk in _chunks(file.metadata.row_group(group), names):
            found = list(pages_of(data, chunk, name=name))
            size += sum(page.size for page in found)
            pages.setdefault(path, []).extend(found)
        is_last = group == wanted_groups[-1]
        if is_last or size > _RUN_BYTES or len(groups) == _RUN_GROUPS:
            yield groups, list(pages.values())
            groups, pages, size = [], {}, 0


def _chunks(
    group: pq.RowGroupMetaData, names: list[str]
) -> Iterator[tuple[str, pq.ColumnChunkMetaData]]:
    """Yield the column chunks that hold the columns, with their paths."""
    for number in range(group.num_columns):
        chunk = group.column(number)
        path = chunk.path_in_schema
        if any(path == name or path.startswith(name + ".") for name in names):
            yield path, chunk


def _damaged(name: str) -> SourceError:
    return SourceError(f"{name}: expected a Parquet file, got damaged data")
