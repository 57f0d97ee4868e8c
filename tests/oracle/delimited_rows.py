"""Rows of CSV as pyarrow's reader cuts them: a second opinion on what the native core cuts.

To see whether a block ends inside quotes, a row with too many columns is appended. The parser then
reports as malformed either that row alone, or everything from the open row on.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv


class CutRows(NamedTuple):
    """The rows of a block.

    Args:
        rows: The cells of each row; None for a row with more or fewer columns.
        open_size: The size in bytes of a row that is open at the end, which is no row here.
    """

    rows: list[list[str] | None]
    open_size: int


def cut_rows(block: bytes, *, columns: int, delimiter: str) -> CutRows:
    """Return the rows of a block of whole lines in UTF-8."""
    names = [str(number) for number in range(columns)]
    sentinel = f'"{delimiter}' * (2 * columns + 4)
    malformed: list[tuple[int, str]] = []

    def skip(row: csv.InvalidRow) -> str:
        malformed.append((row.number - 1, row.text))
        return "skip"

    data = block + sentinel.encode() + b"\n"
    table = csv.read_csv(
        pa.BufferReader(data),
        # pyarrow numbers malformed rows only in a single block and thread.
        read_options=csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=names
        ),
        parse_options=csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=False,
            invalid_row_handler=skip,
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    _, last = malformed.pop()
    found = iter(zip(*(table[name].to_pylist() for name in names), strict=True))
    places = {place for place, _ in malformed}
    total = table.num_rows + len(places)
    rows = [None if place in places else list(next(found)) for place in range(total)]
    return CutRows(rows, len(last[: last.rindex(sentinel)].encode()))
