"""Courses of items: their recent counts per step, for a sparkline.

A course is made of public estimates only: the differences of an item's estimates in the moments
that were shown, as rates per step. Moments are kept at even distances in steps; if there are too
many, every second one is dropped.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.view.report import Moment
    from lazysketch.releases.rows import ItemRow

__all__ = ["Courses", "sparkline"]

_MOST: Final = 96  # moments that are kept
_BLOCKS: Final = "▁▂▃▄▅▆▇█"


class Courses:
    """The estimates of the listed items in the moments so far."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._estimates: list[dict[str | int, float]] = []
        self._spacing = 1

    def keep(self, moment: Moment) -> None:
        """Keep the estimates of a moment that is far enough from the last one."""
        step = moment.release.step
        if self._steps and step < self._steps[-1] + self._spacing:
            return
        self._steps.append(step)
        self._estimates.append(
            {row["item"]: row["estimate"] for row in moment.item_rows if row.get("complete", True)}
        )
        if len(self._steps) > _MOST:
            self._steps, self._estimates = self._steps[::2], self._estimates[::2]
            self._spacing = max((self._steps[-1] - self._steps[0]) // _MOST, 1)

    def of(self, rows: Sequence[ItemRow]) -> dict[str | int, list[float]]:
        """Return the rates of each item between the moments in which it was listed."""
        courses: dict[str | int, list[float]] = {}
        for row in rows:
            item = row["item"]
            known = [
                (step, estimates[item])
                for step, estimates in zip(self._steps, self._estimates, strict=True)
                if item in estimates
            ]
            courses[item] = [
                max(count - before, 0.0) / (step - earlier)
                for (earlier, before), (step, count) in pairwise(known)
                if step > earlier
            ]
        return courses


def sparkline(rates: Sequence[float], *, width: int) -> Text:
    """Return the last rates as blocks, the largest as a full one.

    Example:
        >>> sparkline([0.0, 1.0, 2.0, 4.0], width=10).plain, sparkline([], width=3).plain
        ('▁▂▄█', '')
    """
    shown = list(rates)
    if len(shown) > width > 0:  # means of equal parts
        bounds = [len(shown) * place // width for place in range(width + 1)]
        parts = [shown[begin:end] for begin, end in pairwise(bounds)]
        shown = [sum(part) / len(part) for part in parts]
    most = max(shown, default=0.0)
    if most <= 0:
        return Text("")
    levels = (int(rate / most * (len(_BLOCKS) - 1)) for rate in shown)
    return Text("".join(_BLOCKS[level] for level in levels), style="cyan")
