"""Waiting for input, poll plainly or so that another thread can end the wait.

A blocking read of a silent pipe cannot be interrupted. A reader in a background thread
therefore polls the pipe together with a wake-up pipe and reads only when data are ready.
Calls that cannot be polled remain uninterruptible: opening a FIFO without a writer, or a
disk that does not respond.

Cost: one system call per read of a pipe, none per read of a file.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

# Without poll, as on Windows, a wait for a pipe cannot be ended.
CAN_END = hasattr(select, "poll")


class ReadingEndedError(Exception):
    """Ends a background reader from inside; no consumer sees it."""


class Stop:
    """A request to end a reading, which any thread or a signal handler can make.

    Nothing here takes a lock: the handler may interrupt any of these lines.
    """

    def __init__(self) -> None:
        self.requested = False
        self._wake: Callable[[], None] | None = None

    def request(self) -> None:
        """Make the request, and wake the consumer if it waits for a value."""
        self.requested = True
        wake = self._wake
        if wake is not None:
            wake()

    def wakes(self, wake: Callable[[], None]) -> None:
        """Set how a waiting consumer is woken; call it now if the request came before."""
        self._wake = wake
        if self.requested:
            wake()


class Waits:
    """Plain waits: each ends when its condition holds."""

    def for_input(self, descriptor: int | None) -> None:
        """Wait until a read of the descriptor would not block; None means it never blocks."""

    def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        time.sleep(seconds)

    def in_system(self) -> AbstractContextManager[None]:
        """Return a context for a system call that may block."""
        return nullcontext()


PLAIN_WAITS = Waits()


class EndableWaits(Waits):
    """Waits of one thread that another thread can end.

    After that, each raises ReadingEndedError. Nothing here takes a lock, because the garbage
    collector may call ``end`` while any of these lines runs.
    """

    def __init__(self) -> None:
        self.stuck = False  # in a system call that cannot be ended
        self._ended = False
        self._process = os.getpid()
        self._wakeup = _WakeupPipe() if CAN_END else None

    def end(self) -> None:
        """End the current wait and all later ones; callable from any thread of this process."""
        if os.getpid() != self._process:  # a forked child must not wake its parent's reader
            return
        self._ended = True
        if self._wakeup is not None:
            self._wakeup.wake()

    def close(self) -> None:
        """Close the wake-up pipe, after the thread has ended."""
        if self._wakeup is not None:
            self._wakeup.close()

    def check(self) -> None:
        """Raise if the waits have been ended."""
        if self._ended:
            raise ReadingEndedError

    def for_input(self, descriptor: int | None) -> None:
        """Wait until a read of the descriptor would not block; None means it never blocks."""
        self.check()
        if descriptor is not None and self._wakeup is not None:
            self._wakeup.wait(descriptor)
        self.check()

    def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        self.check()
        if self._wakeup is None:
            time.sleep(seconds)
        else:
            self._wakeup.wait(seconds=seconds)
        self.check()

    @contextmanager
    def in_system(self) -> Generator[None, None, None]:
        """Return a context for a system call that may block."""
        self.check()
        self.stuck = True
        try:
            yield
        finally:
            self.stuck = False


class _WakeupPipe:
    """A pipe that becomes readable when a thread calls ``wake`` (the self-pipe trick)."""

    def __init__(self) -> None:
        self._ends: tuple[int, ...] = os.pipe()

    def wake(self) -> None:
        if self._ends:
            os.write(self._ends[1], b"\0")

    def wait(self, descriptor: int | None = None, *, seconds: float | None = None) -> None:
        """Wait until woken, for input, or for some seconds."""
        poller = select.poll()
        poller.register(self._ends[0], select.POLLIN)
        if descriptor is not None:
            poller.register(descriptor, select.POLLIN)
        poller.poll(None if seconds is None else seconds * 1000)

    def close(self) -> None:
        ends, self._ends = self._ends, ()
        for descriptor in ends:
            os.close(descriptor)

    __del__ = close
