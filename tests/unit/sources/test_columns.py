"""Several fields of one file: the same rows of each, whatever its batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources import RowBatch, open_source
from lazysketch.sources.columns import ColumnBatch, Columns
from lazysketch.sources.source import Source


class Batches:
    """A source with batches of given sizes, whose items are the numbers of the rows."""

    part_read = 1.0
    reads_ahead = True
    name = "rows"

    def __init__(self, *sizes: int, malformed: tuple[int, ...] = ()) -> None:
        self._sizes = sizes
        self._malformed = malformed
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True

    def __iter__(self) -> Iterator[RowBatch]:
        begin = 0
        for size in self._sizes:
            if self.stopped:
                return
            rows = [
                "" if row in self._malformed else str(row) for row in range(begin, begin + size)
            ]
            yield RowBatch.from_rows(rows)
            begin += size


def columns(**sources: Batches) -> Columns:
    return Columns(cast("dict[str, Source]", sources))


def rows_of(batches: list[ColumnBatch], name: str) -> list[str | None]:
    """The item of each row, None where there is none."""
    found: list[str | None] = []
    for batch in batches:
        one = batch.columns[name]
        items = iter(one.item_list)
        empty = set(one.empty_rows)
        found += [None if at in empty else str(next(items)) for at in range(one.rows)]
    return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 5), (5, 5)),
        ((10,), (1, 2, 3, 4)),
        ((3, 7), (7, 3)),
        ((1,) * 10, (10,)),
        ((4, 6), (5, 5)),
    ],
)
def test_the_same_rows_of_each_field(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    both = columns(a=Batches(*left, malformed=(0, 6)), b=Batches(*right, malformed=(6, 9)))
    batches = list(both)
    for batch in batches:
        assert {one.rows for one in batch.columns.values()} == {batch.rows}
    whole = [str(row) for row in range(10)]
    assert rows_of(batches, "a") == [None if row in "06" else row for row in whole]
    assert rows_of(batches, "b") == [None if row in "69" else row for row in whole]
    assert rows_of([batches[0].first(1)], "a") == [None]


def test_a_field_with_more_rows_is_an_error() -> None:
    with pytest.raises(SourceError, match="a file that changed while it was read"):
        list(columns(a=Batches(5, 5), b=Batches(5)))


def test_all_fields_stop_together() -> None:
    both = columns(a=Batches(5, 5, 5), b=Batches(3, 12))
    seen = 0
    for batch in both:
        seen += batch.rows
        both.stop()
    assert seen == 3


def test_fields_of_a_real_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"p{row % 3},{'' if row % 5 == 0 else row}" for row in range(70_000)]
    path.write_text("page,ms\n" + "\n".join([*lines, "broken"]) + "\n")
    both = Columns(
        {
            "page": open_source(path, field="page", ahead=True),
            "ms": open_source(path, field="ms", item_type="float", ahead=True),
        }
    )
    batches = list(both)
    pages, times = rows_of(batches, "page"), rows_of(batches, "ms")
    assert pages == [*(f"p{row % 3}" for row in range(70_000)), None]
    assert times[:6] == [None, "1.0", "2.0", "3.0", "4.0", None]
    assert len(times) == len(pages)
    assert both.first.tally.rows == 70_001


def test_a_pipe_has_one_field() -> None:
    pipe = Batches(5)
    pipe.part_read = cast("float", None)
    assert [batch.rows for batch in columns(a=pipe)] == [5]
    with pytest.raises(ArgumentValueError, match="expected regular files for several fields"):
        columns(a=pipe, b=Batches(5))
