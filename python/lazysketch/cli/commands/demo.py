"""``lazysketch demo``: the main job on generated traffic, private beside true counts."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import click
import numpy as np

from lazysketch.cli.options import SketchSettings, output_option, sketch_options
from lazysketch.cli.run.demo_data import ITEMS, NAMES, SKEW, Traffic
from lazysketch.cli.run.targets import Listed
from lazysketch.cli.view.live import live
from lazysketch.cli.view.output import Report, write
from lazysketch.cli.view.report import heaviest, report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazysketch import Release
    from lazysketch.cli.options import PrivateSketch


@click.command(short_help="The main job on generated web traffic.")
@click.option(
    "--events",
    type=click.IntRange(min=1),
    default=1 << 20,
    show_default=True,
    help="Length of the stream.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the generated data; the noise is fresh in every run.",
)
@click.option(
    "--field",
    type=click.Choice(list(NAMES)),
    default="path",
    show_default=True,
    help="What the items look like.",
)
@click.option(
    "-k",
    "most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Items to show.",
)
@output_option
@sketch_options
def demo(
    *, events: int, seed: int, field: str, most: int, output: str, sketch: SketchSettings
) -> None:
    """Show private counts of a generated stream beside the true ones.

    The stream imitates web traffic: Zipf 1.3 over 2^20 request paths or client
    addresses. It is generated, so nobody's privacy is at stake and the truth may be
    shown; the sketch does exactly what it would do with real events.

    \b
    Example:
      lazysketch demo --field host --epsilon 0.5
    """
    traffic = Traffic(events=events, seed=seed, field=field)
    with sketch.create() as counter:
        items = traffic.items  # made before two threads ask for them
        with live(
            Listed(counter, lambda release: heaviest(release, items, most=most), choice=ITEMS),
            name="generated traffic",
            part_read=lambda: counter.step / events,
        ):
            true, seconds = _feed(counter, traffic)
        release = counter.release()
    write(_report(release, traffic, true=true, seconds=seconds, most=most), output=output)


def _feed(sketch: PrivateSketch, traffic: Traffic) -> tuple[NDArray[np.int64], float]:
    """Return the true counts, and the seconds that the sketch took for its part."""
    true = np.zeros(ITEMS, dtype=np.int64)
    seconds = 0.0
    names = traffic.items
    for block in traffic.blocks():
        true += np.bincount(block, minlength=ITEMS)
        items = [names[position] for position in block.tolist()]
        begin = time.perf_counter()
        sketch.update_many(items)
        seconds += time.perf_counter() - begin
    return true, seconds


def _report(
    release: Release, traffic: Traffic, *, true: NDArray[np.int64], seconds: float, most: int
) -> Report:
    rows = heaviest(release, traffic.items, most=most)
    truth = dict(zip(traffic.items, true.tolist(), strict=True))
    errors = []
    for row in rows:
        del row["share"]  # leaves room for the truth in 80 columns
        row["true"] = truth[row["item"]]
        row["relative_error"] = row["estimate"] / row["true"] - 1 if row["true"] else None
        if row["relative_error"] is not None:
            errors.append(abs(row["relative_error"]))
    heaviest_in_truth = np.argsort(-true, kind="stable")[:most]
    found = {traffic.items[i] for i in heaviest_in_truth} & {row["item"] for row in rows}
    mean_error = sum(errors) / len(errors) if errors else None
    rate = traffic.events / seconds

    plain = report(
        release, rows, of=f"generated data (Zipf {SKEW} over {ITEMS:,} {NAMES[traffic.field]})"
    )
    figures = {
        "generated": True,
        "data_seed": traffic.seed,
        "mean_relative_error": mean_error,
        "found_of_true_top": len(found),
        "events_per_second": round(rate),
    }
    line = (
        f"mean relative error {'-' if mean_error is None else f'{mean_error:.2%}'}, "
        f"{len(found)} of the true top {len(rows)} found, "
        f"{rate:,.0f} events/s into the sketch"
    )
    return dataclasses.replace(
        plain,
        summary={**plain.summary, **figures},
        lines=[
            "The data are generated, not real traffic: that is why the truth can be shown.",
            *plain.lines,
            line,
        ],
    )
