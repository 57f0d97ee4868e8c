"""What a case may end in: a value, a documented error without content, or a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from lazysketch.errors import LazySketchError

__all__ = ["CANARY", "CANARY_NUMBER", "KINDS", "Finding", "Kind", "Planted", "attempt", "fault_of"]

Kind: TypeAlias = Literal["crash", "hang", "half applied", "wrong class", "message"]
KINDS: Final[tuple[Kind, ...]] = ("crash", "hang", "half applied", "wrong class", "message")

# Every item, column and key that a campaign makes contains one of these, so that a message with
# either of them has told something of the stream.
CANARY: Final = "qz7canary"
CANARY_NUMBER: Final = 73313773
_LONGEST: Final = 1000
# What values of Python itself raise while they are iterated over; it may pass through a call.
_OF_VALUES: Final = {
    "multi-dimensional sub-views are not implemented",
    "generator raised StopIteration",
    "__str__ returned non-string (type NoneType)",
    "operation forbidden on released memoryview object",
    "len() takes exactly one argument (0 given)",  # as a clock
    (
        "Exceeds the limit (4300 digits) for integer string conversion; "
        "use sys.set_int_max_str_digits() to increase the limit"
    ),  # an iterator over texts of integers
}
# Arguments that are no data: a message may show what came.
_SHOWN: Final = (
    "bits: expected ",
    "cells: expected an integer ",
    "events: expected an integer ",
    "level: expected an integer ",
    "levels: expected an integer ",
    "mechanism: expected one of ",
    "most_people: expected an integer ",
)
# Columns of a format whose header is declared: names, of which a message lists some.
_DECLARED: Final = re.compile(r"\.(zeek|parquet|arrow): expected a column of the header for ")


class Planted(BaseException):
    """Mixed into every exception that a hostile value raises; it may pass through a call."""


@dataclass(frozen=True)
class Finding:
    """A defect: the session and the part of it that show it, and its text."""

    campaign: str
    session: str
    part: int
    kind: Kind
    text: str


def attempt(call: Callable[[], object]) -> tuple[object, BaseException | None]:
    """Return the result of a call, or the error that it raised."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


def fault_of(
    error: BaseException, *, allowed: tuple[type[BaseException], ...] = ()
) -> tuple[Kind, str] | None:
    """Return what is wrong with an error, or None.

    Allowed are the errors of lazysketch, MemoryError, and what a hostile value raised itself.
    """
    if any(type(one).__name__ == "PanicException" for one in _chain(error)):
        return "crash", f"panic: {error}"[:_LONGEST]
    if isinstance(error, Planted) or str(error) in _OF_VALUES:
        return None
    told = next((text for text in map(str, _chain(error)) if _tells(text)), None)
    if told is not None:
        return "message", f"content in the message of {type(error).__name__}: {told[:_LONGEST]}"
    if not isinstance(error, (LazySketchError, MemoryError, *allowed)):
        return "wrong class", f"{type(error).__name__}: {error}"[:_LONGEST]
    # An error of a file shows the path, which may be long.
    if len(str(error)) > _LONGEST and not isinstance(error, OSError):
        return "message", f"{len(str(error))} characters: {error}"[:_LONGEST]
    return None


def _tells(text: str) -> bool:
    if text.startswith(_SHOWN) or _DECLARED.search(text):
        return False
    return CANARY in text or str(CANARY_NUMBER) in text


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that a traceback shows, except those of a hostile value."""
    now: BaseException | None = error
    while now is not None:
        if not isinstance(now, Planted):
            yield now
        now = now.__cause__ or (None if now.__suppress_context__ else now.__context__)
