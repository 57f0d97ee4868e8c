"""A full screen of the terminal that is redrawn four times a second, and at once after a resize.

It is the terminal's alternate screen, so what stood in the terminal before is there again at the
end, and no size leaves debris. One thread draws, and waits for keys and for the signal of a
resize in between. Writing to a terminal that is gone or held never holds up the run. A run that is
stopped (Ctrl-Z) or in the background has left the screen, and comes back to it in the foreground.
"""

from __future__ import annotations

import io
import os
import select
import sys
import textwrap
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from rich.cells import set_cell_size
from rich.console import Console

from lazysketch.cli.view.job_control import handled_signals, is_in_background, stop_process
from lazysketch.cli.view.output import held_answers, held_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    signals = {
        "SIGWINCH": drawing.wake,  # without it the next frame sees the new size
        "SIGTSTP": drawing.stop_process,
        "SIGCONT": drawing.come_back,
    }
    with held_messages(), handled_signals(signals):
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
        self._is_shown = False  # the terminal is on the alternate screen
        self._is_stopped = False
        self._comes_back = False
        # Held for a write only. Reentrant, for a signal within the handler of a signal.
        self._writing = threading.RLock()
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

    def wake(self) -> None:
        with suppress(OSError):
            os.write(self._wake, b"\0")

    def stop_process(self) -> None:
        """Give the terminal back and stop, as Ctrl-Z asks; go on when the shell continues it."""
        self._is_stopped = True
        if self._writing.acquire(timeout=_PATIENCE):  # else the terminal is held
            try:
                self._leave()
            finally:
                self._writing.release()
        try:
            stop_process()
        finally:
            self._is_stopped = False
            self.wake()

    def come_back(self) -> None:
        """Show the screen anew after the process was continued: others have written to it."""
        self._comes_back = True
        self.wake()

    def _run(self) -> None:
        try:
            next_at = time.monotonic()
            while not self._ended:
                self._draw()
                next_at = max(next_at + EVERY, time.monotonic())
                self._wait(next_at)
        finally:
            with self._writing:
                self._leave()

    def _enter(self) -> None:
        if self._comes_back:
            self._leave()
        if self._is_shown:
            return
        if self._keys is not None:
            self._keys.take_again()
        self._comes_back, self._is_shown, self._size = False, True, None
        self._console.file.write(_ENTER)

    def _leave(self) -> None:
        if not self._is_shown:
            return
        self._is_shown = False
        self._console.file.write(_LEAVE)
        if self._keys is not None:
            self._keys.give_back()

    def _draw(self) -> None:
        with suppress(OSError):
            descriptor = self._console.file.fileno()
            size = _size_of(descriptor)
            width, height = size
            self._console.width, self._console.height = width, height
            lines = _with_answers(self._frame(), width=width, height=height)
            with self._writing:
                if self._is_stopped:
                    return
                if is_in_background(descriptor):
                    self._leave()
                    return
                self._enter()
                cleared = "" if size == self._size else _CLEAR
                self._size = size
                text = f"{_REST_OF_LINE}\r\n".join(lines)
                whole = f"{cleared}{_TOP}{text}{_REST_OF_LINE}{_REST_OF_SCREEN}"
                self._console.file.write(f"{_AT_ONCE[0]}{whole}{_AT_ONCE[1]}")

    def _wait(self, until: float) -> None:
        """Wait for the next frame; a key or a resize comes before it."""
        keys = self._keys if self._is_shown else None
        inputs = [self._woken, *([] if keys is None else [keys.descriptor])]
        ready, _, _ = select.select(inputs, [], [], max(until - time.monotonic(), 0.0))
        if self._woken in ready:
            with suppress(OSError):
                os.read(self._woken, 1024)
        if keys is not None and keys.descriptor in ready:
            if not self._is_shown or is_in_background(keys.descriptor):
                return  # stopped meanwhile: the keys are those of the shell
            pressed = keys.pressed()
            if pressed is None:
                self._keys = None
            for key in pressed or ():
                self._press(key)


def _with_answers(lines: list[str], *, width: int, height: int) -> list[str]:
    """Return the lines of a frame, the last of them answers to signals if there are any."""
    answers = [
        f"\x1b[7m{set_cell_size(part, width)}\x1b[0m"
        for answer in held_answers()
        for part in textwrap.wrap(answer, width)
    ][:height]
    return [*lines[: height - len(answers)], *answers]
