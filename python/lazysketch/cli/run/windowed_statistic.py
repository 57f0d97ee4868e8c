"""Windows of one statistic of a stream as the target of a run: rows for each window."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from lazysketch.cli.distinct_options import DistinctSettings
from lazysketch.cli.run.people import people_of_windows
from lazysketch.cli.run.statistic import OfNoItems, columns_of
from lazysketch.cli.run.windowed import Windowed, check_times
from lazysketch.cli.run.windows import facts_of, named_as_options, span_of
from lazysketch.cli.statistic_options import DistributionSettings, RangesSettings
from lazysketch.cli.sums_options import SumsSettings
from lazysketch.cli.view.output import Report
from lazysketch.cli.view.report import CONFIDENCE, Moment, interval_caption
from lazysketch.cli.view.window_words import instant_in_words, length_in_words
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.windows import DistinctWindows, SumsWindows

if TYPE_CHECKING:
    from datetime import timedelta

    from lazysketch.cli.run.state import State
    from lazysketch.cli.run.state_counting import Counting
    from lazysketch.cli.run.statistic import Shown
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import InputSettings
    from lazysketch.cli.statistic_options import StatisticSettings
    from lazysketch.cli.view.output import Row
    from lazysketch.heavy_hitters import JointPrivacy
    from lazysketch.privacy.composable import Composable
    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.ranges_release import RangesRelease
    from lazysketch.releases.sums_release import SumsRelease
    from lazysketch.sources import Source
    from lazysketch.windows import DistributionWindows, RangesWindows
    from lazysketch.windows.window import AnyWindow

    Released: TypeAlias = DistinctRelease | DistributionRelease | RangesRelease | SumsRelease
    Statistics: TypeAlias = DistinctWindows | DistributionWindows | RangesWindows | SumsWindows

__all__ = ["WindowedSettings", "WindowedStatistic", "windowed_statistic"]

WindowedSettings: TypeAlias = (
    DistinctSettings | DistributionSettings | RangesSettings | SumsSettings
)
"""Those of statistics that have windows."""


class WindowedStatistic(Windowed, OfNoItems):
    """A statistic of each kept window of a stream.

    Args:
        windows: Counts the stream.
        length: The length of a window.
        shown: What is shown of each window.
        at_end: Whether the result is shown only at the end.
        counting: What counts the batches; the windows if None.
    """

    candidates = 1

    def __init__(
        self,
        windows: Statistics,
        shown: Shown,
        *,
        length: timedelta | int,
        at_end: bool,
        counting: Counting | None = None,
    ) -> None:
        super().__init__(windows, counting, at_end=at_end)
        self.windows = windows
        self.spends: Composable = windows.privacy
        self.people = people_of_windows(windows)
        self._shown, self._length = shown, length_in_words(length)

    def _count(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        check_times(self.windows, times)
        people = {} if user is None else {"user": user}  # distinct items have none
        self.windows.update_many(*columns_of(items, weights), times=times, **people)

    def moment(self) -> Moment | None:
        """Return the public state; None for a range, whose windows end with the input."""
        now = self.windows.open
        if now is None:
            return None
        kept, ends = self.windows.windows, instant_in_words(now.end)
        return Moment(
            release=now.release,
            rows=self._rows((*kept, now)),
            waiting=[f"windows of {self._length}: {len(kept)} kept; the open one ends at {ends}"],
            guarantee=str(self.windows.privacy),
            progress="",
        )

    def finish(self) -> Moment:
        """End the open windows, if the stream ends, and return the public state at the end."""
        now = self.moment() if self._end() else None
        if now is not None:
            return dataclasses.replace(now, release=self.release(), progress=None)
        return Moment(
            release=self.release(),
            rows=self._rows(self.windows.windows),
            waiting=[],
            guarantee=str(self.windows.privacy),
        )

    def release(self) -> Released:
        """Return what was published: of all kept windows, or of the last where they do not add up.

        If none has ended, it is that of the open one.
        """
        kept, now = self.windows.windows, self.windows.open or self._before
        if not kept and now is not None:
            released: DistinctRelease | DistributionRelease | RangesRelease | SumsRelease = (
                now.release
            )
            return released
        if isinstance(self.windows, DistinctWindows):
            return self.windows.release()
        return self.windows.release(max(len(kept), 1))

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with the windows and their guarantee."""
        del length_known  # of no use for windows
        kept, release = self.windows.windows, moment.release
        privacy, words = self.windows.privacy, release._words
        ends = words.ends if self._shown.ends is None else self._shown.ends
        each = words.each if self._shown.each is None else self._shown.each
        caption = interval_caption(simultaneous=False, each=each)
        summary = {
            "windows": [facts_of(window) for window in kept],
            "kind": release.kind,
            "depth": release.depth,
            "width": release.width,
            "hash_seed": str(release.hash_seed),  # JSON numbers are exact up to 2^53 only
            "privacy": _facts_of(privacy),
            "guarantee": [moment.guarantee],
            "confidence": CONFIDENCE,
            "simultaneous": False,
            **inputs,
        }
        lines = [
            f"{span_of(kept, self._length)} of {of}; {release._shape} each",
            moment.guarantee,
            f"{'-'.join(ends)}: {caption}, in each window",
        ]
        if self._is_kept:
            lines += moment.waiting
        return Report(moment.rows, summary, lines)

    def _rows(self, windows: tuple[AnyWindow, ...]) -> list[Row]:
        return [
            {"window": instant_in_words(window.begin), **row}
            for window in windows
            if window.release.step
            for row in self._shown.rows(window.release)
        ]


def _facts_of(privacy: JointPrivacy | SumsPrivacy) -> dict[str, object]:
    """Return what a program reads of a guarantee."""
    if isinstance(privacy, SumsPrivacy):
        return dataclasses.asdict(privacy)
    return {**dataclasses.asdict(privacy.sketch), "within": privacy.within}


def windowed_statistic(
    settings: StatisticSettings,
    windows: WindowSettings,
    shown: Shown,
    *,
    source: Source,
    reading: InputSettings,
    state: State | None,
) -> WindowedStatistic:
    """Return a target with fresh windows, or with those of the state.

    Args:
        settings: What is counted.
        windows: How the stream is cut.
        shown: What is shown of each window.
        source: The inputs.
        reading: How they are read.
        state: Keeps the windows; None if nothing does.

    Raises:
        ArgumentTypeError: Options that exclude each other.
        ArgumentValueError: A value outside its range.
    """
    length = windows.length
    assert length is not None, "callers have windows"  # noqa: S101
    assert isinstance(settings, WindowedSettings), "no other verbs do"  # noqa: S101
    if settings.horizon is not None:
        raise ArgumentTypeError("horizon: expected none with --window, got one")
    made: Statistics
    counting = None
    try:
        if state is None:
            made = settings.windows(**windows.cut(at_end=settings.at_end))
        else:
            from lazysketch.cli.run.state_counting import Counting  # late: few runs have a state
            from lazysketch.cli.run.state_windows import windows_of_statistic

            stored = windows_of_statistic(state, windows, settings, reading)
            made, counting = stored, Counting(state, stored, source)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise named_as_options(error) from None
    return WindowedStatistic(made, shown, length=length, at_end=settings.at_end, counting=counting)
