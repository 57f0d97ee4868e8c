"""Waking the main thread for each signal, whichever thread the system gave it to.

The system may deliver a signal to any thread. The interpreter notes it there, but calls its handler
in the main thread, whose wait for a lock or a pipe only a signal of its own ends. While the main
thread waits for input, a signal that another thread received would be handled with the next row.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main_thread_woken"]


@contextmanager
def main_thread_woken() -> Iterator[None]:
    """Wake the main thread at each signal with a handler while the block runs.

    The interpreter writes the number of each signal to a pipe. A thread reads it and sends SIGURG,
    which nothing else here uses, to the main thread. It does nothing outside the main thread, and
    where a signal cannot be sent to a thread, as on Windows.
    """
    main = threading.main_thread()
    if threading.current_thread() is not main or not hasattr(signal, "pthread_kill"):
        yield
        return
    with ExitStack() as stack:
        numbers, noted = os.pipe()
        stack.callback(os.close, numbers)
        thread = threading.Thread(
            target=_wake, args=(main, numbers), name="lazysketch signals", daemon=True
        )
        stack.callback(_end, thread, noted)  # sooner: a signal may come as soon as it runs
        thread.start()
        os.set_blocking(noted, False)
        stack.callback(signal.signal, signal.SIGURG, signal.signal(signal.SIGURG, _do_nothing))
        stack.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(noted, warn_on_full_buffer=False))
        yield


def _end(thread: threading.Thread, noted: int) -> None:
    os.close(noted)
    if thread.ident is not None:
        thread.join()


def _wake(main: threading.Thread, numbers: int) -> None:
    while received := os.read(numbers, 64):
        if any(number != signal.SIGURG for number in received) and main.ident is not None:
            signal.pthread_kill(main.ident, signal.SIGURG)


def _do_nothing(*_: object) -> None:
    """Handle SIGURG: that it was received is all."""
