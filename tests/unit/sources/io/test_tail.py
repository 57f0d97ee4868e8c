"""Following a file: exactly its rows, each once, through growth, rotation and truncation."""

from __future__ import annotations

import gzip
import os
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.oracle.changing_files import (
    Changes,
    append,
    batches_of,
    followed,
    items_of,
    replace,
    until_the_end,
)

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources import open_source
from lazysketch.sources.io import tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_rows_are_read_as_they_arrive(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\nb\nc")
    Changes(monkeypatch, append(path, "c\nd"), append(path, "d"), append(path, "\n\ne\nf"))
    source = followed(path, format="lines")
    batches = batches_of(source)
    assert [batch.item_list for batch in batches] == [["a", "b"], ["cc"], ["dd", "e"]]
    assert source.tally.rows == 6
    assert [place.row for place in source.tally.first_malformed] == [5]
    assert source.part_read is None


def test_an_empty_file_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch()
    Changes(monkeypatch, lambda: None, append(path, "na"), append(path, "me\na\n"))
    source = followed(path, field="name", delimiter=",", format="csv")
    assert items_of(source) == ["a"]


def test_a_replaced_file_is_read_to_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n")
    old = path.with_name("old")

    def rotate() -> None:
        append(path, "b\nc")()
        path.rename(old)
        path.touch()

    Changes(
        monkeypatch,
        rotate,
        append(old, "c\n"),  # by a writer that still has the old file open
        append(old, "d\nlast"),
        append(path, "e\n"),
        append(path, "f\n"),
    )
    assert items_of(followed(path)) == ["a", "b", "cc", "d", "last", "e", "f"]


def test_several_rotations_are_read_while_they_are_visible(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("1\n")
    Changes(
        monkeypatch,
        replace(path, "2\n"),
        replace(path, ""),
        replace(path, "3"),
        replace(path, "4\n"),
    )
    assert items_of(followed(path)) == ["1", "2", "3", "4"]


def test_a_file_between_two_checks_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("1\n")

    def twice() -> None:
        replace(path, "unseen\n")()
        replace(path, "3\n")()

    Changes(monkeypatch, twice)
    assert items_of(followed(path)) == ["1", "3"]


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_row_written_just_before_the_rotation_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    path.write_text("a\n")
    look = tail._Files._is_replaced
    looks = iter(range(100))

    def after_the_last_row(files: object) -> bool:
        if next(looks) == turn:
            append(path, "b\n")()
            replace(path, "c\n")()
        return look(files)

    monkeypatch.setattr(tail._Files, "_is_replaced", after_the_last_row)
    Changes(monkeypatch, *[lambda: None] * 4)
    assert items_of(followed(path)) == ["a", "b", "c"]


def test_new_files_are_held_open_while_a_long_one_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "READ_SIZE", 4)
    path.write_text("a\nb\n" * 5)
    Changes(monkeypatch)
    batches = iter(followed(path, format="lines"))
    assert next(batches).item_list == ["a", "b"]
    for number in range(4):  # rotated before the first is read to its end
        replace(path, f"x\n{number}\n")()
        assert next(batches).item_list == ["a", "b"]
    found = [item for batch in until_the_end(batches) for item in batch.item_list]
    assert found == ["x", "0", "x", "1", "x", "2", "x", "3"]


def test_a_missing_file_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\nb")
    old = path.with_name("old")
    Changes(
        monkeypatch,
        lambda: path.rename(old),
        append(old, "b\n"),
        lambda: path.mkdir(),
        lambda: path.rmdir(),
        lambda: path.write_text("c\n"),
    )
    assert items_of(followed(path)) == ["a", "bb", "c"]


def test_a_removed_file_may_reappear(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n")
    Changes(monkeypatch, path.unlink, lambda: path.write_text("b\n"), append(path, "c\n"))
    assert items_of(followed(path)) == ["a", "b", "c"]


def test_a_truncated_file_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\nb\nhalf a r")
    Changes(
        monkeypatch,
        lambda: path.write_text("c\n"),
        append(path, "d\n"),
        lambda: os.truncate(path, 0),
        append(path, "e\n"),
        append(path, "f"),
        lambda: os.truncate(path, 0),
        append(path, "g"),
        lambda: os.truncate(path, 0),
        append(path, "h\n"),
    )
    source = followed(path)
    assert items_of(source) == ["a", "b", "c", "d", "e", "h"]
    assert (source.tally.rows, source.tally.malformed) == (6, 0)


@pytest.mark.parametrize(
    ("form", "head", "row"),
    [("csv", "name,n\n", "{},1\n"), ("zeek", "#fields\tts\tname\n", "1\t{}\n")],
)
def test_each_file_has_its_header(
    path: Path, monkeypatch: pytest.MonkeyPatch, form: str, head: str, row: str
) -> None:
    path.write_text(head + row.format("a"))
    new = head + row.format("c")
    Changes(
        monkeypatch,
        append(path, row.format("b")),
        replace(path, new),
        append(path, row.format("d")[:-2]),
        append(path, row.format("d")[-2:]),
        lambda: path.write_text(head),
        append(path, row.format("e")),
    )
    source = followed(path, field="name")
    assert items_of(source) == ["a", "b", "c", "d", "e"]
    assert source.tally.formats == [f"{form}, field name"]
    assert source.tally.malformed == 0


def test_the_format_is_that_of_the_first_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = '{} - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5\n'
    path.write_text(row.format("a"))
    Changes(monkeypatch, replace(path, "broken\n" + row.format("b")))
    source = followed(path)
    assert items_of(source) == ["a", "b"]
    assert source.tally.formats == ["common, field host"]
    assert [tuple(place)[1] for place in source.tally.first_malformed] == [1]


def test_captures_are_followed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 101)

    def packet(number: int) -> bytes:
        ip = (
            struct.pack(">BBHIBBH", 0x45, 0, 20, 0, 64, 17, 0)
            + bytes([10, 0, 0, number])
            + bytes(4)
        )
        return struct.pack("<IIII", number, 0, 20, 20) + ip

    def more(data: bytes) -> Callable[[], object]:
        return lambda: path.write_bytes(path.read_bytes() + data)

    def rotate() -> None:
        path.rename(path.with_name("old"))
        path.write_bytes(head + packet(3))

    path.write_bytes(head + packet(1)[:-3])
    Changes(monkeypatch, more(packet(1)[-3:]), more(packet(2)), rotate, more(packet(4)))
    source = followed(path)
    batches = batches_of(source)
    assert [item for batch in batches for item in batch.item_list] == [
        f"10.0.0.{number}" for number in (1, 2, 3, 4)
    ]
    times = [batch.times for batch in batches if batch.times is not None]
    assert np.concatenate(times).tolist() == [n * 10**9 for n in (1, 2, 3, 4)]


def test_inputs_that_cannot_be_followed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Changes(monkeypatch)
    with pytest.raises(SourceError, match="log: expected an existing file, got none"):
        followed(path)
    path.write_text("a\n")
    with pytest.raises(ArgumentValueError, match="follow: expected one input, got 2"):
        open_source([path, path], follow=True)
    with pytest.raises(ArgumentValueError, match="follow: expected a file, got standard input"):
        open_source("-", follow=True)
    for form in ("parquet", "arrow"):
        with pytest.raises(ArgumentValueError, match=f"follow: expected False for format '{form}'"):
            followed(path, format=form, field="a")
    parquet.write_table(pa.table({"a": ["x"]}), path)
    with pytest.raises(ArgumentValueError, match="follow: expected False for format 'parquet'"):
        list(followed(path, field="a"))
    path.write_bytes(gzip.compress(b"a\n"))
    with pytest.raises(SourceError, match="log: expected a file that is not compressed to follow"):
        list(followed(path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SourceError, match="log: expected a plain file to follow, got another kind"):
        list(followed(path))


def test_nothing_is_left_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n")
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no list of open files here")
    before = len(list(descriptors.iterdir()))
    Changes(monkeypatch, replace(path, "b\n"), replace(path, "c\n"))
    assert items_of(followed(path)) == ["a", "b", "c"]
    batches = iter(followed(path))
    next(batches)
    del batches  # a reader that stops early
    assert len(list(descriptors.iterdir())) == before


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 40)),
        st.sampled_from([("rename", 0), ("create", 0), ("cut", 0), ("look", 0)]),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=300)
