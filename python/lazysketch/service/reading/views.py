"""What the answers of a publication contain, as plain values that JSON has.

Everything here is post-processing of released values. Items are what names say; counts are rounded
to one decimal, which no count of noisy integers is finer than.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Final
from uuid import UUID

from lazysketch.service.publication import Facts
from lazysketch.windows.window import Total, Window, merged, total_of

if TYPE_CHECKING:
    from lazysketch.estimation.intervals import Intervals
    from lazysketch.releases.heavy_items import HeavyItems
    from lazysketch.releases.items import Item
    from lazysketch.service.publication import Publication
    from lazysketch.windows.changes import Against
    from lazysketch.windows.published_windows import PublishedWindows

__all__ = ["CONFIDENCE", "PublicationView", "instant_text", "item_value"]

CONFIDENCE: Final = 0.95
_SHOWN: Final = 50
_LARGEST_EXACT: Final = 2**53

Plain = Mapping[str, object]


def item_value(item: Item) -> object:
    """Return an item as JSON has it: a text, an integer, or an object that names another type.

    Integers beyond 2^53 are such objects, because readers that have no larger ones would take two
    of them for one.

    Args:
        item: any item.

    Example:
        >>> item_value("/a"), item_value(7), item_value(bytes([1, 255]))
        ('/a', 7, {'bytes': '01ff'})
    """
    if isinstance(item, int):
        return item if abs(item) <= _LARGEST_EXACT else {"int": str(item)}
    if isinstance(item, str):
        return item
    if isinstance(item, bytes):
        return {"bytes": item.hex()}
    if isinstance(item, datetime):
        return {"datetime": item.astimezone(timezone.utc).isoformat()}
    if isinstance(item, date):
        return {"date": item.isoformat()}
    assert isinstance(item, UUID), "the last type of items"  # noqa: S101
    return {"uuid": str(item)}


class PublicationView:
    """The answers of one publication.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose courses of ended windows are kept.
    """

    def __init__(self, publication: Publication, before: PublicationView | None = None) -> None:
        self.publication = publication
        self._queries: PublishedWindows = publication.queries()
        self._windows = [one.window for one in publication.windows]
        ended = {window.number for window in self._windows if window.ended}
        self._course_of: dict[tuple[int, Item], Plain] = {}
        if before is not None:
            kept = list(before._course_of.items())
            self._course_of = {key: found for key, found in kept if key[0] in ended}

    @property
    def candidates(self) -> list[Item]:
        """The public names, each once."""
        return self._queries.candidates

    def facts(self) -> Plain:
        """Return what is said of the stream, without its numbers."""
        one = self.publication
        return {
            **{name: getattr(one.facts, name) for name in Facts.__slots__},
            "number": one.number,
            "at": instant_text(one.at),
            "publish_at": instant_text(one.publish_at),
            "next_at": instant_text(one.next_at),
            "finished": one.finished,
            "listed": bool(one.listed),
            "names": len(self.candidates),
            "windows": [_window(window) for window in self._windows],
        }

    def overview(self) -> Plain:
        """Return what the page shows: lists of all windows and of the last, courses, changes."""
        every = len(self._windows) or 1
        top = self._queries.top(_SHOWN, last=every, confidence=CONFIDENCE, include_open=True)
        courses = self._courses([one.item for one in top])
        last = next((one for one in reversed(self._windows) if one.ended), None)
        latest = self._queries.top(_SHOWN, last=1, confidence=CONFIDENCE)
        return {
            "facts": self.facts(),
            "confidence": CONFIDENCE,
            "total": self._total(self._windows),
            "items": [
                {**row, "course": course} for row, course in zip(_rows(top), courses, strict=True)
            ],
            "last": {
                "window": None if last is None else _window(last),
                "total": self._total([] if last is None else [last]),
                "items": _rows(latest),
            },
            "changes": self.changes("previous")["changes"],
        }

    def top(self, *, n: int, last: int | None, include_open: bool) -> Plain:
        """Return the heaviest names of the last windows.

        Args:
            n: number of names.
            last: number of ended windows; None for all.
            include_open: True to include the published part of the open window.
        """
        chosen = self._chosen(last, include_open=include_open)
        found = self._queries.top(
            n,
            last=last or len(self._windows) or 1,
            confidence=CONFIDENCE,
            include_open=include_open,
        )
        return {
            **self._place(),
            "windows": [_window(window) for window in chosen],
            "confidence": CONFIDENCE,
            "total": self._total(chosen),
            "items": _rows(found),
        }

    def counts(self, items: Sequence[Item], *, last: int | None, include_open: bool) -> Plain:
        """Return the counts of some items in the last windows, each with its own interval.

        Args:
            items: what readers ask for.
            last: number of ended windows; None for all.
            include_open: True to include the published part of the open window.
        """
        chosen = self._chosen(last, include_open=include_open)
        content: dict[str, object] = {
            **self._place(),
            "windows": [_window(window) for window in chosen],
            "confidence": CONFIDENCE,
            "items": [],
        }
        if chosen:
            found = merged(chosen).interval_many(items, confidence=CONFIDENCE)
            content["items"] = [
                {"item": item_value(item), **course}
                for item, course in zip(items, _intervals(found), strict=True)
            ]
        return content

    def courses(self, items: Sequence[Item]) -> Plain:
        """Return the counts of some items in each window.

        Args:
            items: what readers ask for.
        """
        return {
            **self._place(),
            "windows": [_window(window) for window in self._windows],
            "confidence": CONFIDENCE,
            "items": [
                {"item": item_value(item), "course": course}
                for item, course in zip(items, self._courses(items), strict=True)
            ],
        }

    def changes(self, against: Against) -> Plain:
        """Return the names whose share changed in the last window.

        Args:
            against: what the last window is compared with.
        """
        found = self._queries.changes(confidence=CONFIDENCE, against=against)
        return {
            **self._place(),
            "confidence": CONFIDENCE,
            "changes": [
                {
                    "item": item_value(one.item),
                    "before": _share(one.before),
                    "after": _share(one.after),
                    "low": _share(one.low),
                    "high": _share(one.high),
                }
                for one in found
            ],
        }

    def _courses(self, items: Sequence[Item]) -> list[list[Plain]]:
        """Return the count of each item in each window; ended windows are read once."""
        among = max(len(self.candidates), len(items), 1)
        for window in self._windows:
            missing = [item for item in items if (window.number, item) not in self._course_of]
            if missing:
                found = window.release.interval_many(missing, confidence=CONFIDENCE, among=among)
                for item, course in zip(missing, _intervals(found), strict=True):
                    self._course_of[window.number, item] = course
        return [
            [self._course_of[window.number, item] for window in self._windows] for item in items
        ]

    def _chosen(self, last: int | None, *, include_open: bool) -> list[Window]:
        ended = [window for window in self._windows if window.ended]
        kept = ended if last is None else ended[-last:]
        return kept + [window for window in self._windows if not window.ended and include_open]

    def _total(self, windows: Sequence[Window]) -> Plain | None:
        if not windows:
            return None
        total: Total = total_of(windows, merged(windows), failure=(1.0 - CONFIDENCE) / 2.0)
        return {
            "estimate": _count(total.estimate),
            "low": _count(total.low),
            "high": _count(total.high),
        }

    def _place(self) -> dict[str, object]:
        return {"number": self.publication.number, "at": instant_text(self.publication.at)}


def _rows(found: HeavyItems) -> list[dict[str, object]]:
    return [
        {
            "item": item_value(one.item),
            "estimate": _count(one.estimate),
            "low": _count(one.low),
            "high": _count(one.high),
            "share": _share(one.share),
        }
        for one in found
    ]


def _intervals(found: Intervals) -> list[Plain]:
    return [
        {"estimate": _count(one.estimate), "low": _count(one.low), "high": _count(one.high)}
        for one in found
    ]


def _window(window: Window) -> Plain:
    return {
        "number": window.number,
        "begin": instant_text(window.begin),
        "end": instant_text(window.end),
        "ended": window.ended,
        "whole": window.whole,
    }


def instant_text(moment: datetime | int) -> str:
    """Return an instant in UTC as the answers have it, to the millisecond.

    Args:
        moment: an instant; a number is the place of a window of steps, which no service has.
    """
    assert isinstance(moment, datetime), "windows of a service are those of a clock"  # noqa: S101
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _count(value: float) -> float | None:
    return round(float(value), 1) if math.isfinite(value) else None


def _share(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
