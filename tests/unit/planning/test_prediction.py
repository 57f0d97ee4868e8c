"""Predicted errors compared with the measured errors of sketches, with planted mistakes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch import testing
from lazysketch.planning import simulation
from lazysketch.planning.design import Design, Noise, noise_variances, round_length
from lazysketch.planning.prediction import tails
from lazysketch.planning.request import Request, request_of
from lazysketch.planning.simulation import SimulatedTable
from lazysketch.planning.workload import Workload
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single

PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("depth", range(1, 9))
def test_tails_of_rows_give_the_tail_of_the_row_statistic(kind: Any, depth: int) -> None:
    """Simulate 2e5 draws; the false-alarm rate is below 1e-6 per case (six deviations)."""
    side, draws = 0.05, 200_000
    above, below = tails(kind, depth, side)
    uniform = np.sort(np.random.default_rng(depth).random((draws, depth)), axis=1)
    low = (depth - 1) // 2 if kind == "count-sketch" else 0
    high = depth // 2 if kind == "count-sketch" else 0
    deviation = math.sqrt(side * (1 - side) / draws)
    assert abs(np.mean(uniform[:, low] >= 1 - above) - side) < 6 * deviation
    assert abs(np.mean(uniform[:, high] <= below) - side) < 6 * deviation


@pytest.mark.parametrize(
    "schedule", [RoundRobin(horizon=100_000, period=3), RoundRobin(horizon=100_000), Geometric()]
)
@pytest.mark.parametrize("step", [5_000, 77_777, 100_000])
def test_no_column_waits_longer_than_a_round(schedule: RoundRobin | Geometric, step: int) -> None:
    for width in (16, 100, 500):
        age = step - schedule.published_steps(width, step)
        length = round_length(schedule, width, step)
        # A round of the geometric schedule is 1 % of the stream at its own beginning.
        assert length * 0.7 <= age.max() <= length
        assert age.mean() == pytest.approx(length / 2, rel=0.35)


def unbounded() -> Request:
    return request_of(
        **dict.fromkeys(("events_per_second", "duration", "horizon", "mean_weight", "sample")),
        **dict.fromkeys(("kind", "relative_error", "memory", "skew", "distinct", "user")),
        steps=50_000,
        relation="substitution",
        max_weight=1,
        max_events_per_user=1,
        share=0.1,
        confidence=0.95,
        reads="continually",
        **PROMISE,
    )


def test_the_noise_is_that_of_the_design_whatever_was_asked_before() -> None:
    """Of designs that differ in one thing each: what is kept of one is not taken for another."""
    asked = unbounded()
    at_end, shorter = replace(asked, reads="end"), replace(asked, steps=20_007)
    first = Design(asked, "count-min", 3, 64, RoundRobin(horizon=50_000))
    batches = replace(first, schedule=Batch(horizon=500), batch=100)
    designs = [
        *(replace(first, request=request) for request in (asked, at_end, shorter)),
        *(replace(batches, request=request) for request in (asked, at_end, shorter)),
        replace(first, width=100),
        replace(first, width=100, request=at_end),
        replace(first, schedule=RoundRobin(horizon=50_000, period=3)),
        replace(first, schedule=Geometric()),
        replace(first, schedule=Geometric(), request=at_end),
        replace(first, schedule=Single(), request=at_end),
        replace(batches, batch=120, request=at_end),
        replace(first, request=replace(asked, max_events_per_user=2)),
    ]
    wanted = []
    for design in designs:
        mechanism, steps = design.spec.chosen_mechanism, design.request.steps // design.batch
        pushes = design.schedule.pushes(design.width, steps)
        if design.finished:
            whole = isinstance(design.schedule, Batch) and not design.request.steps % design.batch
            pushes = mechanism.final_pushes(pushes, nothing_pending=whole)
        else:
            half = design.request.steps - design.request.steps // 2
            least = design.schedule.pushes(design.width, half // design.batch).min()
            pushes = np.unique(np.linspace(max(least, 1), pushes.max(), 33).astype(np.int64))
        wanted.append(np.mean(mechanism.variances(pushes)))
    for _ in range(2):
        assert [Noise.of(design).variance for design in designs] == wanted
    assert len(set(wanted)) > 6


def simulated_values(design: Design, columns: int, seed: int) -> np.ndarray:
    return SimulatedTable.of(design, columns=columns, waited=0, seed=seed).values


def test_simulated_tables_are_those_of_their_design_whatever_was_asked_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Designs of one size share collisions: they are what each would have alone."""
    asked, other = unbounded(), Workload.zipf(0.5, distinct=99, events=5e4)
    first = Design(asked, "count-min", 3, 64, RoundRobin(horizon=50_000))
    designs = [
        first,
        replace(first, kind="count-sketch"),
        replace(first, schedule=Geometric()),
        replace(first, depth=4),
        replace(first, width=128),
        replace(first, request=replace(asked, workload=other)),
    ]
    asked_of = [(design, *of) for design in designs for of in ((64, 1), (32, 1), (64, 2))]
    tables = [simulated_values(*each) for each in asked_of * 2]
    nothing_kept = simulation._shared_cells.__wrapped__
    monkeypatch.setattr(simulation, "_shared_cells", nothing_kept)
    alone = [simulated_values(*each) for each in asked_of]
    for table, own in zip(tables, alone * 2, strict=True):
        assert table.tolist() == own.tolist()


