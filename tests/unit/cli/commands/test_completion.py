"""Shell completion: the scripts, and the completions that they ask for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

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
                    "estimate",
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
