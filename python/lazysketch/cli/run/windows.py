"""Windows of time as the target of a run: items over the kept windows, and changes between them.

A pipe is cut by the clock, a file within a public range by the time of each row, any stream by the
number of steps.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run.people import people_of_windows
from lazysketch.cli.run.targets import HEADER
from lazysketch.cli.run.windowed import Windowed, check_times
from lazysketch.cli.view.discovery_messages import discovered
from lazysketch.cli.view.output import Report
from lazysketch.cli.view.report import (
    CONFIDENCE,
    Moment,
    interval_caption,
)
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
    from collections.abc import Mapping, Sequence

    from lazysketch import Release, Windows
    from lazysketch.cli.run.state import State
    from lazysketch.cli.run.state_counting import Counting
    from lazysketch.cli.settings import (
        DiscoverySettings,
        InputSettings,
        PrivacySettings,
        ResultSettings,
        SketchSettings,
    )
    from lazysketch.cli.view.output import Row
    from lazysketch.cli.view.window_words import ChangeRow
    from lazysketch.privacy.composable import Composable
    from lazysketch.releases.rows import ItemRow
    from lazysketch.sources import Source
    from lazysketch.windows.statistic_windows import CutOptions
    from lazysketch.windows.window import AnyWindow

__all__ = ["WindowSettings", "WindowedItems", "facts_of", "named_as_options", "span_of"]

_CHANGES: Final = ("window", "item", "before", "after", "change_low", "change_high")
# Options by the argument names in errors of the library.
_OPTIONS: Final = {
    "every": "--window",
    "begin": "--from",
    "end": "--to",
    "begin, end": "--from, --to",
    "begin, end, slices, clock": "--from, --to",
}


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """Division of a stream into windows.

    Args:
        length: The length of a window in time or steps; None for no windows.
        keep: The number of ended windows that are kept and listed.
        begin: The start of the public range of a file, or None.
        end: The end of that range, or None.
        changes: Whether the result is the changes instead of the items.
        span: The length of sliding windows, of which ``length`` is a slice; None for none.
    """

    length: timedelta | int | None
    keep: int
    begin: str | None
    end: str | None
    changes: bool
    span: timedelta | int | None = None

    @property
    def by_time(self) -> bool:
        """True if the time of a row determines its window."""
        in_range = self.begin is not None or self.end is not None
        return in_range and isinstance(self.length, timedelta)

    def check_complete(self) -> None:
        """Raise unless --window comes with the options that need it."""
        dependent = self.begin is not None or self.end is not None or self.changes
        if self.length is None and dependent:
            raise ArgumentTypeError("--from, --to, --changes: expected --window too, got none")
        if self.span is not None and type(self.span) is not type(self.length):
            raise ArgumentTypeError(
                "--span: expected --window too, both with a time such as 1min, or with steps"
            )

    def check_kept(self, result: ResultSettings) -> None:
        """Raise for what does not go with the windows of a state, after its first run is known."""
        self.check_complete()
        if self.by_time and result.save_every is not None:
            raise ArgumentTypeError(
                "--save-every: expected no --from and --to, whose windows end with --finish, got a "
                "range"
            )

    def check_range(self, *, stored: bool) -> None:
        """Raise unless windows of time over files have a range.

        Args:
            stored: Whether all inputs are files that end, for which the clock is meaningless.
        """
        if stored and isinstance(self.length, timedelta) and not self.by_time:
            raise ArgumentTypeError(
                "--from, --to: expected the public range of the windows of a file, such as "
                "2026-05-17 and 2026-05-18T12:00, got none"
            )

    def check_sketch(self, sketch: SketchSettings) -> None:
        """Raise unless windows have sketches of this kind."""
        if sketch.horizon is not None:
            raise ArgumentTypeError("horizon: expected none with --window, got one")
        if sketch.kind != "count-min" or sketch.mechanism != "tree":
            raise ArgumentValueError(
                "kind, mechanism: expected count-min and tree with --window, got others"
            )

    def cut(self, *, at_end: bool) -> CutOptions:
        """Return how the stream is cut, as arguments of the library.

        Args:
            at_end: Whether of windows of steps only the ends are wanted.
        """
        return {
            "every": self.length,
            "keep": self.keep,
            "begin": self.begin,
            "end": self.end,
            "slices": 1 if at_end and isinstance(self.length, int) else None,
        }

    def target(
        self,
        sketch: SketchSettings,
        source: Source,
        reading: InputSettings,
        *,
        discovery: DiscoverySettings,
        domain: Sequence[str] | Sequence[int] | None,
        most: int,
        state: State | None,
    ) -> WindowedItems | None:
        """Return a target with fresh windows, or with those of the state; None for no windows."""
        if self.length is None or self.span is not None:
            return None
        self.check_sketch(sketch)
        counting = None
        try:
            options = sketch.hitters_options(discovery, max_weight=source.max_weight)
            if domain is not None:
                options["share"] = None
            if state is None:
                from lazysketch import Windows  # late: few runs count in windows

                cut = self.cut(at_end=sketch.at_end)
                windows = Windows(**cut, domain=domain, **options)
            else:
                from lazysketch.cli.run.state_counting import Counting  # late: few have a state
                from lazysketch.cli.run.state_windows import windows_of_items

                windows = windows_of_items(
                    state, self, sketch, discovery, reading, domain=domain, options=options
                )
                counting = Counting(state, windows, source)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise named_as_options(error) from None
        return WindowedItems(
            windows,
            length=self.length,
            shows_changes=self.changes,
            listed=domain is not None,
            most=most,
            asked=sketch,
            at_end=sketch.at_end,
            counting=counting,
        )


def named_as_options(
    error: ArgumentTypeError | ArgumentValueError, options: Mapping[str, str] = _OPTIONS
) -> ArgumentTypeError | ArgumentValueError:
    """Return an error of the library with the options in place of the arguments of windows."""
    name, colon, rest = str(error).partition(": ")
    rest = rest.replace("after begin", "after --from")
    return type(error)(f"{options.get(name, name)}{colon}{rest}")


class WindowedItems(Windowed):
    """The items of the kept windows of a stream.

    Args:
        windows: Counts the stream.
        length: The length of a window.
        shows_changes: Whether the result is the changes instead of the items.
        listed: Whether the items are those of a public list.
        most: The maximum number of rows.
        asked: The requested guarantee, an upper bound on the sum over discovery and counts.
        at_end: Whether the result is shown only at the end.
        counting: What counts the batches; the windows if None.
    """

    def __init__(
        self,
        windows: Windows,
        *,
        length: timedelta | int,
        shows_changes: bool,
        listed: bool,
        most: int,
        asked: PrivacySettings,
        at_end: bool = False,
        counting: Counting | None = None,
    ) -> None:
        super().__init__(windows, counting, at_end=at_end)
        self.windows = windows
        self.people = people_of_windows(windows)
        self._every, self._length = length, length_in_words(length)
        self._shows_changes = shows_changes
        self._listed = listed
        self._most = most
        self._privacy = dataclasses.replace(
            windows.privacy, epsilon=asked.epsilon, delta=asked.delta
        )
        self.spends: Composable = self._privacy

    @property
    def candidates(self) -> int:
        """The number of published items."""
        return len(self.windows.candidates)

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
        """Return the public state; None for a range, whose windows end with the input."""
        now = self.windows.open
        if now is None:
            return None
        release = now.release
        ended, ends = len(self.windows.windows), instant_in_words(now.end)
        return Moment(
            release=release,
            rows=self._rows(include_open=True),
            waiting=[f"windows of {self._length}: {ended} kept; the open one ends at {ends}"],
            guarantee=str(self._privacy),
            progress=f"since {instant_in_words(now.begin)}"
            if isinstance(now.begin, datetime)
            else "",
        )

    def finish(self) -> Moment:
        """End the open windows, if the stream ends, and return the public state at the end."""
        goes_on = self._end()
        now = self.moment() if goes_on else None
        if now is not None:
            return dataclasses.replace(now, release=self.release(), progress=None)
        return Moment(
            release=self.release(),
            rows=self._rows(include_open=False),
            waiting=[],
            guarantee=str(self._privacy),
        )

    def release(self) -> Release:
        """Return the table of all kept windows, or of the open one if none has ended."""
        kept, now = self.windows.windows, self.windows.open or self._before
        return now.release if not kept and now else self.windows.release(max(len(kept), 1))

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with the windows and the changes between them."""
        del length_known  # of no use for windows
        kept = self.windows.windows
        changes = [row for at in range(1, len(kept)) for row in self._changes(at)]
        release, joint = moment.release, self._privacy
        asked = {"epsilon": joint.epsilon, "delta": joint.delta}
        summary = {
            "windows": [{**facts_of(window), "names": len(window.names)} for window in kept],
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
        lines = [f"{span_of(kept, self._length)} of {of}; {release._shape} each", moment.guarantee]
        if self._is_kept:
            lines += moment.waiting
        if self._shows_changes:
            lines.append(changes_caption(changes))
            return Report(changes, summary, lines, name="changed", header=_CHANGES)
        lines.append(f"low-high: {interval_caption(simultaneous=True)}, over these windows")
        if len(moment.rows) < self._most and not self._listed:
            lines.append(discovered(len(moment.rows), most=self._most))
        lines += [sentence_of_change(change) for change in changes]
        return Report(moment.rows, summary, lines, header=HEADER)

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> bytes:
        """Return the page of the kept windows, with the changes of the last."""
        del releases  # windows have their own
        from lazysketch.cli.view.page import page_of_windows  # late: few runs write a page

        return page_of_windows(
            self.windows,
            report,
            of=of,
            privacy=self._privacy,
            every=self._every,
            keep=len(self.windows.windows),
            listed=self._listed,
        )

    def _rows(self, *, include_open: bool) -> list[ItemRow]:
        last = max(len(self.windows.windows), 1)
        hitters = self.windows.top(
            self._most, last, confidence=CONFIDENCE, include_open=include_open
        )
        rows: list[ItemRow] = []
        for rank, hitter in enumerate(hitters, start=1):
            row = row_of(hitter.item, hitter.estimate, hitter.low, hitter.high, share=hitter.share)
            rows.append({"rank": rank, **row, "complete": True})
        return rows

    def _changes(self, position: int) -> list[ChangeRow]:
        begin = instant_in_words(self.windows.windows[position].begin)
        found = self.windows.changes_at(position, confidence=CONFIDENCE)
        return [change_of(begin, change) for change in found]


def facts_of(window: AnyWindow) -> dict[str, object]:
    """Return what a program reads of a window."""
    return {
        "begin": instant_in_words(window.begin),
        "end": instant_in_words(window.end),
        "whole": window.whole,
    }


def span_of(windows: Sequence[AnyWindow], length: str) -> str:
    """Return how many windows there are, and from when to when."""
    number = f"{len(windows):,} windows" if len(windows) != 1 else "1 window"
    if not windows:
        return number
    begin, end = instant_in_words(windows[0].begin), instant_in_words(windows[-1].end)
    return f"{number} of {length}, {begin} to {end}"
