"""Parts of files have each row once, as the whole file has it, and refuse a file that changed."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import checked_request, open_source, parts_of, read_part


def rows_of(path: Path, most_bytes: int, **options: Any) -> tuple[list[Any], int, int]:
    """Return the items of all parts, the number of malformed rows, and the number of parts."""
    form = options.pop("format", "auto")
    request = checked_request(**options)
    items: list[Any] = []
    malformed = 0
    parts = parts_of(path, request, format=form, most_bytes=most_bytes)
    for part in parts:
        for batch in read_part(part, request):
            items += batch.item_list
            malformed += len(batch.malformed)
    return items, malformed, len(parts)


def plain(items: list[Any]) -> list[Any]:
    return [item.as_py() if isinstance(item, pa.Scalar) else item for item in items]


def whole(path: Path, **options: Any) -> tuple[list[Any], int]:
    source = open_source(path, **options)
    items = [item for batch in source for item in batch.item_list]
    return items, source.tally.malformed


@given(
    rows=st.lists(st.sampled_from([b"", b"a", b"bc", b"\xef\xbb\xbfd", b"x" * 40, b"\xff", b"\r"])),
    end=st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"]),
    most=st.integers(1, 60),
)
def test_parts_of_lines_have_each_row_once(
    rows: list[bytes], end: bytes, most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "rows"
    path.write_bytes(b"\n".join(rows) + end)
    if not path.stat().st_size:
        assert rows_of(path, most, format="lines") == ([], 0, 1)
        return
    items, malformed, _ = rows_of(path, most, format="lines")
    assert (plain(items), malformed) == (
        plain(whole(path, format="lines")[0]),
        whole(path, format="lines")[1],
    )


def write_json(path: Path) -> None:
    rows = (json.dumps({"user": f"u{n % 7}", "n": n}) for n in range(500))
    path.write_text("\n".join(rows) + "\nnot json\n")


def write_log(path: Path) -> None:
    stamp = "[10/Oct/2000:13:55:36 -0700]"
    path.write_text(
        "".join(f'10.0.0.{n % 9} - - {stamp} "GET /{n} HTTP/1.0" 200 5\n' for n in range(400))
    )


def write_csv(path: Path) -> None:
    path.write_text("user,n\n" + "".join(f'"u\n{n % 5}",{n}\n' for n in range(400)))


def write_parquet(path: Path) -> None:
    table = pa.table({"user": [f"u{n % 5}" for n in range(3000)], "n": range(3000)})
    pq.write_table(table, path, row_group_size=170)


def write_arrow(path: Path) -> None:
    table = pa.table({"user": [f"u{n % 5}" for n in range(3000)]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


@pytest.mark.parametrize(
    ("write", "field", "divided"),
    [
        (write_json, "user", True),
        (write_json, "n", True),
        (write_log, "host", True),
        (write_parquet, "user", True),
        (write_parquet, "n", True),
        (write_csv, "user", False),
        (write_arrow, "user", False),
    ],
)
@pytest.mark.parametrize("most_bytes", [1, 777, 1 << 30])
def test_parts_equal_the_whole_file(
    write: Callable[[Path], None], field: str, divided: bool, most_bytes: int, tmp_path: Path
) -> None:
    path = tmp_path / "rows"
    write(path)
    items, malformed, parts = rows_of(path, most_bytes, field=field)
    assert (plain(items), malformed) == (
        plain(whole(path, field=field)[0]),
        whole(path, field=field)[1],
    )
    assert (parts > 1) == (divided and most_bytes < 1 << 30)
    assert len(items) >= 400


def test_a_compressed_file_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(b"a\nb\n" * 500))
    items, _, parts = rows_of(path, 10, format="lines")
    assert (len(items), parts) == (1000, 1)


def test_a_row_that_is_longer_than_parts_is_read_once(tmp_path: Path) -> None:
    """Also one that is too long to be an item, and stays an empty row."""
    path = tmp_path / "rows"
    path.write_bytes(b"a\n" + b"x" * 3_000_000 + b"\nb\n" + b"y" * 50_000 + b"\nc")
    items, malformed, parts = rows_of(path, 10_000, format="lines")
    assert plain(items) == plain(whole(path, format="lines")[0])
    assert (len(items), malformed, parts > 100) == (4, 1, True)


@pytest.mark.parametrize("write", [write_json, write_parquet])
def test_a_file_that_changed_is_refused(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "rows"
    write(path)
    request = checked_request(field="user")
    parts = parts_of(path, request, most_bytes=500)
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(SourceError, match="another size or modification time"):
        list(read_part(parts[0], request))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert list(read_part(parts[0], request))
    # While it is read: the rows were yielded, and then the part is refused.
    reading = read_part(parts[-1], request)
    next(reading)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(SourceError, match="another size or modification time"):
        list(reading)
    path.unlink()
    with pytest.raises(SourceError):
        list(read_part(parts[0], request))


def test_what_cannot_be_divided_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(path)
    with pytest.raises(ArgumentTypeError, match="field"):
        parts_of(path, checked_request(), most_bytes=10)
    with pytest.raises(ArgumentValueError, match="format: expected one of"):
        parts_of(path, checked_request(), format="other", most_bytes=10)
    path.write_bytes(b"PAR1" + bytes(1000))
    with pytest.raises(SourceError, match="expected a Parquet file, got damaged data"):
        parts_of(path, checked_request(field="user"), most_bytes=10)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for wrong in (tmp_path, tmp_path / "none", pipe):
        with pytest.raises(SourceError):
            parts_of(wrong, checked_request(field="user"), most_bytes=10)


def test_row_groups_beyond_the_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(path)
    request = checked_request(field="user")
    part = parts_of(path, request, most_bytes=1)[-1]
    assert part.end is not None
    with pytest.raises(SourceError, match="damaged data"):
        list(read_part(replace(part, end=part.end + 1), request))
