"""Planning: the sketch to make for an error or a memory, and its predicted errors.

``plan`` scores some thousands of sketches by closed forms, simulates the candidates for the answer,
and returns one with the parts of its predicted error. It reads no private stream and makes no
table. Costs about a second. Choose ``depth`` and ``width`` by hand to follow a paper.

Floors, downward: sketch_plan -> bounding, comparison, plot -> search -> prediction -> design ->
request -> people, reads -> workload. ``plan_distinct``, ``plan_distribution`` and ``plan_ranges``
stand alone, over noise_over_time; so do sums_bounds -> sums_plan, over that and workload.
"""

from __future__ import annotations

from lazysketch.planning.bounding import Bounded
from lazysketch.planning.comparison import Compared, best_schedule
from lazysketch.planning.distinct_plan import DistinctPlan, plan_distinct
from lazysketch.planning.distribution_plan import DistributionPlan, plan_distribution
from lazysketch.planning.prediction import Prediction
from lazysketch.planning.ranges_plan import RangesPlan, plan_ranges
from lazysketch.planning.reads import Reads
from lazysketch.planning.request import SHARE, request_of
from lazysketch.planning.sketch_plan import Plan, planned
from lazysketch.planning.sums_bounds import ClipBounds, clip_bounds
from lazysketch.planning.sums_plan import SumsPlan, plan_sums
from lazysketch.privacy.relations import Relation
from lazysketch.specification.sizing import SketchKind

__all__ = [
    "Bounded",
    "ClipBounds",
    "Compared",
    "DistinctPlan",
    "DistributionPlan",
    "Plan",
    "Prediction",
    "RangesPlan",
    "Reads",
    "SumsPlan",
    "best_schedule",
    "clip_bounds",
    "plan",
    "plan_distinct",
    "plan_distribution",
    "plan_ranges",
    "plan_sums",
]


def plan(
    *,
    epsilon: float,
    delta: float,
    steps: int | None = None,
    events_per_second: float | None = None,
    duration: float | None = None,
    horizon: int | None = None,
    relation: Relation = "substitution",
    max_weight: int = 1,
    mean_weight: float | None = None,
    max_events_per_user: int = 1,
    kind: SketchKind | None = None,
    relative_error: float | None = None,
    share: float = SHARE,
    memory: int | None = None,
    confidence: float = 0.95,
    skew: float | None = None,
    distinct: int | None = None,
    sample: object = None,
    user: object = None,
    weights: object = None,
    reads: Reads = "continually",
) -> Plan:
    """Return a sketch to make: the smallest that reaches an error, or the best within a memory.

    With neither ``relative_error`` nor ``memory``, it is the smallest sketch whose error exceeds
    the least possible one by at most a tenth. The error is half the width of
    ``release.interval(item, at="now")`` for an item with the given share of the stream, after
    ``steps`` steps. Schedules are compared at the moments at which the sketch will be read.

    With ``user``, people are protected instead of events, and the plan has a
    :class:`~lazysketch.PersonBound`: that for which this error and what is dropped of the item are
    least together. ``plan.bounds`` shows both for some others.

    Guarantee: the parameters can be used: the sketch can be made, each of its columns is published
    at least eight times unless only its end is read, and the interval of the item is predicted to
    be narrower than its count. A ``sample`` must be public: parameters chosen by a private one
    reveal it and void the guarantee.

    Args:
        epsilon: privacy parameter, above 0.
        delta: privacy parameter, below 1 / number of people.
        steps: number of events after which the error is predicted, 1 to 2^48.
        events_per_second: rate of events; with ``duration``, instead of ``steps``.
        duration: length of the stream in seconds.
        horizon: largest number of steps, if known; it allows round robin. None for a stream that
            may go on. Without ``steps`` it is also the number of steps.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_weight: largest weight of one event, in counts.
        mean_weight: mean weight of an event; required if ``max_weight`` is above 1.
        max_events_per_user: events of one person that are protected together.
        kind: ``"count-min"`` or ``"count-sketch"``; None for the better one.
        relative_error: half width of the interval divided by the count, above 0, below 1.
        share: share of the item in the stream, above 0 and below 1.
        memory: bytes of counters, instead of ``relative_error``.
        confidence: confidence of the interval, above 0 and below 1.
        skew: skew of a Zipf distribution of the items, 0 to 10; 1.1 if None.
        distinct: number of items of that distribution, 1 to 2^22; 2^20 or ``steps`` if None.
        sample: a *public* sample of the stream instead: items, or a mapping from items to counts.
        user: the person of each item of the sample, which has to be *public* with its people, has
            whole people, and covers as long a time as the run.
        weights: the weight of each item of such a sample, at most ``max_weight``; None for 1 each.
        reads: when the sketch is read: ``"continually"``, at any step; every that many steps, an
            integer; or at the ``"end"`` only, after ``finish()``.

    Returns:
        The plan: parameters, predicted errors, and the sketch by :meth:`Plan.sketch`.

    Raises:
        ArgumentTypeError: a wrong type, a contradiction, or a missing argument.
        ItemError: a sample of Arrow data with nulls, or of a type that cannot be items.
        ArgumentValueError: a value outside its range, or a target that no sketch reaches; the
            message names changes that would reach it.

    Source: docs/planning.md.

    Example:
        >>> found = plan(steps=1_000_000, epsilon=1.0, delta=1e-8, relative_error=0.05)
        >>> found.kind, found.predicted.relative_error <= 0.05
        ('count-min', True)
        >>> found.sketch().depth == found.depth
        True
    """
    return planned(
        request_of(
            steps=steps,
            events_per_second=events_per_second,
            duration=duration,
            horizon=horizon,
            relation=relation,
            epsilon=epsilon,
            delta=delta,
            max_weight=max_weight,
            mean_weight=mean_weight,
            max_events_per_user=max_events_per_user,
            kind=kind,
            relative_error=relative_error,
            share=share,
            memory=memory,
            confidence=confidence,
            skew=skew,
            distinct=distinct,
            sample=sample,
            user=user,
            weights=weights,
            reads=reads,
        )
    )
