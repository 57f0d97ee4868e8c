"""An error at the N-th possible point of a call, for N = 1, 2, 3 ... until the call completes.

A point lies before each bytecode (or each line) that the package executes during the call. An
interrupt arrives only at some of them, so a campaign over all points is harsher than any run.
SQLite tests its allocations, reads and writes in this way (https://sqlite.org/testing.html).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

__all__ = [
    "ERRORS",
    "Between",
    "HungError",
    "Injector",
    "Outcome",
    "Points",
    "interrupted",
    "is_injected",
    "points_of",
    "sample",
    "watched",
]

ERRORS: Final[tuple[type[BaseException], ...]] = (KeyboardInterrupt, MemoryError, OSError)
Between: TypeAlias = Literal["bytecodes", "lines"]

_PACKAGE: Final = ("lazysketch",)
_MESSAGE: Final = "injected by tests/faults"
_PATIENCE: Final = 60.0  # seconds; the slowest call takes well below one

T = TypeVar("T")


class HungError(AssertionError):
    """A call did not return."""


class Injector(Protocol):
    """Raises an error at the N-th possible point of a call."""

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """The classes of errors, each of which is raised at each point."""

    def interrupted(
        self, call: Callable[[], T], *, at: int, error: type[BaseException]
    ) -> Outcome[T]:
        """Make a call and raise an error at one of its points, from 1; at none for 0."""

    def is_injected(self, error: BaseException) -> bool:
        """Return whether an error is an injected one, or was raised because of one."""


@dataclass(frozen=True)
class Points:
    """Where errors are injected.

    Args:
        between: a point per bytecode, or per line.
        modules: names of packages or modules whose code has points. A test adds its own module for
            callbacks, such as a clock or an iterator, that the package calls.
    """

    between: Between = "bytecodes"
    modules: tuple[str, ...] = _PACKAGE

    def has(self, frame: FrameType) -> bool:
        """Return whether the code of a frame has points.

        Args:
            frame: of the call. Its module counts, not its file: methods of data classes have none.
        """
        name = str(frame.f_globals.get("__name__", ""))
        return any(name == one or name.startswith(f"{one}.") for one in self.modules)

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """As of :class:`Injector`."""
        return ERRORS

    def interrupted(
        self, call: Callable[[], T], *, at: int, error: type[BaseException]
    ) -> Outcome[T]:
        """As of :class:`Injector`."""
        return interrupted(call, at=at, error=error, points=self)

    def is_injected(self, error: BaseException) -> bool:
        """As of :class:`Injector`."""
        return is_injected(error)


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of a call.

    Args:
        points: points that the call passed, the last one included.
        error: what the call raised, the injected error or another; None if it returned.
        value: what it returned.
        place: file and line at which the error was injected; empty if it was not.
    """

    points: int
    error: BaseException | None
    value: T | None
    place: str


class _Trace:
    """Trace function of a thread; it counts points and raises at one of them, once."""

    def __init__(self, points: Points, *, at: int, error: type[BaseException]) -> None:
        self._points, self._at, self._error = points, at, error
        self._event = "opcode" if points.between == "bytecodes" else "line"
        self.count, self.place = 0, ""

    def enter(self, frame: FrameType, event: str, _: object) -> _Local | None:
        if event != "call" or not self._points.has(frame):
            return None
        frame.f_trace_opcodes = self._event == "opcode"
        frame.f_trace_lines = self._event == "line"
        return self.pass_point

    def pass_point(self, frame: FrameType, event: str, _: object) -> _Local:
        if event == self._event:
            self.count += 1
            if self.count == self._at:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise self._error(_MESSAGE)
        return self.pass_point


_Local: TypeAlias = Callable[[FrameType, str, object], "_Local | None"]


def interrupted(
    call: Callable[[], T],
    *,
    at: int,
    error: type[BaseException] = KeyboardInterrupt,
    points: Points | None = None,
) -> Outcome[T]:
    """Make a call, in this thread, and raise an error at one of its points.

    Args:
        call: the operation.
        at: number of the point, from 1; with 0, or past the last point, nothing is injected.
        error: class of the error.
        points: where errors are injected; between the bytecodes of the package by default.

    Returns:
        What became of it. Errors of the call are returned, not raised.
    """
    trace = _Trace(points or Points(), at=at, error=error)
    before = sys.gettrace()
    raised: BaseException | None = None
    value: T | None = None
    sys.settrace(trace.enter)
    try:
        value = call()
    except BaseException as found:
        raised = found
    finally:
        sys.settrace(before)
    return Outcome(points=trace.count, error=raised, value=value, place=trace.place)


def points_of(call: Callable[[], object], *, points: Points | None = None) -> int:
    """Return how many points a call has, which is made once.

    Args:
        call: the operation; its errors are raised.
        points: where errors are injected.
    """
    outcome = interrupted(call, at=0, points=points)
    if outcome.error is not None:
        raise outcome.error
    return outcome.points


def is_injected(error: BaseException | None) -> bool:
    """Return whether an error is an injected one, or was raised because of one.

    Args:
        error: what a call raised, or None.
    """
    while error is not None:
        if _MESSAGE in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def watched(call: Callable[[], T], *, seconds: float = _PATIENCE) -> T:
    """Make a call in a thread of its own, and raise HungError if it does not return.

    A lock that an earlier call did not release stops this thread too.

    Args:
        call: the operation; its errors are raised here.
        seconds: how long to wait.
    """
    values: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            values.append(call())
        except BaseException as error:  # raised below, in the other thread
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise HungError(f"call: expected to return within {seconds:g} s, got none")
    if errors:
        raise errors[0]
    return values[0]


def sample(last: int, *, most: int, seed: int) -> Sequence[int]:
    """Return numbers of points, evenly spread: all of them, or every k-th from a seeded one.

    Args:
        last: the last point.
        most: how many, at most.
        seed: chooses the first.
    """
    stride = max(-(-last // most), 1)
    return range(1 + seed % stride, last + 1, stride)
