"""Wrong use: exit status 2, one clear line on standard error, nothing on standard output."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

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
    return tmp_path


def fails(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """Run a command that must fail, and return its one line."""
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
        ("top folder --domain items.txt", "folder: expected a file, got a directory"),
        ("top empty.txt --domain items.txt", "empty.txt: expected at least one row, got an empty"),
        ("top empty.txt --domain items.txt --field host", "empty.txt: expected at least one row"),
        (
            "top cut.gz --domain items.txt",
            "cut.gz: expected a whole gzip file, got one that is cut",
        ),
        ("top rubbish.gz --domain items.txt", "rubbish.gz: expected gzip data, got damaged data"),
        ("top access.log --domain items.txt --field user", "field: expected one of agent, host,"),
        ("top access.log --domain items.txt --field agent", "for format 'common', got 'agent'"),
        ("top rows.txt --domain items.txt --field host", "expected an access log for field 'host'"),
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
        ("top rows.txt", "Missing option '--domain'. (see lazysketch top --help)"),
        ("top --domain items.txt", "Missing argument 'FILE...'."),
        ("estimate rows.txt", "Missing option '--items'."),
        (f"{TOP} -k 0", "Invalid value for '-k'"),
        (f"{TOP} -k x", "Invalid value for '-k'"),
        (f"{TOP} --output xml", "Invalid value for '--output'"),
        (f"{TOP} --format csv", "Invalid value for '--format'"),
        (f"{TOP} --nope", "No such option '--nope'"),
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
        (f"{TOP} --horizon 2", "horizon"),
        (f"{TOP} --relation none", "Invalid value for '--relation'"),
        (f"{TOP} --kind none", "Invalid value for '--kind'"),
        (f"{TOP} --mechanism none", "Invalid value for '--mechanism'"),
        ("demo --epsilon 0", "epsilon: expected"),
        ("demo --width 0", "width: expected"),
        ("demo --horizon 100", "horizon"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], command: str, message: str) -> None:
    assert message in fails(capsys, command)


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_a_name_with_controls_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no\\x1b[31m" in fails(capsys, "top no\x1b[31m --domain items.txt")


def test_a_name_that_is_not_utf8_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no\\udcff" in fails(capsys, "top no\udcff --domain items.txt")


def test_a_closed_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected" in fails(capsys, "top - --domain items.txt")


def test_an_empty_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b""))))
    assert "standard input: expected at least one row" in fails(capsys, "top - --domain items.txt")


def test_without_its_extra_the_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lazysketch.cli.group", raising=False)
    monkeypatch.setitem(sys.modules, "click", None)
    assert fails(capsys, "demo").endswith("needs click: pip install 'lazysketch[cli]'\n")
