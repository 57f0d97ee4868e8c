"""Plan of a sketch: its parameters, the predicted errors, and changes that would reduce them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Final

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.planning.bounding import Bounded, bounded, explained
from lazysketch.planning.comparison import (
    Compared,
    change_in_words,
    compared,
    other_rounds,
    schedule_in_words,
)
from lazysketch.planning.design import Design, Planned, round_length
from lazysketch.planning.people import PublicPeople
from lazysketch.planning.plot import Point, draw
from lazysketch.planning.prediction import Prediction, Scores, simulated
from lazysketch.planning.reads import Reads
from lazysketch.planning.request import Request
from lazysketch.planning.search import candidates, chosen, frontier
from lazysketch.planning.simulation import known_half_width
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_sketches import LazyCountMin, LazyCountSketch
from lazysketch.specification.schedules import Batch, RoundRobin
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import TableSpec

__all__ = ["SAMPLE_WARNING", "Plan", "planned"]

SAMPLE_WARNING: Final = (
    "the sample must be public: parameters chosen by a private one reveal it and void the guarantee"
)
_CLASSES: Final[dict[SketchKind, type[LazyCountMin] | type[LazyCountSketch]]] = {
    "count-min": LazyCountMin,
    "count-sketch": LazyCountSketch,
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan:
    """A sketch to make and its predicted errors; made by :func:`lazysketch.plan`.

    Guarantee: :meth:`sketch` makes the sketch that the plan describes. A plan reads no private
    stream; a plan made from a sample is public only if the sample is.

    Attributes:
        spec: description of the table; its parameters are attributes of the plan too.
        steps: number of steps after which the errors are predicted.
        share: share of the item whose errors are predicted.
        confidence: confidence of its interval.
        memory: size of the counters at the last step, in bytes.
        workload: assumed distribution of the items, in words.
        sampled: True if it was estimated from a sample.
        predicted: the errors.
        schedules: predicted errors of this table with other schedules too, in the order of their
            typical errors.
        bounds: with a sample of people, the chosen bound among others; else empty.
    """

    spec: TableSpec
    steps: int
    share: float
    confidence: float
    memory: int
    workload: str
    sampled: bool
    predicted: Prediction
    schedules: tuple[Compared, ...]
    bounds: tuple[Bounded, ...] = ()
    _design: Design
    _scores: Scores
    _people: PublicPeople | None = None

    @property
    def kind(self) -> SketchKind:
        """``"count-min"`` or ``"count-sketch"``."""
        return self._design.kind

    @property
    def depth(self) -> int:
        """Number of rows."""
        return self.spec.depth

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.spec.width

    @property
    def schedule(self) -> Planned:
        """The schedule by which columns are pushed."""
        return self._design.schedule

    @property
    def batch(self) -> int:
        """Events of one call of ``update_batch``, with the batch schedule; else 1."""
        return self._design.batch

    @property
    def reads(self) -> Reads:
        """When the sketch is read: ``"continually"``, at the ``"end"``, or every N steps."""
        return self._scores.request.reads

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that counts in a cell."""
        return self.spec.chosen_mechanism.name

    @property
    def sigma(self) -> float:
        """Standard deviation of one draw, in counts."""
        return self.spec.sigma

    @property
    def epsilon(self) -> float:
        """Privacy parameter."""
        return self.spec.epsilon

    @property
    def delta(self) -> float:
        """Privacy parameter."""
        return self.spec.delta

    @property
    def relation(self) -> Relation:
        """Neighbouring streams."""
        return self.spec.relation

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self.spec.max_weight

    @property
    def max_events_per_user(self) -> int:
        """Events of one person that are protected together."""
        return self.spec.max_events_per_user

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of each person; None where events are protected."""
        return self.spec.person_bound

    @property
    def horizon(self) -> int | None:
        """Largest number of steps (of batches with that schedule); None if unbounded."""
        return self.schedule.horizon

    def sketch(
        self, *, hash_seed: int | None = None, key: Key | None = None
    ) -> LazyCountMin | LazyCountSketch:
        """Return a fresh sketch with the parameters of the plan.

        Args:
            hash_seed: public seed, 0 to 2^64 - 1; derived from key and id if None.
            key: master key; a fresh one if None.

        Returns:
            The sketch.
        """
        spec = self.spec if hash_seed is None else replace(self.spec, hash_seed=hash_seed)
        return _CLASSES[self.kind].from_spec(spec, key=key)

    def half_width(self, *, names: int, known: bool = False) -> float:
        """Return the half width of intervals that cover the counts of a list together.

        Guarantee: none; as for :attr:`predicted`. It costs up to a second.

        Args:
            names: length of the list; the intervals are those of its items with about ``share``.
            known: True for ``release.interval_many(items, known=names)`` of the heaviest items,
                as ``top`` computes them.

        Returns:
            Mean half width in counts, with the confidence of the plan.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range.
        """
        number = checked_integer("names", names, most=_MOST_NAMES)
        count = self._scores.request.count
        if known:
            found = known_half_width(self._design, count=count, names=number)
            if found is not None:
                return found
        return simulated(self._design, count=count, among=number)[1]

    def explain(self) -> str:
        """Return in words which part of the error dominates, and what would reduce it.

        Returns:
            Some sentences, one per line. Every figure is computed for this plan.
        """
        parts, own = self.predicted, self.predicted.interval_half_width
        known = (
            f"An item of {self.share:.3g} of the stream, {parts.count:,.0f} counts after "
            f"{self.steps:,} steps, will be known to within "
            f"{parts.interval_half_width + parts.bias:,.0f} "
            f"({parts.relative_error:.2%}) at {self.confidence:.0%} confidence; its estimate will "
            f"be off by {parts.typical_error:,.0f} on average."
        )
        split = (
            f"{_DOMINANT[parts.dominant]}: collisions alone would give {parts.collisions:,.0f}, "
            f"noise alone {parts.noise:,.0f}; on average {parts.lag:,.0f} counts are unpublished "
            f"(for {parts.lag_steps:,.0f} steps){self._compensation}."
        )
        lines = [
            known,
            split,
            *self.explain_bound().splitlines(),
            schedule_in_words(
                self.reads, (self.schedule, self.batch), self.schedules, own=parts.typical_error
            ),
            *(f"{what} would give {change_in_words(now, own)}." for what, now in self._changes()),
        ]
        if self.sampled:
            lines.append(f"Planned from {self.workload}: {SAMPLE_WARNING}.")
        return "\n".join(lines)

    def explain_bound(self) -> str:
        """Return in words why this much of a person is counted.

        Returns:
            Some sentences, one per line; empty without a sample of people.
        """
        if self._people is None:
            return ""
        return "\n".join(explained(self.bounds, self._people, steps=self.steps))

    @property
    def _compensation(self) -> str:
        if not self.predicted.lag:
            return ""
        if self.batch > 1:
            return ", as a batch does not publish how many events it has"
        return '; at="now" compensates for them'

    def to_dict(self) -> dict[str, object]:
        """Return parameters and predictions as plain values, for JSON."""
        shown = ("steps", "share", "confidence", "memory", "workload", "sampled")
        return {
            "kind": self.kind,
            "depth": self.depth,
            "width": self.width,
            "schedule": self.schedule.name,
            "horizon": self.horizon,
            "period": self.schedule.period if isinstance(self.schedule, RoundRobin) else None,
            "batch": self.batch,
            "reads": self.reads,
            "mechanism": self.mechanism,
            "sigma": self.sigma,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_weight": self.max_weight,
            "max_events_per_user": self.max_events_per_user,
            "person_bound": None if self.person_bound is None else asdict(self.person_bound),
            **{name: getattr(self, name) for name in shown},
            "predicted": {
                **asdict(self.predicted),
                "relative_error": self.predicted.relative_error,
                "typical_relative_error": self.predicted.typical_relative_error,
                "dominant": self.predicted.dominant,
            },
            "schedules": [
                {
                    "schedule": each.name,
                    "typical_error": each.typical_error,
                    "interval_half_width": each.interval_half_width,
                    "lag_steps": each.lag_steps,
                }
                for each in self.schedules
            ],
            "bounds": [{**asdict(each), "error": each.error} for each in self.bounds],
            "command": self.command(),
        }

    def command(self) -> str | None:
        """Return the command-line options that make the same sketch; None for batches.

        A plan for the end is for regular files, which the command publishes once.
        """
        if isinstance(self.schedule, Batch):
            return None
        options = [f"--kind {self.kind} --depth {self.depth} --width {self.width}"]
        options += [f"--epsilon {self.epsilon!r} --delta {self.delta!r}"]
        if self.relation != "substitution":
            options.append(f"--relation {self.relation}")
        if isinstance(self.schedule, RoundRobin):
            options.append(f"--horizon {self.schedule.horizon}")
            options.append(f"--period {self.schedule.period}")
        if self.max_weight > 1:
            options.append(f"--weight FIELD --max-weight {self.max_weight}")
        if self.max_events_per_user > 1:
            options.append(f"--max-events-per-user {self.max_events_per_user}")
        if self.person_bound is not None:
            bound = self.person_bound
            options.append(f"--user FIELD --cells {bound.cells} --per-cell {bound.events}")
        return " ".join(options)

    def plot(self, path: str | PathLike[str]) -> None:
        """Plot the error and its parts over memory, with the plan marked; needs the extra ``plot``.

        Args:
            path: file to write; its suffix (.png, .svg, .pdf) selects the format.

        Raises:
            MissingPackageError: matplotlib is not installed.
            ArgumentTypeError: not a path.
            ArgumentValueError: an unknown suffix.
        """
        request = self._scores.request
        whole = request.count + request.bias
        known = frontier(candidates(self._scores, fine=2))
        points = [
            Point(
                memory=design.memory,
                total=(score + request.bias) / whole,
                collisions=self._scores.alone(design, part="collisions") / whole,
                noise=self._scores.alone(design, part="noise") / whole,
            )
            for score, design in known
        ]
        title = (
            f"item of {self.share:.3g} of {self.steps:,} steps, epsilon {self.epsilon:g}, "
            f"delta {self.delta:g}"
        )
        own = (self.memory, self.predicted.relative_error)
        draw(path, points, own, title=title, confidence=self.confidence)

    def _changes(self) -> list[tuple[str, float]]:
        """Return possible changes, each with the half width that it would give."""
        request, design = self._scores.request, self._design
        scale = self.predicted.interval_half_width / self._scores.of(design)
        larger = candidates(self._scores, memory=2 * self.memory, least=self.memory)
        found = [("Twice the memory", min(score for score, _ in larger))] if larger else []
        freer = replace(request, epsilon=2 * request.epsilon)
        with suppress(ArgumentValueError):  # no mechanism supports it at this delta
            score = self._scores.asked(freer).of(replace(design, request=freer))
            found.append(("Twice the epsilon", score))
        for what, schedule in other_rounds(self.schedule, last=request.horizon or self.steps):
            length = round_length(schedule, self.width, self.steps)
            other = self._scores.of(replace(design, schedule=schedule))
            found.append((f"{what} ({length:,} steps)", other))
        return [(what, score * scale) for what, score in found]

    def __repr__(self) -> str:
        horizon = f"horizon={self.horizon}, " if self.horizon else ""
        return (
            f"<Plan {self.kind}, depth={self.depth}, width={self.width}, "
            f"schedule={self.schedule.name!r}, {horizon}mechanism={self.mechanism!r}, "
            f"epsilon={self.epsilon:g}, delta={self.delta:g}, memory={self.memory}, "
            f"relative_error={self.predicted.relative_error:.3g} at share={self.share:g}>"
        )


def planned(request: Request) -> Plan:
    """Return the plan that satisfies a request.

    Args:
        request: checked arguments.

    Returns:
        The plan.

    Raises:
        ArgumentValueError: no sketch reaches the target; the message names changes that would.
    """
    bounds: tuple[Bounded, ...] = ()
    people, workload = request.people, request.workload
    if people is None:
        scores = Scores(request)
        design, predicted = chosen(scores)
    else:
        choice = bounded(replace(request, people=None), people)
        scores, design, predicted = choice.scores, choice.design, choice.predicted
        bounds = choice.bounds
    return Plan(
        spec=design.spec,
        steps=request.steps,
        share=request.share,
        confidence=request.confidence,
        memory=design.memory,
        workload=workload.description,
        sampled=workload.sampled,
        predicted=predicted,
        schedules=compared(scores, design),
        bounds=bounds,
        _design=design,
        _scores=scores,
        _people=people,
    )


_DOMINANT: Final = {
    "collisions": "Collisions dominate",
    "noise": "Noise dominates",
    "lag": "Lag dominates",
    "bias": "What is dropped of people dominates",
}


_MOST_NAMES: Final = 1 << 22
