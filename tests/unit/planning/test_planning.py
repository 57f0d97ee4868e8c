"""Plans: usable, never worse with more memory or epsilon, and clear errors for unreachable targets.

test_prediction.py compares predictions with the errors of real sketches; test_workload.py covers
the collision model.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LazySketchError,
    MissingPackageError,
)
from lazysketch.specification.schedules import Geometric, RoundRobin

PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}
# Two designs of similar quality may change order, because simulation and score differ.
SIMULATION = 1.05


def steps() -> st.SearchStrategy[int]:
    return st.floats(2.0, 9.0).map(lambda power: round(10**power))


REQUESTS = st.fixed_dictionaries(
    {
        "epsilon": st.floats(0.05, 8.0),
        "delta": st.sampled_from([1e-6, 1e-9]),
        "share": st.floats(-4.0, -0.3).map(lambda power: 10**power),
        "relation": st.sampled_from(["substitution", "zero-out"]),
        "kind": st.sampled_from([None, "count-min", "count-sketch"]),
        "skew": st.floats(0.0, 2.0),
        "distinct": st.sampled_from([1, 100, 50_000]),
        "max_events_per_user": st.sampled_from([1, 5]),
    }
)
TARGETS = st.one_of(
    st.just({}),
    st.builds(lambda error: {"relative_error": error}, st.floats(0.005, 0.9)),
    st.builds(lambda memory: {"memory": memory}, st.integers(1, 10**7)),
)


@given(length=steps(), bounded=st.booleans(), request=REQUESTS, target=TARGETS)
@settings(max_examples=8)
def test_every_plan_can_be_made_and_satisfies_its_request(
    length: int, bounded: bool, request: dict[str, Any], target: dict[str, Any]
) -> None:
    asked = {"horizon": length} if bounded else {"steps": length}
    refusal = ""
    try:
        plan = ls.plan(**asked, **request, **target)
    except ArgumentValueError as refused:
        refusal = str(refused)
    if refusal:
        assert re.match(r"(relative_error|share|memory|steps): expected .*, got ", refusal)
        return
    with plan.sketch() as sketch:
        assert (sketch.kind, sketch.depth, sketch.width) == (plan.kind, plan.depth, plan.width)
        assert (sketch.mechanism.name, sketch.sigma) == (plan.mechanism, plan.sigma)
        assert sketch.privacy == plan.spec.privacy
        assert sketch.schedule == plan.schedule
        assert sketch.horizon == plan.horizon == (length if plan.horizon else None)
        sketch.tick(length)
        assert sketch.release().pushes.min() >= 7
    assert plan.memory <= target.get("memory", math.inf)
    assert plan.predicted.relative_error <= target.get("relative_error", 1.0)
    assert 0 < plan.predicted.typical_error < length
    assert request["kind"] in (None, plan.kind)
    json.dumps(plan.to_dict(), allow_nan=False)
    assert str(round(plan.predicted.count)) in plan.explain().replace(",", "")


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_a_plan_keeps_the_privacy_that_was_asked_for(relation: Any) -> None:
    """The sketch that it makes, and the options of the command that it prints."""
    asked: dict[str, Any] = {
        "epsilon": 0.7,
        "delta": 1e-7,
        "relation": relation,
        "max_weight": 3,
        "max_events_per_user": 2,
    }
    plan = ls.plan(steps=10**5, memory=1 << 12, kind="count-min", mean_weight=2.0, **asked)
    command = plan.command()
    assert command is not None
    words = command.split()
    options = {name: value for name, value in pairwise(words) if name.startswith("--")}
    options.setdefault("--relation", "substitution")
    with plan.sketch() as sketch:
        for name, value in asked.items():
            assert getattr(plan, name) == value
            assert getattr(sketch.privacy, name) == value
            assert options[f"--{name.replace('_', '-')}"] == str(value)


def test_a_memory_below_the_coarse_grid_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="^share: expected an item whose count exceeds"):
        ls.plan(steps=8_117, memory=324, share=0.01, kind="count-sketch", **PROMISE)


@pytest.mark.parametrize("horizon", [None, 10**6])
def test_more_memory_is_never_worse(horizon: int | None) -> None:
    plans = [
        ls.plan(steps=10**6, horizon=horizon, memory=memory, share=0.01, **PROMISE)
        for memory in (4_000, 8_000, 16_000, 50_000, 200_000, 10**6)
    ]
    errors = [plan.predicted.interval_half_width for plan in plans]
    assert all(later <= SIMULATION * earlier for earlier, later in pairwise(errors))
    assert errors[-1] < errors[0] / 5


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_more_epsilon_is_never_worse(kind: Any) -> None:
    errors = [
        ls.plan(
            steps=10**6, memory=300_000, kind=kind, epsilon=epsilon, delta=1e-8
        ).predicted.interval_half_width
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
    ]
    assert all(later <= SIMULATION * earlier for earlier, later in pairwise(errors))
    assert errors[-1] < errors[0] / 3


def test_a_smaller_error_never_takes_less_memory() -> None:
    sizes = [
        ls.plan(steps=10**6, relative_error=error, share=0.01, **PROMISE).memory
        for error in (0.3, 0.1, 0.05, 0.02)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_suggested_changes_reach_an_unreachable_target() -> None:
    asked: dict[str, Any] = {"steps": 100_000, "relative_error": 0.03, "share": 0.005, **PROMISE}
    with pytest.raises(ArgumentValueError, match="^relative_error: expected") as refused:
        ls.plan(**asked)
    found = dict(re.findall(r"(epsilon|share|steps) ([\d.,]+\d)", str(refused.value)))
    assert found.keys() >= {"share", "steps"}
    for name, text in found.items():
        value = float(text.replace(",", ""))
        kind = int if name == "steps" else float
        assert ls.plan(**{**asked, name: kind(value)}).predicted.relative_error <= 0.03, name
        # A much smaller value is not enough, so the suggestion is close to the minimum.
        with pytest.raises(ArgumentValueError):
            ls.plan(**{**asked, name: kind(value / 1.8)})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"steps": 1_000, "share": 0.001}, "share"),  # one count, far below the noise
        ({"steps": 100}, "steps"),
        ({"steps": 10**6, "memory": 100}, "memory"),
        ({"steps": 10**6, "horizon": 10**5}, "horizon"),
        ({"steps": 0}, "steps"),
        ({"steps": 10**6, "share": 1.0}, "share"),
        ({"steps": 10**6, "relative_error": 1.5}, "relative_error"),
        ({"steps": 10**6, "skew": -1.0}, "skew"),
        ({"steps": 10**6, "skew": 11.0}, "skew"),
        ({"steps": 10**6, "distinct": 2**23}, "distinct"),
        ({"steps": 10**6, "kind": "bloom"}, "kind"),
        ({"steps": 10**6, "confidence": 1.0}, "confidence"),
        ({"steps": 10**6, "relation": "deletion"}, "relation"),
        ({"steps": 10**6, "max_weight": 5, "mean_weight": 6.0}, "mean_weight"),
        ({"steps": 10**6, "sample": []}, "sample"),
        ({"steps": 10**6, "sample": {"a": 0}}, "sample"),
        ({"events_per_second": 1.0, "duration": 1e300}, "duration"),
    ],
)
def test_refuses_values_by_name(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: expected .*, got"):
        ls.plan(**PROMISE, **arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "steps"),
        ({"steps": 10**6, "events_per_second": 1.0}, "steps"),
        ({"steps": 10**6, "duration": 1.0}, "steps"),
        ({"events_per_second": 1.0}, "duration"),
        ({"duration": 1.0}, "events_per_second"),
        ({"steps": 10**6, "relative_error": 0.1, "memory": 10_000}, "relative_error"),
        ({"steps": 10**6, "sample": ["a"], "skew": 1.0}, "skew"),
        ({"steps": 10**6, "sample": ["a"], "distinct": 10}, "distinct"),
        ({"steps": 10**6, "max_weight": 5}, "mean_weight"),
        ({"steps": 10**6, "sample": "abc"}, "sample"),
        ({"steps": 10**6, "sample": 5}, "sample"),
        ({"steps": 10**6, "sample": [[1], [2]]}, "sample"),
        ({"steps": 10**6, "sample": np.zeros((2, 2))}, "sample"),
        ({"steps": 10**6, "sample": {"a": 1.5}}, "sample"),
        ({"steps": 1e6}, "steps"),
        ({"steps": 10**6, "kind": 1}, "kind"),
        ({"steps": 10**6, "memory": 64e3}, "memory"),
    ],
)
def test_refuses_contradictions_and_wrong_types_by_name(
    arguments: dict[str, Any], name: str
) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{name}: expected .*, got"):
        ls.plan(**PROMISE, **arguments)


def test_a_rate_for_a_time_is_a_number_of_steps() -> None:
    timed = ls.plan(events_per_second=10.0, duration=86_400.0, **PROMISE)
    assert timed.to_dict() == ls.plan(steps=864_000, **PROMISE).to_dict()


def test_every_form_of_a_sample_is_one_sample(plan: ls.Plan) -> None:
    items = np.random.default_rng(3).zipf(1.5, 20_000) % 1_000
    forms: list[Any] = [items, items.tolist(), Counter(items.tolist()), map(str, items.tolist())]
    plans = [ls.plan(steps=10**6, memory=30_000, sample=form, **PROMISE) for form in forms]
    assert len({json.dumps(plan.to_dict()) for plan in plans}) == 1
    assert plans[0].sampled
    assert "must be public" in plans[0].explain()
    assert "must be public" not in plan.explain()


def test_a_horizon_reduces_the_error() -> None:
    asked: dict[str, Any] = {"memory": 100_000, "share": 0.001, **PROMISE}
    unbounded, bounded = ls.plan(steps=10**6, **asked), ls.plan(horizon=10**6, **asked)
    assert isinstance(unbounded.schedule, Geometric)
    assert isinstance(bounded.schedule, RoundRobin)
    assert bounded.predicted.interval_half_width < unbounded.predicted.interval_half_width


def test_weights_scale_counts_and_noise_alike() -> None:
    asked: dict[str, Any] = {"steps": 10**6, "memory": 100_000, "kind": "count-min", **PROMISE}
    plain = ls.plan(**asked)
    heavy = ls.plan(**asked, max_weight=100, mean_weight=100.0)
    assert heavy.predicted.noise_deviation == pytest.approx(
        100 * plain.predicted.noise_deviation, rel=0.01
    )
    assert heavy.predicted.count == 100 * plain.predicted.count
    light = ls.plan(**asked, max_weight=100, mean_weight=1.0)
    assert light.predicted.relative_error > 5 * plain.predicted.relative_error


def test_explain_gives_the_errors_of_changed_plans() -> None:
    asked: dict[str, Any] = {"horizon": 10**6, "share": 0.01, "delta": 1e-8}
    plan = ls.plan(epsilon=0.2, memory=50_000, **asked)
    text = plan.explain()
    said = dict(re.findall(r"^(Twice the \w+) would give ([\d,]+)", text, re.MULTILINE))
    memory = ls.plan(epsilon=0.2, memory=2 * plan.memory, **asked)
    assert float(said["Twice the memory"].replace(",", "")) == pytest.approx(
        memory.predicted.interval_half_width, rel=0.06
    )
    freer = ls.plan(epsilon=0.4, memory=plan.memory, kind=plan.kind, **asked)
    assert float(said["Twice the epsilon"].replace(",", "")) == pytest.approx(
        freer.predicted.interval_half_width, rel=0.1
    )
    parts = plan.predicted
    assert f"{parts.dominant.capitalize()} dominate" in text
    assert "Rounds twice as long" in text


def test_the_dominant_part_is_the_largest() -> None:
    flat = ls.plan(steps=10**7, memory=8_000, share=0.01, **PROMISE).predicted
    noisy = ls.plan(steps=10**5, epsilon=0.1, delta=1e-8, share=0.1, memory=10**6).predicted
    assert (flat.dominant, noisy.dominant) == ("collisions", "noise")
    assert flat.collisions > 5 * flat.noise
    assert noisy.noise > 5 * noisy.collisions


@pytest.fixture(scope="module")
def plan() -> ls.Plan:
    return ls.plan(steps=10**6, **PROMISE)


def test_a_plot_needs_matplotlib(
    plan: ls.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"^plot: expected matplotlib .*lazysketch\[plot"):
        plan.plot(tmp_path / "a.png")
    for wrong in ("a.txt", tmp_path / "a"):
        with pytest.raises(ArgumentValueError, match="^plot: expected a file ending in"):
            plan.plot(wrong)
    with pytest.raises(ArgumentTypeError, match="^plot: expected a path"):
        plan.plot(5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_plot_is_drawn(plan: ls.Plan, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    plan.plot(tmp_path / f"a{ending}")
    start = (tmp_path / f"a{ending}").read_bytes()[:200]
    assert {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}[ending] in (
        start if ending != ".svg" else (tmp_path / "a.svg").read_bytes()
    )


def test_the_repr_names_the_parameters() -> None:
    plan = ls.plan(horizon=10**6, memory=10_000, **PROMISE)
    assert re.fullmatch(
        r"<Plan count-(min|sketch), depth=\d, width=\d+, .* share=0.01>", repr(plan)
    )
    assert issubclass(MissingPackageError, LazySketchError)
