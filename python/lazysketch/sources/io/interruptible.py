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

    Each of them raises ReadingEndedError once that has happened. Nothing here takes a lock:
    the garbage collector may end a reading from within any of these lines.
    """

    def __init__(self) -> None:
        self.stuck = False  # in a call that cannot be ended
        self._ended = False
        self._process = os.getpid()
        self._bell = _Bell() if CAN_END else None

    def end(self) -> None:
        """End the wait of now, and all later ones; from any thread of this process."""
        if os.getpid() != self._process:  # a child, at its own end: the bell is its parent's
            return
        self._ended = True
        if self._bell is not None:
            self._bell.ring()

    def close(self) -> None:
        """Close what the waits have opened, once their thread has ended."""
        if self._bell is not None:
            self._bell.close()

    def check(self) -> None:
        """Raise if the waits have been ended."""
        if self._ended:
            raise ReadingEndedError

    def for_input(self, descriptor: int | None) -> None:
        """Wait until a read of the descriptor no longer waits; None: it never does."""
        self.check()
        if descriptor is not None and self._bell is not None:
            self._bell.wait(descriptor)
        self.check()

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.check()
        if self._bell is None:
            time.sleep(seconds)
        else:
            self._bell.wait(seconds=seconds)
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


class _Bell:
    """A pipe that has something to read once somebody rang."""

    def __init__(self) -> None:
        self._ends: tuple[int, ...] = os.pipe()

    def ring(self) -> None:
        if self._ends:
            os.write(self._ends[1], b"\0")

    def wait(self, descriptor: int | None = None, *, seconds: float | None = None) -> None:
        """Wait for the bell, for input, or for some seconds."""
        either = select.poll()
        either.register(self._ends[0], select.POLLIN)
        if descriptor is not None:
            either.register(descriptor, select.POLLIN)
        either.poll(None if seconds is None else seconds * 1000)

    def close(self) -> None:
        ends, self._ends = self._ends, ()
        for descriptor in ends:
            os.close(descriptor)

    __del__ = close
