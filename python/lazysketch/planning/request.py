"""Arguments of a plan, checked once.

A request describes a stream, a privacy guarantee, and either an error to reach or a memory to stay
within.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.planning.people import PublicPeople
from lazysketch.planning.reads import Reads, checked_reads
from lazysketch.planning.workload import LARGEST_DISTINCT, Workload
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation, checked_delta, checked_epsilon, checked_relation
from lazysketch.releases.items import plain_values
from lazysketch.specification.schedules import LARGEST_HORIZON
from lazysketch.specification.sizing import SketchKind, checked_sketch_kind
from lazysketch.specification.table_spec import LARGEST_EVENTS, LARGEST_WEIGHT

__all__ = ["SHARE", "Bounding", "Request", "request_of"]

SHARE: Final = 0.01
SKEW: Final = 1.1
_DISTINCT: Final = 2**20
_LARGEST_SKEW: Final = 10.0
_NARROW: Final = 2**31  # counters have 32 bits while twice their largest value is below this


@dataclass(frozen=True)
class Bounding:
    """A bound of people, and what it drops of a stream.

    Attributes:
        bound: what is counted of each person.
        dropped: share of the weight of the stream that is not counted.
        dropped_of_item: share of the count of the item that is not counted.
    """

    bound: PersonBound
    dropped: float
    dropped_of_item: float


@dataclass(frozen=True, eq=False)
class Request:
    """The checked arguments of :func:`lazysketch.plan`.

    Attributes:
        steps: number of steps after which the error is predicted.
        horizon: largest number of steps; None for an unbounded stream.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: neighbouring streams.
        max_weight: largest weight of one event.
        mean_weight: mean weight of an event; with a bound of people, its mean counted weight.
        max_events_per_user: events of one person that are protected together.
        kinds: kinds of sketches to consider.
        relative_error: largest half width of the interval relative to the count, or None.
        share: share of the stream of the item whose error is predicted.
        memory: largest table, in bytes, or None.
        confidence: confidence of the interval.
        workload: distribution of the weight over items.
        reads: when the sketch is read.
        people: a public sample with people, for whom a bound is to be chosen; None for events.
        bounding: the bound of people, once it is chosen.
    """

    steps: int
    horizon: int | None
    epsilon: float
    delta: float
    relation: Relation
    max_weight: int
    mean_weight: float
    max_events_per_user: int
    kinds: tuple[SketchKind, ...]
    relative_error: float | None
    share: float
    memory: int | None
    confidence: float
    workload: Workload
    reads: Reads = "continually"
    people: PublicPeople | None = None
    bounding: Bounding | None = None

    @property
    def total(self) -> float:
        """Weight of the whole stream, in counts, as far as it is counted."""
        return self.steps * self.mean_weight

    @property
    def count(self) -> float:
        """Count of the item for which the error is predicted, as far as it is counted."""
        whole = self.share * self.total
        if self.bounding is None:
            return whole
        return whole * (1.0 - self.bounding.dropped_of_item) / (1.0 - self.bounding.dropped)

    @property
    def bias(self) -> float:
        """What is not counted of the item, as its people have too many events, in counts."""
        if self.bounding is None:
            return 0.0
        dropped = self.bounding.dropped_of_item
        return self.count * dropped / (1.0 - dropped)

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of each person; None where events are protected."""
        return None if self.bounding is None else self.bounding.bound

    def half_width(self, relative_error: float) -> float:
        """Return the half width of an interval that reaches an error, in counts.

        Args:
            relative_error: of the item's whole count; its bias is a part of it.
        """
        return relative_error * (self.count + self.bias) - self.bias

    @property
    def cell_bytes(self) -> int:
        """Bytes of a cell, which holds two counters, at the end of the stream.

        8, or 16 if 32 bits could overflow.
        """
        return 16 if 2 * self.steps * self.max_weight >= _NARROW else 8


def request_of(
    *,
    steps: int | None,
    events_per_second: float | None,
    duration: float | None,
    horizon: int | None,
    relation: Relation,
    epsilon: float,
    delta: float,
    max_weight: int,
    mean_weight: float | None,
    max_events_per_user: int,
    kind: SketchKind | None,
    relative_error: float | None,
    share: float,
    memory: int | None,
    confidence: float,
    skew: float | None,
    distinct: int | None,
    sample: object,
    reads: object,
    user: object = None,
    weights: object = None,
) -> Request:
    """Check the arguments of :func:`lazysketch.plan`, which describes them.

    Returns:
        The request.

    Raises:
        ArgumentTypeError: a wrong type, a contradiction, or something missing.
        ArgumentValueError: a value outside its range.
    """
    last = None if horizon is None else checked_integer("horizon", horizon, most=LARGEST_HORIZON)
    length = _length(steps, events_per_second, duration, last)
    if last is not None and length > last:
        raise ArgumentValueError(f"horizon: expected at least the {length} steps, got {last}")
    heaviest = checked_integer("max_weight", max_weight, most=LARGEST_WEIGHT)
    item_share = _fraction("share", share) or SHARE
    people = _people(sample, user, weights, share=item_share)
    if people is not None and max_events_per_user != 1:
        raise ArgumentValueError(
            "max_events_per_user: expected 1 with user, which bounds the events of a person, got "
            f"{max_events_per_user}"
        )
    if people is not None and people.weights is not None:
        if people.weights.max() > heaviest:
            raise ArgumentValueError(f"weights: expected at most max_weight, {heaviest}, got more")
        mean_weight = people.mean_weight if mean_weight is None else mean_weight
    weight = _mean_weight(mean_weight, heaviest)
    if relative_error is not None and memory is not None:
        raise ArgumentTypeError(
            "relative_error: expected this or memory, as one determines the other, got both"
        )
    return Request(
        steps=length,
        horizon=last,
        epsilon=checked_epsilon(epsilon),
        delta=checked_delta(delta),
        relation=checked_relation(relation),
        max_weight=heaviest,
        mean_weight=weight,
        max_events_per_user=checked_integer(
            "max_events_per_user", max_events_per_user, most=LARGEST_EVENTS
        ),
        kinds=_kinds(kind),
        relative_error=_fraction("relative_error", relative_error),
        share=item_share,
        memory=None if memory is None else checked_integer("memory", memory),
        confidence=checked_confidence(confidence),
        workload=_workload(skew, distinct, sample, people, events=length * weight),
        reads=checked_reads(reads),
        people=people,
    )


