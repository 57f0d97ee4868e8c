"""Reports on a release: rows of estimates, its parameters and its guarantee."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from lazysketch.cli.view.guarantees import composition, guarantees, run_of
from lazysketch.cli.view.output import Report
from lazysketch.releases.rows import item_rows
from lazysketch.specification.schedules import Punctual, Single

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.release import Release
    from lazysketch.releases.rows import ItemRow, Row

CONFIDENCE: Final = 0.95
_SMALL_LAG: Final = 0.05  # fraction of the stream; a smaller lag is not mentioned
_MIN_ADVISED_WIDTH: Final = 32  # below, collisions would cost more than the lag


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
    rows: Sequence[Row]
    waiting: list[str]
    guarantee: str
    progress: str | None = None

    @property
    def item_rows(self) -> list[ItemRow]:
        """The rows, if they are counts of items; none if they are of a number, values or sums."""
        of_items = bool(self.rows) and {"item", "estimate"} <= self.rows[0].keys()
        return cast("list[ItemRow]", list(self.rows)) if of_items else []


def heaviest(release: Release, items: Sequence[str] | Sequence[int], *, most: int) -> list[ItemRow]:
    """Return the rows of the items with the largest estimates, ties in the list's order.

    The intervals cover all items of the list simultaneously.
    """
    places, found = release._heaviest(items, n=most, confidence=CONFIDENCE)
    return item_rows(release, [items[place] for place in places], found, ranked=True)


def counts(release: Release, items: Sequence[str] | Sequence[int]) -> list[ItemRow]:
    """Return the rows of all items, in their order."""
    return release._rows(items, confidence=CONFIDENCE)


def report(
    release: AnyRelease,
    rows: Sequence[Row],
    *,
    of: str,
    guarantee: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    inputs: Mapping[str, object] | None = None,
    length_known: bool = False,
    advises: bool = True,
    ends: tuple[str, str] | None = None,
    each: str | None = None,
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
        ends: The keys of the ends of an interval; those of the kind if None.
        each: What has an interval of its own; that of the kind if None.
    """
    lag = _lag(release, length_known=length_known, advises=advises)
    own = _distinguishable(rows), _large_delta(release), lag
    all_notes = [note for note in (*own, *notes) if note]
    # Rows with a rank were selected, so their intervals cover all items of the list.
    simultaneous = any("rank" in row for row in rows)
    promised = list(guarantees(release) if guarantee is None else guarantee)
    words = release._words
    ends = words.ends if ends is None else ends
    each = words.each if each is None else each
    caption = interval_caption(simultaneous=simultaneous, each=each)
    lines = [
        f"{steps_of(release.step)} of {of}; {release._shape}; {publication(release)}",
        *promised,
        *([f"{'-'.join(ends)}: {caption}, at this step"] if rows else []),
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


def interval_caption(*, simultaneous: bool, each: str = "item") -> str:
    """Return the caption of the intervals."""
    if simultaneous:
        return f"simultaneous {CONFIDENCE:.0%} confidence intervals for every listed {each}"
    separately = f" of each {each} separately" if each else ""
    return f"{CONFIDENCE:.0%} confidence interval{separately}"


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
        "privacy": None if merged else dataclasses.asdict(part.privacy),
        "run": None if merged else run_of(part),
        "composition": composition([release]) if merged else None,
    }


def _distinguishable(rows: Sequence[Row]) -> str:
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
