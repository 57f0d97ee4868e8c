"""A window of a publication: its times, and its releases as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.any_release import any_release
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.releases.release import Release
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.service.manifest_values import instant_read, instant_written
from lazysketch.windows.window import Window

__all__ = ["ITEMS", "KINDS", "PublishedWindow", "StatisticRelease", "held", "read_window"]

ITEMS: Final = "items"
StatisticRelease: TypeAlias = DistinctRelease | DistributionRelease | RangesRelease | SumsRelease
KINDS: Final[dict[str, type[Release] | type[StatisticRelease]]] = {
    ITEMS: Release,
    "distinct": DistinctRelease,
    "values": DistributionRelease,
    "ranges": RangesRelease,
    "sums": SumsRelease,
}
"""What a stream can count, with the class of its releases."""


@dataclass(frozen=True, slots=True)
class PublishedWindow:
    """A window of a publication, with its releases as bytes.

    Attributes:
        window: the window.
        contents: its releases as bytes: one, or one per level, the coarsest first.
    """

    window: Window
    contents: tuple[bytes, ...]

    @classmethod
    def of(cls, window: Window) -> PublishedWindow:
        """Return a window with the bytes of its releases."""
        return cls(window, tuple(level.release.to_bytes() for level in window.levels))

    def described(self) -> dict[str, object]:
        """Return the window as a manifest has it."""
        window = self.window
        return {
            "number": window.number,
            "begin": instant_written(window.begin),
            "end": instant_written(window.end),
            "ended": window.ended,
            "whole": window.whole,
            "releases": list(self.digests),
        }

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 of each release in hexadecimal digits."""
        return tuple(hashlib.sha256(content).hexdigest() for content in self.contents)


def read_window(
    one: Mapping[str, Any], releases: Mapping[str, bytes], kind: str
) -> PublishedWindow:
    """Return a window of a manifest with its releases.

    Args:
        one: as :meth:`PublishedWindow.described` returns it.
        releases: the bytes of releases by their SHA-256 in hexadecimal digits.
        kind: what the stream counts, one of :data:`KINDS`.

    Raises:
        ReleaseFormatError: a release that is missing, damaged, of another kind, or another than the
            manifest names.
    """
    contents = tuple(releases.get(str(digest), b"") for digest in one["releases"])
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    if not digests or digests != one["releases"]:
        raise ReleaseFormatError(
            "publication: expected the releases that its manifest names, got others"
        )
    *coarser, finest = [
        Window(
            number=int(one["number"]),
            begin=instant_read(one["begin"]),
            end=instant_read(one["end"]),
            ended=bool(one["ended"]),
            whole=bool(one["whole"]),
            release=held(release),
            names=tuple(release.names) if isinstance(release, Release) else (),
        )
        for release in (_release_of(kind, content) for content in contents)
    ]
    return PublishedWindow(replace(finest, coarser=tuple(coarser)), contents)


def _release_of(kind: str, content: bytes) -> Release | StatisticRelease:
    """Return a release of the kind that its stream counts."""
    found = any_release(content)
    if not isinstance(found, KINDS[kind]):
        raise ReleaseFormatError("publication: expected releases of its kind, got others")
    return found


def held(release: Release | StatisticRelease) -> Release:
    """Return a release as a window holds it.

    The queries of windows are those of items; the views of other kinds read the release alone.

    Args:
        release: of the kind of the stream.
    """
    return cast("Release", release)
