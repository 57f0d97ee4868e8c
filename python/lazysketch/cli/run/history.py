"""History of a run: releases at increasing steps, for a plot of the counts over the stream.

Rows are split so that a release is taken at each multiple of a spacing in steps. If there are too
many releases, every second one is dropped and the spacing doubles. The kept releases therefore
depend on the step number only, and their number stays between half of the maximum and the maximum.
The items to plot can be chosen at the end, because a release has estimates of all items.

Cost: a release at each of these steps, and the memory of the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.run.targets import Target
    from lazysketch.releases.any_release import AnyRelease

__all__ = ["History"]

_MAX_RELEASES: Final = 128
_MIN_RELEASES: Final = 16  # also for tables that exceed the memory
_MEMORY: Final = 64 << 20
_CELL_BYTES: Final = 8
_FIRST_SPACING: Final = 16  # steps


class History:
    """Passes rows on to a target, and keeps releases of it."""

    def __init__(self, target: Target) -> None:
        self.releases: list[AnyRelease] = []
        self._target = target
        self._step = 0
        self._spacing = _FIRST_SPACING
        self._capacity = _MAX_RELEASES

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count events, one step each."""
        # A batch has lists, NumPy arrays or Arrow arrays: all have a length and slices.
        rows = cast("Sequence[object]", items)
        row_weights = cast("Sequence[object] | None", weights)
        people = cast("Sequence[object] | None", user)
        begin, end = 0, len(rows)
        while end - begin >= self._left:
            split = begin + self._left
            self._target.update_many(
                rows[begin:split],
                None if row_weights is None else row_weights[begin:split],
                user=None if people is None else people[begin:split],
            )
            begin = split
            self._take_release()
        if begin < end:
            rest = None if row_weights is None else row_weights[begin:]
            self._target.update_many(
                rows[begin:] if begin else rows,
                rest,
                user=None if people is None else people[begin:],
            )
            self._step += end - begin

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        while steps >= self._left:
            steps -= self._left
            self._target.tick(self._left)
            self._take_release()
        if steps:
            self._target.tick(steps)
            self._step += steps

    @property
    def _left(self) -> int:
        """Steps to the next release."""
        return self._spacing - self._step % self._spacing

    def _take_release(self) -> None:
        self._step += self._left
        release = self._target.release()
        affordable = _MEMORY // (_CELL_BYTES * release.table.size)
        self._capacity = min(max(affordable, _MIN_RELEASES), _MAX_RELEASES)
        self.releases.append(release)
        while len(self.releases) > self._capacity:
            self._spacing *= 2
            self.releases = [kept for kept in self.releases if not kept.step % self._spacing]
