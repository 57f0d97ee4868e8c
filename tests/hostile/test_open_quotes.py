"""Quotes that are never closed take linear time, with the rows that the definition gives."""

from __future__ import annotations

import random

import pytest
from tests.oracle.delimited_rows import cut_rows

from lazysketch.sources.formats import delimited
from lazysketch.sources.formats.delimited import read_delimited
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream


def _judged_by_dropping_lines(data: bytes, *, columns: int) -> list[str | None]:
    """The rows of a whole file as they are defined: an open row costs its first line."""
    rows: list[str | None] = []
    while data:
        cut = cut_rows(data, columns=columns, delimiter=",")
        rows += [(row[0] or None) if row else None for row in cut.rows]
        data = data[len(data) - cut.open_size :]
        if data:
            rows.append(None)
            data = data[data.index(b"\n") + 1 :]
    return rows


@pytest.mark.parametrize("seed", range(60))
def test_lines_of_an_open_quote_are_judged_as_by_dropping_one_at_a_time(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(seed)
    monkeypatch.setattr(delimited, "_LONG_HELD", 8)
    body = "".join(random_.choices('ab,"\n', weights=[3, 3, 4, 4, 3], k=80)) + "\n"
    data = b"a,b\n" + body.encode()
    cuts = sorted(random_.choices(range(len(data)), k=3))
    chunks = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    stream = ByteStream("", path=None, blocks=[chunk for chunk in chunks if chunk])
    found: list[str | None] = []
    for batch in read_delimited(stream, Selection(field="a", encoding="utf-8")):
        items = iter(map(str, batch.item_list))
        empty = set(batch.empty_rows)
        found += [None if at in empty else next(items) for at in range(batch.rows)]
    assert found == _judged_by_dropping_lines(data[4:], columns=2)
