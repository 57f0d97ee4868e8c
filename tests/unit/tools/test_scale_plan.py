"""The simulation of a day: what arrives is counted, and a plan that is too small is seen to be."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import pytest
from tests.locations import ROOT


@pytest.fixture(scope="module")
def scale_plan() -> ModuleType:
    import sys

    spec = importlib.util.spec_from_file_location("scale_plan", ROOT / "tools/scale_plan.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale_plan"] = module
    spec.loader.exec_module(module)
    return module


def test_the_wave_has_all_events(scale_plan: Any) -> None:
    total = sum(scale_plan.arrivals(1e12, second + 30) * 60 for second in range(0, 86_400, 60))
    assert total == pytest.approx(1e12)
    assert scale_plan.arrivals(86_400.0, 43_200) == pytest.approx(2)


def test_a_plan_on_paper_holds_and_half_of_it_does_not(scale_plan: Any) -> None:
    shape = scale_plan.SHAPES[0]
    settings: dict[str, Any] = {"events": 1e12, "tick": 60}
    cores = scale_plan.cores_for(shape, 1.5e-6, tasks=200, **settings)
    assert 45 <= cores <= 60
    day = scale_plan.simulate(shape, 1.5e-6, cores=cores, tasks=4 * cores, seed=1, **settings)
    assert day.missed == 0
    assert 0.6 < day.busy < 0.8
    assert day.store == pytest.approx((4 * cores * shape.open + shape.step) / 60)
    half = scale_plan.simulate(shape, 1.5e-6, cores=cores // 2, tasks=4 * cores, seed=1, **settings)
    assert half.missed > 100
