"""The public clock of a stream: when a slice ends, and when readers see what it counted."""

from __future__ import annotations

from typing import Final

__all__ = ["Tick"]

_SECOND: Final = 1_000_000_000
_LONGEST_DELAY: Final = 2_000_000_000  # nanoseconds


class Tick:
    """The public clock of a stream: slices of its windows since 1970 UTC.

    Args:
        every: length of a window in nanoseconds.
        slices: slices of a window.
    """

    def __init__(self, every: int, slices: int) -> None:
        self.every, self.slices = every, slices
        # A fifth of a slice, at most two seconds: what it takes to compute a publication in any
        # state fits in, so that readers never see how long it took.
        self.delay = min(every // slices // 5, _LONGEST_DELAY)

    @classmethod
    def published(cls, every: float, slices: int) -> Tick:
        """Return the clock that a publication states, whose windows are in seconds."""
        return cls(round(every * _SECOND), slices)

    def of(self, now: int) -> int:
        """Return the number of the last tick at an instant, in nanoseconds since 1970."""
        window, passed = divmod(now, self.every)
        return window * self.slices + passed * self.slices // self.every

    def begin(self, number: int) -> int:
        """Return the instant of a tick: the first at which :meth:`of` returns its number."""
        window, part = divmod(number, self.slices)
        return window * self.every - (-part * self.every // self.slices)

    def shown_at(self, number: int, *, ready: int) -> int:
        """Return the instant from which readers see the state of a tick.

        Args:
            number: the tick.
            ready: the instant at which the publication is complete.

        Returns:
            The fixed delay after the tick, or as many delays as it takes if that is over: how late
            a publication is says no more than a number of delays.
        """
        since = max(ready - self.begin(number), 1)
        return self.begin(number) + max(1, -(-since // self.delay)) * self.delay

    def next_shown(self, now: int) -> int:
        """Return the next instant at which readers may see another publication.

        Args:
            now: an instant, in nanoseconds since 1970.
        """
        begin = self.begin(self.of(now))
        return begin + ((now - begin) // self.delay + 1) * self.delay
