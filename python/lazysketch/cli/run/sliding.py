"""Sliding windows as the target of a run: items over the last span, at every end of a slice."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run.people import people_of_windows
from lazysketch.cli.run.targets import HEADER
from lazysketch.cli.run.windowed import RunOfWindows, check_times
from lazysketch.cli.run.windows import named_as_options
from lazysketch.cli.view.discovery_messages import discovered
from lazysketch.cli.view.output import Report, tell
from lazysketch.cli.view.report import CONFIDENCE, Moment, interval_caption
from lazysketch.cli.view.window_words import (
    change_of,
    changes_caption,
    instant_in_words,
    length_in_words,
    sentence_of_change,
)
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.releases.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lazysketch import Release, Sliding, Window
    from lazysketch.cli.run.alerting import AlertSettings, AlertWatch
    from lazysketch.cli.run.state import State
    from lazysketch.cli.run.state_counting import Counting
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import (
        DiscoverySettings,
        InputSettings,
        PrivacySettings,
        SketchSettings,
    )
    from lazysketch.cli.view.output import Row
    from lazysketch.cli.view.window_words import ChangeRow
    from lazysketch.privacy.composable import Composable
    from lazysketch.releases.items import Item
    from lazysketch.releases.rows import ItemRow
    from lazysketch.sources import Source

__all__ = ["SlidingItems", "sliding_target"]

# Options by the argument names in errors of the library.
_OPTIONS: Final = {
    "every": "--window",
    "span": "--span",
    "begin": "--from",
    "end": "--to",
    "begin, end": "--from, --to",
    "begin, end, clock": "--from, --to",
}
_CHANGES: Final = ("window", "item", "before", "after", "change_low", "change_high")


class SlidingItems(RunOfWindows):
    """The items of the last span of a stream.

    Args:
        windows: Counts the stream.
        every: The length of a slice.
        span: The length of a window.
        shows_changes: Whether the result is the changes instead of the items.
        listed: Whether the items are those of a public list.
        most: The maximum number of rows.
        asked: The requested guarantee, an upper bound on the sum over discovery and counts.
        watch: Reads ended slices for alerts; None without any.
        counting: What counts the batches; the windows if None.
    """

    def __init__(
        self,
        windows: Sliding,
        *,
        every: timedelta | int,
        span: timedelta | int,
        shows_changes: bool,
        listed: bool,
        most: int,
        asked: PrivacySettings,
        watch: AlertWatch | None = None,
        counting: Counting | None = None,
    ) -> None:
        super().__init__(windows, counting)
        self.windows = windows
        self.people = people_of_windows(windows)
        self._watch = watch
        self.close = self._closing(self.close)
        self._every, self._span = length_in_words(every), length_in_words(span)
        self._shows_changes, self._listed, self._most = shows_changes, listed, most
        self._privacy = dataclasses.replace(
            windows.privacy, epsilon=asked.epsilon, delta=asked.delta
        )
        self.spends: Composable = self._privacy

    @property
    def candidates(self) -> int:
        """The number of published items."""
        return len(self.windows.candidates)

    @property
    def table_ids(self) -> frozenset[bytes]:
        """The ids of the blocks of the last span."""
        return frozenset(part.sketch_id for part in self.release().parts)

    def _count(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        check_times(self.windows, times)
        self.windows.update_many(items, weights, times=times, user=user)

    def moment(self) -> Moment | None:
        """Return the public state; None before the first slice has ended."""
        window = self.windows.window()
        if window is None:
            return None
        return Moment(
            release=window.release,
            rows=self._rows(),
            waiting=[f"the last {self._span}, as of {instant_in_words(window.end)}"],
            guarantee=str(self._privacy),
            progress=f"since {instant_in_words(window.begin)}",
        )

    def finish(self) -> Moment:
        """End the open slice, if the stream ends, and return the public state at the end."""
        if self._watch is not None:
            self._watch.stop()
        goes_on = self._end()
        if self._watch is not None and (goes_on or not self._holds_back):
            self._watch.check()
        if goes_on and self.windows.window() is None:
            tell(f"nothing is published yet: no slice of {self._every} has ended")
        return Moment(
            release=self.release(), rows=self._rows(), waiting=[], guarantee=str(self._privacy)
        )

    def release(self) -> Release:
        """Return the table of the last span; before the first slice has ended, an empty one."""
        if self._is_kept and not self.windows.slices:
            return self.windows.ends[0].release
        return self.windows.release()

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with the window and the changes from the one before."""
        del length_known  # of no use for windows
        window = self.windows.window()
        changes = [] if window is None else self._changes(window)
        release, joint = moment.release, self._privacy
        asked = {"epsilon": joint.epsilon, "delta": joint.delta}
        summary = {
            "window": None if window is None else _facts(window),
            "kind": release.kind,
            "depth": release.depth,
            "width": release.width,
            "hash_seed": str(release.hash_seed),  # JSON numbers are exact up to 2^53 only
            "privacy": {**dataclasses.asdict(joint.sketch), **asked, "within": joint.within},
            "guarantee": [moment.guarantee],
            "confidence": CONFIDENCE,
            "simultaneous": True,
            **inputs,
            "changes": changes,
        }
        lines = [f"{self._place(window)} of {of}; {release._shape}", moment.guarantee]
        if self._shows_changes:
            lines.append(changes_caption(changes))
            return Report(changes, summary, lines, name="changed", header=_CHANGES)
        lines.append(f"low-high: {interval_caption(simultaneous=True)}, over this window")
        if len(moment.rows) < self._most and not self._listed:
            lines.append(discovered(len(moment.rows), most=self._most))
        lines += [sentence_of_change(change) for change in changes]
        return Report(moment.rows, summary, lines, header=HEADER)

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> bytes:
        """Raise: a page shows windows that follow each other."""
        del report, releases, of
        raise ArgumentTypeError("--plot: expected no --span, got one")

    def _closing(self, close: Callable[[], None]) -> Callable[[], None]:
        """Return what destroys the private state, or closes the state on the disk."""

        def closing() -> None:
            if self._watch is not None:
                self._watch.stop()
            close()

        return closing

    def _place(self, window: Window | None) -> str:
        if window is None:
            return f"no slice of {self._every} has ended"
        begin, end = instant_in_words(window.begin), instant_in_words(window.end)
        return f"the last {self._span}, {begin} to {end}"

    def _rows(self) -> list[ItemRow]:
        hitters = self.windows.top(self._most, confidence=CONFIDENCE)
        rows: list[ItemRow] = []
        for rank, hitter in enumerate(hitters, start=1):
            row = row_of(hitter.item, hitter.estimate, hitter.low, hitter.high, share=hitter.share)
            rows.append({"rank": rank, **row, "complete": True})
        return rows

    def _changes(self, window: Window) -> list[ChangeRow]:
        begin = instant_in_words(window.begin)
        return [change_of(begin, change) for change in self.windows.changes(confidence=CONFIDENCE)]


