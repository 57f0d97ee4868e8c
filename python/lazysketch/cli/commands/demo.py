"""``lazysketch demo``: private and true counts of generated web traffic.

Item number r, r = 1 .. ITEMS, has probability proportional to r^-SKEW. The item names are
synthetic, and a permutation hides the rank in them.

Cost: about 0.2 us per event; 100 MB for the list of names.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import (
    gathered,
    option_with_default,
    output_option,
    rows_option,
    sketch_options,
)
from lazysketch.cli.run.signals import end_as_ctrl_c
from lazysketch.cli.settings import SketchSettings
from lazysketch.cli.view.output import Report, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy import int64, intp
    from numpy.typing import NDArray

    from lazysketch import Release
    from lazysketch.cli.settings import PrivateSketch
    from lazysketch.releases.rows import ItemRow

ITEMS: Final = 1 << 20
SKEW: Final = 1.3
NAMES: Final = {"path": "request paths", "host": "client addresses"}

_BLOCK: Final = 1 << 16
_SCATTER: Final = 0x9E375  # odd, so that multiplication modulo ITEMS is a permutation
_SECTIONS: Final = ("shop", "news", "blog", "help", "docs", "api", "images", "search")


@dataclass(frozen=True)
class Traffic:
    """A reproducible stream.

    Args:
        events: Its length.
        seed: The seed of the data; it does not affect the noise of a sketch.
        field: "path" or "host", the form of the items.
    """

    events: int
    seed: int
    field: str

    @cached_property
    def items(self) -> list[str]:
        """All possible items, the most frequent first: public by construction."""
        import numpy as np  # late, as all that only a run needs

        numbers = ((np.arange(1, ITEMS + 1) * _SCATTER) % ITEMS).tolist()
        if self.field == "host":
            return [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in numbers]
        return [f"/{_SECTIONS[n & 7]}/{n:05x}" for n in numbers]

    def blocks(self) -> Iterator[NDArray[intp]]:
        """Yield the events as positions in ``items``."""
        import numpy as np

        weights = np.arange(1, ITEMS + 1, dtype=np.float64) ** -SKEW
        cumulated = np.cumsum(weights)
        generator = np.random.default_rng(self.seed)
        for begin in range(0, self.events, _BLOCK):
            draws = generator.random(min(_BLOCK, self.events - begin)) * cumulated[-1]
            # Rounding could yield the sum itself.
            yield np.minimum(np.searchsorted(cumulated, draws, side="right"), ITEMS - 1)


_TRAFFIC: Final = (
    option_with_default(
        "--events",
        type=click.IntRange(min=1),
        default=1 << 20,
        help="Length of the stream.",
    ),
    option_with_default(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        help="Seed of the generated data; the noise is fresh in every run.",
    ),
    option_with_default(
        "--field", type=click.Choice(list(NAMES)), default="path", help="Form of the items."
    ),
)


@click.command()
@gathered(Traffic, "traffic", *_TRAFFIC)
@rows_option
@output_option
@sketch_options
def demo(*, traffic: Traffic, rows_shown: int, output: str, sketch: SketchSettings) -> None:
    """Show private and true counts of a generated stream.

    The stream imitates web traffic: Zipf 1.3 over 2^20 request paths or client
    addresses. It is generated, so the true counts can be shown. The sketch works as with
    real events.

    \b
    Example:
      lazysketch demo --field host --epsilon 0.5
    """
    from lazysketch.cli.run.targets import ListedItems
    from lazysketch.cli.view.live import Reading, live
    from lazysketch.cli.view.report import heaviest
    from lazysketch.heavy_hitters.default_width import NARROWEST

    if sketch.width is None:
        sketch = dataclasses.replace(sketch, width=NARROWEST)
    with sketch.create() as counter:
        items = traffic.items  # computed before two threads need it

        def rows(release: Release) -> list[ItemRow]:
            return heaviest(release, items, most=rows_shown)

        target = ListedItems(counter, rows, candidates=ITEMS)
        with live(
            target.moment,
            Reading(
                name="generated traffic",
                rows=lambda: counter.step,
                part_read=lambda: counter.step / traffic.events,
                end=end_as_ctrl_c,
            ),
        ):
            true, seconds = _feed(counter, traffic)
        counter.finish()
        release = counter.release()
    write(_report(release, rows(release), traffic, true=true, seconds=seconds), output=output)


def _feed(sketch: PrivateSketch, traffic: Traffic) -> tuple[NDArray[int64], float]:
    """Return the true counts, and the seconds that the sketch took."""
    import numpy as np

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
    release: Release,
    rows: list[ItemRow],
    traffic: Traffic,
    *,
    true: NDArray[int64],
    seconds: float,
) -> Report:
    import numpy as np

    from lazysketch.cli.view.report import report

    mean_error = _add_truth(rows, dict(zip(traffic.items, true.tolist(), strict=True)))
    true_top = np.argsort(-true, kind="stable")[: len(rows)]
    found = {traffic.items[i] for i in true_top} & {row["item"] for row in rows}
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
            "The data are generated, not real traffic, so the true counts can be shown.",
            *plain.lines,
            line,
        ],
    )


def _add_truth(rows: list[ItemRow], truth: dict[str, int]) -> float | None:
    """Replace the shares in the rows by true counts and errors; return the mean error."""
    errors = []
    for row in rows:
        del row["share"]  # makes room for the truth in 80 columns
        row["true"] = truth[str(row["item"])]
        row["relative_error"] = row["estimate"] / row["true"] - 1 if row["true"] else None
        if row["relative_error"] is not None:
            errors.append(abs(row["relative_error"]))
    return sum(errors) / len(errors) if errors else None
