"""Keys of the terminal while a run reads, also if standard input is a pipe.

They are read from the controlling terminal, one at a time and without echo; Ctrl-C and Ctrl-Z stay
signals. The modes of the terminal are restored at the end and while the run is stopped. There are
no keys if the run begins in the background, has no terminal, or reads its rows from it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

from lazysketch.cli.view.job_control import is_in_background

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
        descriptor: The terminal.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._before: list[Any] | None = None

    def take(self) -> None:
        """Let the terminal hand over single keys, without echo.

        Raises:
            termios.error: The terminal is gone.
        """
        if self._before is None:
            self._before = termios.tcgetattr(self.descriptor)
        modes = [*self._before[:_CHARACTERS], list(self._before[_CHARACTERS])]
        modes[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
        modes[_CHARACTERS][termios.VMIN], modes[_CHARACTERS][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSANOW, modes)

    def take_again(self) -> None:
        """Take the keys once more; a terminal that is gone has none."""
        with suppress(termios.error):
            self.take()

    def give_back(self) -> None:
        """Restore the modes that the terminal had."""
        if self._before is None or is_in_background(self.descriptor):
            return  # in the background the change would stop the process
        with suppress(termios.error):
            termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, self._before)
        self._before = None

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
    keys = Keys(descriptor)
    try:
        keys.take()
    except termios.error:
        os.close(descriptor)
        yield None
        return
    try:
        yield keys
    finally:
        keys.give_back()
        os.close(descriptor)


def _opened() -> int | None:
    """Return the controlling terminal if the process is in its foreground."""
    if termios is None:
        return None
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    if not is_in_background(descriptor):
        return descriptor
    os.close(descriptor)
    return None
