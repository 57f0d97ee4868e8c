"""Reading ahead: what a generator yields, made in a thread of its own while it is used.

The thread makes at most AHEAD values that nobody has taken, then it waits: memory stays bounded,
and a value is there for whoever takes it as soon as it was made. Values, and the failure that
ends them, come in their order. The generator runs, and is closed, in its own thread alone.

What it brings: of parsing and counting, both of which release the interpreter lock, each takes
a core. Where the lock is held throughout it brings nothing, and costs some microseconds
per value.
"""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from lazysketch.sources.io.interruptible import EndableWaits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

AHEAD = 4  # values, so that one that takes long to make or to use holds nobody up

_PATIENCE = 0.1  # seconds for a call of the system that nothing can end
_LONGEST = 2.0  # seconds for a value in the making: who waits may hold what the thread needs

Value = TypeVar("Value")
_Start: TypeAlias = "Callable[[EndableWaits], Generator[Value, None, None]]"


@dataclass(frozen=True, slots=True)
class _End:
    """Stands behind the last value: what the generator raised, or None."""

    failure: BaseException | None = None


def read_ahead(start: _Start[Value]) -> Generator[Value, None, None]:
    """Yield what a generator yields, which runs in another thread.

    When this generator is closed, or the process ends, so is the other one, at once if it
    waits for input; then its thread is gone. The exception is a thread that is stuck in a
    call of the system, such as opening a FIFO that nobody writes to: it is left, and ends
    behind that call.

    Args:
        start: Makes the generator; called in the other thread, with what the generator has
            to wait by.
    """
    reading = _Reading(start)
    try:
        yield from reading.values()
    finally:
        reading.end()


class _Reading(Generic[Value]):
    """A generator in a thread of its own.

    A queue in C for values, and another one for the room that is left for them: a signal that
    raises in the thread which takes values can leave no lock behind.
    """

    def __init__(self, start: _Start[Value]) -> None:
        self._values: SimpleQueue[Value | _End] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(AHEAD - 1):  # the first value needs none
            self._room.put(None)
        self._waits = EndableWaits()
        self._thread = threading.Thread(
            target=_read,
            args=(start, self._waits, self._values, self._room),
            name="lazysketch reads ahead",
            daemon=True,  # or the process would wait for one that is stuck
        )
        _RUNNING[self._thread] = self
        try:
            self._thread.start()
        except BaseException:
            del _RUNNING[self._thread]
            raise

    def end(self) -> None:
        """End the thread, and wait for that as long as it can be told to end."""
        self._waits.end()
        self._room.put(None)
        thread = self._thread
        if thread is threading.current_thread():  # whose garbage collector closes the other side
            return
        patience = time.monotonic() + _LONGEST
        while thread.is_alive() and time.monotonic() < patience:
            thread.join(_PATIENCE)
            if self._waits.stuck:
                break
        if not thread.is_alive():
            self._waits.close()

    def values(self) -> Generator[Value, None, None]:
        while True:
            value = self._values.get()
            if isinstance(value, _End):
                if value.failure is not None:
                    raise value.failure
                return
            self._room.put(None)
            yield value


def _read(
    start: _Start[Value],
    waits: EndableWaits,
    values: SimpleQueue[Value | _End],
    room: SimpleQueue[None],
) -> None:
    try:
        with closing(start(waits)) as made:
            for value in made:
                values.put(value)
                room.get()
                waits.check()
    except BaseException as failure:  # belongs to whoever takes the values
        values.put(_End(failure))
    else:
        values.put(_End())
    finally:
        del _RUNNING[threading.current_thread()]


# By their threads.
_RUNNING: dict[threading.Thread, _Reading[Any]] = {}


@atexit.register
def _end_all() -> None:
    """End them before the interpreter is taken apart.

    There a thread that comes out of native code would be ended in the midst of it.
    """
    for reading in list(_RUNNING.values()):
        reading.end()
