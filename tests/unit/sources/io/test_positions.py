"""Positions: each row of a file is read once, and a file that changed is refused."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import open_source
from lazysketch.sources.io.positions import FilePosition, Positions

SECRET = bytes(range(32))


class Reader:
    """Reads files like successive processes that keep their positions."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {"of the caller": "something else"}
        self.messages: list[str] = []

    def read(
        self,
        *paths: Path,
        reread: bool = False,
        most: int | None = None,
        secret: bytes = SECRET,
        **options: str,
    ) -> list[str]:
        """Return the items that are new; stop after some rows, as a killed process does."""
        notes = {name: note for name, note in self.notes.items() if name != "of the caller"}
        positions = Positions(secret, notes, reread=reread)
        source = open_source(paths, positions=positions, **options)
        rows: list[str] = []
        for batch in source:
            kept = batch if most is None else batch.first(min(batch.rows, most - len(rows)))
            rows += [str(item) for item in kept.item_list] + [""] * len(kept.empty_rows)
            place = source.place
            assert place is not None
            after = place.after(kept.rows)
            self.notes[place.source] = after.to_text()
            if most is not None and len(rows) >= most:
                break
        self.messages = positions.messages
        return rows


@pytest.fixture
def reader() -> Reader:
    return Reader()


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_was_added_is_new(tmp_path: Path, reader: Reader) -> None:
    log = tmp_path / "log"
    log.write_text("a\nb\n\nc\n")
    assert sorted(reader.read(log)) == ["", "a", "b", "c"]
    assert reader.read(log) == []
    add(log, "d\ne")
    assert reader.read(log) == ["d", "e"]
    add(log, "x\nf\n")  # completes a row that was counted as it stood
    assert reader.read(log) == ["f"]
    assert reader.read(log, log) == []


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path, reader: Reader) -> None:
    log = tmp_path / "log"
    log.write_text("a\nb\n")
    assert reader.read(log, log) == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "got"),
    [("a\n", "a shorter one"), ("", "a shorter one"), ("a\nB\nc\nd\n", "other content before")],
    ids=["truncated", "empty", "rewritten"],
)
def test_a_file_that_changed_is_refused(
    tmp_path: Path, reader: Reader, content: str, got: str
) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    other.write_text("o\n")
    log.write_text("a\nb\nc\n")
    reader.read(log)
    with log.open("r+") as file:  # the same inode
        file.truncate()
        file.write(content)
    with pytest.raises(SourceError, match=got):
        reader.read(other, log)
    assert reader.read(log, reread=True) == content.split()
    if content:  # without a row there is no new position
        assert reader.read(log) == []


def test_another_secret_confirms_nothing(tmp_path: Path, reader: Reader) -> None:
    log = tmp_path / "log"
    log.write_text("a\n")
    reader.read(log)
    (text,) = [note for name, note in reader.notes.items() if name.startswith("file ")]
    elsewhere = Reader()
    elsewhere.read(log, secret=bytes(32))
    (same_file,) = [n for name, n in elsewhere.notes.items() if name.startswith("file ")]
    assert FilePosition.from_text(text).digest != FilePosition.from_text(same_file).digest


def test_rotation(tmp_path: Path, reader: Reader) -> None:
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.write_text("a\n")
    assert reader.read(log) == ["a"]
    add(log, "b\n")
    log.rename(old)
    log.write_text("c\n")
    assert reader.read(log) == ["c"]
    assert "log.1 was counted before, and has grown since" in reader.messages[0]
    assert reader.read(old, log) == ["b"]
    assert reader.messages == []


def test_a_followed_file_that_is_rotated_and_truncated(tmp_path: Path, reader: Reader) -> None:
    log = tmp_path / "log"
    log.write_text("a\nb\n")
    assert reader.read(log, most=1) == ["a"]

    def rotate() -> None:
        log.rename(tmp_path / "log.1")
        log.write_text("a longer row\n")

    def truncate() -> None:
        with log.open("w") as file:  # the same inode
            file.write("d\n")

    changes: list[Callable[[], None]] = [rotate, truncate, lambda: add(log, "e\n")]
    notes = {name: note for name, note in reader.notes.items() if name.startswith("file ")}
    source = open_source(log, follow=True, format="lines", positions=Positions(SECRET, notes))
    rows: list[str] = []
    for batch in source:
        rows += [str(item) for item in batch.item_list]
        assert source.place is not None
        reader.notes[source.place.source] = source.place.after(batch.rows).to_text()
        if not changes:
            break
        changes.pop(0)()
    assert rows == ["b", "a longer row", "d", "e"]
    assert len(reader.notes) == 1 + 3
    add(log, "f\n")
    assert reader.read(tmp_path / "log.1", log) == ["f"]


def test_an_inode_is_used_again(tmp_path: Path, reader: Reader) -> None:
    """The file that had it is known as the predecessor of the one that had the name since."""
    log, spare = tmp_path / "log", tmp_path / "log.1"
    log.write_text("a\n")
    reader.read(log)
    log.rename(spare)
    log.write_text("b\n")
    reader.read(log)
    log.unlink()
    spare.rename(log)
    log.write_text("c\nd\n")
    assert reader.read(log) == ["c", "d"]


