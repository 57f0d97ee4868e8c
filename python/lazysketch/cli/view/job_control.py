"""Job control of a shell: a process that is stopped (Ctrl-Z), continued (fg) or in the background.

A process in the background must not read the terminal or change its modes: the system stops it.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

__all__ = ["handled_signals", "is_in_background", "stop_process"]


def is_in_background(descriptor: int) -> bool:
    """Return whether a terminal controls the process and serves another job of its shell."""
    if not hasattr(os, "tcgetpgrp"):  # Windows
        return False
    try:
        return os.tcgetpgrp(descriptor) != os.getpgrp()
    except OSError:  # gone, or the controlling terminal of another session
        return False


def stop_process() -> None:
    """Stop as at Ctrl-Z without a handler; returns when the process is continued.

    It returns at once where no shell could continue the process. Call it in the main thread.
    """
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        signal.raise_signal(signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, before)


@contextmanager
def handled_signals(handlers: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """Call a function at each signal while the block runs.

    A signal that the system does not have, or that the process ignores, is left as it is, and so
    are all of them outside of the main thread.

    Args:
        handlers: The function of each signal, by the name of the signal.
    """
    before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
    if threading.current_thread() is threading.main_thread():
        for name, handler in handlers.items():
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, _calling(handler))
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _calling(call: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handler(_number: int, _frame: FrameType | None) -> None:
        call()

    return handler
