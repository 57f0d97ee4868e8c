"""What the answers of a publication of distinct items contain: the number so far, and its course.

Everything here is post-processing of released values. A course has the number at the end of each
window; all of them count from the begin of the stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.any_release import any_release
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.service.reading.views import described
from lazysketch.service.windows_view import (
    CONFIDENCE,
    Plain,
    count_value,
    instant_text,
    window_value,
)

if TYPE_CHECKING:
    from lazysketch.service.publication import Publication, PublishedWindow

__all__ = ["DistinctView"]


class DistinctView:
    """The answers of one publication of a stream that counts distinct items.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose numbers of ended windows are kept.
    """

    def __init__(self, publication: Publication, before: DistinctView | None = None) -> None:
        self.publication = publication
        self._known: dict[tuple[str, ...], Plain] = {} if before is None else before._kept()

    def _kept(self) -> dict[tuple[str, ...], Plain]:
        """Return the numbers of the windows of this publication."""
        digests = {one.digests for one in self.publication.windows}
        return {key: found for key, found in self._known.items() if key in digests}

    def facts(self) -> Plain:
        """Return what is said of the stream, without its numbers."""
        return {
            **described(self.publication),
            "names": 0,
            "windows": [window_value(one.window) for one in self.publication.windows],
        }

    def overview(self) -> Plain:
        """Return what the page shows: the number so far, and its course."""
        course = [self._number(one) for one in self.publication.windows]
        return {
            "facts": self.facts(),
            "confidence": CONFIDENCE,
            "total": course[-1] if course else None,
            "course": course,
        }

    def number(self) -> Plain:
        """Return the number so far, and its course."""
        overview = dict(self.overview())
        facts = overview.pop("facts")
        assert isinstance(facts, dict)  # noqa: S101 -- made above
        return {
            "number": self.publication.number,
            "at": instant_text(self.publication.at),
            "windows": facts["windows"],
            **overview,
        }

    def _number(self, one: PublishedWindow) -> Plain:
        """Return the number of a window with its interval, computed once."""
        if one.digests not in self._known:
            release = any_release(one.contents[-1])
            if not isinstance(release, DistinctRelease):
                raise ReleaseFormatError("publication: expected distinct items, got others")
            found = release.interval(confidence=CONFIDENCE)
            self._known[one.digests] = {
                "estimate": count_value(found.estimate),
                "low": count_value(found.low),
                "high": count_value(found.high),
            }
        return self._known[one.digests]