def written(path: Path, rows: Iterable[int], kind: str) -> dict[str, str]:
    """Write rows in a format; return the options that read them."""
    rows = list(rows)
    if kind == "csv":
        text = "item,n\n" + "".join(f'"item {n}\n",{n}\n' for n in rows)
        path.write_text(text)
        return {"format": "csv", "field": "item"}
    if kind == "jsonl":
        path.write_text("".join(f'{{"item": "item {n}"}}\n' for n in rows))
        return {"format": "jsonl", "field": "item"}
    if kind == "gzip":
        path.write_bytes(gzip.compress("".join(f"item {n}\n" for n in rows).encode(), mtime=0))
        return {"format": "lines"}
    if kind == "latin-1":
        path.write_bytes("".join(f"item {n} \xe4\n" for n in rows).encode("latin-1"))
        return {"format": "lines", "encoding": "latin-1"}
    if kind == "parquet":
        table = pa.table({"item": [f"item {n}" for n in rows]})
        pq.write_table(table, path, row_group_size=700)
        return {"format": "parquet", "field": "item"}
    table = pa.table({"item": [f"item {n}" for n in rows]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)
    return {"format": "arrow", "field": "item"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "gzip", "latin-1", "parquet", "arrow"])
def test_every_format_goes_on_after_any_row(tmp_path: Path, reader: Reader, kind: str) -> None:
    path, chance = tmp_path / "rows", Random(kind)
    options = written(path, range(5_000), kind)
    whole = Reader().read(path, **options)
    found: list[str] = []
    while len(found) < len(whole):
        found += reader.read(path, most=chance.randrange(1, 3_000), **options)
    assert found == whole
    assert len(whole) == 5_000
    assert reader.read(path, **options) == []
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        byte = file.read(1)
        file.seek(size // 2)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(SourceError, match="other content before"):
        reader.read(path, **options)


def test_another_format_is_refused(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "rows"
    path.write_text("item,n\na,1\n")
    assert reader.read(path, format="csv", field="item") == ["a"]
    with pytest.raises(SourceError, match="expected format csv"):
        reader.read(path, format="lines")


def test_a_copy_is_a_new_file(tmp_path: Path, reader: Reader) -> None:
    path, copy = tmp_path / "rows", tmp_path / "copy"
    path.write_text("a\n")
    reader.read(path)
    shutil.copy(path, copy)
    assert reader.read(copy) == ["a"]
    os.link(path, tmp_path / "link")
    assert reader.read(tmp_path / "link") == []


def replaced(path: Path, text: str) -> None:
    """Write a new file and give it the name, as rsync and editors do."""
    new = path.with_name("new")
    new.write_text(text)
    assert new.stat().st_ino != path.stat().st_ino
    new.replace(path)


def test_a_copy_in_the_place_of_its_file_goes_on(tmp_path: Path, reader: Reader) -> None:
    log, copy = tmp_path / "log", tmp_path / "folder" / "copy"
    log.write_text("a\nb\n")
    reader.read(log)
    for text in ("a\nb\nc\n", "a\nb\nc\nd\n"):
        replaced(log, text)
        assert reader.read(log) == [text[-2]]
        assert "begins with the" in reader.messages[0]
        assert "which is gone; goes on after them (--reread counts all)" in reader.messages[0]
    assert reader.read(log) == []
    assert reader.messages == []
    assert len(reader.notes) == 1 + 1
    copy.parent.mkdir()
    shutil.move(shutil.copy(log, tmp_path / "other"), copy)
    assert reader.read(copy) == ["a", "b", "c", "d"]  # its file is there
    other, again = tmp_path / "other", tmp_path / "again"
    other.write_text("a\nb\nX\nd\n")  # other content before the position
    again.write_text("a\nb\nc\nd\ne\n")
    log.unlink()
    copy.unlink()
    assert reader.read(other) == ["a", "b", "X", "d"]
    assert reader.read(again, reread=True) == ["a", "b", "c", "d", "e"]


def test_a_position_goes_to_one_copy(tmp_path: Path, reader: Reader) -> None:
    """Of two copies one goes on; the rows of the other are new, as of any second file."""
    log, first, second = (tmp_path / name for name in ("log", "first", "second"))
    log.write_text("a\nb\n")
    reader.read(log)
    shutil.copy(log, first)
    shutil.copy(log, second)
    log.write_text("c\n")  # copied and truncated, as some rotations do: the inode is free
    add(first, "z\n")
    assert reader.read(first, second, log) == ["z", "a", "b", "c"]
    assert reader.read(first, second, log) == []


def test_copies_that_exchange_inodes_go_on(tmp_path: Path, reader: Reader) -> None:
    """A replaced file frees its inode for the next one that is replaced."""
    one, two, spare = (tmp_path / name for name in ("one", "two", "spare"))
    one.write_text("a\nb\n")
    two.write_text("c\nd\n")
    reader.read(one, two)
    one.rename(spare)
    two.rename(one)
    spare.rename(two)
    one.write_text("a\nb\nx\n")
    two.write_text("c\nd\ny\n")
    assert sorted(reader.read(one, two)) == ["x", "y"]
    assert reader.read(one, two) == []


def test_a_position_of_another_version_is_refused() -> None:
    for note in ("", "{}", "[1]", '["a", 1, 2, "lines", "x", 4, ""]'):
        with pytest.raises(SourceError, match="position: expected one of this version"):
            Positions(SECRET, {"file 1": note})
    with pytest.raises(SourceError, match="position: expected one of this version"):
        Positions(SECRET, {"file x": '["a", 1, 2, "lines", 3, 4, ""]'})
