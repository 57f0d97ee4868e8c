"""Keys of the terminal while a run reads, also if standard input is a pipe.

They are read from the controlling terminal, one at a time and without echo; Ctrl-C and Ctrl-Z stay
signals. The modes of the terminal are restored at the end. There are no keys if the run is in the
background, has no terminal, or reads its rows from it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Keys", "opened_keys"]

_TERMINAL: Final = "/dev/tty"
_MOST: Final = 1024  # bytes at once
_LOCAL: Final = 3  # the index of the local modes
_CHARACTERS: Final = 6  # the index of the special characters
_ESCAPE: Final = "\x1b"


class Keys:
    """The keys of an open terminal.

    Args:
        descriptor: The terminal, in the mode of single keys.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def pressed(self) -> list[str] | None:
        """Return the keys that were pressed, None if the terminal is gone.

        A sequence of several characters, such as that of an arrow, is left out.
        """
        try:
            data = os.read(self.descriptor, _MOST)
        except OSError:
            return None
        if not data:
            return None
        text = data.decode(errors="ignore")
        return [] if len(text) > 1 and text.startswith(_ESCAPE) else list(text)


@contextmanager
def opened_keys(*, rows_are_typed: bool) -> Iterator[Keys | None]:
    """Yield the keys of the terminal while the block runs, None if there are none.

    Args:
        rows_are_typed: Whether standard input is an input of the run.
    """
    descriptor = None if rows_are_typed and sys.stdin.isatty() else _opened()
    if descriptor is None:
        yield None
        return
    try:
        before = termios.tcgetattr(descriptor)
        modes = [*before[:_CHARACTERS], list(before[_CHARACTERS])]
        modes[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
        modes[_CHARACTERS][termios.VMIN], modes[_CHARACTERS][termios.VTIME] = 1, 0
        termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    except termios.error:
        os.close(descriptor)
        yield None
        return
    try:
        yield Keys(descriptor)
    finally:
        if _is_in_foreground(descriptor):  # else the write would stop the process
            with suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
        os.close(descriptor)


def _opened() -> int | None:
    """Return the controlling terminal if the process is in its foreground."""
    if termios is None:
        return None
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    if _is_in_foreground(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _is_in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
