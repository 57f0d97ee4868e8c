"""The help is golden, every verb and option is documented, every documented command runs."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lazysketch.cli import main
from lazysketch.cli.group import lazysketch

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "cli"
PAGE = (HERE.parent / "docs" / "cli.md").read_text(encoding="utf-8")
VERBS = sorted(lazysketch.commands)
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
LOG = '203.0.113.{host} - - [17/May/2015:10:05:03 +0000] "GET /page HTTP/1.1" 200 512 "-" "agent"\n'


def options_of(verb: str) -> Iterator[click.Option]:
    for parameter in lazysketch.commands[verb].params:
        if isinstance(parameter, click.Option):
            yield parameter


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_the_help_is_golden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([verb, "--help"] if verb else ["--help"]) == 0
    golden = GOLDEN / f"{verb or 'lazysketch'}.txt"
    # If the change is meant: COLUMNS=80 lazysketch VERB --help > tests/golden/cli/VERB.txt
    assert capsys.readouterr().out == golden.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(["lazysketch", *VERBS])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_has_a_heading_and_an_example(verb: str) -> None:
    assert re.search(rf"^## {verb}$", PAGE, re.MULTILINE)
    assert any(f"lazysketch {verb}" in command for command in COMMANDS)
    for option in options_of(verb):
        name = option.opts[-1]
        assert re.search(rf"^### .*`{name} ", PAGE, re.MULTILINE), name
        section = re.search(rf"^### .*`{name} .*?(?=^##)|\Z", PAGE + "##", re.MULTILINE | re.DOTALL)
        assert section
        assert re.search(rf"^\$ .* {name}\b", section[0], re.MULTILINE), name


def test_no_option_is_documented_that_is_not_there() -> None:
    known = {name for verb in VERBS for option in options_of(verb) for name in option.opts}
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.sub(r"pip .*", "", PAGE)))
    assert documented - known - {"--help", "--version", "-m"} == set()


def test_each_option_says_what_it_is_for_and_its_default() -> None:
    for verb in VERBS:
        for option in options_of(verb):
            assert option.help
            said = option.show_default or option.required or "[default: " in option.help
            assert said, f"{verb} {option.name}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    (folder / "access.log").write_text("".join(LOG.format(host=i % 9) for i in range(500)))
    (folder / "hosts.txt").write_text("".join(f"203.0.113.{i}\n" for i in range(9)))
    (folder / "events.txt").write_text("login\nlogout\nlogin\n" * 300)
    (folder / "items.txt").write_text("login\nlogout\nbuy\n")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_documented_commands_run(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(command)
    if words[0] == "lazysketch" and not set(words) & {"|", ">"}:
        assert main(words[1:]) == 0
        assert capfd.readouterr().out
        return
    python = shlex.quote(sys.executable)
    line = command.replace("python -m lazysketch", "lazysketch")
    shell = f'lazysketch() {{ {python} -m lazysketch "$@"; }}\n{line}'
    done = subprocess.run(
        ["/bin/sh", "-c", shell], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or (folder / words[-1]).read_text()
    assert "Traceback" not in done.stderr


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lazysketch {importlib.metadata.version('lazysketch')}\n"
