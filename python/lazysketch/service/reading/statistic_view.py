"""What the answers of a publication of one statistic have in common: the state so far, its course.

Everything here is post-processing of released values. A course has the state at the end of each
window; all of them count from the begin of the stream.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from lazysketch.releases.any_release import any_release
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.service.reading.views import described
from lazysketch.service.windows_view import (
    CONFIDENCE,
    Plain,
    count_value,
    instant_text,
    window_value,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from lazysketch.estimation.intervals import Interval
    from lazysketch.service.publication import Publication, PublishedWindow
    from lazysketch.windows.window import Window

__all__ = ["StatisticView", "count_of", "number_of", "value_of"]

_DIGITS: Final = 9  # of a value, beyond what noise leaves of any
Released = TypeVar("Released", DistinctRelease, DistributionRelease, RangesRelease, SumsRelease)


class StatisticView(ABC, Generic[Released]):
    """The answers of one publication of a stream of one statistic.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose answers of ended windows are kept.
    """

    def __init__(self, publication: Publication, before: Self | None = None) -> None:
        self.publication = publication
        self._known: dict[tuple[str, ...], Plain] = {} if before is None else before._kept()

    def _kept(self) -> dict[tuple[str, ...], Plain]:
        """Return the answers of the windows of this publication."""
        digests = {one.digests for one in self.publication.windows}
        return {key: found for key, found in self._known.items() if key in digests}

    @property
    def ended(self) -> list[Window]:
        """The windows that readers see and that have ended, oldest first."""
        return [one.window for one in self.publication.windows if one.window.ended]

    @abstractmethod
    def _read(self, release: Released) -> Plain:
        """Return the answer of one window, from its release."""

    @abstractmethod
    def _statistic(self, course: list[Plain]) -> Plain:
        """Return what the page shows next to the facts, from the answers of the windows."""

    def facts(self) -> Plain:
        """Return what is said of the stream, without its numbers."""
        return {
            **described(self.publication),
            "names": 0,
            "windows": [window_value(one.window) for one in self.publication.windows],
        }

    def overview(self) -> Plain:
        """Return what the page shows: the state so far, and its course."""
        course = [self._of(one) for one in self.publication.windows]
        return {"facts": self.facts(), "confidence": CONFIDENCE, **self._statistic(course)}

    def _answer(self, **content: object) -> Plain:
        """Return an answer with its place in time."""
        return {
            "number": self.publication.number,
            "at": instant_text(self.publication.at),
            "windows": [window_value(one.window) for one in self.publication.windows],
            "confidence": CONFIDENCE,
            **content,
        }

    def _of(self, one: PublishedWindow) -> Plain:
        """Return the answer of a window, computed once."""
        if one.digests not in self._known:
            self._known[one.digests] = self._read(self._release(one))
        return self._known[one.digests]

    def _release(self, one: PublishedWindow) -> Released:
        """Return the release of a window, whose kind was checked when the publication was read."""
        return cast("Released", any_release(one.contents[-1]))

    def _last(self) -> Released | None:
        """Return the release of the last window; None while there is none."""
        windows = self.publication.windows
        return self._release(windows[-1]) if windows else None


def count_of(found: Interval) -> Plain:
    """Return a count with its interval.

    Args:
        found: the count.
    """
    return {
        "estimate": count_value(found.estimate),
        "low": count_value(found.low),
        "high": count_value(found.high),
    }


def value_of(found: Interval) -> Plain:
    """Return a value, a share or a sum with its interval.

    Args:
        found: the value.
    """
    return {
        "estimate": number_of(found.estimate),
        "low": number_of(found.low),
        "high": number_of(found.high),
    }


def number_of(value: float) -> float | None:
    """Return a value as JSON has it: null where it is not finite.

    Args:
        value: any number.
    """
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
