"""Plans of counts of distinct items: sizes, and errors that are measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

GUARANTEE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "relation": "zero-out"}


@pytest.mark.parametrize(
    ("items", "wanted"),
    [(1_500, {"memory": 256}), (6_000, {"memory": 128}), (3_000, {"relative_error": 0.15})],
)
def test_the_predicted_error_is_the_measured_one(items: int, wanted: dict[str, Any]) -> None:
    """Seeded: 120 counts; their spread is known to 6.5 %, their mean to a tenth of it."""
    found = ls.plan_distinct(items=items, horizon=4 * items, **wanted, **GUARANTEE)
    events, estimates = np.repeat(np.arange(items), 4), []
    for number in range(120):
        key = seeded_key(23, sketch_id=number.to_bytes(16, "big"))
        with found.count(key=key) as count:
            count.update_many(events)
            estimates.append(count.estimate())
    assert np.std(estimates) == pytest.approx(found.standard_error, rel=0.25)
    assert abs(np.mean(estimates) - items) < 0.4 * found.standard_error


def test_the_smallest_size_that_reaches_an_error() -> None:
    found = ls.plan_distinct(items=10**6, relative_error=0.01, **GUARANTEE)
    assert found.relative_error <= 0.01
    assert found.memory == found.bits * found.levels // 8
    assert (found.spec.bits, found.spec.width) == (found.bits, found.levels)
    smaller = ls.plan_distinct(items=10**6, memory=found.memory - 1, **GUARANTEE)
    assert smaller.relative_error > 0.01
    same = ls.plan_distinct(items=10**6, memory=found.memory, **GUARANTEE)
    assert same.relative_error <= found.relative_error
    with found.count() as count:
        assert count.spec.bits == found.bits
        assert count.privacy.epsilon == 1.0


def test_more_confidence_and_more_privacy_are_wider() -> None:
    def error(**changed: Any) -> float:
        plain = {"items": 20_000, "memory": 2**14, **GUARANTEE}
        return ls.plan_distinct(**{**plain, **changed}).relative_error

    assert error(confidence=0.99) > error() > error(confidence=0.5)
    assert error(epsilon=0.2) > error() < error(relation="substitution")
    assert error(memory=2**11) > error()
    assert error(horizon=20_000) < error()
    assert error(schedule=ls.Single()) < error(horizon=20_000)


def test_without_a_target_the_error_is_near_the_least() -> None:
    found = ls.plan_distinct(items=5_000, **GUARANTEE)
    best = ls.plan_distinct(items=5_000, memory=2**26, **GUARANTEE)
    assert best.relative_error <= found.relative_error <= 1.1 * best.relative_error
    assert found.memory < best.memory


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"items": 0}, ArgumentValueError, "items: expected an integer from 1"),
        ({"items": 1.5}, ArgumentTypeError, "items: expected an integer from 1"),
        ({"steps": 0}, ArgumentValueError, "steps: expected an integer from 1"),
        ({"relative_error": 1.0}, ArgumentValueError, "relative_error: expected a number above 0"),
        ({"relative_error": "1"}, ArgumentTypeError, "relative_error: expected a number above 0"),
        ({"relative_error": 1e-6}, ArgumentValueError, "relative_error: expected at least 0.0"),
        ({"memory": 1}, ArgumentValueError, "memory: expected at least"),
        ({"memory": 9, "relative_error": 0.1}, ArgumentTypeError, "memory: expected none with a"),
        ({"confidence": 1.0}, ArgumentValueError, "confidence: expected"),
        ({"epsilon": 0}, ArgumentValueError, "epsilon: expected"),
        ({"horizon": 5, "schedule": ls.Single()}, ArgumentTypeError, "horizon: expected none"),
    ],
)
def test_wrong_arguments_are_named(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refused:
        ls.plan_distinct(**{"items": 1_000, **GUARANTEE, **wrong})
    assert str(refused.value).startswith(message)
