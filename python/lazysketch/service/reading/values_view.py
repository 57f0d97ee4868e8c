"""What the answers of a publication of values contain: quantiles with their course, a histogram.

Everything here is post-processing of released values. Ends of intervals of quantiles are edges of
bins; one in an open bin is not finite, for which JSON has null.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.value_rows import SHARES, histogram_rows
from lazysketch.service.reading.statistic_view import StatisticView, count_of, number_of, value_of
from lazysketch.service.windows_view import CONFIDENCE, count_value

if TYPE_CHECKING:
    from lazysketch.service.windows_view import Plain

__all__ = ["SHOWN_ROWS", "ValuesView"]

SHOWN_ROWS = 40
"""Rows of the histogram of the page."""


class ValuesView(StatisticView[DistributionRelease]):
    """The answers of one publication of a stream of values.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose quantiles of ended windows are kept.
    """

    def _read(self, release: DistributionRelease) -> Plain:
        return {
            "total": count_of(release.total(confidence=CONFIDENCE)),
            "quantiles": _quantiles(release, SHARES),
        }

    def _statistic(self, course: list[Plain]) -> Plain:
        return {
            "total": course[-1]["total"] if course else None,
            "quantiles": _courses(SHARES, [one["quantiles"] for one in course]),
            "histogram": self._rows(SHOWN_ROWS),
        }

    def quantiles(self, shares: Sequence[float]) -> Plain:
        """Return quantiles of all values so far, and at the end of each window.

        Args:
            shares: each above 0 and below 1.
        """
        windows = self.publication.windows
        if tuple(shares) == SHARES:
            found = [self._of(one)["quantiles"] for one in windows]
        else:
            found = [_quantiles(self._release(one), shares) for one in windows]
        return self._answer(quantiles=_courses(shares, found))

    def histogram(self, rows: int) -> Plain:
        """Return the numbers of values so far in ranges that join about as many bins each.

        Args:
            rows: the largest number of ranges, 3 or more, with the open ones at both ends.
        """
        last = self._last()
        total = None if last is None else count_of(last.total(confidence=CONFIDENCE))
        return self._answer(total=total, rows=self._rows(rows))

    def cdf(self, values: Sequence[float]) -> Plain:
        """Return the shares of all values so far that are below some values.

        Args:
            values: finite numbers.
        """
        last = self._last()
        below = [] if last is None else [last.cdf(one, confidence=CONFIDENCE) for one in values]
        return self._answer(
            below=[
                {"value": value, **value_of(found)}
                for value, found in zip(values, below, strict=False)
            ]
        )

    def _rows(self, most: int) -> list[Plain]:
        """Return the rows of the histogram of the last window."""
        last = self._last()
        if last is None:
            return []
        edges = last.bins.edges
        return [
            {
                "from": number_of(row["from"]),
                "to": number_of(row["to"]),
                "bins": bisect(edges, row["to"]) - bisect(edges, row["from"]) or 1,
                "estimate": count_value(row["estimate"]),
                "low": count_value(row["low"]),
                "high": count_value(row["high"]),
            }
            for row in histogram_rows(last, most=most, confidence=CONFIDENCE)
        ]


def _quantiles(release: DistributionRelease, shares: Sequence[float]) -> list[Plain]:
    return [value_of(one) for one in release.quantiles(shares, confidence=CONFIDENCE)]


def _courses(shares: Sequence[float], found: Sequence[object]) -> list[Plain]:
    """Return for each share its quantile so far, and at the end of each window."""
    rows: list[Plain] = []
    for place, share in enumerate(shares):
        course = [window[place] for window in found]  # type: ignore[index]
        rows.append({"share": share, "course": course})
    return rows
