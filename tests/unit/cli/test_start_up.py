"""A command loads what it needs: each module costs a start of the command time."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, get_args

import pytest

from lazysketch import sources
from lazysketch.cli import input_options
from lazysketch.cli.group import lazysketch
from lazysketch.cli.settings import KINDS
from lazysketch.cli.verbs import SHORT_HELP
from lazysketch.sources.formats import numbers
from lazysketch.specification.sizing import SketchKind

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = ("matplotlib", "numpy", "pyarrow", "rich", "starlette")
NOT_OF_A_PLAIN_RUN = (
    *("audit", "ledger", "planning", "service.host", "store", "windows.windows"),
    *("cli.run.state", "cli.sums_options", "heavy_hitters.hierarchical"),
    *(f"releases.{kind}_release" for kind in ("distinct", "distribution", "ranges", "sums")),
    *("service.page_file", "sources.formats.pcap", "sources.formats.zeek"),
)
# Modules of others that a plain run has no use for.
UNUSED = {
    *("asyncio", "bz2", "concurrent.futures", "difflib", "email", "html", "http", "lzma"),
    *("numpy.polynomial", "pyarrow", "rich", "shlex", "ssl", "statistics", "tomllib"),
}


def loaded(program: str, *arguments: str) -> set[str]:
    """Return the modules that a process has loaded when a program ends."""
    told = "import json, sys; sys.stderr.write('\\n' + json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{told}", *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def run(*arguments: str) -> set[str]:
    return loaded("import sys; from lazysketch.cli import main; main(sys.argv[1:])", *arguments)


def test_the_import_loads_no_package() -> None:
    modules = loaded("import lazysketch")
    assert "lazysketch" in modules
    assert not modules & set(HEAVY)
    assert len([name for name in modules if name.startswith("lazysketch")]) < 5


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_the_help_loads_no_verb(arguments: list[str]) -> None:
    modules = run(*arguments)
    assert "lazysketch.cli.group" in modules
    assert not modules & set(HEAVY)
    assert not any(name.startswith("lazysketch.cli.commands.") for name in modules)


@pytest.mark.parametrize("verb", ["audit", "demo", "estimate", "plan", "serve", "top"])
def test_the_help_of_a_verb_loads_no_run(verb: str) -> None:
    modules = run(verb, "--help")
    assert f"lazysketch.cli.commands.{verb}" in modules
    assert not modules & set(HEAVY)
    assert not modules & {"lazysketch._native", "lazysketch.sources", "lazysketch.heavy_hitters"}


def test_the_choices_are_those_of_the_sources() -> None:
    assert tuple(sources.FORMATS) == input_options.FORMATS
    assert input_options.ITEM_TYPES == sources.ITEM_TYPES
    assert tuple(sources.TIME_UNITS) == input_options.TIME_UNITS
    assert input_options.NUMBERS == numbers.NUMBERS


def test_the_kinds_are_those_of_a_table() -> None:
    assert get_args(SketchKind) == KINDS


@pytest.mark.parametrize("verb", sorted(SHORT_HELP))
def test_each_verb_is_the_one_of_its_line(verb: str) -> None:
    command = lazysketch.commands[verb]
    assert command.name == verb
    assert command.short_help == SHORT_HELP[verb]


def test_a_plain_run_loads_what_it_needs(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\na\n" * 50)
    modules = run("top", str(lines), "--output", "csv")
    assert "lazysketch.heavy_hitters.heavy_hitters" in modules
    assert not modules & UNUSED
    assert not modules & {f"lazysketch.{name}" for name in NOT_OF_A_PLAIN_RUN}


def test_a_run_that_shows_no_rows_loads_no_rich(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\na\n" * 50)
    assert "rich" not in run("top", str(lines))


@pytest.mark.skipif(sys.platform != "linux", reason="the threads of a process are listed there")
@pytest.mark.parametrize("chosen", [None, "2"])
def test_a_run_starts_no_pool_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if chosen is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", chosen)
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\na\n" * 50)
    program = (
        "import ctypes, os, sys\nfrom lazysketch.cli import process\n"
        "sys.argv[1:] = ['top', sys.argv[1], '--output', 'csv']\nprocess()\n"
        "seen = ctypes.CDLL(None).getenv\nseen.restype = ctypes.c_char_p\n"
        "told = [os.environ.get('OPENBLAS_NUM_THREADS'), seen(b'OPENBLAS_NUM_THREADS').decode()]\n"
        "sys.stderr.write(f'\\n{told}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(lines)], capture_output=True, check=True, text=True
    )
    # Commands that a run starts get os.environ, which has what the user chose and nothing else.
    assert done.stderr.splitlines()[-1] == str([chosen, chosen or "1"])
