"""Windows of time as the subject of a run: a list over the last ones, and what changed.

Of a pipe the windows are those of the clock, of files those of a public range, by each row's own
time; a number instead of a time makes windows of steps.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lazysketch import Windows
from lazysketch.cli.run.targets import HEADER, Moment
from lazysketch.cli.view.live import duration
from lazysketch.cli.view.output import Report
from lazysketch.cli.view.report import CONFIDENCE, row_of, shape
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lazysketch import Change, Release, Window
    from lazysketch.cli.options import SketchSettings

__all__ = ["InWindows", "WindowSettings"]

_CHANGES: Final = ("window", "item", "before", "after", "change_low", "change_high")
_ITEM_BYTES: Final = 256
_OPTIONS: Final = {
    "every": "--window",
    "begin": "--from",
    "end": "--to",
    "begin, end": "--from, --to",
    "begin, end, slices, clock": "--from, --to",
}


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How a stream is cut into windows.

    Args:
        every: Their length, in time or in steps.
        keep: Windows that are kept and listed.
        begin: Where the public range of a file begins, or None.
        end: Where it ends, or None.
        changes: Whether the result are the changes, not the list.
    """

    every: timedelta | int
    keep: int
    begin: str | None
    end: str | None
    changes: bool

    @property
    def in_steps(self) -> bool:
        """Whether windows are so many steps long."""
        return isinstance(self.every, int)

    @property
    def by_time(self) -> bool:
        """Whether rows go into windows by their own times."""
        return not self.in_steps and (self.begin is not None or self.end is not None)

    def check(self, *, stored: bool) -> None:
        """Raise unless the windows fit to what is read.

        Args:
            stored: Whether all inputs are files that end, which are read in no time.
        """
        if stored and not self.in_steps and not self.by_time:
            raise ArgumentTypeError(
                "--from, --to: expected the public range of the windows of a file, such as "
                "2026-05-17 and 2026-05-18T12:00, got none"
            )

    def create(
        self,
        sketch: SketchSettings,
        *,
        share: float,
        domain: Iterable[str] | Iterable[int] | None,
        memory: int,
        max_weight: int,
    ) -> Windows:
        """Return fresh windows; their constructor checks the values."""
        if sketch.horizon is not None:
            raise ArgumentTypeError("horizon: expected none beside --window, got one")
        if sketch.kind != "count-min" or sketch.mechanism != "tree":
            raise ArgumentValueError(
                "kind, mechanism: expected count-min and tree beside --window, got others"
            )
        try:
            return Windows(
                every=self.every,
                keep=self.keep,
                domain=domain,
                memory=memory,
                depth=sketch.depth,
                width=sketch.width,
                epsilon=sketch.epsilon,
                delta=sketch.delta,
                relation=sketch.relation,
                max_weight=max_weight,
                max_events_per_user=sketch.max_events_per_user,
                max_item_bytes=_ITEM_BYTES,
                hash_seed=sketch.hash_seed,
                share=share if domain is None else None,
                begin=self.begin,
                end=self.end,
            )
        except (ArgumentTypeError, ArgumentValueError) as error:
            name, colon, rest = str(error).partition(": ")
            raise type(error)(f"{_OPTIONS.get(name, name)}{colon}{rest}") from None


