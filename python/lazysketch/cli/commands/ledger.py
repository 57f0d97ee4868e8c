"""``lazysketch ledger``: what was spent on a population, and its cap."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.ledger_options import ledger_place
from lazysketch.cli.options import output_option
from lazysketch.cli.ordered_group import OrderedGroup
from lazysketch.cli.run.files import check_plot_target, save_plot
from lazysketch.cli.run.ledgers import named_errors, opened_ledger
from lazysketch.cli.run.state_keys import key_for
from lazysketch.cli.view.ledger_plot import checked_kind, draw
from lazysketch.cli.view.output import Report, put, tell, write
from lazysketch.ledger import Ledger
from lazysketch.ledger.terms import Terms
from lazysketch.windows.durations import EPOCH

if TYPE_CHECKING:
    from lazysketch.cli.view.output import Row
    from lazysketch.ledger.terms import Unit
    from lazysketch.privacy.relations import Relation

_COLUMNS: Final = ("run", "begun", "closed", "epsilon", "delta", "mu", "note")


@click.group(cls=OrderedGroup)
def ledger() -> None:
    """Keep what all runs over a population spend, with a cap that no run may exceed.

    top and estimate charge a ledger with --ledger and --population, before they count.

    \b
    Examples:
      lazysketch ledger init people.db --population visitors --epsilon 4 --delta 1e-6 --period 1y
      lazysketch top events.txt --ledger people.db --population visitors --epsilon 0.1
      lazysketch ledger show people.db
    """


@ledger.command(short_help="Make a ledger.")
@click.argument("path", metavar="LEDGER", type=click.Path())
@click.option("--population", metavar="NAME", required=True, help="Name of the population.")
@click.option(
    "--unit",
    type=click.Choice(["event", "person"]),
    default="event",
    show_default=True,
    help="What is protected: one event, or all events of a person.",
)
@click.option("--epsilon", type=float, required=True, help="Cap on epsilon.")
@click.option("--delta", type=float, required=True, help="Cap on delta.")
@click.option(
    "--relation",
    type=click.Choice(["substitution", "zero-out"]),
    default="substitution",
    show_default=True,
    help="Neighbouring streams of the cap.",
)
@click.option(
    "--period", metavar="TIME", help="Period of the cap, such as 1y, 1mo or 30d.  [default: none]"
)
@ledger_place[0]
@ledger_place[1]
def init(
    path: str,
    *,
    population: str,
    unit: Unit,
    epsilon: float,
    delta: float,
    relation: Relation,
    period: str | None,
    anchor: str | None,
    key_file: str | None,
) -> None:
    """Make a ledger; its terms never change."""
    # Checked before a key is made.
    Terms(
        population=population,
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        period=period,
    )
    key, made = key_for(key_file, path)
    with (
        named_errors(),
        Ledger.create(
            path,
            key=key,
            population=population,
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            period=period,
            anchor=anchor,
        ) as new,
    ):
        put(f"{path}: {new.terms}\n")
    if made is not None:
        tell(f"ledger: the key of {path} is in {made}; without it the ledger is lost")


@ledger.command(short_help="What was spent, and what is left.")
@click.argument("path", metavar="LEDGER", type=click.Path())
@ledger_place[0]
@ledger_place[1]
@click.option("--json", "as_json", is_flag=True, help="As --output json.  [default: as --output]")
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(),
    help="Plot what was spent over time as .png or .svg.  [default: no plot]",
)
@output_option
def show(
    path: str,
    *,
    anchor: str | None,
    key_file: str | None,
    as_json: bool,
    plot: str | None,
    output: str,
) -> None:
    """Show the runs of a ledger, what they spent in the present period, and what is left."""
    if plot is not None:
        checked_kind(plot)
        check_plot_target(plot, option="--plot")
    with opened_ledger(path, key_file, anchor) as opened:
        report = shown(opened, name=path)
        if plot is not None:
            tell(save_plot(draw(plot, opened), plot, option="--plot"))
    write(report, output="json" if as_json else output)


@ledger.command(short_help="Say that a run counts nothing any more.")
@click.argument("path", metavar="LEDGER", type=click.Path())
@click.argument("run", type=click.IntRange(min=1))
@ledger_place[0]
@ledger_place[1]
def close(path: str, *, run: int, anchor: str | None, key_file: str | None) -> None:
    """Close a run that was killed, or whose state is no longer used.

    An open run is charged in every period, because it may still count.
    """
    with opened_ledger(path, key_file, anchor) as opened:
        opened.close_run(run)
    put(f"{path}: run {run:,} is closed\n")


def shown(ledger: Ledger, *, name: str) -> Report:
    """Return the runs and the total of a ledger.

    Args:
        ledger: An open ledger.
        name: Its directory.
    """
    terms, spent = ledger.terms, ledger.spent()
    rows: list[Row] = [
        {
            "run": entry.run,
            "begun": _instant(entry.begun),
            "closed": None if entry.closed is None else _instant(entry.closed),
            "epsilon": entry.charge.epsilon,
            "delta": entry.charge.pair_delta,
            "mu": float(f"{entry.charge.mu_squared**0.5:.4g}"),
            "note": entry.note,
        }
        for entry in ledger.entries()
    ]
    is_open = sum(entry.closed is None for entry in ledger.entries())
    together = f"epsilon {spent.epsilon:.4g} at delta {terms.delta:g} together"
    part = f"{spent.share:.1%} of the cap; {_runs(is_open)} open"
    lines = [
        f"{name}: {terms}",
        f"{spent.named}: {_runs(len(spent.runs))} spent {together}, {part}",
    ]
    if spent.runs:
        lines.append(
            "mu measures a run's own part of the total, smaller is more private; squares of mu "
            "add up, so that four equal runs cost twice as much as one, and the part of the cap is "
            "that of the sum which is used up first"
        )
    more = spent.more(spent.runs[-1].charge) if spent.runs else None
    if more is not None:
        lines.append(f"{more:,} more {'run' if more == 1 else 'runs'} like the last one fit")
    summary: Row = {
        "ledger": name,
        "population": terms.population,
        "unit": terms.unit,
        "relation": terms.relation,
        "cap": {"epsilon": terms.epsilon, "delta": terms.delta, "period": terms.period},
        "period": spent.named,
        "runs_in_period": len(spent.runs),
        "open_runs": is_open,
        "spent_epsilon": spent.epsilon,
        "spent_delta": terms.delta,
        "spent_share": spent.share,
        "more_like_the_last": more,
    }
    return Report(
        rows=rows,
        summary=summary,
        lines=lines,
        name="runs",
        columns=_COLUMNS if rows else (),
        header=_COLUMNS,
    )


def _instant(seconds: float) -> str:
    return (EPOCH + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _runs(number: int) -> str:
    return f"{number:,} {'run' if number == 1 else 'runs'}"
