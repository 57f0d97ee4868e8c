"""``lazysketch pipeline``: several statistics of one stream, in one pass, under one guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.input_options import columns_input_options, files_argument
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import PRIVACY, gathered, option_with_default
from lazysketch.cli.people_options import USER
from lazysketch.cli.run.pipeline_run import PipelineSettings, run_of_pipeline
from lazysketch.cli.settings import GuaranteeSettings

if TYPE_CHECKING:
    from lazysketch.cli.settings import InputSettings, LedgerSettings

_RESULT: Final = (
    click.option(
        "--parts",
        metavar="FILE.toml",
        type=click.Path(),
        required=True,
        help="The statistics: a table for each, with the options of its verb.",
    ),
    USER,
    click.option(
        "--horizon",
        type=int,
        metavar="STEPS",
        help="Longest possible stream, if known: all is published on the way.  "
        "[default: files once, at the end; a pipe without a limit]",
    ),
    click.option(
        "--steps",
        type=click.IntRange(min=1),
        metavar="N",
        help="Expected number of rows, from public knowledge; it decides how the privacy is "
        "shared out.  [default: the horizon, or a million]",
    ),
    click.option(
        "--save-releases",
        metavar="DIR",
        type=click.Path(),
        help="Save the release of each part in this directory, as NAME.lzs.  [default: not saved]",
    ),
    click.option(
        "--overwrite",
        is_flag=True,
        help="Replace the releases of an earlier run; a further run over the same people adds to "
        "the privacy spent.  [default: refuse to run]",
    ),
    option_with_default(
        "--output",
        type=click.Choice(("table", "json")),
        default="table",
        help="Output format.",
    ),
)


@click.command()
@files_argument
@columns_input_options
@ledger_options
@gathered(PipelineSettings, "counting", *_RESULT)
@gathered(GuaranteeSettings, "guarantee", *PRIVACY[:3])
@click.pass_context
def pipeline(
    context: click.Context,
    files: tuple[str, ...],
    *,
    reading: InputSettings,
    charged: LedgerSettings,
    counting: PipelineSettings,
    guarantee: GuaranteeSettings,
) -> int:
    """Count several statistics of the same rows, under one guarantee.

    Each table of the file of parts is one statistic: its name, the verb that would count it
    alone (top, distinct, quantiles, ranges or sums), the field, and options of that verb. The
    parts share the privacy such that their predicted errors are least together.

    \b
    Examples:
      lazysketch pipeline access.csv --parts site.toml --epsilon 2
      lazysketch pipeline access.log --format combined --parts site.toml --save-releases out

    \b
    site.toml:
      [pages]
      statistic = "top"
      by = "path"
      share = 0.01
      [visitors]
      statistic = "distinct"
      by = "host"
      [sizes]
      statistic = "quantiles"
      by = "bytes"
      low = 1
      high = 1e6
      scale = "log"

    A row takes one step in every part; where it lacks a field, a step without an event. Files
    are read once for each field. The guarantee covers neither the messages on standard error
    nor a guessed format; other runs over the same people add to it (--ledger).
    """
    return run_of_pipeline(
        context, files, counting, guarantee=guarantee, reading=reading, charged=charged
    )
