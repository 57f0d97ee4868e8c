"""The plan of a sketch: its parameters, the errors to expect, and what would change them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any, Final

from lazysketch.planning.design import Design, cell_bytes, round_length, sigma_of
from lazysketch.planning.plot import Point, draw
from lazysketch.planning.prediction import Prediction
from lazysketch.planning.request import Request
from lazysketch.planning.score import Scores
from lazysketch.planning.search import candidates, chosen, frontier
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_sketches import LazyCountMin, LazyCountSketch
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import SketchKind

__all__ = ["SAMPLE_WARNING", "Plan", "planned"]

SAMPLE_WARNING: Final = (
    "the sample must be public, or parameters chosen by it tell about it and void the guarantee"
)
_CLASSES: Final[dict[SketchKind, type[LazyCountMin] | type[LazyCountSketch]]] = {
    "count-min": LazyCountMin,
    "count-sketch": LazyCountSketch,
}


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A sketch to make, and the errors that it will have; made by :func:`lazysketch.plan`.

    Guarantee: :meth:`sketch` makes what the plan describes. A plan reads no private stream; one
    made from a sample is public only if the sample is.

    Attributes:
        kind: ``"count-min"`` or ``"count-sketch"``.
        depth: rows.
        width: columns.
        schedule: when they are pushed.
        mechanism: how cells are counted.
        sigma: standard deviation of one draw, in counts.
        steps: at which the errors are predicted.
        share: of the item for which they are predicted.
        confidence: of its interval.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: what neighbours are.
        max_weight: largest weight of one event.
        max_events_per_user: events of one person that are protected together.
        memory: of the counters at the last step, in bytes.
        workload: what was assumed of the stream, in words.
        sampled: True if that was a sample.
        predicted: the errors.
    """

    kind: SketchKind
    depth: int
    width: int
    schedule: RoundRobin | Geometric
    mechanism: str
    sigma: float
    steps: int
    share: float
    confidence: float
    epsilon: float
    delta: float
    relation: Relation
    max_weight: int
    max_events_per_user: int
    memory: int
    workload: str
    sampled: bool
    predicted: Prediction
    _scores: Scores = field(kw_only=True)

    @property
    def horizon(self) -> int | None:
        """Largest number of steps; None for a stream without end."""
        return self.schedule.horizon

    def sketch(
        self, *, hash_seed: int | None = None, key: Key | None = None
    ) -> LazyCountMin | LazyCountSketch:
        """Return a fresh sketch with the parameters of the plan.

        Args:
            hash_seed: public seed, 0 to 2^64 - 1; derived from key and id when None.
            key: master key; a fresh one when None.

        Returns:
            The sketch.
        """
        return _CLASSES[self.kind](
            depth=self.depth,
            width=self.width,
            schedule=self.schedule,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_weight=self.max_weight,
            max_events_per_user=self.max_events_per_user,
            hash_seed=hash_seed,
            key=key,
        )

    def explain(self) -> str:
        """Return in words which part of the error dominates, and what would change it.

        Returns:
            Some sentences, one per line. Every figure in them is computed anew.
        """
        parts = self.predicted
        known = (
            f"An item of {self.share:.3g} of the stream, {parts.count:,.0f} counts after "
            f"{self.steps:,} steps, will be known to within {parts.interval_half_width:,.0f} "
            f"({parts.relative_error:.2%}) at {self.confidence:.0%} confidence; its estimate will "
            f"be off by {parts.typical_error:,.0f} on average."
        )
        split = (
            f"{_DOMINANT[parts.dominant]}: collisions alone would give {parts.collisions:,.0f}, "
            f"noise alone {parts.noise:,.0f}; {parts.lag:,.0f} counts wait unpublished on average "
            f'(for {parts.lag_steps:,.0f} steps), which at="now" makes up for.'
        )
        lines = [
            known,
            split,
            *(f"{what} would give {_change(now, parts)}." for what, now in self._changes()),
        ]
        if self.sampled:
            lines.append(f"Planned from {self.workload}: {SAMPLE_WARNING}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and predictions as plain values, for JSON."""
        shown = ("steps", "share", "confidence", "memory", "workload", "sampled")
        return {
            "kind": self.kind,
            "depth": self.depth,
            "width": self.width,
            "schedule": self.schedule.name,
            "horizon": self.horizon,
            "period": self.schedule.period if isinstance(self.schedule, RoundRobin) else None,
            "mechanism": self.mechanism,
            "sigma": self.sigma,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_weight": self.max_weight,
            "max_events_per_user": self.max_events_per_user,
            **{name: getattr(self, name) for name in shown},
            "predicted": {
                **asdict(self.predicted),
                "relative_error": self.predicted.relative_error,
                "typical_relative_error": self.predicted.typical_relative_error,
                "dominant": self.predicted.dominant,
            },
            "command": self.command(),
        }

    def command(self) -> str:
        """Return the options that make the same sketch on the command line."""
        options = [f"--kind {self.kind} --depth {self.depth} --width {self.width}"]
        options += [f"--epsilon {self.epsilon!r} --delta {self.delta!r}"]
        if self.relation != "substitution":
            options.append(f"--relation {self.relation}")
        if isinstance(self.schedule, RoundRobin):
            options.append(f"--horizon {self.schedule.horizon}")
            if self.schedule.period > 1:
                options.append(f"--period {self.schedule.period}")
        if self.max_weight > 1:
            options.append(f"--weight FIELD --max-weight {self.max_weight}")
        if self.max_events_per_user > 1:
            options.append(f"--max-events-per-user {self.max_events_per_user}")
        return " ".join(options)

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw error over memory, in its parts, with the plan marked; needs the extra ``plot``.

        Args:
            path: of a file to write; its ending (.png, .svg, .pdf) tells the format.

        Raises:
            MissingPackageError: matplotlib is not installed.
            ArgumentTypeError: not a path.
            ArgumentValueError: an ending of no known format.
        """
        request = self._scores.request
        known = frontier(candidates(self._scores, fine=2))
        points = [
            Point(
                memory=design.cells * cell_bytes(request),
                whole=score / request.count,
                collisions=self._scores.alone(design, part="collisions") / request.count,
                noise=self._scores.alone(design, part="noise") / request.count,
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
        """Return what could be changed, and the half width that the error would have."""
        request, design = self._scores.request, self._design
        scale = self.predicted.interval_half_width / self._scores.of(design)
        larger = candidates(self._scores, memory=2 * self.memory, least=self.memory)
        found = [("Twice the memory", min(score for score, _ in larger))] if larger else []
        freer = self._scores.asked(replace(request, epsilon=2 * request.epsilon))
        found.append(("Twice the epsilon", freer.of(design)))
        for what, schedule in self._rounds():
            length = round_length(schedule, self.width, self.steps)
            other = self._scores.of(replace(design, schedule=schedule))
            found.append((f"{what} ({length:,} steps)", other))
        return [(what, score * scale) for what, score in found]

    def _rounds(self) -> list[tuple[str, RoundRobin]]:
        """Return the schedules with longer and shorter rounds."""
        if isinstance(self.schedule, Geometric):
            last = self._scores.request.horizon or self.steps
            return [("A horizon, and round robin", RoundRobin(horizon=last))]
        horizon, period = self.schedule.horizon, self.schedule.period
        rounds = [("Rounds twice as long", RoundRobin(horizon=horizon, period=2 * period))]
        if period > 1:
            half = RoundRobin(horizon=horizon, period=period // 2)
            rounds.append(("Rounds half as long", half))
        return rounds

    @property
    def _design(self) -> Design:
        return Design(self.kind, self.depth, self.width, self.schedule)

    def __repr__(self) -> str:
        horizon = f"horizon={self.horizon}, " if self.horizon else ""
        return (
            f"<Plan {self.kind}, depth={self.depth}, width={self.width}, "
            f"schedule={self.schedule.name!r}, {horizon}mechanism={self.mechanism!r}, "
            f"epsilon={self.epsilon:g}, delta={self.delta:g}, memory={self.memory}, "
            f"relative_error={self.predicted.relative_error:.3g} at share={self.share:g}>"
        )


def planned(request: Request) -> Plan:
    """Return the plan that a request asks for.

    Args:
        request: checked arguments.

    Returns:
        The plan.

    Raises:
        ArgumentValueError: no sketch reaches the target; the message says what would.
    """
    scores = Scores(request)
    design, predicted = chosen(scores)
    mechanism, sigma = sigma_of(request, design)
    return Plan(
        kind=design.kind,
        depth=design.depth,
        width=design.width,
        schedule=design.schedule,
        mechanism=mechanism.name,
        sigma=sigma,
        steps=request.steps,
        share=request.share,
        confidence=request.confidence,
        epsilon=request.epsilon,
        delta=request.delta,
        relation=request.relation,
        max_weight=request.max_weight,
        max_events_per_user=request.max_events_per_user,
        memory=design.cells * cell_bytes(request),
        workload=request.workload.description,
        sampled=request.workload.sampled,
        predicted=predicted,
        _scores=scores,
    )


_DOMINANT: Final = {
    "collisions": "Collisions dominate",
    "noise": "Noise dominates",
    "lag": "Lag dominates",
}


def _change(now: float, before: Prediction) -> str:
    ratio = now / before.interval_half_width
    if abs(ratio - 1) < 0.005:
        return f"the same {now:,.0f}"
    direction = "less" if ratio < 1 else "more"
    return f"{now:,.0f} ({abs(1 - ratio):.0%} {direction})"
