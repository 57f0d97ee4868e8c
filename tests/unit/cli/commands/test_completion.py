"""Shell completion: the scripts, and the completions that they ask for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lazysketch.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_valid_for_the_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_LAZYSKETCH_COMPLETE={shell}_complete" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "lazysketch ",
            {
                *(
                    "top",
                    "distinct",
                    "quantiles",
                    "ranges",
                    "sums",
                    "estimate",
                    "pipeline",
                    "serve",
                    "state",
                    "query",
                    "explain",
                    "inspect",
                    "merge",
                    "plan",
                    "audit",
                ),
                *("demo", "ledger", "completion"),
            },
        ),
        ("lazysketch me", {"merge"}),
        ("lazysketch top --dom", {"--domain"}),
        ("lazysketch top --kind ", {"count-min", "count-sketch"}),
        ("lazysketch completion z", {"zsh"}),
    ],
)
def test_words_are_completed(words: str, expected: set[str]) -> None:
    *_, last = words.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "lazysketch"],
        env={
            **os.environ,
            "_LAZYSKETCH_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    completions = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert completions == expected, last


def test_a_file_is_left_to_the_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lazysketch"],
        env={
            **os.environ,
            "_LAZYSKETCH_COMPLETE": "bash_complete",
            "COMP_WORDS": "lazysketch inspect a",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "file,a\n"


@pytest.mark.parametrize(
    ("shell", "name", "left"),
    [
        ("bash", "data/bash-completion/completions/lazysketch", "open a new shell"),
        ("zsh", "data/zsh/site-functions/_lazysketch", "fpath+="),
        ("fish", "settings/fish/completions/lazysketch.fish", "open a new shell"),
    ],
)
def test_the_script_is_installed_on_request(
    shell: str,
    name: str,
    left: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    for arguments in ([shell, "--install"], ["--install"]):  # the second replaces the first
        assert main(["completion", *arguments]) == 0
        out, said = capsys.readouterr()
        assert out == ""
        assert f"{tmp_path / name}; " in said
        assert left in said
        assert f"_LAZYSKETCH_COMPLETE={shell}_complete" in (tmp_path / name).read_text()
    blocked = tmp_path / name
    blocked.unlink()
    blocked.mkdir()
    assert main(["completion", "--install"]) == 2
    assert "--install: expected to write" in capsys.readouterr().err


def test_another_shell_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/bin/other")
    assert main(["completion", "--install"]) == 2
    assert "SHELL: expected one of bash, zsh, fish, got 'other'" in capsys.readouterr().err