class InWindows:
    """The last windows of a stream.

    Args:
        windows: What counts it.
        settings: How it is cut.
        most: How many items are shown.
        epsilon: What was asked for; the parts of names and counts add up to at most that.
        delta: The same of delta.
    """

    def __init__(
        self, windows: Windows, settings: WindowSettings, *, most: int, epsilon: float, delta: float
    ) -> None:
        self.windows = windows
        self.takes_times = windows.takes_times
        self.tick = windows.tick
        self.close = windows.close
        self._settings = settings
        self._most = most
        self._privacy = dataclasses.replace(windows.privacy, epsilon=epsilon, delta=delta)

    @property
    def choice(self) -> int:
        """The number of names that were published."""
        return len(self.windows.candidates)

    def update_many(self, items: Any, weights: Any = None, *, times: Any = None) -> None:
        """Count events."""
        if self.takes_times and times is None:
            raise ArgumentTypeError(
                "--time: expected a format whose rows have times, got one without"
            )
        self.windows.update_many(items, weights, times=times)

    def moment(self) -> Moment | None:
        """Return what is public now; None before any window of a range is."""
        now = self.windows.open
        if now is None:
            return None
        release = now.release
        waits = f"in windows of {_length(self._settings.every)}"
        ended = len(self.windows.windows)
        return Moment(
            release=release,
            rows=self._rows(include_open=True),
            waiting=[f"{waits}: {ended} kept, and the open one until {_instant(now.end)}"],
            promise=str(self._privacy),
            progress=f"since {_instant(now.begin)}" if isinstance(now.begin, datetime) else "",
        )

    def finish(self) -> Moment:
        """Publish what is open, and return what is public at the end."""
        before = self.windows.open  # all there is of windows of steps before the first row
        self.windows.finish()
        kept = self.windows.windows
        return Moment(
            release=before.release if before and not kept else self.windows.release(len(kept)),
            rows=self._rows(include_open=False),
            waiting=[],
            promise=str(self._privacy),
        )

    def release(self) -> Release:
        """Return the table of all kept windows, or of the open one before any has ended."""
        kept, now = self.windows.windows, self.windows.open
        return now.release if not kept and now else self.windows.release(max(len(kept), 1))

    def report(
        self, moment: Moment, *, of: str, inputs: dict[str, Any], length_known: bool
    ) -> Report:
        """Join the rows with what is to be said about windows, and with the changes."""
        del length_known  # the length of windows does not depend on it
        kept = self.windows.windows
        changes = [row for at in range(1, len(kept)) for row in self._changes(at)]
        release, whole = moment.release, self._privacy
        spent = {"epsilon": whole.epsilon, "delta": whole.delta}
        summary = {
            "windows": [_facts(window) for window in kept],
            "kind": release.kind,
            "depth": release.depth,
            "width": release.width,
            "hash_seed": release.hash_seed,
            "privacy": {**dataclasses.asdict(whole.sketch), **spent},
            "confidence": CONFIDENCE,
            "simultaneous": True,
            **inputs,
            "changes": changes,
        }
        lines = [
            f"{_span(kept, self._settings.every)} of {of}; {shape(release)} each",
            moment.promise,
        ]
        if self._settings.changes:
            lines.append(_said_of_changes(changes))
            return Report(changes, summary, lines, name="changed", header=_CHANGES)
        lines.append(
            "low and high hold all counts of the list together over these windows with "
            f"{CONFIDENCE:.0%} confidence"
        )
        lines += [_said_of_change(change) for change in changes]
        return Report(moment.rows, summary, lines, header=HEADER)

    def _rows(self, *, include_open: bool) -> list[dict[str, Any]]:
        last = max(len(self.windows.windows), 1)
        hitters = self.windows.top(
            self._most, last, confidence=CONFIDENCE, include_open=include_open
        )
        return [
            {
                "rank": rank,
                **row_of(
                    _text(hitter.item), hitter.estimate, hitter.low, hitter.high, share=hitter.share
                ),
                "complete": True,
            }
            for rank, hitter in enumerate(hitters, start=1)
        ]

    def _changes(self, position: int) -> list[dict[str, Any]]:
        begin = _instant(self.windows.windows[position].begin)
        found = self.windows.changes_at(position, confidence=CONFIDENCE)
        return [_change(begin, change) for change in found]


def _change(begin: str, change: Change) -> dict[str, Any]:
    return {
        "window": begin,
        "item": _text(change.item),
        "before": round(change.before, 6),
        "after": round(change.after, 6),
        "change_low": round(change.low, 6),
        "change_high": round(change.high, 6),
    }


def _said_of_change(row: dict[str, Any]) -> str:
    direction = "rose" if row["change_low"] > 0 else "fell"
    return (
        f"{row['window']}: {row['item']} {direction} from {row['before']:.1%} to {row['after']:.1%}"
        f" ({row['change_low']:+.1%} to {row['change_high']:+.1%})"
    )


def _said_of_changes(rows: list[dict[str, Any]]) -> str:
    count = f"{len(rows):,} changes" if len(rows) != 1 else "1 change"
    return (
        f"{count} of share from one window to the next; those of a window hold together with "
        f"{CONFIDENCE:.0%} confidence"
    )


def _facts(window: Window) -> dict[str, Any]:
    return {
        "begin": _instant(window.begin),
        "end": _instant(window.end),
        "whole": window.whole,
        "names": len(window.names),
    }


def _span(windows: tuple[Window, ...], every: timedelta | int) -> str:
    count = f"{len(windows):,} windows" if len(windows) != 1 else "1 window"
    if not windows:
        return count
    begin, end = _instant(windows[0].begin), _instant(windows[-1].end)
    return f"{count} of {_length(every)}, {begin} to {end}"


def _length(every: timedelta | int) -> str:
    if isinstance(every, int):
        return f"{every:,} steps"
    seconds = every.total_seconds()
    return duration(seconds) if seconds >= 1 else f"{seconds * 1000:g} ms"


def _instant(instant: datetime | int) -> str:
    if isinstance(instant, int):
        return f"step {instant:,}"
    return instant.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")


def _text(item: str | bytes | int) -> str | int:
    return item.decode("utf-8", errors="backslashreplace") if isinstance(item, bytes) else item
