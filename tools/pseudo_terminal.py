"""A program in a terminal of a given size, whose screen is kept in memory.

The program gets a pseudo-terminal of its own as its controlling terminal, as under a shell. What it
writes goes through pyte, an emulator of a terminal like xterm. For tests, and for pictures of the
documents.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyte

__all__ = ["PseudoTerminal"]

_PATIENCE: Final = 60.0  # seconds
_OF_ANOTHER_SIZE: Final = ("COLUMNS", "LINES")
_ALTERNATE: Final = ("\x1b[?1049h", "\x1b[?1049l")


class PseudoTerminal:
    """A running program and its screen.

    Args:
        command: The program and its arguments.
        columns: The width.
        lines: The height.
        stdin: Its standard input; the terminal if None.
        environment: Its environment.
        folder: Where it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int,
        lines: int,
        stdin: int | None = None,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> None:
        self._descriptor, own = pty.openpty()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.frames = 0
        self.text = ""  # everything that was written
        self._main = pyte.Screen(columns, lines)
        self.screen = self._main
        self._resize(columns, lines)
        name = os.ttyname(own)
        # Test runners set a size for their own output.
        inherited = {key: text for key, text in os.environ.items() if key not in _OF_ANOTHER_SIZE}

        def take_terminal() -> None:
            os.close(os.open(name, os.O_RDWR))  # the first one opened is the controlling one

        self.process = subprocess.Popen(
            command,
            stdin=own if stdin is None else stdin,
            stdout=own,
            stderr=own,
            env={**inherited, "TERM": "xterm-256color", **(environment or {})},
            cwd=folder,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(own)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size, as a user who drags a corner of the window."""
        self._resize(columns, lines)
        self.screen.resize(lines, columns)
        self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._descriptor, keys.encode())

    def shown(self) -> list[str]:
        """Return the lines of the screen."""
        return [line.rstrip() for line in self.screen.display]

    def read(self, seconds: float) -> bool:
        """Take what is written in some seconds; return False at the end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._descriptor], [], [], left)[0]:
                return True
            try:
                data = os.read(self._descriptor, 1 << 16)
            except OSError:  # the program has closed the terminal
                return False
            if not data:
                return False
            self._take(self._decoder.decode(data))
        return True

    def wait_for(self, holds: Callable[[list[str]], object]) -> list[str]:
        """Read until the screen is as wanted; return it."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if holds(self.shown()):
                return self.shown()
            if not self.read(0.05):
                break
        if holds(self.shown()):
            return self.shown()
        raise AssertionError("\n".join(["the screen never was as wanted:", *self.shown()]))

    def end(self) -> int:
        """Read to the end of the program; return its exit status."""
        until = time.monotonic() + _PATIENCE
        while self.read(0.2) and time.monotonic() < until:
            pass
        status = self.process.wait(_PATIENCE)
        os.close(self._descriptor)
        return status

    def _resize(self, columns: int, lines: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)

    def _take(self, text: str) -> None:
        self.text += text
        self.frames += text.count("\x1b[H")
        while text:
            places = [(text.find(mark), mark) for mark in _ALTERNATE if mark in text]
            if not places:
                pyte.Stream(self.screen).feed(text)
                return
            place, mark = min(places)
            pyte.Stream(self.screen).feed(text[:place])
            text = text[place + len(mark) :]
            # pyte has one screen only: the alternate one is another.
            columns, lines = self.screen.columns, self.screen.lines
            if mark == _ALTERNATE[0]:
                self.screen = pyte.Screen(columns, lines)
            else:
                self.screen = self._main
                self.screen.resize(lines, columns)
