"""Wrong use: exit status 2, one clear line on standard error, nothing on standard output."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from lazysketch import LazyCountMin, Release
from lazysketch.cli import main

LOG = 'h{} - - [t] "GET /{} HTTP/1.0" 200 5\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("a\nb\n")
    Path("rows.txt").write_text("a\nb\na\n")
    Path("access.log").write_text(LOG * 3)
    Path("empty.txt").write_text("")
    Path("blank.txt").write_text("\n\n")
    Path("folder").mkdir()
    Path("cut.gz").write_bytes(gzip.compress(b"a\nb\n" * 999)[:-9])
    Path("rubbish.gz").write_bytes(gzip.compress(b"a\nb\n" * 999)[:20] + bytes(99))
    Path("link.txt").symlink_to("rows.txt")
    with LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-8) as sketch:
        sketch.release().save("r.lzs")
    return tmp_path


def failure(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """Run a command that must fail, and return its only line of output."""
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("lazysketch: ")
    assert captured.err.count("\n") == 1
    return captured.err


TOP = "top rows.txt --domain items.txt --format lines"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("top none.log --domain items.txt", "none.log: expected an existing file, got none"),
        ("top rows.txt none.log --domain items.txt", "none.log: expected an existing file"),
        ("top row.txt --domain items.txt", "got none; rows.txt is similar"),
        ("top rows.txt --domain item.txt", "got none; items.txt is similar"),
        ("query R.lzs a", "R.lzs: expected an existing file, got none; r.lzs is similar"),
        ("top rows.txt --state rows.txt", "--state: expected a directory, got a file"),
        (f"{TOP} --by", "(see lazysketch top --help)"),
        ("top folder --domain items.txt", "folder: expected a file, got a directory"),
        ("top empty.txt --domain items.txt", "empty.txt: expected at least one row, got an empty"),
        ("top empty.txt --domain items.txt --field host", "empty.txt: expected at least one row"),
        ("top rubbish.gz --domain items.txt", "rubbish.gz: expected gzip data, got damaged data"),
        (
            "top access.log --domain items.txt --field colour",
            "--field: expected one of host, path,",
        ),
        ("top access.log --domain items.txt --by colour", "--by: expected one of host, path,"),
        ("top access.log --domain items.txt --field agent", "for format 'common', got 'agent'"),
        (
            "top rows.txt --domain items.txt --field host",
            "expected rows with a field 'host'",
        ),
        (f"{TOP} --field host", "field: expected none, since a row of format 'lines' is one item"),
        (f"{TOP} --encoding utf-16", "encoding: expected one whose rows end with the byte 0x0A"),
        (f"{TOP} --encoding nope", "encoding: expected the name of a text encoding, got 'nope'"),
        ("top rows.txt --domain none.txt", "none.txt: expected an existing file"),
        ("top rows.txt --domain folder", "folder: expected a file, got a directory"),
        ("top rows.txt --domain empty.txt", "empty.txt: expected at least one row"),
        ("top rows.txt --domain blank.txt", "--domain: expected at least one item, got an empty"),
        ("top rows.txt --domain rows.txt", "--domain: expected a public list, got one of the inp"),
        ("top rows.txt --domain ./rows.txt", "--domain: expected a public list, got one of the i"),
        ("top rows.txt --domain link.txt", "--domain: expected a public list, got one of the inp"),
        ("top - --domain -", "--domain: expected a public list, got one of the inputs"),
        ("top - - --domain items.txt", "standard input: expected it once among the inputs"),
        ("estimate rows.txt --items rows.txt", "--items: expected a public list, got one of the"),
        ("estimate rows.txt --items cut.gz", "cut.gz: expected a whole gzip file"),
        (
            "estimate rows.txt",
            "Missing option '--items'. Public list of the items to count, one per",
        ),
        (
            "rows.txt",
            "expected a verb (top, estimate, distinct, quantiles, ranges, sums, pipeline, ",
        ),
        ("top --domain items.txt", "Missing argument 'FILE...'."),
        ("estimate rows.txt", "Missing option '--items'."),
        (f"{TOP} -k 0", "Invalid value for '-k'"),
        (f"{TOP} -k x", "Invalid value for '-k'"),
        (f"{TOP} --output xml", "Invalid value for '--output'"),
        (f"{TOP} --format xls", "Invalid value for '--format'"),
        (f"{TOP} --nope", "No such option '--nope'"),
        (f"{TOP} --hash-seed -1", "--hash-seed: expected"),
        (f"{TOP} --max-events-per-user 0", "lazysketch: --max-events-per-user: expected"),
        (f"{TOP} --save-release rows.txt", "--save-release: expected a new file or a release to"),
        (f"{TOP} --save-release link.txt", "--save-release: expected a new file or a release to"),
        (f"{TOP} --save-release none/r", "--save-release: expected an existing directory, got n"),
        (f"{TOP} --save-release folder", "--save-release: expected a regular file, got folder"),
        (
            f"{TOP} --save-release /dev/null",
            "--save-release: expected a regular file, got",
        ),
        (f"{TOP} --save-release -", "--save-release: expected a file, got standard output"),
        ("query", "Missing argument 'RELEASE'."),
        ("query none.lzs a", "none.lzs: expected an existing file, got none"),
        ("query folder a", "folder: expected a release, got a directory"),
        ("query rows.txt a", "rows.txt: expected a lazysketch release, got other data"),
        ("query empty.txt a", "empty.txt: expected a lazysketch release, got an empty"),
        ("query r.lzs", "expected at least one ITEM or --items ITEMS.txt, got none"),
        ("query r.lzs --items blank.txt", "--items: expected at least one item, got an empty"),
        ("query r.lzs --items none.txt", "none.txt: expected an existing file, got none"),
        ("query r.lzs a --items-type int", "ITEM: expected whole numbers, got 'a' at place 1"),
        (
            "query r.lzs a\udcff",
            "UUID, got text with a lone",
        ),
        ("inspect rows.txt", "rows.txt: expected a lazysketch release, got other data"),
        ("merge r.lzs -o m.lzs", "expected at least two releases, got one"),
        ("merge r.lzs r.lzs", "Missing option '-o'."),
        ("merge r.lzs r.lzs -o m.lzs", "r.lzs, r.lzs: expected releases of different sketches"),
        ("merge r.lzs rows.txt -o m.lzs", "rows.txt: expected a lazysketch release"),
        ("merge r.lzs r.lzs -o rows.txt", "-o: expected a new file or a release to replace"),
        ("completion tcsh", "is not one of 'bash', 'zsh', 'fish'"),
        ("nope", "No such command 'nope'"),
        ("demo --events 0", "Invalid value for '--events'"),
        ("demo --seed -1", "Invalid value for '--seed'"),
        ("demo extra", "Got unexpected extra argument (extra)"),
        (f"{TOP} --epsilon 0", "epsilon: expected"),
        (f"{TOP} --epsilon -1", "epsilon: expected"),
        (f"{TOP} --epsilon nan", "epsilon: expected"),
        (f"{TOP} --epsilon inf", "epsilon: expected"),
        (f"{TOP} --epsilon x", "Invalid value for '--epsilon'"),
        (f"{TOP} --delta 0", "delta: expected"),
        (f"{TOP} --delta 1", "delta: expected"),
        (f"{TOP} --depth 0", "depth: expected"),
        (f"{TOP} --width -4", "width: expected"),
        (f"{TOP} --width {1 << 40}", "width: expected"),
        (f"{TOP} --width {1 << 70}", "width: expected"),
        (f"{TOP} --horizon 0", "horizon: expected"),
        (f"{TOP} --relation none", "Invalid value for '--relation'"),
        (f"{TOP} --kind none", "Invalid value for '--kind'"),
        (f"{TOP} --mechanism none", "Invalid value for '--mechanism'"),
        ("demo --epsilon 0", "epsilon: expected"),
        ("demo --width 0", "width: expected"),
        ("demo --horizon 100", "--horizon: expected an upper bound on the steps of the stream"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], command: str, message: str) -> None:
    assert message in failure(capsys, command)


@pytest.mark.parametrize("option", ["--save-release", "--save-names", "--plot"])
def test_a_folder_that_cannot_be_written_is_found_before_rows_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """A run spends its privacy even if its result is lost."""
    # Root may write anywhere, whatever the mode of a folder.
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != Path("folder") and access(path, mode)
    )
    ended = "html" if option == "--plot" else "lzs"
    found = failure(capsys, f"top rows.txt --format lines {option} folder/r.{ended}")
    assert found == f"lazysketch: {option}: expected a directory to write, got folder\n"


@pytest.mark.parametrize(
    ("command", "steps", "message"),
    [
        ("top rows.txt --horizon 2", "2 steps", "--horizon: expected an upper bound on the steps"),
        ("top rows.txt --horizon 1", "1 step of", "--horizon: expected an upper bound on the st"),
        (
            "top cut.gz --live",
            " steps of cut.gz",
            "cut.gz: expected a whole gzip file, got one that is",
        ),
    ],
)
def test_a_run_that_fails_late_shows_what_was_published(
    capsys: pytest.CaptureFixture[str], command: str, steps: str, message: str
) -> None:
    asked = [*command.split(), "--domain", "items.txt", "--save-release", "kept.lzs"]
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert steps in captured.out
    assert str(Release.load("kept.lzs").privacy) in captured.out
    assert captured.err.startswith("lazysketch: release saved to kept.lzs\n")
    assert captured.err.splitlines()[-1].startswith(f"lazysketch: {message}")


@pytest.mark.parametrize("command", ["top cut.gz", "top rows.txt rubbish.gz"])
def test_a_run_that_fails_before_anything_is_published_shows_nothing(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Files are published at their end, which a damaged one does not reach."""
    assert "expected" in failure(capsys, f"{command} --domain items.txt --save-release kept.lzs")
    assert not Path("kept.lzs").exists()


def test_a_strict_reading_that_fails_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.txt").write_text("a\n\nb\n")
    assert "in strict mode" in failure(capsys, f"{TOP} --strict")


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_a_name_with_controls_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no\\x1b[31m" in failure(capsys, "top no\x1b[31m --domain items.txt")


def test_a_name_that_is_not_utf8_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no\\udcff" in failure(capsys, "top no\udcff --domain items.txt")


def test_a_closed_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected" in failure(capsys, "top - --domain items.txt")


def test_an_empty_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b""))))
    assert "standard input: expected at least one row" in failure(
        capsys, "top - --domain items.txt"
    )


def test_without_its_extra_the_command_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lazysketch.cli.group", raising=False)
    monkeypatch.setitem(sys.modules, "click", None)
    assert failure(capsys, "demo").endswith("needs click: pip install 'lazysketch[cli]'\n")
