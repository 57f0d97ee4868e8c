"""Option values from a file and the environment: precedence and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lazysketch.cli import main
from lazysketch.cli.configuration import key_of, options_of, variable
from lazysketch.cli.group import lazysketch

TOP = ["top", "rows.txt", "--domain", "items.txt"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("a\nb\n")
    Path("rows.txt").write_text("a\nb\na\n" * 100)
    return tmp_path


def width(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    assert main([*arguments, "--output", "json"]) == 0
    found: int = json.loads(capsys.readouterr().out)["width"]
    return found


def refused(capsys: pytest.CaptureFixture[str], text: str, *more: str) -> str:
    Path("c.toml").write_text(text)
    assert main([*(more or TOP), "--config", "c.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_precedence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert width(capsys, *TOP) == 16_384
    Path("c.toml").write_text("width = 2\n")
    settings = [*TOP, "--config", "c.toml"]
    assert width(capsys, *settings) == 2
    Path("c.toml").write_text("width = 2\n[top]\nwidth = 3\n[estimate]\nwidth = 4\n")
    assert width(capsys, *settings) == 3
    assert width(capsys, "estimate", "rows.txt", "--items", "items.txt", *settings[-2:]) == 4
    monkeypatch.setenv("LAZYSKETCH_WIDTH", "5")
    assert width(capsys, *settings) == 5
    assert width(capsys, *settings, "--width", "6") == 6
    assert width(capsys, "top", "--width", "7", *settings[1:]) == 7


@pytest.mark.parametrize("text", ['state = "kept"\n', '[top]\nstate = "kept"\n[state]\n'])
def test_a_name_of_a_verb_and_of_an_option_is_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path, text: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "keys"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "anchors"))
    Path("c.toml").write_text(text)
    width(capsys, *TOP, "--config", "c.toml")
    assert Path("kept").is_dir()


def test_a_file_named_by_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.toml").write_text('width = 2\nk = 1\ndomain = "items.txt"\nepsilon = 2\n')
    monkeypatch.setenv("LAZYSKETCH_CONFIG", "c.toml")
    assert main(["top", "rows.txt", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["width"], len(found["items"]), found["privacy"]["epsilon"]) == (2, 1, 2.0)


def test_no_file_is_read_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lazysketch.toml").write_text("width = 2\n")
    assert width(capsys, *TOP) == 16_384


def test_the_top_level_may_have_options_of_other_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.toml").write_text("events = 100\nseed = 3\n[demo]\nk = 1\n")
    assert width(capsys, *TOP, "--config", "c.toml") == 16_384


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epsilo = 1", "c.toml: expected the name of an option or a verb, got 'epsilo'; did you"),
        ("epsilo = 1", "did you mean epsilon?"),
        ("max_events_per_user = 1", "did you mean max-events-per-user?"),
        ("[topp]\nk = 1", "c.toml: expected the name of an option or a verb, got 'topp'"),
        ("[top]\nevents = 1", "c.toml: [top]: expected the name of an option of top, got 'events'"),
        ("[demo]\ndomain = 'x'", "c.toml: [demo]: expected the name of an option of demo, got"),
        ("config = 'c.toml'", "expected the name of an option or a verb, got 'config'"),
        ("top = 1", "c.toml: top: expected a table, got an integer"),
        ("epsilon = 'x'", "c.toml: epsilon: expected a number, got a string"),
        ("epsilon = true", "c.toml: epsilon: expected a number, got a boolean"),
        ("width = 1.5", "c.toml: width: expected an integer, got a number"),
        ("[top]\nk = 0", "c.toml: [top] k: 0 is not in the range"),
        ("k = [1]", "c.toml: k: expected an integer, got an array or a date"),
        ("kind = 'cm'", "c.toml: kind: 'cm' is not one of"),
        ("kind = 1", "c.toml: kind: expected a string, got an integer"),
        ("epsilon = nan", "epsilon: expected a finite number above 0, got nan"),
        ("epsilon", "c.toml: expected TOML, got an error: "),
        ("epsilon = 1\nepsilon = 2", "c.toml: expected TOML, got an error: "),
    ],
)
def test_invalid_files(capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    assert message in refused(capsys, text)


def test_a_flag_is_a_boolean(capsys: pytest.CaptureFixture[str]) -> None:
    assert "c.toml: strict: expected a boolean, got an integer" in refused(capsys, "strict = 1")
    assert "row 1" in refused(capsys, "strict = true\n[top]\nformat = 'common'")


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("binary.toml").write_bytes(b"\xff\xfe")
    Path("large.toml").write_bytes(b"#" * (1 << 20 | 1))
    for name, message in (
        ("none.toml", "--config: expected an existing file, got none.toml"),
        (".", "--config: expected a readable file, got ."),
        ("binary.toml", "binary.toml: expected TOML, got other data"),
        ("large.toml", "--config: expected at most 1 MiB, got a larger file: large.toml"),
    ):
        assert main([*TOP, "--config", name]) == 2
        assert message in capsys.readouterr().err


def test_a_misspelt_variable_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYSKETCH_EPSILN", "0.1")
    assert main(TOP) == 2
    assert "got LAZYSKETCH_EPSILN; did you mean LAZYSKETCH_EPSILON?" in capsys.readouterr().err


def test_a_wrong_variable_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYSKETCH_EPSILON", "x")
    assert main(TOP) == 2
    assert "The value comes from the variable LAZYSKETCH_EPSILON." in capsys.readouterr().err


def test_every_option_of_every_verb_has_a_key_and_a_variable() -> None:
    for name, verb in lazysketch.commands.items():
        if name in ("completion", "ledger"):  # the terms of a ledger are given where it is made
            continue
        keys = options_of(verb)
        assert "config" in keys
        assert len(keys) == len([p for p in verb.params if p.param_type_name == "option"])
        for key, option in keys.items():
            assert key_of(option) == key
            assert option.envvar == variable(key)
