"""A refusal of a calibration names a delta that is accepted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.calibration import calibrate


@given(
    epsilon=st.floats(-2.0, 1.3).map(lambda power: 10.0**power),
    delta=st.floats(-16.0, -4.0).map(lambda power: 10.0**power),
    sensitivities=st.tuples(st.integers(1, 200), st.integers(1, 400)),
    changed=st.tuples(st.integers(1, 60), st.integers(1, 40)),
    draws=st.floats(3.0, 36.0).map(lambda power: int(10.0**power)),
    bounds=st.tuples(st.integers(1, 10_000), st.integers(1, 100)),
    people=st.sampled_from([0, 1_000_000]),
    depth=st.integers(1, 12),
)
# Its own noise is a fifth of that of the refused delta, which would name a delta of 0.145.
@example(
    epsilon=0.05,
    delta=1e-16,
    sensitivities=(100, 400),
    changed=(1, 1),
    draws=10**19,
    bounds=(10_000, 1),
    people=0,
    depth=3,
)
# Numerics take most of a delta 10^50 times as large.
@example(
    epsilon=1.5,
    delta=1e-68,
    sensitivities=(179, 247),
    changed=(7, 20),
    draws=10**22,
    bounds=(10, 5),
    people=0,
    depth=9,
)
@settings(max_examples=200)
def test_a_delta_that_a_refusal_names_is_accepted(
    epsilon: float,
    delta: float,
    sensitivities: tuple[int, int],
    changed: tuple[int, int],
    draws: int,
    bounds: tuple[int, int],
    people: int,
    depth: int,
) -> None:
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "calibration": "analytic",
        "table_sensitivity2": sensitivities[0],
        "mechanism_sensitivity2": sensitivities[1],
        "mechanism_nodes": changed[0],
        "changed_cells": changed[1],
        "draws": draws,
        "max_weight": bounds[0],
        "max_events_per_user": bounds[1],
        "people": people,
        "depth": depth,
    }
    try:
        calibrate(**asked, delta=delta)
    except ArgumentValueError as error:
        named = re.match(r"delta: expected at least (\S+), the reach", str(error))
        assume(named)
        assert named is not None
        calibrate(**asked, delta=float(named[1]))
        with pytest.raises(ArgumentValueError):
            calibrate(**asked, delta=0.1 * float(named[1]))
