"""Schedules compared at the moments of the reads, and predicted widths for lists of names."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch import testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.planning import best_schedule, comparison
from lazysketch.planning.design import Design, Planned, noise_variances
from lazysketch.planning.prediction import Scores, simulated
from lazysketch.planning.reads import Reads, checked_reads, mean_wait, waits
from lazysketch.planning.request import Request, request_of
from lazysketch.planning.search import batches_of
from lazysketch.planning.simulation import known_half_width
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single

EVENTS, WIDTH, DEPTH = 200_000, 1024, 4
SEEDS = 6
# A pass stays a pass: keys, ids and hence hash seeds are seeded. The tolerances are those of the
# predictions of one schedule (test_prediction.py); what waits in a batch is known better.
HALF_WIDTH, TYPICAL = 0.15, 0.22


@pytest.fixture(scope="module")
def stream() -> np.ndarray:
    shares = np.arange(1, 50_001) ** -1.1
    events = np.random.default_rng(4).choice(50_000, EVENTS, p=shares / shares.sum())
    return events.astype(np.int64)


@pytest.fixture(scope="module")
def near(stream: np.ndarray) -> np.ndarray:
    """Return the items with shares nearest to 0.2 %."""
    counts = np.bincount(stream)
    return np.argsort(np.abs(np.log(np.maximum(counts, 0.5) / (0.002 * len(stream)))))[:40]


def asked(sample: object, reads: Reads, *, share: float = 0.002, kind: Any = None) -> Request:
    nothing: dict[str, Any] = dict.fromkeys(
        ("events_per_second", "duration", "mean_weight", "relative_error", "memory")
    )
    return request_of(
        steps=EVENTS,
        horizon=EVENTS,
        relation="substitution",
        epsilon=1.0,
        delta=1e-8,
        max_weight=1,
        max_events_per_user=1,
        kind=kind,
        share=share,
        confidence=0.95,
        skew=None,
        distinct=None,
        sample=sample,
        reads=reads,
        **nothing,
    )


def designed(
    request: Request, schedule: Planned, batch: int = 1, kind: Any = "count-min"
) -> Design:
    return Design(request, kind, DEPTH, WIDTH, schedule, batch)


def released(design: Design, events: np.ndarray, seed: int, *, until: int) -> ls.Release:
    """Count the first events, as a sketch of this design would be driven, and read it."""
    key = testing.seeded_key(seed, sketch_id=bytes([seed] * 16))
    kinds = {"count-min": ls.LazyCountMin, "count-sketch": ls.LazyCountSketch}
    kind: type[ls.LazyCountMin | ls.LazyCountSketch] = kinds[design.kind]
    with kind.from_spec(design.spec, key=key) as sketch:
        if design.batch == 1:
            sketch.update_many(events[:until])
        for begin in range(0, until - design.batch + 1, design.batch) if design.batch > 1 else ():
            sketch.update_batch(events[begin : begin + design.batch])
        if design.finished:
            sketch.finish()
        return sketch.release()


def measured(
    design: Design, events: np.ndarray, items: np.ndarray, *, until: int = EVENTS
) -> tuple[float, float]:
    """Return mean absolute error of the default estimate, and mean half width."""
    counts = np.bincount(events[:until], minlength=50_000)[items]
    errors, halves = [], []
    for seed in range(SEEDS):
        release = released(design, events, seed, until=until)
        found = release.interval_many(items)
        assert np.allclose(found.estimate, np.maximum(release.estimate_many(items), 0))
        errors.append(np.abs(found.estimate - counts).mean())
        halves.append((found.high - found.low).mean() / 2)
    return float(np.mean(errors)), float(np.mean(halves))


@pytest.mark.parametrize("reads", ["continually", 30, 50, 100, 150, 1])
@pytest.mark.parametrize("batch", [1, 2, 100, 101])
def test_what_waits_at_reads_is_as_counted(reads: Reads, batch: int) -> None:
    unit = 1 if reads == "continually" else reads
    assert isinstance(unit, int)
    all_reads = range(unit, math.lcm(unit, batch) * 2 + 1, unit)
    true = np.array([step % batch for step in all_reads])
    assert mean_wait(reads, batch=batch) == pytest.approx(true.mean())
    number = len(np.unique(true))
    assert sorted(waits(reads, batch=batch, number=number)) == sorted(np.unique(true))


def test_nothing_waits_at_the_end() -> None:
    assert mean_wait("end", batch=7) == 0.0
    assert waits("end", batch=7, number=2) == [0, 0]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("often", ArgumentValueError),
        (0, ArgumentValueError),
        (1.5, ArgumentTypeError),
        (True, ArgumentTypeError),
    ],
)
def test_wrong_moments(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^reads: expected"):
        checked_reads(wrong)


@pytest.mark.parametrize(
    ("reads", "schedule", "batch"),
    [
        ("end", Single(), 1),
        ("end", Geometric(), 1),
        ("end", RoundRobin(horizon=EVENTS), 1),
        ("end", Batch(horizon=40), 5_000),
        (5_000, Batch(horizon=40), 5_000),
        ("continually", RoundRobin(horizon=EVENTS, period=4), 1),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_every_schedule_is_predicted(
    stream: np.ndarray, near: np.ndarray, reads: Reads, schedule: Planned, batch: int
) -> None:
    request = asked(stream, reads)
    design = designed(request, schedule, batch)
    count = float(np.bincount(stream)[near].mean())
    typical, half = simulated(design, count=count)
    true_typical, true_half = measured(design, stream, near)
    assert half == pytest.approx(true_half, rel=HALF_WIDTH)
    assert typical == pytest.approx(true_typical, rel=TYPICAL)


def test_what_an_open_batch_has_is_an_error_of_reads_before_its_end(stream: np.ndarray) -> None:
    """The heaviest items, for which it is nearly all of the error: read after 7/8 of a batch."""
    items = np.arange(4)
    design = designed(asked(stream, "continually"), Batch(horizon=40), 5_000)
    until = EVENTS - 5_000 // 8
    counts = np.bincount(stream[:until], minlength=50_000)[items]
    closed = np.bincount(stream[: EVENTS - 5_000], minlength=50_000)[items]
    for item, count in zip(items, counts, strict=True):
        error, _ = measured(design, stream, items[item : item + 1], until=until)
        assert error == pytest.approx(count - closed[item], abs=40)  # noise and collisions
        lag = count * (5_000 * 7 / 8) / until
        # The mean over all reads: half a batch waits instead of 7/8 of one.
        typical, _ = simulated(design, count=float(count))
        assert typical == pytest.approx(lag * 4 / 7, rel=0.15)


def test_the_best_schedule_at_each_kind_of_read(stream: np.ndarray) -> None:
    found = {}
    for reads in ("continually", "end", 5_000):
        request = asked(stream, reads, share=0.1)
        schedule = next(iter(comparison.schedules_compared(Scores(request), WIDTH)))
        entries = comparison.compared(Scores(request), designed(request, *schedule))
        assert [each.typical_error for each in entries] == sorted(
            each.typical_error for each in entries
        )
        found[reads] = entries[0].schedule.name
    assert found == {"continually": "round robin", "end": "single", 5_000: "batch"}


def test_a_schedule_for_a_table() -> None:
    spec = designed(asked([1, 2], "end"), RoundRobin(horizon=EVENTS)).spec
    assert best_schedule(spec, steps=EVENTS, reads="end") == Single()
    on_the_way = best_schedule(spec, steps=EVENTS)
    assert isinstance(on_the_way, RoundRobin)
    assert on_the_way.horizon == EVENTS
    endless = replace(spec, schedule=Geometric())
    assert best_schedule(endless, steps=EVENTS) == Geometric()
    assert best_schedule(replace(spec, schedule=RoundRobin(horizon=3)), steps=3) == RoundRobin(3)
    counters = ls.TableSpec(
        kind="counters", depth=1, width=8, schedule=Geometric(), epsilon=1.0, delta=1e-6
    )
    with pytest.raises(ArgumentTypeError, match="^spec: expected"):
        best_schedule(counters, steps=EVENTS)


def test_plans_for_the_end_and_for_batches(stream: np.ndarray) -> None:
    promise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8, "kind": "count-min"}
    once = ls.plan(horizon=EVENTS, memory=32_768, reads="end", sample=stream, **promise)
    assert once.schedule == Single()
    assert "horizon" not in str(once.command())
    assert once.explain().count("Read at the end, by single") == 1
    some = ls.plan(horizon=EVENTS, memory=1 << 20, reads=5_000, sample=stream, share=0.1, **promise)
    assert some.schedule.name == "batch"
    assert some.batch % 5_000 == 0
    assert some.command() is None
    with some.sketch() as sketch:
        sketch.update_batch(stream[: some.batch])
        assert sketch.step == 1
    assert some.memory == 32 * some.depth * some.width <= 1 << 20
    assert some.to_dict()["batch"] == some.batch
    assert once.half_width(names=1000) > once.half_width(names=10)
    assert once.half_width(names=300, known=True) < once.half_width(names=300)


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_widths_for_a_list_that_is_known(stream: np.ndarray, near: np.ndarray, kind: Any) -> None:
    """Simultaneous intervals of 300 names, with and without taking out the heavy ones."""
    counts = np.bincount(stream)
    names = np.argsort(-counts, kind="stable")[:300]
    design = designed(asked(stream, "end"), Single(), kind=kind)
    count = float(counts[near].mean())
    apart: list[float] = []
    together: list[float] = []
    for seed in range(4):
        release = released(design, stream, seed, until=EVENTS)
        for known, halves in ((None, apart), (names, together)):
            found = release.interval_many(near, among=300, known=known)
            halves.append((found.high - found.low).mean() / 2)
    known_half = known_half_width(design, count=count, names=300)
    assert known_half == pytest.approx(np.mean(together), rel=HALF_WIDTH)
    _, half = simulated(design, count=count, among=300)
    assert half == pytest.approx(np.mean(apart), rel=HALF_WIDTH)
    assert np.mean(together) < 0.8 * np.mean(apart), "taking names out matters here"


def test_a_prediction_for_another_moment_is_caught(stream: np.ndarray, near: np.ndarray) -> None:
    """Geometric after finish(), and on the way: lag and noise of one are not those of the other."""
    count = float(np.bincount(stream)[near].mean())
    for reads, other in (("continually", "end"), ("end", "continually")):
        design = designed(asked(stream, reads), Geometric())
        wrong = replace(design, request=replace(design.request, reads=other))
        _, half = measured(design, stream, near)
        right = abs(math.log(simulated(design, count=count)[1] / half))
        assert right < math.log(1.05) < abs(math.log(simulated(wrong, count=count)[1] / half))


@pytest.mark.parametrize(
    ("horizon", "endless"), [(None, True), (EVENTS, False), (2**40, True)], ids=str
)
def test_batches_have_no_horizon_where_that_has_less_noise(
    horizon: int | None, endless: bool
) -> None:
    """Compared with the variances of the two mechanisms themselves."""
    request = replace(asked([1, 2, 2], 500), horizon=horizon)
    found = batches_of(Scores(request), 64, 500)
    known = Batch(horizon=-(-(horizon or EVENTS) // 500))
    assert found == (Batch() if endless else known)
    pushes = np.arange(200, 401)
    means = [
        noise_variances(Design(request, "count-min", 3, 64, schedule, 500), pushes).mean()
        for schedule in (Batch(), known)
    ]
    if horizon is not None:
        assert (means[0] < means[1]) == endless


def test_a_large_table_without_a_horizon_is_not_planned() -> None:
    """2^28 pushes of 8 x 2^22 cells are more draws than a delta of 1e-10 permits."""
    request = replace(asked([1, 2, 2], 500), horizon=None, delta=1e-10)
    assert batches_of(Scores(request), 64, 500) == Batch()
    assert batches_of(Scores(request), 2**22, 2**22) is None
