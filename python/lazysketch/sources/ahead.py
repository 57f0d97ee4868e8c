"""Reading ahead: what a generator yields, made in a thread of its own while it is used.

The thread makes at most AHEAD values that nobody has taken, then it waits: memory stays bounded,
and a value is there for whoever takes it as soon as it was made. Values, and the failure that
ends them, come in their order. The generator runs, and is closed, in its own thread alone.

What it brings: of parsing and counting, both of which release the interpreter lock, each takes
a core. Where the lock is held throughout it brings nothing, and costs some microseconds
per value.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from lazysketch.sources.waiting import EndableWaits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

AHEAD = 4  # values, so that one that takes long to make or to use holds nobody up

_PATIENCE = 0.1  # seconds for a call of the system that nothing can end

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
        waits = EndableWaits()
        thread = threading.Thread(
            target=_read,
            args=(start, waits, self._values, self._room),
            name="lazysketch reads ahead",
            daemon=True,  # or the process would wait for one that is stuck
        )
        # Called at the latest before the interpreter is taken apart, where a thread that comes
        # out of native code would be ended in the midst of it.
        self.end = weakref.finalize(self, _end, thread, waits, self._room)
        thread.start()

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
        with closing(waits), closing(start(waits)) as made:
            for value in made:
                values.put(value)
                room.get()
                waits.check()
    except BaseException as failure:  # belongs to whoever takes the values
        values.put(_End(failure))
    else:
        values.put(_End())


def _end(thread: threading.Thread, waits: EndableWaits, room: SimpleQueue[None]) -> None:
    waits.end()
    room.put(None)
    if thread is threading.current_thread():  # whose garbage collector closes the other side
        return
    while thread.is_alive():
        thread.join(_PATIENCE)
        if waits.stuck:
            return
