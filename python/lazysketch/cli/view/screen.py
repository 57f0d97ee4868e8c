"""A full screen of the terminal that is redrawn four times a second, and at once after a resize.

It is the terminal's alternate screen, so what stood in the terminal before is there again at the
end, and no size leaves debris. One thread draws, and waits for keys and for the signal of a
resize in between. Writing to a terminal that is gone or held never holds up the run.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from rich.console import Console

from lazysketch.cli.view.output import held_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from lazysketch.cli.view.keys import Keys

__all__ = ["EVERY", "shown_screen", "terminal_console"]

EVERY: Final = 0.25  # seconds from one frame to the next
_ENTER: Final = "\x1b[?1049h\x1b[?25l"  # the alternate screen, without a cursor
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_CLEAR: Final = "\x1b[2J"
_TOP: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_AT_ONCE: Final = ("\x1b[?2026h", "\x1b[?2026l")  # terminals that know it show whole frames only
_PATIENCE: Final = 2.0  # seconds for the last frame of a terminal that is held
_DEFAULT: Final = (80, 24)


def terminal_console() -> Console | None:
    """Return a console on standard error, None if that is no terminal with a cursor."""
    if not sys.stderr.isatty():
        return None
    console = Console(file=_Terminal(), highlight=False)
    return None if console.is_dumb_terminal else console


@contextmanager
def shown_screen(
    frame: Callable[[], list[str]],
    *,
    console: Console,
    keys: Keys | None,
    press: Callable[[str], None],
) -> Iterator[None]:
    """Show frames while the block runs.

    Args:
        frame: Returns the lines of a frame that fits into the console; called by another thread.
        console: The terminal, whose size is kept up to date.
        keys: The keys of the terminal, None for none.
        press: Takes a key.
    """
    drawing = _Drawing(frame, console=console, keys=keys, press=press)
    with held_messages(), drawing.woken_by_resize():
        drawing.start()
        try:
            yield
        finally:
            drawing.stop()


class _Terminal(io.TextIOWrapper):
    """Standard error, to which writing does not fail: a closed terminal must not end the run."""

    def __init__(self) -> None:
        stream = sys.stderr
        super().__init__(
            io.FileIO(stream.fileno(), "w", closefd=False),
            encoding=stream.encoding,
            errors="backslashreplace",
            write_through=True,
        )

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)


def _size_of(descriptor: int) -> tuple[int, int]:
    """Return the columns and lines; those in the environment come first, as in other programs."""
    found = os.get_terminal_size(descriptor)
    sizes = []
    for name, size, default in zip(("COLUMNS", "LINES"), found, _DEFAULT, strict=True):
        asked = os.environ.get(name, "")
        sizes.append(int(asked) if asked.isdecimal() and int(asked) else size or default)
    return sizes[0], sizes[1]


class _Drawing:
    """The thread that draws."""

    def __init__(
        self,
        frame: Callable[[], list[str]],
        *,
        console: Console,
        keys: Keys | None,
        press: Callable[[str], None],
    ) -> None:
        self._frame = frame
        self._console = console
        self._keys = keys
        self._press = press
        self._size: tuple[int, int] | None = None
        self._ended = False
        self._woken, self._wake = os.pipe()
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the screen; a terminal that is held is left alone after a while."""
        self._ended = True
        self.wake()
        self._thread.join(_PATIENCE)
        if not self._thread.is_alive():
            os.close(self._woken)
            os.close(self._wake)

    def wake(self, *_: object) -> None:
        with suppress(OSError):
            os.write(self._wake, b"\0")

    @contextmanager
    def woken_by_resize(self) -> Iterator[None]:
        """Redraw at the signal of a resize; without it the next frame sees the new size."""
        number = getattr(signal, "SIGWINCH", None)
        if number is None or threading.current_thread() is not threading.main_thread():
            yield
            return

        def resized(_number: int, _frame: FrameType | None) -> None:
            self.wake()

        before = signal.signal(number, resized)
        try:
            yield
        finally:
            signal.signal(number, before)

    def _run(self) -> None:
        write = self._console.file.write
        write(_ENTER)
        try:
            next_at = time.monotonic()
            while not self._ended:
                self._draw()
                next_at = max(next_at + EVERY, time.monotonic())
                self._wait(next_at)
        finally:
            write(_LEAVE)

    def _draw(self) -> None:
        with suppress(OSError):
            size = _size_of(self._console.file.fileno())
            width, height = size
            self._console.width, self._console.height = width, height
            cleared = "" if size == self._size else _CLEAR
            self._size = size
            lines = self._frame()[:height]
            text = f"{_REST_OF_LINE}\r\n".join(lines)
            whole = f"{cleared}{_TOP}{text}{_REST_OF_LINE}{_REST_OF_SCREEN}"
            self._console.file.write(f"{_AT_ONCE[0]}{whole}{_AT_ONCE[1]}")

    def _wait(self, until: float) -> None:
        """Wait for the next frame; a key or a resize comes before it."""
        inputs = [self._woken, *([] if self._keys is None else [self._keys.descriptor])]
        ready, _, _ = select.select(inputs, [], [], max(until - time.monotonic(), 0.0))
        if self._woken in ready:
            with suppress(OSError):
                os.read(self._woken, 1024)
        if self._keys is not None and self._keys.descriptor in ready:
            pressed = self._keys.pressed()
            if pressed is None:
                self._keys = None
            for key in pressed or ():
                self._press(key)
