"""What the page shows of windows, as plain values that JSON has.

Everything here is post-processing of released values. Items are what names say; counts are rounded
to one decimal, which no count of noisy integers is finer than.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Final
from uuid import UUID

from lazysketch.windows.window import Total, Window, merged, total_of

if TYPE_CHECKING:
    from lazysketch.estimation.intervals import Intervals
    from lazysketch.heavy_hitters import HierarchyNode
    from lazysketch.releases.heavy_items import HeavyItems
    from lazysketch.releases.items import Item
    from lazysketch.service.published_alerts import PublishedAlert
    from lazysketch.windows.changes import Against
    from lazysketch.windows.published_windows import PublishedWindows

__all__ = [
    "CONFIDENCE",
    "Plain",
    "WindowsView",
    "alert_value",
    "count_value",
    "instant_text",
    "intervals_of",
    "item_value",
    "node_value",
    "rows_of",
    "window_value",
]

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


class WindowsView:
    """What the page shows of some windows.

    Guarantee: post-processing of published windows.

    Args:
        queries: the windows.
        windows: those that are shown, oldest first; the open one, if it is shown, is the last.
        described: facts next to the numbers.
        before: the view before, whose courses of ended windows are kept.
    """

    def __init__(
        self,
        queries: PublishedWindows,
        windows: Sequence[Window],
        described: Plain,
        before: WindowsView | None = None,
    ) -> None:
        self._queries = queries
        self._windows = list(windows)
        self._described = described
        # An interval is wider among more names: what is kept was computed among as many.
        self._among = max(len(self.candidates), 1)
        self._course_of: dict[tuple[int, Item], Plain] = {}
        if before is not None and before._among == self._among:
            # A window that was open then counted on until its end.
            ended = {window.number for window in before._windows if window.ended}
            ended &= {window.number for window in windows}
            kept = list(before._course_of.items())
            self._course_of = {key: found for key, found in kept if key[0] in ended}

    @property
    def ended(self) -> list[Window]:
        """The windows that readers see and that have ended, oldest first."""
        return [window for window in self._windows if window.ended]

    @property
    def candidates(self) -> list[Item]:
        """The public names, each once."""
        return self._queries.candidates

    def facts(self) -> Plain:
        """Return what is said of the stream, without its numbers."""
        return {
            **self._described,
            "names": len(self.candidates),
            "windows": [window_value(window) for window in self._windows],
        }

    def overview(self) -> Plain:
        """Return what the page shows: lists of all windows and of the last, courses, changes."""
        chosen = self._chosen(None, include_open=True)
        every = len(self._windows) or 1
        top = self._queries.top(_SHOWN, last=every, confidence=CONFIDENCE, include_open=True)
        courses = self._courses([one.item for one in top], keep=True)
        last = next(reversed(self.ended), None)
        latest = self._queries.top(_SHOWN, last=1, confidence=CONFIDENCE)
        return {
            "facts": self.facts(),
            "confidence": CONFIDENCE,
            "total": self._total(chosen),
            "items": [
                {**row, "course": course} for row, course in zip(rows_of(top), courses, strict=True)
            ],
            "last": {
                "window": None if last is None else window_value(last),
                "total": self._total([] if last is None else [last]),
                "items": rows_of(latest),
            },
            "changes": self._changes("previous"),
        }

    def _chosen(self, last: int | None, *, include_open: bool) -> list[Window]:
        """Return the windows that together are the last few; None for all."""
        every = len(self._windows) or 1
        return self._queries._asked(last or every, include_open=include_open)

    def _changes(self, against: Against) -> list[Plain]:
        found = self._queries.changes(confidence=CONFIDENCE, against=against)
        return [
            {
                "item": item_value(one.item),
                "before": _share(one.before),
                "after": _share(one.after),
                "low": _share(one.low),
                "high": _share(one.high),
            }
            for one in found
        ]

    def _courses(self, items: Sequence[Item], *, keep: bool = False) -> list[list[Plain]]:
        """Return the count of each item in each window, a function of the windows and the items.

        Args:
            items: any items.
            keep: True for items that every page shows, whose ended windows are read once. What
                readers ask for is not kept: it would be as much as they like.
        """
        among = max(self._among, len(items))
        columns = []
        for window in self._windows:
            number = window.number
            known = {
                item: self._course_of[number, item]
                for item in items
                if among == self._among and (number, item) in self._course_of
            }
            missing = [item for item in dict.fromkeys(items) if item not in known]
            if missing:
                found = window.release.interval_many(missing, confidence=CONFIDENCE, among=among)
                new = dict(zip(missing, intervals_of(found), strict=True))
                known |= new
                if keep:
                    self._course_of |= {(number, item): one for item, one in new.items()}
            columns.append(known)
        return [[known[item] for known in columns] for item in items]

    def _total(self, windows: Sequence[Window]) -> Plain | None:
        if not windows:
            return None
        total: Total = total_of(windows, merged(windows), failure=(1.0 - CONFIDENCE) / 2.0)
        return {
            "estimate": count_value(total.estimate),
            "low": count_value(total.low),
            "high": count_value(total.high),
        }


def rows_of(found: HeavyItems) -> list[dict[str, object]]:
    """Return the rows of a list.

    Args:
        found: the items with their counts.
    """
    return [
        {
            "item": item_value(one.item),
            "estimate": count_value(one.estimate),
            "low": count_value(one.low),
            "high": count_value(one.high),
            "share": _share(one.share),
        }
        for one in found
    ]


def alert_value(one: PublishedAlert) -> dict[str, object]:
    """Return an alert: what its first window said, and how long it lasted.

    Args:
        one: the alert.
    """
    alert = one.alert
    return {
        "id": f"{one.number}-{one.position}",
        "item": item_value(alert.item),
        "above": alert.above,
        "estimate": count_value(alert.estimate),
        "low": count_value(alert.low),
        "high": count_value(alert.high),
        "begin": bound_value(alert.begin),
        "end": bound_value(alert.end),
        "until": None if one.until is None else instant_text(one.until),
    }


def node_value(node: HierarchyNode) -> Plain:
    """Return a name in a tree with all names below it.

    Args:
        node: the name.
    """
    return {
        "item": item_value(node.item),
        "level": node.level,
        "label": node.label,
        "estimate": count_value(node.estimate),
        "low": count_value(node.low),
        "high": count_value(node.high),
        "share": _share(node.share),
        "own": count_value(node.own),
        "own_share": _share(node.own_share),
        "published": node.published,
        "children": [node_value(child) for child in node.children],
    }


def intervals_of(found: Intervals) -> list[Plain]:
    """Return counts with their intervals.

    Args:
        found: the intervals.
    """
    return [
        {
            "estimate": count_value(one.estimate),
            "low": count_value(one.low),
            "high": count_value(one.high),
        }
        for one in found
    ]


def window_value(window: Window) -> Plain:
    """Return a window without its numbers.

    Args:
        window: one that was published.
    """
    return {
        "number": window.number,
        "begin": bound_value(window.begin),
        "end": bound_value(window.end),
        "ended": window.ended,
        "whole": window.whole,
    }


def bound_value(bound: datetime | int) -> str | int:
    """Return where a window begins or ends: an instant as text, or a number of steps.

    Args:
        bound: as windows have it.
    """
    return instant_text(bound) if isinstance(bound, datetime) else bound


def instant_text(moment: datetime) -> str:
    """Return an instant in UTC as the answers have it, to the millisecond.

    Args:
        moment: an instant.
    """
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def count_value(value: float) -> float | None:
    """Return a count to one decimal, None for one that is not finite.

    Args:
        value: an estimate, or an end of an interval.
    """
    return round(float(value), 1) if math.isfinite(value) else None


def _share(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
