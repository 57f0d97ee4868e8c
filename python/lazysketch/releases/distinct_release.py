"""Releases of a count of distinct items: noisy numbers of set bits, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from lazysketch import _native
from lazysketch.errors import ArgumentValueError, ReleaseFormatError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.estimation.occupancy import Occupancy
from lazysketch.releases.parts import ReleasePart
from lazysketch.releases.release_without_items import ReleaseWithoutItems
from lazysketch.releases.rows import ItemRow, row_of
from lazysketch.specification.distinct import BIT_WEIGHT

__all__ = ["DistinctRelease"]


class DistinctRelease(ReleaseWithoutItems):
    """The public state of a :class:`lazysketch.DistinctCount` at one step.

    Guarantee: it holds no secret; everything computed from it has the (epsilon, delta) of the
    count. It cannot be merged: people who are in two streams would count twice.

    Source: docs/distinct.md; docs/release-format.md for the bytes.

    Example:
        >>> import lazysketch as ls
        >>> visitors = ls.DistinctCount(epsilon=1.0, delta=1e-6)
        >>> visitors.update_many(range(50_000))
        >>> release = visitors.release()
        >>> 45_000 < release.estimate() < 55_000
        True
        >>> ls.DistinctRelease.from_bytes(release.to_bytes()).estimate() == release.estimate()
        True
    """

    _KIND = "distinct"

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from counts and files."""
        super().__init__(native)
        if len(self._parts) != 1 or self._part.mechanism is None:
            raise ReleaseFormatError("release: expected one count with its noise, got others")

    def estimate(self) -> float:
        """Return the number of distinct items of all published events.

        Guarantee: post-processing. At least 0, and at most the number of steps where a step has at
        most one event.

        Returns:
            The number; not rounded.

        Source: docs/theory.md, "Distinct items".
        """
        return min(self._occupancy.estimate(), self._most)

    def interval(self, *, confidence: float = 0.95) -> Interval:
        """Return the estimate with an interval that covers the number at this step.

        Guarantee: for items that do not depend on the hash seed, ``low`` is at most the number at
        this step, and ``high`` at least, with about ``confidence`` together: noise, collisions of
        bits and sampling are normal in good approximation. Events that are not published yet add
        their number to ``high``: each could be a new item.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in items.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, "Distinct items".
        """
        level = checked_confidence(confidence)
        low, high = self._occupancy.bounds(level)
        return Interval(
            estimate=self.estimate(),
            low=min(low, self._most),
            high=min(high + self._pending, self._most),
            confidence=level,
            at="now",
        )

    @property
    def standard_error(self) -> float:
        """Standard deviation of the estimate, in items, at the estimate itself."""
        return self._occupancy.standard_error(self._occupancy.estimate())

    @property
    def levels(self) -> int:
        """Number of sampling levels."""
        return self.width

    @property
    def bits(self) -> int:
        """Bits of each level."""
        return self._native.bits

    @property
    def _shape(self) -> str:
        return f"{self.levels} levels of {self.bits:,} bits"

    def _rows(self, questions: Sequence[str], *, confidence: float) -> list[ItemRow]:
        if questions:
            raise ArgumentValueError(
                f"ITEM: expected none for a release of {self._words.counted}, got one"
            )
        found = self.interval(confidence=confidence)
        row = row_of(self._words.counted, found.estimate, found.low, found.high, share=None)
        del row["share"]
        return [row]

    @property
    def _part(self) -> ReleasePart:
        return self._parts[0]

    @cached_property
    def _occupancy(self) -> Occupancy:
        # The rounding to integers adds a variance of 1/12.
        variances = (self._noise_variance + 1.0 / 12.0) / BIT_WEIGHT**2
        return Occupancy(
            counts=(self._table[0] / BIT_WEIGHT).tolist(),
            variances=variances.tolist(),
            bits=self.bits,
        )

    def __repr__(self) -> str:
        finished = ", finished" if self.finished else ""
        return (
            f"<DistinctRelease of {self.levels} x {self.bits:,} bits, step {self.step}{finished}, "
            f"{self.privacy}>"
        )
