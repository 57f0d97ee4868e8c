"""The guarantee of a pipeline is stated as it was asked for: at its delta."""

from __future__ import annotations

import pytest
from tests.unit.pipelines.test_pipeline import PARTS, made

import lazysketch as ls


@pytest.mark.parametrize("names", [("latency", "clients"), ("pages", "people"), ("latency",)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-9), (8.0, 1e-6), (18.0, 1e-5)])
def test_the_guarantee_is_stated_at_the_delta_that_was_asked_for(
    names: tuple[str, ...], epsilon: float, delta: float
) -> None:
    """Parts state theirs at less, where all together have a larger epsilon, or none."""
    with made(
        {name: PARTS[name] for name in names}, epsilon=epsilon, delta=delta, key=None
    ) as pipeline:
        stated = pipeline.privacy
        assert stated.delta == pipeline.delta == delta
        assert stated.epsilon <= epsilon
        assert stated.epsilon == pytest.approx(epsilon, rel=0.05)
        assert stated.delta_at(stated.epsilon) <= delta
        assert str(stated).startswith(f"({stated.epsilon:g}, {delta:g})-DP per event")
        assert f"by at most {delta:g} (delta)" in stated.sentence
        mechanisms = [pipeline[name].privacy for name in names]
        assert stated.epsilon == ls.compose(*mechanisms).epsilon_at(delta)
        assert ls.compose(stated, stated).stated_delta is None