@given(acts=ACTS, block=st.sampled_from([3, 7, 1 << 19]))
def test_any_history_yields_exactly_the_visible_rows(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]], block: int
) -> None:
    """A log and its rotator, with a pause wherever rows could be lost without one."""
    folder = tmp_path_factory.mktemp("history")
    path = folder / "log"
    path.touch()
    rows: list[str] = []
    part = ""  # the written part of an unfinished row
    file = path.open("a")
    pending: list[Callable[[], None]] = []
    number = away = 0

    def write(size: int) -> None:
        nonlocal part, number
        for _ in range(0 if away else size):
            if len(part) < 3 + number % 5:
                part += str(number % 10)
                file.write(part[-1])
            else:
                file.write("\n")
                rows.append(part)
                part, number = "", number + 1
        file.flush()

    def finish() -> None:  # content in the newest file ends the one before it
        rows.append(part + "end")
        file.write("end\n")
        file.flush()

    def rename() -> None:
        nonlocal file, part, away
        path.rename(folder / f"old{number}.{len(rows)}.{time.monotonic_ns()}")
        if part:  # the last row of a file
            rows.append(part)
        part, away = "", 1
        file.close()

    def create() -> None:
        nonlocal file, away
        file, away = path.open("a"), 0

    def cut() -> None:
        nonlocal part
        os.truncate(path, 0)
        part = ""  # its end was never read

    for act, size in acts:
        if act == "write":
            pending.append(partial(write, size))
        elif act == "rename":
            pending.append(lambda: None if away else rename())
            pending.append(lambda: create() if away else None)
        elif act == "cut":
            pending.append(lambda: None)  # a pause in which everything written is read
            pending.append(lambda: None if away else cut())
            pending.append(lambda: None)
    pending += [lambda: create() if away else None, finish]
    with pytest.MonkeyPatch.context() as monkeypatch:
        Changes(monkeypatch, *pending)
        monkeypatch.setattr(tail, "READ_SIZE", block)
        assert items_of(followed(path, format="lines")) == rows
    file.close()


def test_a_file_that_gets_its_name_back_is_not_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("a\n")
    old = path.with_suffix(".1")

    def give_back() -> None:
        old.replace(path)
        with path.open("a") as file:
            file.write("b\n")

    Changes(monkeypatch, lambda: path.rename(old), path.touch, give_back)
    assert items_of(followed(path, format="lines")) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_that_takes_the_name_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("a\n")
    real_open = Path.open

    def open_no_pipe(self: Path, *arguments: object, **named: object) -> object:
        assert not self.is_fifo(), "opening a pipe waits for its writer"
        return real_open(self, *arguments, **named)

    def replace() -> None:
        path.unlink()
        os.mkfifo(path)

    def replace_again() -> None:
        path.unlink()
        path.write_text("b\n")

    monkeypatch.setattr(Path, "open", open_no_pipe)
    Changes(monkeypatch, replace, replace_again)
    assert items_of(followed(path, format="lines")) == ["a", "b"]
