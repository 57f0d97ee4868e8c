"""What a run reads and what it counts into, with a state or without."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from lazysketch.cli.run.statistic import Answers, Statistic
from lazysketch.cli.run.targets import DiscoveredItems, ListedItems
from lazysketch.cli.run.topics import check_no_topics, is_topic, open_topic_inputs
from lazysketch.cli.view.output import tell
from lazysketch.sources.io.byte_stream import size_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lazysketch.cli.distinct_options import DistinctSettings
    from lazysketch.cli.run.state import State
    from lazysketch.cli.run.statistic import Shown
    from lazysketch.cli.run.windowed_statistic import WindowedStatistic
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import (
        DiscoverySettings,
        InputSettings,
        SketchSettings,
        StateSettings,
    )
    from lazysketch.cli.statistic_options import (
        DistributionSettings,
        RangesSettings,
    )
    from lazysketch.cli.sums_options import SumsSettings
    from lazysketch.cli.view.report import RowsOf
    from lazysketch.sources import Source

__all__ = [
    "discovered_target",
    "goes_on",
    "listed_target",
    "open_inputs",
    "opened_state",
    "statistic_target",
]


def goes_on(kept: StateSettings) -> bool:
    """Return whether there is a state of an earlier run.

    Args:
        kept: Where it would be.
    """
    if kept.state is None:
        return False
    from lazysketch.store.opening import is_store  # late: few runs have a state

    return is_store(kept.state)


def opened_state(kept: StateSettings) -> AbstractContextManager[State | None]:
    """Return the state of a run, open within a block; None without one.

    Args:
        kept: Where it is.

    Raises:
        ArgumentTypeError: An option that needs ``--state``.
        LazySketchError: A state or key that cannot be used.
    """
    if kept.state is None and not any(dataclasses.asdict(kept).values()):
        return nullcontext()
    from lazysketch.cli.run.state import State  # late: few runs have a state

    return State.open(kept) or nullcontext()


def open_inputs(
    reading: InputSettings,
    files: tuple[str, ...],
    *,
    times: bool,
    user: str | None,
    state: State | None,
) -> Source:
    """Return the inputs as one source, with a state after what it has counted of them.

    Raises:
        SourceError: An input cannot be read, or was rewritten since it was counted.
    """
    if any(map(is_topic, files)):
        return open_topic_inputs(reading, files, times=times, user=user, state=state)
    check_no_topics(reading)
    if state is None:
        return reading.open(files, times=times, user=user)
    source = reading.open(files, times=times, user=user, positions=state.positions)
    source.check_field = state.reads
    for line in state.positions.messages:
        tell(line)
    pipes = [str(path) for path in source.paths if size_of(path) is None]
    if pipes:
        tell(
            f"{'standard input' if pipes[0] == '-' else pipes[0]}: every row counts, since a pipe "
            "has no position; do not send rows again that were counted"
        )
    return source


def listed_target(
    sketch: SketchSettings,
    source: Source,
    reading: InputSettings,
    *,
    rows: RowsOf,
    candidates: int,
    rows_while_reading: RowsOf | None = None,
    state: State | None,
) -> ListedItems:
    """Return the items of a list, counted by a fresh sketch or by that of the state."""
    listed = partial(
        ListedItems, rows=rows, candidates=candidates, rows_while_reading=rows_while_reading
    )
    if state is None:
        return listed(sketch.create(max_weight=source.max_weight))
    from lazysketch.cli.run.state_counting import Counting  # late: few runs have a state

    stored = state.sketch(sketch, reading, max_weight=source.max_weight)
    return listed(stored, counting=Counting(state, stored, source))


def discovered_target(
    sketch: SketchSettings,
    discovery: DiscoverySettings,
    source: Source,
    reading: InputSettings,
    *,
    most: int,
    state: State | None,
) -> DiscoveredItems:
    """Return items that are discovered, by a fresh sketch or by that of the state."""
    if state is None:
        heavy = sketch.discover(discovery, max_weight=source.max_weight)
        return DiscoveredItems(heavy, most=most, asked=sketch)
    from lazysketch.cli.run.state_counting import Counting  # late: few runs have a state

    stored = state.hitters(sketch, discovery, reading, max_weight=source.max_weight)
    counting = Counting(state, stored, source)
    return DiscoveredItems(stored, most=most, asked=sketch, counting=counting)


def statistic_target(
    settings: DistinctSettings | DistributionSettings | RangesSettings | SumsSettings,
    source: Source,
    reading: InputSettings,
    *,
    windows: WindowSettings | None = None,
    shown: Shown | None = None,
    state: State | None,
) -> Statistic | WindowedStatistic:
    """Return a statistic of the stream, counted by a fresh object or by that of the state.

    With windows it is that of each window.
    """
    if windows is not None and windows.length is not None:
        from lazysketch.cli.run.windowed_statistic import windowed_statistic  # late: few runs

        seen = Answers() if shown is None else shown
        return windowed_statistic(
            settings, windows, seen, source=source, reading=reading, state=state
        )
    if state is None:
        return Statistic(settings.create(), shown)
    from lazysketch.cli.run.state_counting import Counting  # late: few runs have a state

    stored = state.statistic(settings, reading)
    return Statistic(stored, shown, counting=Counting(state, stored, source))
