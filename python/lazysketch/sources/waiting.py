"""Waiting for input, as any program does or so that another thread can end it.

Nothing ends a read of a pipe that has nothing to say. So a reader with a thread of its own
waits for the pipe and, beside it, for a byte that says it shall end; then it reads, which
no longer waits. What is left are calls that nobody can look ahead of: opening a FIFO that
nobody writes to, or a disk that does not answer.

Cost: one system call per read of a pipe, none of a file.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

# Without it, as on Windows, nothing can be waited for beside a pipe.
CAN_END = hasattr(select, "poll")


class ReadingEndedError(Exception):
    """Ends a reading from inside; it goes nowhere, as nobody waits for more."""


class Waits:
    """Waits that end when what is waited for is there."""

    def for_input(self, descriptor: int | None) -> None:
        """Wait until a read of the descriptor no longer waits; None: it never does."""

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def in_system(self) -> AbstractContextManager[None]:
        """Return a block for a call of the system that may take long."""
        return nullcontext()


PLAIN_WAITS = Waits()


class EndableWaits(Waits):
    """Waits of one thread that another thread can end.

    Each of them raises ReadingEndedError once that has happened. The waiting thread closes
    them.
    """

    def __init__(self) -> None:
        self.stuck = False  # in a call that cannot be ended
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._bell: tuple[int, int] | None = None  # a pipe, once something waits for it

    def end(self) -> None:
        """End the wait of now, and all later ones; from any thread."""
        with self._lock:
            self._ended.set()
            if self._bell is not None:
                os.write(self._bell[1], b"\0")

    def close(self) -> None:
        """Close what the waits have opened."""
        with self._lock:
            for descriptor in self._bell or ():
                os.close(descriptor)
            self._bell = None

    def check(self) -> None:
        """Raise if the waits have been ended."""
        if self._ended.is_set():
            raise ReadingEndedError

    def for_input(self, descriptor: int | None) -> None:
        """Wait until a read of the descriptor no longer waits; None: it never does."""
        if descriptor is not None:
            either = select.poll()
            either.register(descriptor, select.POLLIN)
            either.register(self._listen(), select.POLLIN)
            either.poll()
        self.check()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self._ended.wait(seconds)
        self.check()

    @contextmanager
    def in_system(self) -> Generator[None, None, None]:
        """Return a block for a call of the system that may take long."""
        self.check()
        self.stuck = True
        try:
            yield
        finally:
            self.stuck = False

    def _listen(self) -> int:
        with self._lock:
            self.check()
            if self._bell is None:
                self._bell = os.pipe()
            return self._bell[0]
