"""What ``make test`` leaves out: hypothesis makes fewer cases, slow tests run some of theirs.

No test has a deadline: how long it takes depends on what else the machine does.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests import sampled_cases

# A busy machine is no failure: no limit of time for a case, nor for making one.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", _UNTIMED, max_examples=25)
settings.register_profile("long", _UNTIMED, max_examples=200)
# For planted bugs: that a case fails is enough, and the smallest one may take minutes.
_FAILING = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
settings.register_profile("any-failure", _UNTIMED, max_examples=25, phases=_FAILING)
settings.load_profile("short")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: what is collected stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a sample of the slow tests."""
    parser.addoption(
        "--sample",
        action="store_true",
        help="of the tests in tests/sampled_cases.toml, run a part of the cases",
    )


@pytest.hookimpl(trylast=True)  # after `-m`: of the cases that are left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not in the sample."""
    if not config.getoption("sample"):
        return
    number = sampled_cases.number_of_commit()
    chosen, left_out = sampled_cases.sample(items, number=number)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = chosen


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: tests of processes that are killed or read a clock wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return -(-3 * (cores or 1) // 2)
