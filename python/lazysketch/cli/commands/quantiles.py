"""``lazysketch quantiles``: quantiles, a histogram or shares of a number of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import click

from lazysketch.cli.input_options import files_argument, number_input_options
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import (
    gathered,
    once_option,
    option_with_default,
    result_options,
    state_options,
)
from lazysketch.cli.run.state_definition import VALUES
from lazysketch.cli.run.statistic_run import run_of_statistic
from lazysketch.cli.statistic_options import distribution_options, shares_of
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.cli.window_options import cut_options
from lazysketch.releases.value_rows import SHARES, histogram_rows, quantile_rows, share_rows
from lazysketch.store.opening import is_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import DistributionRelease
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import InputSettings, LedgerSettings, ResultSettings, StateSettings
    from lazysketch.cli.statistic_options import DistributionSettings
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.rows import Row

_QUANTILES, _HISTOGRAM, _CDF = "quantiles", "histogram", "cdf"
_FEWEST_ROWS: Final = 3


@dataclass(frozen=True, slots=True)
class ShownValues:
    """What is shown of a distribution."""

    show: str
    shares: str
    rows_shown: int

    def check(self) -> None:
        """Raise ArgumentValueError unless the quantiles are shares, before anything is read."""
        shares_of("--quantiles", self.shares)

    @property
    def asked(self) -> tuple[float, ...]:
        """The quantiles."""
        return shares_of("--quantiles", self.shares)

    @property
    def ends(self) -> tuple[str, str] | None:
        """The keys of the ends of an interval."""
        return {_HISTOGRAM: ("low", "high"), _CDF: ("at least", "at most")}.get(self.show)

    @property
    def each(self) -> str | None:
        """What has an interval of its own."""
        return {_HISTOGRAM: "count", _CDF: "share"}.get(self.show)

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""
        found = cast("DistributionRelease", release)
        if self.show == _HISTOGRAM:
            return histogram_rows(found, most=self.rows_shown, confidence=CONFIDENCE)
        if self.show == _CDF:
            return share_rows(found, most=self.rows_shown, confidence=CONFIDENCE)
        return quantile_rows(found, self.asked, confidence=CONFIDENCE)


_SHOWN: Final = (
    option_with_default(
        "--show",
        type=click.Choice([_QUANTILES, _HISTOGRAM, _CDF]),
        default=_QUANTILES,
        help="Quantiles, numbers of values by range (histogram), or shares below values (cdf).",
    ),
    option_with_default(
        "--quantiles",
        "shares",
        metavar="LIST",
        default=",".join(f"{share:g}" for share in SHARES),
        help="Shares between commas: 0.5 is the median.",
    ),
    option_with_default(
        "--rows",
        "rows_shown",
        type=click.IntRange(min=_FEWEST_ROWS),
        default=20,
        metavar="N",
        help="Most rows of a histogram or a cdf, each over several bins.",
    ),
)


@click.command()
@files_argument
@number_input_options
@ledger_options
@once_option
@result_options
@state_options
@cut_options
@distribution_options
@gathered(ShownValues, "showing", *_SHOWN)
@click.pass_context
def quantiles(
    context: click.Context,
    files: tuple[str, ...],
    *,
    reading: InputSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    counting: DistributionSettings,
    showing: ShownValues,
    kept: StateSettings,
    windows: WindowSettings,
) -> int:
    """Show how a number is distributed: latencies, sizes, ages, prices.

    Values are counted in public bins from --low to --high; a quantile is known up to the width
    of a bin and the noise. Choose both ends from what is known without the data: values outside
    count in the open bins below and above. A row without a number is a step without a value.

    \b
    Examples:
      lazysketch quantiles access.csv --by latency_ms --low 1 --high 10000 --scale log
      lazysketch quantiles ages.txt --low 0 --high 100 --bins 102 --show histogram
      tail -F times.log | lazysketch quantiles - --low 0.001 --high 60 --scale log
      tail -F times.log | lazysketch quantiles - --low 0.001 --high 60 --window 1h

    With --window each window has rows of its own, all under one guarantee.

    One run has one (epsilon, delta) guarantee for everything that it publishes; all of --show
    follow from one release. N runs over one file compose to mu * sqrt(N): save the release
    (--save-release) and query it instead; --ledger adds up all runs. The guarantee covers
    neither the messages on standard error (rows without a number, events/s) nor a guessed
    format.
    """
    showing.check()
    if kept.state is None or not is_store(kept.state):
        counting.check()  # before a state is made; the first run with one has chosen the bins
    return run_of_statistic(
        context,
        files,
        counting,
        counted=VALUES,
        reading=reading,
        charged=charged,
        result=result,
        kept=kept,
        windows=windows,
        shown=lambda _: showing,
    )