def measured(plan: ls.Plan, events: np.ndarray, items: np.ndarray) -> tuple[float, float]:
    """Return mean absolute error and half width over twelve sketches with seeded keys."""
    true = np.bincount(events, minlength=items.max() + 1)[items]
    errors, halves = [], []
    for seed in range(12):
        with plan.sketch(key=testing.seeded_key(seed, sketch_id=bytes([seed] * 16))) as sketch:
            sketch.update_many(events)
            answer = sketch.release().interval_many(items, at="now")
        errors.append(np.abs(answer.estimate - true).mean())
        halves.append((answer.high - answer.low).mean() / 2)
    return float(np.mean(errors)), float(np.mean(halves))


def zipf_stream(length: int) -> np.ndarray:
    shares = np.arange(1, 50_001) ** -1.1
    events = np.random.default_rng(4).choice(50_000, length, p=shares / shares.sum())
    return events.astype(np.int64)


# Keys and ids are seeded, hence hash seeds too: a pass stays a pass. Typical errors depend on the
# few items that collide with the heaviest ones, so their tolerance is wider. A wrong
# variance of the noise or missing collisions change half widths by more than their tolerance.
HALF_WIDTH, TYPICAL = 0.12, 0.22


@pytest.fixture(scope="module")
def stream() -> np.ndarray:
    return zipf_stream(200_000)


@pytest.fixture(scope="module")
def near(stream: np.ndarray) -> np.ndarray:
    """Return the items with shares nearest to 0.2 %."""
    counts = np.bincount(stream)
    return np.argsort(np.abs(np.log(np.maximum(counts, 0.5) / (0.002 * len(stream)))))[:40]


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("ending", ["steps", "horizon"])
@pytest.mark.parametrize("workload", ["zipf", "sample"])
def test_predictions_agree_with_measured_errors(
    stream: np.ndarray, near: np.ndarray, kind: Any, ending: str, workload: str
) -> None:
    of: dict[str, Any] = {"skew": 1.1, "distinct": 50_000}
    plan = ls.plan(
        **{ending: len(stream)},
        **(of if workload == "zipf" else {"sample": stream}),
        kind=kind,
        share=0.002,
        memory=40_000,
        **PROMISE,
    )
    typical, half = measured(plan, stream, near)
    scale = np.bincount(stream)[near].mean() / plan.predicted.count
    assert abs(scale - 1) < 0.1
    assert plan.predicted.interval_half_width == pytest.approx(half, rel=HALF_WIDTH)
    assert plan.predicted.typical_error == pytest.approx(typical, rel=TYPICAL)


@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_a_wrong_variance_of_the_noise_is_caught(
    stream: np.ndarray, near: np.ndarray, monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    asked: dict[str, Any] = {"steps": len(stream), "share": 0.002, "memory": 400_000}
    asked |= {"skew": 1.1, "distinct": 50_000, "kind": "count-min", **PROMISE}
    right = ls.plan(**asked)
    _, half = measured(right, stream, near)
    assert right.predicted.interval_half_width == pytest.approx(half, rel=HALF_WIDTH)

    def planted(design: Design, pushes: np.ndarray) -> np.ndarray:
        return wrong * noise_variances(design, pushes)

    monkeypatch.setattr("lazysketch.planning.simulation.noise_variances", planted)
    false = ls.plan(**asked)
    assert (false.depth, false.width) == (right.depth, right.width)
    assert false.predicted.interval_half_width != pytest.approx(half, rel=HALF_WIDTH)


def test_missing_collisions_are_caught(stream: np.ndarray, near: np.ndarray) -> None:
    asked: dict[str, Any] = {"steps": len(stream), "share": 0.002, "memory": 20_000, **PROMISE}
    plan = ls.plan(**asked, skew=1.1, distinct=50_000)
    _, half = measured(plan, stream, near)
    alone = ls.plan(**asked, skew=10.0, distinct=2)
    assert plan.predicted.interval_half_width == pytest.approx(half, rel=HALF_WIDTH)
    assert alone.predicted.interval_half_width < (1 - 2 * HALF_WIDTH) * half
