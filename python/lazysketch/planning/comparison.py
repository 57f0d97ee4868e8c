"""Schedules for one table, compared by their predicted errors at the moments of the reads.

What is known of them: at the end a single publication has the least noise, and no lag. On the way,
rounds (round robin, geometric) publish columns at different steps, and reads move every row to this
step at the item's own rate; so their lag costs little, and longer rounds have less noise. Whole
tables in batches have no lag where a read follows a batch, and all of it elsewhere, since a batch
does not publish how many events it has.

The choice depends on arguments and a public sample only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError
from lazysketch.planning.design import Design, Planned
from lazysketch.planning.prediction import Scores, simulated
from lazysketch.planning.request import request_of
from lazysketch.planning.search import batches_of, schedules_for, whole_batch
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single

if TYPE_CHECKING:
    from lazysketch.planning.reads import Reads
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "Compared",
    "best_schedule",
    "change_in_words",
    "compared",
    "schedule_in_words",
    "schedules_compared",
]

_BATCHES: Final = (16, 64, 256, 1024)
_READS: Final[dict[Reads, str]] = {"continually": "continually", "end": "at the end"}
_WHY: Final = {
    "single": "one publication has the least noise, and no lag after finish()",
    "round robin": "a longer round has less noise, a shorter one less lag",
    "geometric": "it needs no horizon",
    "batch": "a read after a batch has no lag; call update_batch for each",
}
_FEWEST: Final = 8  # publications of a table that is read on the way


@dataclass(frozen=True)
class Compared:
    """Predicted errors of one schedule, in counts.

    Guarantee: none; as :class:`lazysketch.planning.Prediction`.

    Attributes:
        schedule: the schedule.
        batch: steps of the stream in one step of the schedule: 1 unless that is batch.
        typical_error: mean absolute error of the default estimate at the reads.
        interval_half_width: mean half width of the interval; with batches plus what waits.
        lag_steps: mean number of steps until events are published.
    """

    schedule: Planned
    batch: int
    typical_error: float
    interval_half_width: float
    lag_steps: float

    @property
    def name(self) -> str:
        """The schedule in words."""
        return name_of(self.schedule, self.batch)


def name_of(schedule: Planned, batch: int) -> str:
    """Return a schedule in words.

    Example:
        >>> name_of(RoundRobin(horizon=1000, period=4), 1), name_of(Batch(horizon=8), 125)
        ('round robin, a column every 4 steps', 'batch, whole tables every 125 steps')
        >>> name_of(Batch(), 3600)
        'batch, whole tables every 3,600 steps, no horizon'
    """
    if isinstance(schedule, RoundRobin):
        every = "step" if schedule.period == 1 else f"{schedule.period:,} steps"
        return f"round robin, a column every {every}"
    if isinstance(schedule, Batch):
        horizon = "" if schedule.horizon is not None else ", no horizon"
        return f"batch, whole tables every {batch:,} steps{horizon}"
    return "single, published once" if isinstance(schedule, Single) else "geometric"


def schedule_in_words(
    reads: Reads, chosen: tuple[Planned, int], known: Iterable[Compared], *, own: float
) -> str:
    """Return which schedule was chosen and why, and the typical errors of others.

    Args:
        reads: when the sketch is read.
        chosen: the schedule and its batch.
        known: the schedules, with their errors.
        own: typical error with the chosen one.

    Returns:
        A sentence or two.
    """
    schedule, batch = chosen
    others = [
        f"{each.name} {change_in_words(each.typical_error, own)}"
        for each in known
        if (each.schedule, each.batch) != chosen
    ]
    when = f"Read {_READS.get(reads) or f'every {reads:,} steps'}"
    line = f"{when}, by {name_of(schedule, batch)}: {_WHY[schedule.name]}"
    if schedule == Batch():
        line += "; without a horizon noise grows with the batches made"
    return f"{line}. Typical errors of others: {'; '.join(others)}." if others else f"{line}."


def change_in_words(now: float, before: float) -> str:
    """Return an error and how it compares with another one.

    Example:
        >>> change_in_words(50.0, 100.0)
        '50 (50% less)'
    """
    ratio = now / before
    if abs(ratio - 1) < 0.005:
        return f"the same {now:,.0f}"
    direction = "less" if ratio < 1 else "more"
    return f"{now:,.0f} ({abs(1 - ratio):.0%} {direction})"


def other_rounds(schedule: Planned, *, last: int) -> list[tuple[str, RoundRobin]]:
    """Return schedules with longer and shorter rounds, each with its name.

    Args:
        schedule: the chosen one.
        last: the horizon, or the length of the stream.
    """
    if isinstance(schedule, Batch | Single):
        return []
    if isinstance(schedule, Geometric):
        return [("A horizon, and round robin", RoundRobin(horizon=last))]
    horizon, period = schedule.horizon, schedule.period
    rounds = [("Rounds twice as long", RoundRobin(horizon=horizon, period=2 * period))]
    if period > 1:
        half = RoundRobin(horizon=horizon, period=period // 2)
        rounds.append(("Rounds half as long", half))
    return rounds


def schedules_compared(scores: Scores, width: int) -> Iterator[tuple[Planned, int]]:
    """Yield schedules for a width, with the steps of a batch.

    Args:
        scores: scores of the request.
        width: number of columns.
    """
    request = scores.request
    known = list(schedules_for(scores, width))
    if request.reads == "end" and Geometric() not in (schedule for schedule, _ in known):
        known.append((Geometric(), 1))
        if request.horizon is not None:
            known.append((RoundRobin(horizon=request.horizon), 1))
    for number in _BATCHES:
        wanted = -(-(request.horizon or request.steps) // number)
        batch = whole_batch(wanted, reads=request.reads, width=width)
        schedule = batches_of(scores, width, batch) if _FEWEST * batch <= request.steps else None
        if schedule is not None:
            known.append((schedule, batch))
    yield from dict.fromkeys(known)


def compared(scores: Scores, design: Design) -> tuple[Compared, ...]:
    """Return the schedules for the table of a design, the least typical error first.

    Args:
        scores: scores of the request.
        design: the sketch; its schedule is one of those compared.

    Returns:
        One entry per schedule.
    """
    found = []
    own = (design.schedule, design.batch)
    for schedule, batch in dict.fromkeys([own, *schedules_compared(scores, design.width)]):
        other = replace(design, schedule=schedule, batch=batch)
        request = scores.request
        typical, half = simulated(other, count=request.count, bias=request.bias)
        found.append(Compared(schedule, batch, typical, half, other.wait))
    return tuple(sorted(found, key=lambda each: each.typical_error))


def best_schedule(
    spec: TableSpec, *, steps: int, reads: Reads = "continually", share: float = 0.01
) -> Planned:
    """Return the schedule with the least predicted error for a table that is read in some way.

    It costs some milliseconds: the widths of intervals come from closed forms. Batches are not
    among the candidates, as they need an end of each batch.

    Guarantee: depends on the arguments only.

    Args:
        spec: description of the table; its schedule gives the horizon, if there is one.
        steps: length of the stream, or a guess of it.
        reads: when it is read.
        share: share of the item whose error is predicted.

    Returns:
        A schedule for a table of the same size.

    Raises:
        ArgumentTypeError: a table of counters, which have no collisions.
        ArgumentValueError: a value outside its range.

    Example:
        >>> from lazysketch import TableSpec
        >>> spec = TableSpec(
        ...     kind="count-min", depth=4, width=1024, schedule=RoundRobin(horizon=10**6),
        ...     epsilon=1.0, delta=1e-8,
        ... )
        >>> best_schedule(spec, steps=10**6, reads="end")
        Single(horizon=None)
        >>> best_schedule(spec, steps=10**6).name
        'round robin'
    """
    if spec.kind not in ("count-min", "count-sketch"):
        raise ArgumentTypeError(f"spec: expected the description of a sketch, got {spec.kind!r}")
    scores = Scores(
        request_of(
            steps=steps,
            events_per_second=None,
            duration=None,
            horizon=None if isinstance(spec.schedule, Batch) else spec.schedule.horizon,
            relation=spec.relation,
            epsilon=spec.epsilon,
            delta=spec.delta,
            max_weight=spec.max_weight,
            mean_weight=float(spec.max_weight),
            max_events_per_user=spec.max_events_per_user,
            kind=spec.kind,
            relative_error=None,
            share=share,
            memory=None,
            confidence=0.95,
            skew=None,
            distinct=None,
            sample=None,
            reads=reads,
        )
    )
    designs = [
        Design(scores.request, spec.kind, spec.depth, spec.width, schedule)
        for schedule, batch in schedules_for(scores, spec.width)
        if batch == 1
    ]
    if not designs:  # too short for every round
        return Geometric() if scores.request.horizon is None else RoundRobin(scores.request.horizon)
    return min(designs, key=scores.of).schedule
