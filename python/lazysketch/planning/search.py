"""Search for a sketch: the smallest that reaches an error, or the best within a memory.

Widths form a geometric grid and depths go from 2 to 8: with a single row, a collision with a heavy
item cannot be distinguished from a count. If only the end is read, everything is published once.
Otherwise the schedules are the geometric one and, with a horizon, round robin with width steps to a
round and with the round at which noise and lag balance; and, for reads at known steps, batches:
with the horizon or without one, whichever has less noise after ``steps``. The grid does not depend
on the target, so more memory is never worse. All designs are scored; those that are candidates for
the answer are simulated (:mod:`.prediction`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lazysketch.errors import ArgumentValueError
from lazysketch.planning.design import Design, Planned, round_length
from lazysketch.planning.prediction import (
    CellErrors,
    Prediction,
    Scores,
    half_width,
    lag_width,
    predict,
)
from lazysketch.planning.reads import Reads
from lazysketch.planning.request import Request
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single
from lazysketch.specification.sizing import LARGEST_CELLS

__all__ = [
    "FINE",
    "Candidate",
    "batches_of",
    "candidates",
    "chosen",
    "frontier",
    "schedules_for",
    "whole_batch",
]

_LEAST_WIDTH: Final = 16
_LARGEST_PLANNED: Final = 2**22
_SHALLOWEST: Final = 2
_DEEPEST: Final = 8
_LONGEST_ROUND: Final = 1 / 8  # of the stream, so that a column is published several times
FINE: Final = 4  # widths per doubling
_NEAR: Final = 1.1  # without a target: the error may exceed the least one by this factor
_TRIES: Final = 8
_LARGEST_FACTOR: Final = 2.0**20
_STRIDE: Final = 1.3  # factor between the values tried for a change that reaches the target

Candidate = tuple[float, Design]  # half width in counts, and the sketch


def candidates(
    scores: Scores, *, fine: int = FINE, memory: int | None = None, least: int = 0
) -> list[Candidate]:
    """Return all designs with their scores, smallest first.

    Args:
        scores: scores of the request.
        fine: widths per doubling.
        memory: largest table, in bytes; None for no limit.
        least: smallest table, in bytes.

    Returns:
        Pairs of half width and design.
    """
    request = scores.request
    most = LARGEST_CELLS if memory is None else memory // request.cell_bytes
    balanced = _Balanced.of(scores)
    found = []
    for width in _widths(min(most, _LARGEST_PLANNED), fine):
        for schedule, batch in _schedules(scores, width, balanced):
            for depth in range(_SHALLOWEST, min(_DEEPEST, most // width) + 1):
                for kind in request.kinds:
                    design = Design(request, kind, depth, width, schedule, batch)
                    if design.memory >= least and (memory is None or design.memory <= memory):
                        found.append((scores.of(design), design))
    # Among designs of one size the best comes first, so a search can stop at the first match.
    return sorted(found, key=lambda pair: (pair[1].memory, pair[0]))


def chosen(scores: Scores) -> tuple[Design, Prediction]:
    """Return the design that satisfies the request, and its predicted errors.

    Args:
        scores: scores of the request.

    Returns:
        Design and prediction.

    Raises:
        ArgumentValueError: no design reaches the target; the message names changes that would.
    """
    request = scores.request
    known = candidates(scores, memory=request.memory)
    if not known:
        raise _too_little(request)
    best, design = min(known, key=lambda pair: pair[0])
    if request.relative_error is not None:
        found = _smallest(scores, known, request.half_width(request.relative_error))
    elif request.memory is not None:
        found = design, predict(scores, design)
    else:
        near = next(design for score, design in known if score <= _NEAR * best)
        found = near, predict(scores, near)
    target = request.relative_error or 1.0
    if found is None or found[1].relative_error > target or not math.isfinite(best):
        reached = predict(scores, design).relative_error if math.isfinite(best) else math.inf
        raise _unreachable(request, scores, reached)
    return found


def frontier(known: list[Candidate]) -> list[Candidate]:
    """Return the designs that are better than every smaller one.

    Args:
        known: smallest first, as :func:`candidates` returns them.

    Returns:
        The same order, with decreasing half widths.
    """
    least, found = math.inf, []
    for score, design in known:
        if score < least:
            least = score
            found.append((score, design))
    return found


def _smallest(
    scores: Scores, known: list[Candidate], target: float
) -> tuple[Design, Prediction] | None:
    """Return the smallest design whose simulated half width reaches a target."""
    wanted = target
    for _ in range(_TRIES):
        design = next((design for score, design in known if score <= wanted), None)
        if design is None:
            break
        prediction = predict(scores, design)
        if prediction.interval_half_width <= target:
            return design, prediction
        wanted = min(
            scores.of(design) * (1 - 1e-9), wanted * target / prediction.interval_half_width
        )
    best = min(known, key=lambda pair: pair[0])[1]
    prediction = predict(scores, best)
    return (best, prediction) if prediction.interval_half_width <= target else None


def _widths(most: int, fine: int) -> Iterator[int]:
    width = _LEAST_WIDTH
    for power in range(10_000):
        width = round(_LEAST_WIDTH * 2 ** (power / fine))
        if width > most:
            return
        yield width


def schedules_for(scores: Scores, width: int) -> list[tuple[Planned, int]]:
    """Return the schedules that are planned for a width.

    Args:
        scores: scores of the request.
        width: number of columns.

    Returns:
        Schedules, each with the steps of the stream in one of its steps: 1 unless it is batch.
    """
    return list(_schedules(scores, width, _Balanced.of(scores)))


@dataclass(frozen=True)
class _Balanced:
    """Lengths that minimise the error from noise and lag, in steps.

    Attributes:
        round: of a round of round robin.
        batch: of a batch.
    """

    round: int
    batch: int

    @classmethod
    def of(cls, scores: Scores) -> _Balanced:
        request = scores.request
        if request.reads == "end":
            return cls(1, 1)
        rounds: dict[int, tuple[Planned, int]] = {}
        if request.horizon is not None:
            rounds = {
                period * _LEAST_WIDTH: (RoundRobin(horizon=request.horizon, period=period), 1)
                for period in _lengths(1, request.steps // _LEAST_WIDTH)
            }
        if not isinstance(request.reads, int):
            return cls(_best(scores, rounds), 1)
        batches: dict[int, tuple[Planned, int]] = {}
        for batch in _lengths(request.reads, request.steps):
            schedule = batches_of(scores, _LEAST_WIDTH, batch)
            if schedule is not None:
                batches[batch] = schedule, batch
        return cls(_best(scores, rounds), _best(scores, batches))


def _lengths(unit: int, steps: int) -> Iterator[int]:
    while unit <= _LONGEST_ROUND * steps:
        yield unit
        unit *= 2


def batches_of(scores: Scores, width: int, batch: int) -> Batch | None:
    """Return the schedule of batches with the least noise after the steps of a request.

    Without a horizon the noise follows the batches made; with one it is that of the horizon from
    the start: less if the horizon is nearly reached, more if it is far.

    Args:
        scores: scores of the request.
        width: number of columns.
        batch: steps of the stream in one batch.

    Returns:
        A schedule with the horizon of the request, or without one; None if neither is possible: a
        large table without a horizon has more draws than a small delta permits.
    """
    request = scores.request
    endless = Design(request, request.kinds[0], _DEEPEST, width, Batch(), batch)
    known = [endless] if _can_be_made(endless) else []
    if request.horizon is not None:
        horizon = -(-request.horizon // batch)
        known.insert(0, replace(endless, schedule=Batch(horizon=horizon)))
    if len(known) == 2:
        known = [min(known, key=scores.deviation)]
    return next((each.schedule for each in known if isinstance(each.schedule, Batch)), None)


def _can_be_made(design: Design) -> bool:
    if design.request.steps > design.batch * design.schedule.leaves(design.width):
        return False
    try:
        return design.spec is not None
    except ArgumentValueError:
        return False


def _best(scores: Scores, options: Mapping[int, tuple[Planned, int]]) -> int:
    """Return the key with the least error of a table without collisions."""
    request = scores.request
    best, length = math.inf, 1
    for key, (schedule, batch) in options.items():
        design = Design(request, request.kinds[0], 3, _LEAST_WIDTH, schedule, batch)
        none = 0.0 * scores.collisions(design)
        errors = CellErrors(none, scores.deviation(design), LARGEST_CELLS)
        half = half_width(errors, design.kind, 3, confidence=request.confidence)
        score = lag_width(half, design)
        if score < best:
            best, length = score, key
    return length


def _schedules(scores: Scores, width: int, balanced: _Balanced) -> Iterator[tuple[Planned, int]]:
    request = scores.request
    if request.reads == "end":
        yield Single(), 1
        return
    longest = _LONGEST_ROUND * request.steps
    options: list[RoundRobin | Geometric] = [Geometric()]
    if request.horizon is not None:
        periods = {1, max(1, round(balanced.round / width))}
        options += [RoundRobin(horizon=request.horizon, period=p) for p in sorted(periods)]
    for schedule in options:
        if round_length(schedule, width, request.steps) <= longest:
            yield schedule, 1
    # The estimate does not know what an open batch has, so batches are for reads that follow one.
    if isinstance(request.reads, int):
        batch = whole_batch(balanced.batch, reads=request.reads, width=width)
        batches = batches_of(scores, width, batch) if batch <= longest else None
        if batches is not None:
            yield batches, batch


def whole_batch(batch: int, *, reads: Reads, width: int) -> int:
    """Return a length of batches that reads can follow, and that costs as little as round robin.

    Args:
        batch: wanted number of steps.
        reads: when the sketch is read.
        width: columns, all of which a batch publishes: at most one per step of the stream.

    Returns:
        At least ``width``, a multiple of the steps between two reads.

    Example:
        >>> whole_batch(10, reads=300, width=1000), whole_batch(5000, reads="continually", width=64)
        (1200, 5000)
    """
    unit = reads if isinstance(reads, int) else 1
    return max(round(batch / unit), -(-width // unit), 1) * unit


def _too_little(request: Request) -> ArgumentValueError:
    least = _SHALLOWEST * _LEAST_WIDTH * request.cell_bytes
    if request.memory is not None and request.memory < least:
        return ArgumentValueError(
            f"memory: expected at least {least} bytes, for {_SHALLOWEST} rows of "
            f"{_LEAST_WIDTH} cells, got {request.memory}"
        )
    steps = math.ceil(_LEAST_WIDTH / _LONGEST_ROUND)
    return ArgumentValueError(
        f"steps: expected at least {steps}, so that columns can be published, got {request.steps}"
    )


def _unreachable(request: Request, scores: Scores, reached: float) -> ArgumentValueError:
    """Return the error for a target that no table reaches, with changes that would reach it."""
    target = request.relative_error or 1.0
    options = []
    for name, argument in _LEVERS.items():
        value = _reaching(scores, argument, target)
        if value is not None:
            options.append(f"{name} {value:,.3g}" if value < 1000 else f"{name} {value:,.0f}")
    if request.memory is not None:
        options.append("more memory")
    what = "relative_error" if request.relative_error is not None else "share"
    asked = (
        f"one that a table can reach, got {target:g}"
        if request.relative_error is not None
        else f"an item whose count exceeds the error, got {request.share:g}"
    )
    bound = request.bounding
    dropped = (
        f", of which {bound.dropped_of_item:.3g} is beyond the bound of people" if bound else ""
    )
    return ArgumentValueError(
        f"{what}: expected {asked}: an item of {request.share:.3g} of {request.steps:,} steps is "
        f"known to within {reached:.3g} of its count at best{dropped}; "
        f"{' or '.join(options) or 'no single change'} would reach {target:g}"
    )


_LEVERS: Final = {"epsilon": "epsilon", "share": "share", "a stream of steps": "steps"}


def _reaching(scores: Scores, argument: str, target: float) -> float | None:
    """Return approximately the smallest value of an argument that reaches the target."""
    request = scores.request
    if request.half_width(target) <= 0.0:
        return None  # what is dropped of the item exceeds the target, whatever the noise
    start = getattr(request, argument)
    factor = 1.0
    while factor < _LARGEST_FACTOR:
        factor *= _STRIDE
        value = start * factor
        if (argument == "share" and value >= 1.0) or (argument == "epsilon" and value > 64.0):
            return None
        changed = {argument: round(value) if argument == "steps" else value}
        if argument == "steps" and request.horizon is not None:
            changed["horizon"] = max(request.horizon, changed["steps"])
        asked = scores.asked(replace(request, **changed))
        try:
            known = candidates(asked, fine=1, memory=request.memory)
        except ArgumentValueError:
            return None  # no mechanism supports these privacy parameters
        if not known:
            return None  # the coarse grid has no table within the memory
        # The simulation may give a larger error than the score: leave a margin.
        if min(known, key=lambda pair: pair[0])[0] <= 0.9 * asked.request.half_width(target):
            return _rounded_up(value)
    return None


def _rounded_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit - 1e-9) * unit
