"""What the answers of a publication of distinct items contain: the number so far, and its course.

Everything here is post-processing of released values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.service.reading.statistic_view import StatisticView, count_of
from lazysketch.service.windows_view import CONFIDENCE

if TYPE_CHECKING:
    from lazysketch.service.windows_view import Plain

__all__ = ["DistinctView"]


class DistinctView(StatisticView[DistinctRelease]):
    """The answers of one publication of a stream that counts distinct items.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose numbers of ended windows are kept.
    """

    def _read(self, release: DistinctRelease) -> Plain:
        return count_of(release.interval(confidence=CONFIDENCE))

    def _statistic(self, course: list[Plain]) -> Plain:
        return {"total": course[-1] if course else None, "course": course}

    def number(self) -> Plain:
        """Return the number so far, and its course."""
        return self._answer(**self._statistic([self._of(one) for one in self.publication.windows]))
