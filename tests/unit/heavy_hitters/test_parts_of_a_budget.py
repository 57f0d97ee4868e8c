"""What counts and names spend, of what was asked for both."""

from __future__ import annotations

import math

import pytest

import lazysketch as ls


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.7])
@pytest.mark.parametrize("share", [None, 0.1, 0.3])
def test_counts_and_names_never_spend_more_than_was_asked(
    epsilon: float, share: float | None
) -> None:
    names = None if share is None else share * epsilon
    spec = ls.HeavyHitters(
        share=0.05, depth=2, width=16, epsilon=epsilon, delta=1e-7, discovery_epsilon=names
    )
    counts, other = spec.privacy.parts_to_compose
    for asked, parts in [
        (epsilon, (counts.epsilon, other.epsilon)),
        (1e-7, (counts.delta, other.delta)),
    ]:
        assert math.fsum([*parts, -asked]) <= 0.0
        assert sum(parts) == pytest.approx(asked, rel=1e-12)
