"""The run of a verb that counts one statistic of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lazysketch.cli.distinct_options import DistinctSettings
from lazysketch.cli.run.charging import Charging
from lazysketch.cli.run.controller import count
from lazysketch.cli.run.people import check_account
from lazysketch.cli.run.result_checks import check_result
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.run.starting import goes_on, open_inputs, opened_state, statistic_target
from lazysketch.cli.statistic_options import (
    DistributionSettings,
    RangesSettings,
)
from lazysketch.cli.sums_options import SumsSettings
from lazysketch.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from lazysketch.cli.run.statistic import Shown
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import (
        InputSettings,
        LedgerSettings,
        ResultSettings,
        StateSettings,
    )

__all__ = ["run_of_statistic"]

_Settings = TypeVar(
    "_Settings", DistinctSettings, DistributionSettings, RangesSettings, SumsSettings
)


def run_of_statistic(
    context: click.Context,
    files: tuple[str, ...],
    counting: _Settings,
    *,
    counted: str,
    reading: InputSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    kept: StateSettings,
    windows: WindowSettings | None = None,
    shown: Callable[[InputSettings], Shown] | None = None,
    check: Callable[[_Settings], None] | None = None,
) -> int:
    """Count the rows of inputs, show the result and return the exit status.

    Args:
        context: Of the verb.
        files: The inputs.
        counting: What is counted.
        counted: Its name in a state.
        reading: How the inputs are read.
        charged: The ledger.
        result: Where the result goes.
        kept: The state.
        windows: How the stream is cut; None for verbs without windows.
        shown: Returns what is shown, once it is known how the inputs are read; what a query shows
            if None.
        check: Raises unless what is counted, by the first run of a state too, can be shown.

    Raises:
        ArgumentTypeError: Options that exclude each other.
        LazySketchError: As of :func:`~lazysketch.cli.run.controller.count`.
    """
    if windows is not None:
        if not goes_on(kept):  # the first run of a state has said how the stream is cut
            windows.check_complete()
        _check_windows(windows, counting, charged)
    ends_early = windows is None or not windows.by_time
    check_result(result, ends_early=ends_early, goes_on=kept.state is not None)
    charging = Charging(charged)
    charging.check()
    with opened_state(kept) as state:
        if state is not None:
            state.check_counted(counted)
            reading, counting = state.defined(reading, context), state.defined(counting, context)
            if windows is not None:
                windows = state.defined(windows, context)
                windows.check_kept(result)
                _check_windows(windows, counting, charged)
        if isinstance(counting, RangesSettings):
            counting = replace(counting, max_weight=reading.max_weight or 1)
        if check is not None:
            check(counting)
        by_time = windows is not None and windows.by_time
        source = open_inputs(reading, files, times=by_time, user=counting.user, state=state)
        if windows is not None:
            windows.check_range(stored=source.part_read is not None)
        ends = state is None or state.finishes
        counting = counting.published_for(source, reading, result, ends=ends)
        return count(
            source,
            statistic_target(
                counting,
                source,
                reading,
                windows=windows,
                shown=None if shown is None else shown(reading),
                state=state,
            ),
            signals=context.ensure_object(Signals),
            reading=reading,
            horizon=counting.horizon,
            result=result,
            charging=charging,
            state=state,
        )


def _check_windows(windows: WindowSettings, counting: _Settings, charged: LedgerSettings) -> None:
    """Raise ArgumentTypeError for what has no guarantee in windows."""
    if windows.length is None:
        return
    if charged.ledger is None:
        return
    if isinstance(counting, DistinctSettings):
        raise ArgumentTypeError(
            "--ledger: expected no --window of distinct items, since an item in several windows "
            "spends once in each of them, got one"
        )
    check_account(counting.person_bound)
