"""Asking a release: rows of estimates, and what the release says about itself."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lazysketch.cli.view.output import Report, as_number
from lazysketch.privacy import compose
from lazysketch.specification.schedules import Punctual

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lazysketch import Intervals, Release

Rows: TypeAlias = "Callable[[Release], list[dict[str, Any]]]"

CONFIDENCE = 0.95
_SPARE = 16
_MOST = 1 << 16  # items that tie
_LAG_WORTH_TELLING = 0.05  # the part of the stream that may be missing
_LEAST_WIDTH = 32  # below, collisions would be worse than the lag


def heaviest(
    release: Release, items: Sequence[str] | Sequence[int], *, most: int
) -> list[dict[str, Any]]:
    """Return the rows of the items with the largest estimates, ties in the list's order.

    Their intervals cover all items of the list together: of many items that never occurred the
    largest estimates are those that noise has lifted, above intervals that hold one by one.
    """
    if most < len(items):
        # A quick estimate chooses some more than will be shown, the best one ranks them.
        wanted = min(2 * most + _SPARE, len(items))
        quick = release.estimate_many(items, estimator="corrected")
        candidates = np.flatnonzero(quick >= np.partition(quick, -wanted)[-wanted])[:_MOST]
    else:
        candidates = np.arange(len(items))
    chosen = [items[i] for i in candidates]
    found = release.interval_many(chosen, confidence=CONFIDENCE, at="now", among=len(items))
    order = np.argsort(-found.estimate, kind="stable")[:most]
    return _rows(release, chosen, found, order, ranked=True)


def counts(release: Release, items: Sequence[str] | Sequence[int]) -> list[dict[str, Any]]:
    """Return the rows of all items, in their order."""
    found = release.interval_many(items, confidence=CONFIDENCE, at="now")
    return _rows(release, items, found, np.arange(len(items)), ranked=False)


def row_of(
    item: str | int, estimate: float, low: float, high: float, *, share: float | None
) -> dict[str, Any]:
    """Return what is told of one item: an estimate to a tenth, its interval outwards."""
    return {
        "item": item,
        "estimate": as_number(round(estimate, 1)),
        "low": as_number(math.floor(low)),
        "high": as_number(math.ceil(high) if math.isfinite(high) else math.inf),
        "share": None if share is None else round(share, 6),
        "above_noise": low > 0,
    }


def report(
    release: Release,
    rows: list[dict[str, Any]],
    *,
    of: str,
    inputs: Mapping[str, Any] | None = None,
    length_known: bool = False,
) -> Report:
    """Join rows with what the release says about itself.

    Args:
        release: Where the rows come from.
        rows: The rows.
        of: What was counted, for the line of text.
        inputs: What JSON says about that.
        length_known: Whether the stream can be counted again with its length as horizon.
    """
    found = [
        note
        for note in (_buried(rows), _weak_delta(release), _lag(release, length_known=length_known))
        if note
    ]
    lines = [f"{steps_of(release.step)} of {of}; {shape(release)}", *promises(release)]
    # Rows with a rank were chosen, and their intervals hold with those of all others.
    together = any("rank" in row for row in rows)
    held = "all counts of the list together" if together else "each count"
    lines += [f"low and high hold {held} at this step with {CONFIDENCE:.0%} confidence", *found]
    whole = {
        **summary(release),
        "confidence": CONFIDENCE,
        "simultaneous": together,
        **(inputs or {}),
        "notes": found,
    }
    return Report(rows=rows, summary=whole, lines=lines)


def waiting(release: Release) -> str:
    """Say that columns have not been published yet and their items show 0; empty if all have."""
    columns = 0 if len(release.parts) > 1 else int(np.count_nonzero(release.pushes == 0))
    if not columns or not release.step:
        return ""
    return (
        f"{columns:,} of {release.width:,} columns wait for their first publication and count as 0"
    )


def steps_of(steps: int) -> str:
    """Return the number with its noun."""
    return f"{steps:,} step" if steps == 1 else f"{steps:,} steps"


def shape(release: Release) -> str:
    """Say of what kind and size the table is."""
    return f"{release.kind} {release.depth} x {release.width:,}"


def summary(release: Release) -> dict[str, Any]:
    """Return what every verb's JSON says about a release; ``privacy`` is null in a merged one."""
    merged = len(release.parts) > 1
    part = release.parts[0]
    schedule, mechanism = (None, None) if merged else (part.schedule, part.mechanism)
    return {
        "steps": release.step,
        "kind": release.kind,
        "depth": release.depth,
        "width": release.width,
        "hash_seed": release.hash_seed,
        "schedule": schedule.name if schedule else None,
        "horizon": schedule.horizon if schedule else None,
        "mechanism": mechanism.name if mechanism else None,
        "private": release.private,
        "not_private_because": list(release.not_private_because),
        "privacy": None if merged else dataclasses.asdict(release.privacy),
        "composition": _composition(release) if merged else None,
    }


