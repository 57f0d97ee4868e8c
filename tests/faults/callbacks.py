"""Callbacks of the tests, which the package calls; errors are injected in them too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Clock", "items_of"]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def items_of(items: Sequence[object]) -> Iterator[object]:
    """Return an iterator with a point before every item."""
    for position in range(len(items)):
        yield items[position]
