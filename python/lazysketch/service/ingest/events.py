"""The events of a batch, and which of them are refused."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Events", "Judged"]

_MOST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Judged:
    """Which events of a batch are refused.

    Attributes:
        rows: number of events, refused or not.
        malformed: positions of events without a readable item or weight, ascending.
        no_user: positions of events that lack only their person, ascending.
        too_long: positions of events whose item is longer than the longest that is counted.
    """

    rows: int
    malformed: Sequence[int] = ()
    no_user: Sequence[int] = ()
    too_long: Sequence[int] = ()

    @property
    def refused(self) -> dict[str, int]:
        """Numbers of refused events by code, without zeros."""
        return {code: len(positions) for code, positions in self._codes if len(positions)}

    @property
    def first_refused(self) -> list[dict[str, int | str]]:
        """The first hundred refused events, by position and code."""
        found = sorted(
            (int(position), code)
            for code, positions in self._codes
            for position in positions[:_MOST_SHOWN]
        )
        return [{"position": position, "code": code} for position, code in found[:_MOST_SHOWN]]

    @property
    def _codes(self) -> tuple[tuple[str, Sequence[int]], ...]:
        return (
            ("malformed", self.malformed), ("no-user", self.no_user), ("too-long", self.too_long)
        )  # fmt: skip

    def part(self, begin: int, end: int) -> Judged:
        """Return what is said of some consecutive events, whose positions count from 0.

        Args:
            begin: position of the first.
            end: position after the last.
        """
        if not (len(self.malformed) or len(self.no_user) or len(self.too_long)):
            return Judged(end - begin)
        parts = (_within(positions, begin, end) for _, positions in self._codes)
        return Judged(end - begin, *parts)


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a batch that are counted.

    Attributes:
        judged: which of all events are refused.
        items: items of the others.
        weights: their weights; None for 1 each.
        users: their people; None where they are not bounded.
    """

    judged: Judged
    items: Any
    weights: Any = None
    users: Any = None


def _within(positions: Sequence[int], begin: int, end: int) -> list[int]:
    if not len(positions):
        return []
    first, last = bisect_left(positions, begin), bisect_left(positions, end)
    return [int(position) - begin for position in positions[first:last]]
