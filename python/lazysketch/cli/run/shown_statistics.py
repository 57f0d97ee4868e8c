"""What is shown of sums by item and of ranges of keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.errors import ArgumentValueError
from lazysketch.releases.key_questions import range_of_question
from lazysketch.releases.sum_rows import top_sum_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import RangesRelease, SumsRelease
    from lazysketch.cli.statistic_options import RangesSettings
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.rows import Row

__all__ = ["ShownRanges", "ShownSums", "check_ranges"]


@dataclass(frozen=True, slots=True)
class ShownSums:
    """The items of a list with the largest sums."""

    items: Sequence[str] | Sequence[int]
    most: int
    ends = ("low", "high")
    each = "sum, count and mean"

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""
        found = cast("SumsRelease", release)
        return top_sum_rows(found, self.items, most=self.most, confidence=CONFIDENCE)


@dataclass(frozen=True, slots=True)
class ShownRanges:
    """The ranges that are shown; sixteen equal parts of the domain if there are none."""

    asked: tuple[str, ...]

    ends = None
    each = None

    def check(self, counting: RangesSettings) -> None:
        """Raise a usage error unless keys of so many bits have all ranges."""
        try:
            check_ranges(self.asked, counting.bits, name="RANGE")
        except ArgumentValueError as error:
            raise click.UsageError(str(error)) from None

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""
        found = cast("RangesRelease", release)
        return found._rows(self.asked, confidence=CONFIDENCE)


def check_ranges(asked: Sequence[str], bits: int, *, name: str) -> None:
    """Raise ArgumentValueError unless keys of so many bits have all ranges.

    Args:
        asked: Networks, or two keys or addresses with a dash between them.
        bits: Of a key.
        name: Of the argument.
    """
    for text in asked:
        try:
            low, high = range_of_question(text, bits)
        except ArgumentValueError as error:
            raise ArgumentValueError(str(error).replace("network:", f"{name}:", 1)) from None
        if not low <= high <= 1 << bits:
            raise ArgumentValueError(
                f"{name}: expected keys from 0 to 2^{bits}, the lower one first, got others"
            )
