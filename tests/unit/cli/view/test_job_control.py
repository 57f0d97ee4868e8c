"""Ctrl-Z, fg and bg under a real shell, and the answer to a second signal on the screen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pyte = pytest.importorskip("pyte")

from tools.pseudo_terminal import PseudoTerminal  # noqa: E402 -- it needs pyte

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="no shell with job control"
)
SHELL = ["bash", "--norc", "--noprofile", "-i"]
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
FEED = """
import itertools, time
for number in itertools.count():
    print("\\n".join(f"/page/{(row * row) % 7}" for row in range(1000)), flush=True)
    time.sleep(0.1)
"""
RUN = """echo $$ > run.pid
exec "$0" -m lazysketch top - --format lines --share 5% --epsilon 8 --width 64 --names-every 2000
"""
ANSWER = """
import os, signal, sys, time
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.view.screen import shown_screen, terminal_console

signals = Signals()
console = terminal_console()
frame = lambda: [f"line {number}" for number in range(console.height)]
with signals.handled(ends_process=True):
    signals.counting(lambda: True)
    with shown_screen(frame, console=console, keys=None, press=print):
        time.sleep(0.5)
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(2)
sys.stderr.write("at the end\\n")
"""


@contextlib.contextmanager
def run(folder: Path) -> Iterator[PseudoTerminal]:
    """Run ``top`` on a pipe as a job of an interactive shell."""
    (folder / "feed.py").write_text(FEED)
    (folder / "run.sh").write_text(RUN)
    terminal = PseudoTerminal(
        SHELL, columns=100, lines=24, environment={"PS1": "ready> "}, folder=str(folder)
    )
    try:
        terminal.wait_for(has_prompt)
        terminal.press(f"{sys.executable} feed.py | sh -c '. ./run.sh' {sys.executable}\r")
        terminal.wait_for(has_table)
        yield terminal
    finally:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.killpg(os.getpgid(process_of(folder)), signal.SIGKILL)
        terminal.process.kill()
        terminal.process.wait()


def process_of(folder: Path) -> int:
    return int((folder / "run.pid").read_text())


def has_table(shown: list[str]) -> bool:
    return "reading standard input" in shown[0] and any("/page/" in line for line in shown)


def has_prompt(shown: list[str]) -> bool:
    return next((line for line in reversed(shown) if line), "") == "ready>"


def processor_time(folder: Path) -> int:
    """Return that of the run, which grows while it counts."""
    status = Path(f"/proc/{process_of(folder)}/stat")
    if not status.exists():
        pytest.skip("no /proc")
    return sum(int(field) for field in status.read_text().rsplit(")", 1)[1].split()[11:13])


def quit_run(terminal: PseudoTerminal) -> None:
    """End the run by its key, which shows that keys are read; then the shell."""
    terminal.press("q")
    terminal.wait_for(lambda now: any("interrupted after" in line for line in now))
    terminal.wait_for(has_prompt)
    terminal.press("exit\r")
    terminal.end()


def test_ctrl_z_gives_the_terminal_back_and_fg_shows_the_screen_again(tmp_path: Path) -> None:
    with run(tmp_path) as terminal:
        for times in (1, 2):
            terminal.press("\x1a")
            shown = terminal.wait_for(has_prompt)
            assert any("Stopped" in line for line in shown)
            assert not any("reading standard input" in line for line in shown)
            assert terminal.text.count(LEAVE) == terminal.text.count(ENTER) == times
            assert terminal.text.rindex("\x1b[?25h") > terminal.text.rindex("\x1b[?25l")
            terminal.press("fg\r")
            terminal.wait_for(has_table)
        quit_run(terminal)
    assert terminal.text.count(ENTER) == terminal.text.count(LEAVE) == 3


def test_in_the_background_the_run_goes_on_without_its_screen(tmp_path: Path) -> None:
    with run(tmp_path) as terminal:
        terminal.press("\x1a")
        terminal.wait_for(has_prompt)
        before = processor_time(tmp_path)
        terminal.press("bg\r")
        terminal.read(2.0)
        terminal.press("echo the shell has the keys\r")
        shown = terminal.wait_for(lambda now: "the shell has the keys" in now)
        assert not any("reading standard input" in line for line in shown)
        assert terminal.text.count(ENTER) == terminal.text.count(LEAVE)
        assert processor_time(tmp_path) > before
        terminal.press("fg\r")
        terminal.wait_for(has_table)
        quit_run(terminal)


def test_a_stop_that_cannot_be_handled_leaves_no_debris(tmp_path: Path) -> None:
    """SIGSTOP: the shell writes on the alternate screen; fg shows it anew, with the keys."""
    with run(tmp_path) as terminal:
        group = os.getpgid(process_of(tmp_path))
        os.killpg(group, signal.SIGSTOP)
        terminal.wait_for(lambda now: any("Stopped" in line for line in now))
        terminal.press("fg\r")
        terminal.wait_for(lambda now: has_table(now) and not any("Stopped" in x for x in now))
        quit_run(terminal)
    assert terminal.text.count(ENTER) == terminal.text.count(LEAVE)


def test_the_answer_to_a_second_signal_is_on_the_screen_and_after_it() -> None:
    terminal = PseudoTerminal([sys.executable, "-c", ANSWER], columns=60, lines=12)
    shown = terminal.wait_for(lambda now: now[-1].endswith("loses it)"))
    assert shown[0] == "line 0"
    assert shown[-2].startswith("the run is ending")
    begin = time.monotonic()
    terminal.end()
    assert time.monotonic() - begin > 0.5  # it was shown before the end
    final = " ".join(line for line in terminal.shown() if line)
    assert final.count("the run is ending") == 1
    assert "line 0" not in final