def _facts(window: Window) -> dict[str, object]:
    return {
        "begin": instant_in_words(window.begin),
        "end": instant_in_words(window.end),
        "whole": window.whole,
        "names": len(window.names),
    }


def sliding_target(
    windows: WindowSettings,
    alerts: AlertSettings,
    sketch: SketchSettings,
    *,
    discovery: DiscoverySettings,
    domain: Iterable[str] | Iterable[int] | None,
    source: Source,
    reading: InputSettings,
    most: int,
    state: State | None,
) -> SlidingItems | None:
    """Return a target with fresh sliding windows, or with those of the state; None for none."""
    if windows.span is None or windows.length is None:
        return None
    windows.check_sketch(sketch)
    listed: list[Item] | None = None if domain is None else list(domain)
    whole = listed is not None and all(isinstance(item, int) for item in listed)
    rules = alerts.rules(whole_numbers=whole)
    if rules and windows.by_time:
        raise ArgumentTypeError(
            "--alert: expected windows by the clock or by steps, such as --window 1min without "
            "--from and --to"
        )
    from lazysketch import Alerts, Sliding  # late: few runs count in windows

    counting = None
    try:
        options = sketch.hitters_options(discovery, max_weight=source.max_weight)
        if listed is not None:
            options["share"] = None
        if state is None:
            live = Sliding(
                every=windows.length,
                span=windows.span,
                begin=windows.begin,
                end=windows.end,
                domain=listed,
                **options,
            )
        else:
            from lazysketch.cli.run.state_counting import Counting  # late: few have a state
            from lazysketch.cli.run.state_windows import sliding_of_items

            live = sliding_of_items(
                state, windows, sketch, discovery, reading, domain=listed, options=options
            )
            counting = Counting(state, live, source)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise named_as_options(error, _OPTIONS) from None
    watch = None
    if rules:
        length = windows.length
        every = length.total_seconds() if isinstance(length, timedelta) else None
        readings = alerts.readings(every)
        told = Alerts(live, rules, false_alarm_rate=alerts.false_alarms, readings=readings)
        watch = alerts.watch(told, every=every)
    return SlidingItems(
        live,
        every=windows.length,
        span=windows.span,
        shows_changes=windows.changes,
        listed=listed is not None,
        most=most,
        asked=sketch,
        watch=watch,
        counting=counting,
    )
