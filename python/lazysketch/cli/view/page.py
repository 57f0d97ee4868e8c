"""The page of a run: that of the service, as one file with the data inside.

A plain run shows its counts over its steps, from the releases that were kept on the way; a run in
windows shows what a service shows of them. The file fetches nothing, and names no folder of the
operator.

Cost: the intervals of the listed items in every kept release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch.cli.view.output import name_without_folders
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.heavy_hitters import JointPrivacy
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.wording import unit
from lazysketch.service.page_file import standalone_page
from lazysketch.service.windows_view import WindowsView, count_value, intervals_of, item_value

if TYPE_CHECKING:
    from datetime import timedelta

    from lazysketch import Release, Windows
    from lazysketch.cli.view.output import Report
    from lazysketch.releases.rows import ItemRow

__all__ = ["page_of_run", "page_of_windows"]

_COURSES: Final = 50


def page_of_run(
    report: Report,
    releases: Sequence[Release],
    *,
    of: str,
    privacy: Privacy | JointPrivacy,
    among: int,
    listed: bool,
) -> bytes:
    """Return the page of a run: its items over its steps.

    Guarantee: post-processing of released values.

    Args:
        report: the result, its rows in descending order.
        releases: in ascending order of steps; the last has the result.
        of: what was counted.
        privacy: the guarantee of the run.
        among: number of items from which the rows were selected.
        listed: True if the items are those of a public list.
    """
    rows = cast("list[ItemRow]", list(report.rows))
    # Before all columns are published, a count of 0 carries no information.
    usable = [release for release in releases if release.pushes.all()] or list(releases[-1:])
    courses = _courses([row for row in rows if row.get("complete", True)], usable, among=among)
    steps = releases[-1].step if releases else 0
    facts = {
        **_facts(privacy, of=of, counts=report.summary["field"], listed=listed),
        "cumulative": True,
        "every": None,
        "names": among,
        "notes": report.summary["notes"],
        "windows": [
            {"number": number, "begin": 0, "end": release.step, "ended": True, "whole": True}
            for number, release in enumerate(usable)
        ],
    }
    return standalone_page(
        {
            "facts": facts,
            "confidence": CONFIDENCE,
            "total": {"estimate": steps, "low": steps, "high": steps},
            "items": [
                {
                    "item": item_value(row["item"]),
                    "estimate": count_value(row["estimate"]),
                    "low": count_value(row["low"]),
                    "high": count_value(row["high"]),
                    "share": row.get("share"),
                    "course": courses.get(row["item"], []),
                }
                for row in rows
            ],
            "last": {"window": None, "total": None, "items": []},
            "changes": [],
        }
    )


def page_of_windows(
    windows: Windows,
    report: Report,
    *,
    of: str,
    privacy: JointPrivacy,
    every: timedelta | int,
    keep: int,
    listed: bool,
) -> bytes:
    """Return the page of a run in windows.

    Guarantee: post-processing of released values.

    Args:
        windows: what was counted.
        report: the result.
        of: what was counted, in words.
        privacy: the guarantee of the run.
        every: length of a window in time or steps.
        keep: number of windows that are listed together.
        listed: True if the items are those of a public list.
    """
    facts = {
        **_facts(privacy, of=of, counts=report.summary["field"], listed=listed),
        "every": None if isinstance(every, int) else every.total_seconds(),
        "keep": keep,
        "private": windows.private,
        "not_private_because": list(windows.not_private_because),
    }
    return standalone_page(WindowsView(windows, windows.windows, facts).overview())


def _facts(
    privacy: Privacy | JointPrivacy, *, of: str, counts: object, listed: bool
) -> dict[str, Any]:
    table = privacy.sketch if isinstance(privacy, JointPrivacy) else privacy
    within = privacy.within if isinstance(privacy, JointPrivacy) else None
    return {
        "title": f"Top items of {name_without_folders(of)}",
        "counts": counts,
        "slices": None,
        "guarantee": privacy.sentence,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "relation": table.relation,
        "unit": unit(
            person_bound=table.person_bound,
            within=within,
            max_events_per_user=table.max_events_per_user,
        ),
        "private": table.private,
        "not_private_because": list(table.not_private_because),
        "finished": True,
        "listed": listed,
    }


def _courses(
    rows: Sequence[ItemRow], releases: Sequence[Release], *, among: int
) -> dict[str | int, list[object]]:
    """Return the counts of the heaviest items in each release."""
    items = [row["item"] for row in rows[:_COURSES]]
    if not items:
        return {}
    # Simultaneous over all items that could have been selected, since the largest were.
    confidence = 1 - (1 - CONFIDENCE) / max(among, 1)
    found = [
        intervals_of(release.interval_many(items, confidence=confidence, at="now"))
        for release in releases
    ]
    return {item: [each[place] for each in found] for place, item in enumerate(items)}
