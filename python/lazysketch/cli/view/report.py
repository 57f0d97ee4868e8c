"""Reports on a release: rows of estimates, its parameters and its guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

import numpy as np

from lazysketch.cli.view.guarantees import composition, guarantees, run_of
from lazysketch.cli.view.output import Report, as_number
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.release import Release
from lazysketch.specification.schedules import Punctual, Single

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import NotRequired

    from lazysketch import Intervals
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.items import Item

CONFIDENCE: Final = 0.95
SHARES: Final = (0.5, 0.9, 0.99)  # the quantiles that are shown unless others are asked for
_SMALL_LAG: Final = 0.05  # fraction of the stream; a smaller lag is not mentioned
_MIN_ADVISED_WIDTH: Final = 32  # below, collisions would cost more than the lag


class ItemRow(TypedDict):
    """One item: its estimate to a tenth, its interval rounded outwards to whole counts."""

    rank: NotRequired[int]
    item: str | int
    estimate: float
    low: float
    high: float
    share: NotRequired[float | None]
    above_noise: bool
    complete: NotRequired[bool]
    true: NotRequired[int]
    relative_error: NotRequired[float | None]


# A quantile of values, and the edges of bins between which it lies, which may be infinite.
QuantileRow = TypedDict(
    "QuantileRow", {"quantile": float, "value": float, "from": float, "to": float}
)
RowsOf: TypeAlias = "Callable[[Release], list[ItemRow]]"


@dataclass(frozen=True, slots=True)
class Moment:
    """The public state of a run at one step.

    Args:
        release: The table.
        rows: The rows to show.
        waiting: What the rows wait for, one sentence each.
        guarantee: The guarantee of everything that the run publishes.
        progress: How far the run is, if the number of steps does not say it.
    """

    release: AnyRelease
    rows: list[ItemRow]
    waiting: list[str]
    guarantee: str
    progress: str | None = None


def heaviest(release: Release, items: Sequence[str] | Sequence[int], *, most: int) -> list[ItemRow]:
    """Return the rows of the items with the largest estimates, ties in the list's order.

    The intervals cover all items of the list simultaneously.
    """
    places, found = release._heaviest(items, n=most, confidence=CONFIDENCE)
    return _rows(release, [items[place] for place in places], found, ranked=True)


def counts(release: Release, items: Sequence[str] | Sequence[int]) -> list[ItemRow]:
    """Return the rows of all items, in their order."""
    found = release._intervals_of_list(items, confidence=CONFIDENCE, among=None)
    return _rows(release, items, found, ranked=False)


def distinct_rows(release: DistinctRelease) -> list[ItemRow]:
    """Return the row of the number of distinct items."""
    found = release.interval(confidence=CONFIDENCE)
    row = row_of("distinct items", found.estimate, found.low, found.high, share=None)
    del row["share"]
    return [row]


def quantile_rows(release: DistributionRelease, shares: Sequence[float]) -> list[QuantileRow]:
    """Return the rows of some quantiles, in their order."""
    found = release.quantiles(shares, confidence=CONFIDENCE)
    return [
        {"quantile": share, "value": one.estimate, "from": one.low, "to": one.high}
        for share, one in zip(shares, found, strict=True)
    ]


def row_of(item: Item, estimate: float, low: float, high: float, *, share: float | None) -> ItemRow:
    """Return the row of one item."""
    return {
        "item": printable_item(item),
        "estimate": as_number(round(estimate, 1)),
        "low": as_number(math.floor(low)),
        "high": as_number(math.ceil(high) if math.isfinite(high) else math.inf),
        "share": None if share is None else round(share, 6),
        "above_noise": math.floor(low) > 0,
    }


def printable_item(item: Item) -> str | int:
    """Return an integer as it is, and any other item as text.

    Undecodable bytes are escaped; instants and dates are in the form of ISO 8601.
    """
    if isinstance(item, str | int):
        return item
    if isinstance(item, bytes):
        return item.decode("utf-8", errors="backslashreplace")
    return item.isoformat() if isinstance(item, date) else str(item)


def report(
    release: AnyRelease,
    rows: Sequence[ItemRow] | Sequence[QuantileRow],
    *,
    of: str,
    guarantee: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    inputs: Mapping[str, object] | None = None,
    length_known: bool = False,
    advises: bool = True,
) -> Report:
    """Return rows together with the parameters and the guarantee of their release.

    Args:
        release: Where the rows come from.
        rows: The rows.
        of: What was counted, for the first line.
        guarantee: The lines of the guarantee; those of the release if None.
        notes: Further notes.
        inputs: The description of the inputs in JSON.
        length_known: Whether the length of the stream is known, as a horizon for the next period.
        advises: Whether the notes say which options would help in the next period.
    """
    lag = _lag(release, length_known=length_known, advises=advises)
    own = _distinguishable(rows), _large_delta(release), lag
    all_notes = [note for note in (*own, *notes) if note]
    # Rows with a rank were selected, so their intervals cover all items of the list.
    simultaneous = any("rank" in row for row in rows)
    promised = list(guarantees(release) if guarantee is None else guarantee)
    lines = [
        f"{steps_of(release.step)} of {of}; {shape(release)}; {publication(release)}",
        *promised,
        *(
            [f"{_ends(release)}: {_caption(release, simultaneous=simultaneous)}, at this step"]
            if rows
            else []
        ),
        *all_notes,
    ]
    described = {
        **summary(release),
        "guarantee": promised,
        "confidence": CONFIDENCE,
        "simultaneous": simultaneous,
        **(inputs or {}),
        "notes": all_notes,
    }
    return Report(rows=rows, summary=described, lines=lines)


def _ends(release: AnyRelease) -> str:
    return "from-to" if isinstance(release, DistributionRelease) else "low-high"


def _caption(release: AnyRelease, *, simultaneous: bool) -> str:
    if isinstance(release, Release):
        return interval_caption(simultaneous=simultaneous)
    each = "" if isinstance(release, DistinctRelease) else " of each quantile separately"
    return f"{CONFIDENCE:.0%} confidence interval{each}"


def interval_caption(*, simultaneous: bool) -> str:
    """Return the caption of the intervals."""
    if simultaneous:
        return f"simultaneous {CONFIDENCE:.0%} confidence intervals for every listed item"
    return f"{CONFIDENCE:.0%} confidence interval of each item separately"


def waiting(release: AnyRelease) -> str:
    """Return how many columns are not published yet, so that their items show 0; or ""."""
    columns = 0 if len(release.parts) > 1 else int(np.count_nonzero(release.pushes == 0))
    if not columns or not release.step:
        return ""
    return f"{columns:,} of {release.width:,} columns are not published yet and count as 0"


def publication(release: AnyRelease) -> str:
    """Return when its counts were published."""
    if not release.finished:
        return "published on the way"
    single = all(part.schedule == Single() for part in release.parts)
    return "published once, at the end" if single else "published on the way and at the end"


def is_published(release: AnyRelease) -> bool:
    """Return True if any column has been pushed, so that there is something to show."""
    return any(part.pushes(release.width).any() for part in release.parts)


def steps_of(steps: int) -> str:
    """Return the number with its noun."""
    return f"{steps:,} step" if steps == 1 else f"{steps:,} steps"


def shape(release: AnyRelease) -> str:
    """Return the kind and the size of the table."""
    if isinstance(release, DistinctRelease):
        return f"{release.levels} levels of {release.bits:,} bits"
    if isinstance(release, DistributionRelease):
        return f"{release.bins.number:,} bins"
    return f"{release.kind} {release.depth} x {release.width:,}"


def summary(release: AnyRelease) -> dict[str, object]:
    """Return the fields of a release in the JSON of every verb; ``privacy`` is null if merged."""
    merged = len(release.parts) > 1
    part = release.parts[0]
    schedule, mechanism = (None, None) if merged else (part.schedule, part.mechanism)
    return {
        "steps": release.step,
        "finished": release.finished,
        "kind": release.kind,
        "depth": release.depth,
        "width": release.width,
        "hash_seed": str(release.hash_seed),  # JSON numbers are exact up to 2^53 only
        "schedule": schedule.name if schedule else None,
        "horizon": schedule.horizon if schedule else None,
        "mechanism": mechanism.name if mechanism else None,
        "private": release.private,
        "not_private_because": list(release.not_private_because),
        "privacy": None if merged else dataclasses.asdict(release.privacy),
        "run": None if merged else run_of(part),
        "composition": composition([release]) if merged else None,
    }


def _rows(
    release: Release,
    items: Sequence[str | int],
    found: Intervals,
    *,
    ranked: bool,
) -> list[ItemRow]:
    # With weights the number of steps is not the total.
    weighted = any(part.privacy.max_weight > 1 for part in release.parts)
    steps = max(release.step, 1)
    rows: list[ItemRow] = []
    for rank, (item, interval) in enumerate(zip(items, found, strict=True), start=1):
        estimate = interval.estimate
        share = None if weighted else as_number(round(estimate, 1)) / steps
        row = row_of(item, estimate, interval.low, interval.high, share=share)
        rows.append({"rank": rank, **row} if ranked else row)
    return rows


def _distinguishable(rows: Sequence[ItemRow] | Sequence[QuantileRow]) -> str:
    """Return how many counts are distinguishable from 0, or "" if all are."""
    above = sum(bool(row.get("above_noise", True)) for row in rows)
    if above == len(rows):
        return ""
    return f"{above:,} of {len(rows):,} counts are distinguishable from 0"


def _lag(release: AnyRelease, *, length_known: bool, advises: bool) -> str:
    """Return a note if the lag, ``width`` steps per column, is large for this stream; or ""."""
    if len(release.parts) > 1 or not release.step or release.finished:
        return ""
    schedule = release.parts[0].schedule
    if schedule is None or isinstance(schedule, Punctual):
        return ""
    late = waiting(release)
    share = release.width / release.step
    if not late and share <= _SMALL_LAG:
        return ""
    if not late:
        late = (
            f"counts lag by up to {steps_of(release.width)} ({share:.0%} of the stream), "
            "and shares are too low by as much"
        )
    if not advises:
        return late
    width = _width_with_small_lag(release.step)
    helps = width < release.width and 2 * width <= release.step
    advice = [f"--width {width} reduces the lag"] if helps else []
    if length_known and schedule.horizon is None:
        advice.append(f"--horizon {release.step} reduces the noise")
    return f"{late}; in the next period of the stream {' and '.join(advice)}" if advice else late


def _width_with_small_lag(steps: int) -> int:
    """Return the largest power of two whose lag is small, or the minimum width."""
    width = _MIN_ADVISED_WIDTH
    while 2 * width <= steps * _SMALL_LAG:
        width *= 2
    return width


def _large_delta(release: AnyRelease) -> str:
    """Return a note if delta is so large that one event may be revealed; or ""."""
    largest = max(part.privacy.delta for part in release.parts)
    if not release.private or largest * release.step < 1:
        return ""
    return (
        f"delta = {largest:g} allows a mechanism to reveal one event in {1 / largest:,.0f}: "
        f"with {steps_of(release.step)} it should be far smaller"
    )
