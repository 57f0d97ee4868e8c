"""How far windows have come, in a checkpoint: a description, and the releases of ended windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from lazysketch.releases.any_release import AnyRelease, any_release
from lazysketch.releases.release import Release
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.window import AnyWindow, ReleasedWindow, Window
from lazysketch.windows.window_tables import Moment

__all__ = ["progress_of", "saved_progress"]


def saved_progress(progress: Progress) -> tuple[dict[str, Any], list[bytes]]:
    """Return a description of the progress, and the releases of its ended windows.

    Args:
        progress: of the windows of one object.
    """
    levels = [[one.release.to_bytes() for one in window.levels] for window in progress.ended]
    described = {
        "number": progress.number,
        "whole": progress.whole,
        "last": progress.last,
        "finished": progress.finished,
        **({"taken": progress.taken} if progress.taken else {}),
        "ended": [
            {
                "number": window.number,
                "begin": _plain(window.begin),
                "end": _plain(window.end),
                "whole": window.whole,
                "bytes": len(finest),
                **({"coarser": [*map(len, coarser)]} if coarser else {}),
            }
            for window, (*coarser, finest) in zip(progress.ended, levels, strict=True)
        ],
    }
    return described, [release for window in levels for release in window]


def progress_of(described: dict[str, Any], contents: Iterator[bytes]) -> Progress:
    """Return the progress that :func:`saved_progress` described.

    Args:
        described: its first result.
        contents: of which as many are taken as there are ended windows: its second result.
    """
    ended = []
    for window in described["ended"]:
        *coarser, finest = [
            _window(window, any_release(next(contents)))
            for _ in range(len(window.get("coarser", ())) + 1)
        ]
        if isinstance(finest, Window):
            finest = replace(finest, coarser=tuple(cast("list[Window]", coarser)))
        ended.append(finest)
    return Progress(
        ended=tuple(ended),
        number=described["number"],
        whole=described["whole"],
        last=described["last"],
        finished=described["finished"],
        taken=described.get("taken", 0),
    )


def _window(described: dict[str, Any], release: AnyRelease) -> AnyWindow:
    facts = {
        "number": described["number"],
        "begin": _moment(described["begin"]),
        "end": _moment(described["end"]),
        "ended": release.finished,  # an end of a slice of an open block is none of the block
        "whole": described["whole"],
    }
    if isinstance(release, Release):
        return Window(**facts, release=release, names=release.names)
    return ReleasedWindow(**facts, release=release)


def _plain(moment: Moment) -> str | int:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _moment(plain: str | int) -> Moment:
    return datetime.fromisoformat(plain) if isinstance(plain, str) else plain
