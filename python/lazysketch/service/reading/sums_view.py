"""What the answers of a publication of sums contain: sums, counts and means of items, a course.

Everything here is post-processing of released values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from lazysketch.releases.sums_release import SumsRelease
from lazysketch.service.reading.statistic_view import StatisticView, count_of, value_of
from lazysketch.service.windows_view import CONFIDENCE, item_value

if TYPE_CHECKING:
    from lazysketch.releases.items import Item
    from lazysketch.service.windows_view import Plain

__all__ = ["SHOWN_SUMS", "SumsView"]

SHOWN_SUMS: Final = 50
"""Items that are shown unless others are asked for."""
_DRAWN: Final = 3  # items whose course the page has


class SumsView(StatisticView[SumsRelease]):
    """The answers of one publication of a stream of sums by item of a public list.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose sums of ended windows are kept.
    """

    def _read(self, release: SumsRelease) -> Plain:
        """Return the sums of the items that are drawn: those with the largest sums so far."""
        items = self._drawn
        found = release.sums(items, confidence=CONFIDENCE) if items else ()
        return {_key(item): value_of(one) for item, one in zip(items, found, strict=True)}

    def _statistic(self, course: list[Plain]) -> Plain:
        rows = self._top(SHOWN_SUMS)
        drawn = [_key(item) for item in self._drawn]
        # What was kept of a window is of the items that were drawn then.
        for place, one in enumerate(self.publication.windows):
            if any(key not in course[place] for key in drawn):
                self._known[one.digests] = course[place] = self._read(self._release(one))
        courses = [[window[key] for window in course] for key in drawn]
        return {"total": None, "sums": rows, "courses": courses}

    def sums(self, items: Sequence[Item] | None, *, n: int) -> Plain:
        """Return sums, counts and means of items so far.

        Args:
            items: what readers ask for, each with its own intervals; None for the items of the list
                with the largest sums, whose intervals hold together.
            n: number of items of the list.
        """
        last = self._last()
        if last is None:
            return self._answer(sums=[])
        if items is None:
            return self._answer(sums=self._top(n))
        return self._answer(sums=_rows(last, items, range(len(items)), together=False))

    def _top(self, n: int) -> list[Plain]:
        last, listed = self._last(), self.publication.listed
        if last is None or not listed:
            return []
        found = last.sums(listed, confidence=CONFIDENCE, simultaneous=True)
        order = sorted(range(len(listed)), key=lambda at: -float(found.estimate[at]))[:n]
        return _rows(last, listed, order, together=True)

    @cached_property
    def _drawn(self) -> list[Item]:
        """Return the items with the largest sums in the last window."""
        last, listed = self._last(), self.publication.listed
        if last is None or not listed:
            return []
        return [one.item for one in last.top(_DRAWN, among=listed, confidence=CONFIDENCE)]


def _rows(
    release: SumsRelease, items: Sequence[Item], order: Sequence[int], *, together: bool
) -> list[Plain]:
    """Return the rows of some of the items, whose intervals hold together for all of them."""
    if not items:
        return []
    sums, counts, means = (
        list(question(items, confidence=CONFIDENCE, simultaneous=together))
        for question in (release.sums, release.counts, release.means)
    )
    return [
        {
            "item": item_value(items[at]),
            "sum": value_of(sums[at]),
            "count": count_of(counts[at]),
            "mean": value_of(means[at]),
        }
        for at in order
    ]


def _key(item: Item) -> str:
    """Return what tells an item from all others: the text 7 is not the integer."""
    return json.dumps(item_value(item))
