"""Search for a sketch: the smallest that reaches an error, or the best within a memory.

Widths form a geometric grid and depths go from 2 to 8: with a single row, a collision with a heavy
item cannot be distinguished from a count. The schedules are the geometric one and, with a horizon,
round robin with width steps to a round and with the round at which noise and lag balance. The grid
does not depend on the target, so more memory is never worse. All designs are scored; those that
are candidates for the answer are simulated (:mod:`.prediction`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lazysketch.errors import ArgumentValueError
from lazysketch.planning.design import Design, round_length
from lazysketch.planning.prediction import (
    CellErrors,
    Prediction,
    Scores,
    half_width,
    lag_width,
    predict,
)
from lazysketch.planning.request import Request
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import LARGEST_CELLS

__all__ = ["FINE", "Candidate", "candidates", "chosen", "frontier"]

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
    rounds = _balanced_round(scores)
    found = []
    for width in _widths(min(most, _LARGEST_PLANNED), fine):
        for schedule in _schedules(request, width, rounds):
            for depth in range(_SHALLOWEST, min(_DEEPEST, most // width) + 1):
                if depth * width * request.cell_bytes < least:
                    continue
                for kind in request.kinds:
                    design = Design(request, kind, depth, width, schedule)
                    found.append((scores.of(design), design))
    # Among designs of one size the best comes first, so a search can stop at the first match.
    return sorted(found, key=lambda pair: (pair[1].cells, pair[0]))


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
        found = _smallest(scores, known, request.relative_error * request.count)
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


def _schedules(request: Request, width: int, rounds: float) -> Iterator[RoundRobin | Geometric]:
    longest = _LONGEST_ROUND * request.steps
    options: list[RoundRobin | Geometric] = [Geometric()]
    if request.horizon is not None:
        periods = {1, max(1, round(rounds / width))}
        options += [RoundRobin(horizon=request.horizon, period=p) for p in sorted(periods)]
    for schedule in options:
        if round_length(schedule, width, request.steps) <= longest:
            yield schedule


def _balanced_round(scores: Scores) -> float:
    """Return the length of a round that minimises the error from noise and lag, in steps."""
    request = scores.request
    if request.horizon is None:
        return 1.0
    width, depth = _LEAST_WIDTH, 3
    best, length = math.inf, float(width)
    for power in range(200):
        period = 2**power
        schedule = RoundRobin(horizon=request.horizon, period=period)
        if period * width > _LONGEST_ROUND * request.steps:
            break
        design = Design(request, request.kinds[0], depth, width, schedule)
        none = 0.0 * scores.collisions(design)
        errors = CellErrors(none, scores.deviation(design), LARGEST_CELLS)
        half = half_width(errors, design.kind, depth, confidence=request.confidence)
        score = lag_width(half, design)
        if score < best:
            best, length = score, float(period * width)
    return length


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
    return ArgumentValueError(
        f"{what}: expected {asked}: an item of {request.share:.3g} of {request.steps:,} steps is "
        f"known to within {reached:.3g} of its count at best; "
        f"{' or '.join(options) or 'no single change'} would reach {target:g}"
    )


_LEVERS: Final = {"epsilon": "epsilon", "share": "share", "a stream of steps": "steps"}


def _reaching(scores: Scores, argument: str, target: float) -> float | None:
    """Return approximately the smallest value of an argument that reaches the target."""
    request = scores.request
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
        if min(known, key=lambda pair: pair[0])[0] <= 0.9 * target * asked.request.count:
            return _rounded_up(value)
    return None


def _rounded_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit - 1e-9) * unit
