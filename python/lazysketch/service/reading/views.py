"""What the answers of a publication contain, as plain values that JSON has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lazysketch.service.publication import Facts
from lazysketch.service.windows_view import (
    CONFIDENCE,
    Plain,
    WindowsView,
    alert_value,
    instant_text,
    intervals_of,
    item_value,
    node_value,
    rows_of,
    window_value,
)
from lazysketch.windows.window import merged

if TYPE_CHECKING:
    from lazysketch.releases.items import Item
    from lazysketch.releases.release import Release
    from lazysketch.service.publication import Publication
    from lazysketch.service.published_alerts import PublishedAlerts
    from lazysketch.windows.changes import Against
    from lazysketch.windows.published_windows import PublishedWindows

__all__ = ["PublicationView", "described"]

_SHOWN_ALERTS: Final = 50


def described(publication: Publication) -> Plain:
    """Return what is said of a publication next to its numbers.

    Args:
        publication: what is published.
    """
    return {
        **{name: getattr(publication.facts, name) for name in Facts.__slots__},
        "number": publication.number,
        "at": instant_text(publication.at),
        "publish_at": instant_text(publication.publish_at),
        "next_at": instant_text(publication.next_at),
        "finished": publication.finished,
        "listed": bool(publication.listed),
    }


class PublicationView(WindowsView):
    """The answers of one publication.

    Guarantee: post-processing of released values; the same for every reader.

    Args:
        publication: what is published.
        before: the view of the publication before, whose courses of ended windows are kept.
    """

    def __init__(self, publication: Publication, before: PublicationView | None = None) -> None:
        self.publication = publication
        queries = publication.queries()
        self._queries_of = {-1: queries}
        now = queries.open
        shown = (*queries.windows, *(() if now is None else (now,)))
        super().__init__(queries, shown, described(publication), before)

    def overview(self) -> Plain:
        """Return what the page shows; with alerts, if the stream has thresholds."""
        found = self.publication.alerts
        last = {} if found is None else {"alerts": self._alerts(found, most=_SHOWN_ALERTS)}
        return {**super().overview(), **last}

    def alerts(self, found: PublishedAlerts) -> Plain:
        """Return all alerts of the publication, the latest first.

        Args:
            found: those of the publication.
        """
        return {**self._place(), **self._alerts(found, most=None)}

    @staticmethod
    def _alerts(found: PublishedAlerts, *, most: int | None) -> dict[str, object]:
        latest = list(reversed(found.raised))
        latest.sort(key=lambda one: one.until is not None)  # those that last come first
        return {
            "rules": [
                {"above": one.above, "item": None if one.item is None else item_value(one.item)}
                for one in found.rules
            ],
            "false_alarm_rate": found.false_alarm_rate,
            "readings": found.readings,
            "lasting": sum(one.until is None for one in found.raised),
            "raised": [alert_value(one) for one in latest[:most]],
        }

    def merged(self, last: int | None, level: int) -> Release:
        """Return one release of the last windows that ended, of which there is one.

        Args:
            last: number of ended windows; None for all.
            level: number of a level of the hierarchy, -1 for the finest.
        """
        return merged([one.levels[level] for one in self._chosen(last, include_open=False)])

    def top(self, *, n: int, last: int | None, include_open: bool, level: int = -1) -> Plain:
        """Return the heaviest names of the last windows.

        Args:
            n: number of names.
            last: number of ended windows; None for all.
            include_open: True to include the published part of the open window.
            level: number of a level of the hierarchy; the finest by default.
        """
        chosen = [window.levels[level] for window in self._chosen(last, include_open=include_open)]
        found = self._of_level(level).top(
            n,
            last=last or len(self._windows) or 1,
            confidence=CONFIDENCE,
            include_open=include_open,
        )
        return {
            **self._place(),
            "windows": [window_value(window) for window in chosen],
            "confidence": CONFIDENCE,
            "total": self._total(chosen),
            "items": rows_of(found),
        }

    def hierarchy(self, *, share: float | None, last: int | None, include_open: bool) -> Plain:
        """Return the tree of what is heavy in the last windows at any level.

        Args:
            share: names with at least this share; None for that of the stream.
            last: number of ended windows; None for all.
            include_open: True to include the published part of the open window.
        """
        facts, chosen = self.publication.facts, self._chosen(last, include_open=include_open)
        least = share or facts.share or 1.0
        found = self.publication.tree(
            share=least, last=last or len(self._windows) or 1, include_open=include_open
        )
        return {
            **self._place(),
            "windows": [window_value(window) for window in chosen],
            "confidence": CONFIDENCE,
            "levels": list(facts.levels),
            "share": least,
            "totals": [
                self._total([window.levels[level] for window in chosen])
                for level in range(len(facts.levels))
            ],
            "nodes": [node_value(root) for root in found],
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
            "windows": [window_value(window) for window in chosen],
            "confidence": CONFIDENCE,
            "items": [],
        }
        if chosen:
            found = merged(chosen).interval_many(items, confidence=CONFIDENCE)
            content["items"] = [
                {"item": item_value(item), **course}
                for item, course in zip(items, intervals_of(found), strict=True)
            ]
        return content

    def courses(self, items: Sequence[Item]) -> Plain:
        """Return the counts of some items in each window.

        Args:
            items: what readers ask for.
        """
        return {
            **self._place(),
            "windows": [window_value(window) for window in self._windows],
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
        return {
            **self._place(),
            "confidence": CONFIDENCE,
            "changes": self._changes(against),
        }

    def _of_level(self, level: int) -> PublishedWindows:
        """Return the queries of a level, whose windows are made once."""
        if level not in self._queries_of:
            self._queries_of[level] = self.publication.queries(level)
        return self._queries_of[level]

    def _place(self) -> dict[str, object]:
        return {"number": self.publication.number, "at": instant_text(self.publication.at)}
