"""The windows of a publication whose windows slide, and their queries."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lazysketch.arguments import checked_integer
from lazysketch.windows.changes import Against, Changes
from lazysketch.windows.published_slides import PublishedSlides
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window import Window

if TYPE_CHECKING:
    from datetime import datetime

    from lazysketch.releases.items import Item

__all__ = ["SlidesOfPublication"]


class SlidesOfPublication(PublishedWindows):
    """The sliding windows of one publication: the last one, and those before it without overlap.

    Guarantee: post-processing of the ends of slices that are published.

    The last few windows together are one window of as many slices, so that the noise of a block
    counts once.

    Args:
        ends: the ends of slices, oldest first.
        every: length of a slice in nanoseconds.
        span: length of a window in nanoseconds.
        listed: the public list of items.
        reasons: why the guarantee does not hold, if it does not.
    """

    def __init__(
        self,
        ends: tuple[Window, ...],
        *,
        every: int,
        span: int,
        listed: tuple[Item, ...],
        reasons: tuple[str, ...],
    ) -> None:
        self._slides = _Slides(ends, every=every, slices=span // every, listed=listed)
        self._listed, self._reasons = listed, reasons

    @cached_property
    def _windows(self) -> tuple[Window, ...]:
        span_slices, kept = self._slides.span, self._slides.slices
        # A window that is cut off by what is kept is none, unless there is no other.
        number = max(kept // span_slices, min(kept, 1))
        found = [self._slides.window(ago * span_slices) for ago in reversed(range(number))]
        return tuple(window for window in found if window is not None)

    def windows_after(self, end: datetime | None) -> tuple[Window, ...]:
        """Return the window at the end of each slice that ended after an instant, earliest first.

        Args:
            end: the instant; None for all that are kept.
        """
        return self._slides.windows_after(end)

    @property
    def candidates(self) -> list[Item]:
        """Names published by any kept block, or the domain: a public list, each once."""
        return self._slides.candidates

    def changes_at(
        self, position: int, *, confidence: float = 0.95, against: Against = "previous"
    ) -> Changes:
        """Return the items whose share changed in the last window.

        Args:
            position: that of the last window.
            confidence: above 0 and below 1.
            against: ``"previous"`` for the window before, ``"earlier"`` for all kept slices before.
        """
        checked_integer("position", position, least=-1, most=-1)
        if len(self._windows) < 2:
            return Changes()
        return self._slides.changes(confidence=confidence, against=against)

    def _kept(self) -> tuple[Window, ...]:
        return self._windows

    def _asked(self, last: int, *, include_open: bool) -> list[Window]:  # noqa: ARG002 -- none is open
        chosen = self._windows[-checked_integer("last", last) :]
        slices = len(chosen) * self._slides.span
        window = self._slides.window(last=slices) if chosen else None
        return [] if window is None else [window]


class _Slides(PublishedSlides):
    """The queries of the library, of the ends of one publication."""

    def __init__(
        self, ends: tuple[Window, ...], *, every: int, slices: int, listed: tuple[Item, ...]
    ) -> None:
        self._ended, self._listed = ends, listed
        self._every, self._span, self._block = every, slices, 1

    def _kept(self) -> tuple[Window, ...]:
        return self._ended