def promises(release: Release) -> list[str]:
    """Say what is promised; of a merged release also what its parts come to together."""
    parts = release.parts
    if not release.private:
        return [f"NOT PRIVATE ({'; '.join(release.not_private_because)}): promises nothing"]
    distinct = list(dict.fromkeys(str(part.privacy) for part in parts))
    if len(parts) == 1:
        return distinct
    each = [f"{len(parts)} parts, each {distinct[0]}"]
    if len(distinct) > 1:
        each = [f"{len(parts)} parts; {promise}" for promise in distinct]
    whole = _composition(release)
    if whole is None:
        return [*each, "parts for different relations: no common promise"]
    together = (
        f"whoever is in all their streams: mu = sqrt(sum of mu^2) = {whole['mu']:.3g}, "
        f"which is epsilon = {_upwards(whole['epsilon'])} at delta = {whole['delta']:g}"
    )
    return [*each, together]


def _composition(release: Release) -> dict[str, Any] | None:
    """Return what the parts come to for whoever is in all their streams, if they compose."""
    parts = [part.privacy for part in release.parts]
    if not release.private or len({part.relation for part in parts}) > 1:
        return None
    whole, delta = compose(*parts), max(part.delta for part in parts)
    return {
        "mu": whole.mu,
        "epsilon": whole.epsilon_at(delta),
        "delta": delta,
        "relation": whole.relation,
    }


def _upwards(epsilon: float) -> str:
    """Return the number to three digits, never below itself."""
    shown = f"{epsilon:.3g}"
    return shown if float(shown) >= epsilon else f"{epsilon * 1.005:.3g}"


def _rows(
    release: Release,
    items: Sequence[str] | Sequence[int],
    found: Intervals,
    order: Any,
    *,
    ranked: bool,
) -> list[dict[str, Any]]:
    # With weights the steps are not what an estimate is a part of.
    weighted = any(part.privacy.max_weight > 1 for part in release.parts)
    steps = max(release.step, 1)
    rows = []
    for rank, i in enumerate(order, start=1):
        estimate = float(found.estimate[i])
        share = None if weighted else as_number(round(estimate, 1)) / steps
        row = row_of(items[i], estimate, float(found.low[i]), float(found.high[i]), share=share)
        rows.append({"rank": rank, **row} if ranked else row)
    return rows


def _buried(rows: list[dict[str, Any]]) -> str:
    """Say how many rows are more than noise, if not all are."""
    above = sum(row["above_noise"] for row in rows)
    if above == len(rows):
        return ""
    return f"{above:,} of {len(rows):,} rows stand above noise and collisions"


def _lag(release: Release, *, length_known: bool) -> str:
    """Say that the stream is too short for the width, if it is: a column waits `width` steps."""
    if len(release.parts) > 1 or not release.step:
        return ""
    schedule = release.parts[0].schedule
    if schedule is None or isinstance(schedule, Punctual):
        return ""
    late = waiting(release)
    share = release.width / release.step
    if not late and share <= _LAG_WORTH_TELLING:
        return ""
    if not late:
        late = (
            f"counts are up to {steps_of(release.width)} old ({share:.0%} of the stream), "
            "and shares low by as much"
        )
    width = _fresh_width(release.step)
    helps = width < release.width and 2 * width <= release.step
    advice = [f"--width {width} gives fresher ones"] if helps else []
    if length_known and schedule.horizon is None:
        advice.append(f"--horizon {release.step} gives less noise")
    return f"{late}: {' and '.join(advice)}" if advice else late


def _fresh_width(steps: int) -> int:
    """Return the largest power of two within the lag that is not worth telling, or the least."""
    width = _LEAST_WIDTH
    while 2 * width <= steps * _LAG_WORTH_TELLING:
        width *= 2
    return width


def _weak_delta(release: Release) -> str:
    """Say that delta is too large to be a promise, if one in the stream may be given away."""
    largest = max(part.privacy.delta for part in release.parts)
    if not release.private or largest * release.step < 1:
        return ""
    return (
        f"delta = {largest:g} lets a mechanism give away one event in {1 / largest:,.0f}: "
        f"with {steps_of(release.step)} it should be far smaller"
    )