def _people(sample: object, user: object, weights: object, *, share: float) -> PublicPeople | None:
    if user is None:
        if weights is not None:
            raise ArgumentTypeError(
                "weights: expected user too, the person of each event, got none; without people "
                "the sample is a mapping from items to counts"
            )
        return None
    if sample is None:
        raise ArgumentTypeError("user: expected the person of each item of sample, got no sample")
    if isinstance(sample, Mapping):
        raise ArgumentTypeError(
            "sample: expected items with user, one for each person, got a mapping from items to "
            "counts"
        )
    return PublicPeople.of(sample, user, weights, share=share)


def _length(
    steps: int | None, events_per_second: float | None, duration: float | None, last: int | None
) -> int:
    """Return the number of steps: as given, as rate times duration, or as the horizon."""
    timed = (events_per_second, duration)
    if steps is not None:
        if timed != (None, None):
            raise ArgumentTypeError(
                "steps: expected this or events_per_second and duration, got a mix"
            )
        return checked_integer("steps", steps, most=LARGEST_HORIZON)
    if timed == (None, None):
        if last is None:
            raise ArgumentTypeError(
                "steps: expected the length of the stream, or events_per_second and duration, or "
                "horizon, got none"
            )
        return last
    for name, value, other in zip(
        ("events_per_second", "duration"), timed, timed[::-1], strict=True
    ):
        if value is None and other is not None:
            raise ArgumentTypeError(f"{name}: expected a value with the other one, got None")
    rate = checked_real("events_per_second", events_per_second)
    length = rate * checked_real("duration", duration)
    if not 1.0 <= length <= LARGEST_HORIZON:
        raise ArgumentValueError(
            f"duration: expected a time with 1 to 2^48 events, got one with {length:g}"
        )
    return round(length)


def _mean_weight(mean_weight: float | None, heaviest: int) -> float:
    if mean_weight is None:
        if heaviest > 1:
            raise ArgumentTypeError(
                "mean_weight: expected the mean weight of an event with max_weight, got None"
            )
        return 1.0
    weight = checked_real("mean_weight", mean_weight)
    if weight > heaviest:
        raise ArgumentValueError(
            f"mean_weight: expected at most max_weight, {heaviest}, got {weight:g}"
        )
    return weight


def _kinds(kind: object) -> tuple[SketchKind, ...]:
    return get_args(SketchKind) if kind is None else (checked_sketch_kind(kind),)


def _fraction(name: str, value: object) -> float | None:
    if value is None:
        return None
    number = checked_real(name, value)
    if number >= 1.0:
        raise ArgumentValueError(f"{name}: expected a number above 0 and below 1, got {number:g}")
    return number


def _workload(
    skew: object, distinct: object, sample: object, people: PublicPeople | None, *, events: float
) -> Workload:
    if sample is None:
        number = max(1, min(int(events), _DISTINCT))
        if distinct is not None:
            number = checked_integer("distinct", distinct, most=LARGEST_DISTINCT)
        return Workload.zipf(_checked_skew(skew), distinct=number, events=events)
    for name, value in (("skew", skew), ("distinct", distinct)):
        if value is not None:
            raise ArgumentTypeError(
                f"{name}: expected none with sample, which determines it, got both"
            )
    if people is not None:
        return Workload.sample(people.totals, events=events)
    return Workload.sample(_counted(sample), events=events)


def _checked_skew(skew: object) -> float:
    if skew is None:
        return SKEW
    if isinstance(skew, int | float) and not isinstance(skew, bool) and skew == 0:
        return 0.0
    number = checked_real("skew", skew, wanted="a number from 0 to 10")
    if number > _LARGEST_SKEW:
        raise ArgumentValueError(f"skew: expected a number from 0 to 10, got {number:g}")
    return number


def _counted(sample: object) -> list[int]:
    """Return the number of occurrences of each item of a sample, or the values of a mapping."""
    wanted = "items, or a mapping from items to counts"
    if isinstance(sample, str | bytes) or not isinstance(sample, Iterable):
        raise ArgumentTypeError(f"sample: expected {wanted}, got {type(sample).__name__}")
    counts: list[int]
    if isinstance(sample, Mapping):
        counts = [checked_integer("sample", count, least=0) for count in sample.values()]
    elif isinstance(sample, np.ndarray) and sample.dtype.kind not in "OV":  # these have no order
        if sample.ndim != 1:
            raise ArgumentTypeError(f"sample: expected {wanted}, got {sample.ndim} dimensions")
        counts = np.unique(sample, return_counts=True)[1].tolist()
    else:
        try:
            counts = list(Counter(plain_values("sample", sample)).values())
        except LazySketchError:
            raise
        except TypeError:
            raise ArgumentTypeError(f"sample: expected {wanted}, got unhashable ones") from None
    if not any(counts):
        raise ArgumentValueError("sample: expected at least one event, got none")
    return counts
