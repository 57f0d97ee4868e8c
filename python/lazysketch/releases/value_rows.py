"""Rows of a distribution of values: quantiles, a histogram, shares of values below others.

Rows of a histogram and of shares join bins, so that some of them cover the whole range: each has
an answer of its own, with the noise of a few nodes of the tree, whatever number of bins it joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict

from lazysketch.releases.rows import row_of

if TYPE_CHECKING:
    from lazysketch.releases.distribution_release import DistributionRelease

__all__ = [
    "SHARES",
    "HistogramRow",
    "QuantileRow",
    "ShareRow",
    "histogram_rows",
    "quantile_rows",
    "share_rows",
]

SHARES: Final = (0.5, 0.9, 0.99)
"""The quantiles that are shown unless others are asked for."""

# A quantile of values, and the edges of bins between which it lies, which may be infinite.
QuantileRow = TypedDict(
    "QuantileRow", {"quantile": float, "value": float, "from": float, "to": float}
)
# The number of values of a range, which begins with its first value and ends before its last.
HistogramRow = TypedDict(
    "HistogramRow",
    {
        "from": float,
        "to": float,
        "estimate": float,
        "low": float,
        "high": float,
        "above_noise": bool,
    },
)


class ShareRow(TypedDict):
    """The share of all values that are below a value; NaN if there are none."""

    value: float
    below: float
    at_least: float
    at_most: float


def quantile_rows(
    release: DistributionRelease, shares: Sequence[float], *, confidence: float
) -> list[QuantileRow]:
    """Return the rows of some quantiles, in their order.

    Args:
        release: The distribution.
        shares: Each above 0 and below 1.
        confidence: Of each interval.
    """
    found = release.quantiles(shares, confidence=confidence)
    return [
        {"quantile": share, "value": one.estimate, "from": one.low, "to": one.high}
        for share, one in zip(shares, found, strict=True)
    ]


def histogram_rows(
    release: DistributionRelease, *, most: int, confidence: float
) -> list[HistogramRow]:
    """Return the numbers of values of ranges of about as many bins each, and of the open ends.

    Args:
        release: The distribution.
        most: The largest number of rows, 3 or more.
        confidence: Of each interval.
    """
    ends = (-float("inf"), *_chosen(release.bins.edges, most=most - 1), float("inf"))
    rows: list[HistogramRow] = []
    for first, last in pairwise(ends):
        found = release.count_between(first, last, confidence=confidence)
        row = row_of("", found.estimate, found.low, found.high, share=None)
        rows.append(
            {
                "from": first,
                "to": last,
                "estimate": row["estimate"],
                "low": row["low"],
                "high": row["high"],
                "above_noise": row["above_noise"],
            }
        )
    return rows


def share_rows(release: DistributionRelease, *, most: int, confidence: float) -> list[ShareRow]:
    """Return the shares of values below some edges, at about even distances in bins.

    Args:
        release: The distribution.
        most: The largest number of rows, 2 or more.
        confidence: Of each interval.
    """
    rows: list[ShareRow] = []
    for value in _chosen(release.bins.edges, most=most):
        found = release.cdf(value, confidence=confidence)
        rows.append(
            {"value": value, "below": found.estimate, "at_least": found.low, "at_most": found.high}
        )
    return rows


def _chosen(edges: Sequence[float], *, most: int) -> list[float]:
    """Return at most so many edges at about even distances, with the first and the last."""
    if len(edges) <= most:
        return list(edges)
    last = len(edges) - 1
    return [edges[round(place * last / (most - 1))] for place in range(most)]
