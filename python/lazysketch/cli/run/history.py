"""The course of a run: releases at rising steps, for a picture of its counts over the stream.

Rows are fed in such pieces that a release is taken at each multiple of a number of steps; when
there are too many, every second one is dropped and the number doubled. So what is kept depends on
the step number alone, and there are between half of the most and the most of them however long
the stream is. Which items the picture shows can be decided at its end, because a release answers
for all.

It costs a release at each of these steps, and the memory of the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lazysketch import Release
    from lazysketch.cli.run.targets import Subject

__all__ = ["Course"]

_MOST: Final = 128
_FEWEST: Final = 16
_MEMORY: Final = 64 << 20
_BYTES: Final = 8  # of a cell
_FIRST: Final = 16  # steps


class Course:
    """Takes rows for a subject, and keeps releases of it."""

    def __init__(self, subject: Subject) -> None:
        self.releases: list[Release] = []
        self._subject = subject
        self._step = 0
        self._spacing = _FIRST
        self._most = _MOST

    def update_many(self, items: Any, weights: Any = None) -> None:
        """Count events, one step each."""
        begin, end = 0, len(items)
        while end - begin >= self._left:
            room = begin + self._left
            self._subject.update_many(
                items[begin:room], None if weights is None else weights[begin:room]
            )
            begin = room
            self._arrived()
        if begin < end:
            rest = None if weights is None else weights[begin:]
            self._subject.update_many(items[begin:] if begin else items, rest)
            self._step += end - begin

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        while steps >= self._left:
            steps -= self._left
            self._subject.tick(self._left)
            self._arrived()
        if steps:
            self._subject.tick(steps)
            self._step += steps

    @property
    def _left(self) -> int:
        """Steps to the next release."""
        return self._spacing - self._step % self._spacing

    def _arrived(self) -> None:
        self._step += self._left
        release = self._subject.release()
        self._most = min(max(_MEMORY // (_BYTES * release.table.size), _FEWEST), _MOST)
        self.releases.append(release)
        while len(self.releases) > self._most:
            self._spacing *= 2
            self.releases = [kept for kept in self.releases if not kept.step % self._spacing]
