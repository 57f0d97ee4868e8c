"""The run of a verb that counts one statistic of a stream."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from lazysketch.cli.run.charging import Charging
from lazysketch.cli.run.controller import count
from lazysketch.cli.run.result_checks import check_result
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.run.starting import open_inputs, statistic_target
from lazysketch.cli.run.state import State
from lazysketch.cli.statistic_options import (
    DistinctSettings,
    DistributionSettings,
    RangesSettings,
)
from lazysketch.cli.sums_options import SumsSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from lazysketch.cli.run.statistic import Shown
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
        shown: Returns what is shown, once it is known how the inputs are read; what a query shows
            if None.
        check: Raises unless what is counted, by the first run of a state too, can be shown.

    Raises:
        LazySketchError: As of :func:`~lazysketch.cli.run.controller.count`.
    """
    check_result(result, goes_on=kept.state is not None)
    charging = Charging(charged)
    charging.check()
    with State.open(kept) or nullcontext() as state:
        if state is not None:
            state.check_counted(counted)
            reading, counting = state.defined(reading, context), state.defined(counting, context)
        if check is not None:
            check(counting)
        source = open_inputs(reading, files, times=False, user=None, state=state)
        ends = state is None or state.finishes
        counting = counting.published_for(source, reading, result, ends=ends)
        return count(
            source,
            statistic_target(
                counting,
                source,
                reading,
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
