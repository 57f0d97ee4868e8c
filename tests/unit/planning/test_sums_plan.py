"""Plans of sums: errors of sums, counts and means as measured; bounds of a public sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sums.sums_spec import sums_spec
from lazysketch.testing import seeded_key

STEPS, DISTINCT = 20_000, 2_000
PLAIN: dict[str, Any] = {"low": -20.0, "high": 100.0, "epsilon": 2.0, "delta": 1e-6, "width": 256}
WEIGHTS = np.arange(1, DISTINCT + 1) ** -1.1
READS = ("sum", "count", "mean")


def stream(chance: np.random.Generator, events: int, values: Any) -> tuple[Any, Any]:
    """Return items, of which 0 has so many events, and others are Zipf."""
    others = chance.choice(DISTINCT, STEPS - events, p=WEIGHTS / WEIGHTS.sum()) + 10
    items = np.concatenate([np.zeros(events, dtype=np.int64), others])
    order = chance.permutation(STEPS)
    return items[order], values[order]


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": ls.Single()},
        {"schedule": ls.Single(), "epsilon": 0.2},
        {"schedule": ls.Single(), "low": 0.0, "high": 60.0, "width": 2_048, "share": 0.05},
        {"horizon": STEPS, "relation": "zero-out"},
    ],
    ids=["collisions", "noise", "from 0", "continual"],
)
def test_the_predicted_errors_are_the_measured_ones(options: dict[str, Any]) -> None:
    """Seeded: 40 sums, each with its own noise, hash and order of events."""
    spread: dict[str, Any] = {"mean": 30.0, "deviation": 20.0}
    chosen = {**PLAIN, "share": 0.01, **spread, **options}
    found = ls.plan_sums(steps=STEPS, distinct=DISTINCT, **chosen)
    events = round(found.events)
    chance = np.random.default_rng(3)
    errors: dict[str, list[float]] = {read: [] for read in READS}
    widths: dict[str, list[float]] = {read: [] for read in READS}
    for number in range(40):
        values = np.where(np.arange(STEPS) % 2, 50.0, 10.0)
        items, values = stream(chance, events, values)
        with found.sums(key=seeded_key(7, sketch_id=number.to_bytes(16, "big"))) as live:
            live.update_many(items, values)
            if "schedule" in options:
                live.finish()
            release = live.release()
        own = values[items == 0]
        for read, truth in (("sum", own.sum()), ("count", events), ("mean", own.mean())):
            answer = getattr(release, read)(0)
            errors[read].append(answer.estimate - truth)
            widths[read].append((answer.high - answer.low) / 2.0)
    for read in READS:
        predicted = getattr(found, f"{read}_error")
        assert np.mean(widths[read]) == pytest.approx(predicted, rel=0.12), read
        measured = float(np.sqrt(np.mean(np.square(errors[read]))))
        # The deviation of 40 errors is itself known to 11 %.
        assert measured == pytest.approx(getattr(found, f"{read}_deviation"), rel=0.35), read


def test_errors_follow_the_guarantee_and_the_bounds() -> None:
    def planned(**changed: Any) -> ls.SumsPlan:
        plain = {**PLAIN, "steps": 10**6, "horizon": 10**6, "width": 1_024}
        return ls.plan_sums(**{**plain, **changed})

    usual = planned()
    assert planned(epsilon=0.5).sum_error > usual.sum_error > planned(relation="zero-out").sum_error
    assert planned(low=-40.0, high=200.0).sum_error == pytest.approx(2 * usual.sum_error, rel=0.15)
    assert planned(horizon=None, schedule=ls.Single()).count_error < usual.count_error
    assert planned(confidence=0.99).mean_error > usual.mean_error
    assert planned(share=0.1).mean_error < 0.3 * usual.mean_error
    assert usual.mean_error <= 60.0
    assert (usual.events, usual.memory) == (10_000, 2 * 8 * 5 * 1_024)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps: expected"),
        ({"share": 1.0}, "share: expected a number above 0 and below 1"),
        ({"mean": 101.0}, "mean: expected a number from low = -20 to high = 100"),
        ({"deviation": 61.0}, "deviation: expected a number from 0 to half of the range, 60"),
        ({"skew": float("nan")}, "skew: expected a number from 0 to 10"),
        ({"distinct": 2**23}, "distinct: expected"),
        ({"high": -30.0}, "high: expected a number above low"),
        ({"confidence": 1.0}, "confidence: expected"),
    ],
)
def test_wrong_plans_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        ls.plan_sums(**{**PLAIN, "steps": 100, **options})


def measured(bounds: tuple[float, float], chance: np.random.Generator, **options: Any) -> float:
    """Return the root of the mean square of the error of the sum of the values before clipping."""
    spec, squares = sums_spec(low=bounds[0], high=bounds[1], **options), []
    for number in range(24):
        items, values = stream(chance, 400, chance.lognormal(3.0, 1.2, STEPS))
        with ls.Sums.from_spec(
            spec, key=seeded_key(9, sketch_id=number.to_bytes(16, "big"))
        ) as live:
            live.update_many(items, values)
            live.finish()
            squares.append((live.sum(0).estimate - values[items == 0].sum()) ** 2)
    return float(np.sqrt(np.mean(squares)))


def test_bounds_of_a_sample_have_about_the_least_error() -> None:
    """Half of them leaves too much out, twice as much has too much noise."""
    chance = np.random.default_rng(4)
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "width": 256}
    options["schedule"] = ls.Single()
    public = chance.lognormal(3.0, 1.2, 20_000)
    found = ls.clip_bounds(public, steps=STEPS, share=0.02, distinct=DISTINCT, **options)
    assert found.low == 0.0
    assert found.clipped == np.mean(public > found.high) > 0.0
    errors = [measured((0.0, found.high * part), chance, **options) for part in (0.4, 1.0, 2.5)]
    assert errors[1] < min(errors[0], errors[2])
    assert errors[1] == pytest.approx(found.error, rel=0.35)


def test_bounds_follow_the_sample() -> None:
    chance = np.random.default_rng(5)
    plain: dict[str, Any] = {"steps": 10**6, "epsilon": 1.0, "delta": 1e-6}
    public = chance.normal(0.0, 1.0, 4_000)
    both = ls.clip_bounds(public, **plain)
    assert both.low == pytest.approx(-both.high, rel=0.2)
    assert both.clipped < 0.1
    wide = ls.clip_bounds(public, **{**plain, "epsilon": 8.0})
    assert wide.high >= both.high > 0.0
    assert ls.clip_bounds(public, share=0.2, **plain).high > both.high
    negative = ls.clip_bounds(-np.abs(public), **plain)
    assert (negative.high, negative.low < 0.0) == (0.0, True)
    assert ls.clip_bounds(public, low=-9.0, **plain).low == -9.0
    rare = ls.clip_bounds([0.0] * 90 + [1.0] * 10, **plain)
    assert (rare.low, rare.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("sample", "options", "message"),
    [
        ([1.0], {}, "sample: expected at least two finite values"),
        ([1.0, float("inf")], {}, "sample: expected at least two finite values"),
        ([1.0, 1.0], {}, "sample: expected values on both sides of a bound"),
        ([1.0, 2.0], {"low": 3.0}, "sample: expected values on both sides of a bound"),
        ([1.0, 2.0], {"high": float("nan")}, "high: expected a finite number"),
        ([1.0, float("nan")], {}, "values at position 1: expected a number"),
        ([1.0, 2.0], {"share": 0.0}, "share: expected"),
    ],
)
def test_samples_that_give_no_bounds_are_refused(
    sample: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        ls.clip_bounds(sample, **{"steps": 100, "epsilon": 1.0, "delta": 1e-6, **options})
    with pytest.raises(ArgumentTypeError, match="values: expected"):
        ls.clip_bounds("12", steps=100, epsilon=1.0, delta=1e-6)
