"""The screen of a run in a pseudo-terminal: sizes, keys, the end, what is left afterwards."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pyte = pytest.importorskip("pyte")

from tools.pseudo_terminal import PseudoTerminal  # noqa: E402 -- it needs pyte

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
COMMAND = [sys.executable, "-m", "lazysketch"]
OPTIONS = ["--share", "5%", "--epsilon", "8", "--width", "64", "--names-every", "2000"]
NAMES = [f"/page/{number}" for number in range(12)]


def rows() -> Iterator[str]:
    for number in itertools.count():
        yield NAMES[(number * number) % 7] + "\n"


@contextlib.contextmanager
def run(*options: str, columns: int = 80, lines: int = 24) -> Iterator[PseudoTerminal]:
    """Run ``top`` on a pipe that has a thousand rows ten times a second until the run ends."""
    read, write = os.pipe()
    terminal = PseudoTerminal(
        [*COMMAND, "top", "-", "--format", "lines", *OPTIONS, *options],
        columns=columns,
        lines=lines,
        stdin=read,
    )
    os.close(read)

    def feed() -> None:
        made = rows()
        with contextlib.suppress(OSError), os.fdopen(write, "wb", buffering=0) as pipe:
            while terminal.process.poll() is None:
                pipe.write("".join(itertools.islice(made, 1000)).encode())
                time.sleep(0.1)

    feeding = threading.Thread(target=feed, daemon=True)
    feeding.start()
    try:
        yield terminal
    finally:
        terminal.process.kill()
        feeding.join(5)


def has_table(shown: list[str]) -> bool:
    return any("/page/" in line for line in shown)


@pytest.mark.parametrize(("columns", "lines"), [(60, 15), (80, 24), (140, 40)])
def test_the_screen_fits_and_its_keys_work(columns: int, lines: int) -> None:
    with run(columns=columns, lines=lines) as terminal:
        shown = terminal.wait_for(has_table)
        assert shown[0][1:].startswith(" reading standard input: ")
        assert "q ends" in shown[-1] or "q ends" in "\n".join(shown)
        assert any("▒" in line or "█" in line for line in shown)
        if columns >= 110:
            terminal.wait_for(lambda now: any(set("▁▂▃▅▆▇") & set(line) for line in now))
        terminal.press("?")
        terminal.wait_for(lambda now: any("hold the table" in line for line in now))
        terminal.press("?")
        terminal.wait_for(has_table)
        terminal.press("/2")
        terminal.wait_for(lambda now: any("filter: 2" in line for line in now))
        terminal.press("\r")
        terminal.wait_for(
            lambda now: has_table(now) and all("/page/2" in x for x in now if "/page/" in x)
        )
        terminal.wait_for(lambda now: any("/ filter: 2" in line for line in now))
        terminal.press("q")
        assert terminal.end() == 130  # as after Ctrl-C
    final = "\n".join(terminal.shown())
    assert "interrupted after" in final
    assert "q ends" not in final
    assert not any(len(line) > columns for line in terminal.shown())


def test_the_first_line_moves_four_times_a_second() -> None:
    with run("--every", "5s") as terminal:
        terminal.wait_for(lambda now: now[0][2:].startswith("reading"))
        before, begin = terminal.frames, time.monotonic()
        moved: dict[str, float] = {}  # when a first line was there
        while len(moved) < 10 or terminal.frames - before < 10:
            assert time.monotonic() < begin + 25
            terminal.read(0.05)
            moved.setdefault(terminal.shown()[0], time.monotonic())
        # On a busy machine some moves are late, but not all.
        between = sorted(later - earlier for earlier, later in pairwise(moved.values()))
        assert between[3] < 0.4
        terminal.press("q")
        terminal.end()


def test_a_resize_leaves_no_debris() -> None:
    with run(columns=140, lines=40) as terminal:
        terminal.wait_for(has_table)
        for columns, lines in [(60, 15), (100, 30), (41, 9), (140, 40)]:
            terminal.resize(columns, lines)
            terminal.read(1.0)
            shown = terminal.shown()
            assert sum("reading standard input" in line for line in shown) == 1
            assert shown[0][2:].startswith("reading standard input")
            assert sum("q ends" in line for line in shown) <= 1
        terminal.press("q")
        terminal.end()


def test_space_holds_the_table_and_counting_goes_on() -> None:
    with run() as terminal:
        terminal.wait_for(has_table)
        terminal.press(" ")
        terminal.wait_for(lambda now: any("space goes on" in line for line in now))
        terminal.read(0.6)
        body, head = terminal.shown()[1:], terminal.shown()[0]
        terminal.read(1.5)
        assert terminal.shown()[1:] == body
        assert terminal.shown()[0] != head
        terminal.press("q")
        terminal.end()


def test_once_lists_once_and_ends() -> None:
    with run("--once") as terminal:
        assert terminal.end() == 0
    final = terminal.text
    assert "/page/" in final
    assert "\x1b[?1049h" not in final
    assert "interrupted" not in final


def test_the_terminal_is_as_before() -> None:
    with run() as terminal:
        terminal.wait_for(has_table)
        terminal.process.send_signal(15)
        assert terminal.end() == 143
    assert terminal.text.count("\x1b[?1049h") == terminal.text.count("\x1b[?1049l") == 1
    assert terminal.text.rindex("\x1b[?25h") > terminal.text.rindex("\x1b[?25l")


def test_without_an_input_it_says_what_to_write(tmp_path: Path) -> None:
    terminal = PseudoTerminal([*COMMAND, "top"], columns=120, lines=24, folder=str(tmp_path))
    assert terminal.end() == 2
    said = " ".join(terminal.shown())
    assert "Give a file (lazysketch top access.log) or a pipe (tail -F access.log" in said
