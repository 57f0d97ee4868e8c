"""Patterns of paths that the shell has not expanded; the fraction of the input read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.sources import expand_paths, open_source


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.log", "a.log", "c.txt", "[x].log", "deep/down/d.log"):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.stem}\n")
    Path("e.log").mkdir()
    return tmp_path


def test_a_pattern_expands_to_its_files_sorted() -> None:
    assert expand_paths("*.log") == ("[x].log", "a.log", "b.log")
    assert expand_paths(["c.txt", "?.log"]) == ("c.txt", "a.log", "b.log")
    assert expand_paths("**/d.log") == ("deep/down/d.log",)
    items = [item for batch in open_source("[ab].log") for item in batch.item_list]
    assert items == ["a", "b"]


def test_the_name_of_a_file_is_not_a_pattern() -> None:
    assert expand_paths("[x].log") == ("[x].log",)
    assert expand_paths(Path("[x].log")) == (Path("[x].log"),)


def test_no_match_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"^\*.csv: expected a pattern that matches a file"):
        expand_paths(["a.log", "*.csv"])
    with pytest.raises(SourceError, match="expected an existing file, got none"):
        expand_paths(Path("*.csv"))
    with pytest.raises(ArgumentTypeError, match="paths: expected at least one input"):
        expand_paths([])


def test_the_part_read_grows_from_0_to_1() -> None:
    Path("a.log").write_text("0123456789abcde\n" * 100_000)
    source = open_source(["a.log", "b.log"])
    parts = [source.part_read]
    for _ in source:
        parts.append(source.part_read)
    assert parts[0] == 0
    assert parts == sorted(parts, key=float)  # type: ignore[arg-type]
    assert 0 < (parts[1] or 0) < 1
    assert source.part_read == 1


@pytest.mark.parametrize(
    ("given", "similar"),
    [("a.lgo", "a.log"), ("A.log", "a.log"), ("b/part.lg", "b/part.log"), ("a.log.gz", "a.log")],
)
def test_a_name_that_is_missing_is_answered_by_a_similar_one(given: str, similar: str) -> None:
    folder = Path("b")
    folder.mkdir()
    (folder / "part.log").write_text("a\n")
    (folder / "part.lo").mkdir()  # no file
    with pytest.raises(SourceError, match=f"got none; {similar} is similar$"):
        open_source(given)
    with pytest.raises(SourceError, match="got none$"):
        open_source("b/other.csv")
    (folder / "other\n.csv").write_text("a\n")  # its name would be a line of its own
    with pytest.raises(SourceError, match="got none$"):
        open_source("b/other.csv")


def test_the_part_read_of_a_pipe_is_unknown() -> None:
    os.mkfifo("pipe")
    assert open_source(["a.log", "pipe"]).part_read is None
    assert open_source("-").part_read is None
