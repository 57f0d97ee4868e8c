"""Profiles of hypothesis: ``short`` in ``make test``, ``long`` in ``make test-long``.

No test has a deadline: how long it takes depends on what else the machine does.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, Phase, settings

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: tests of processes that are killed or read a clock wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return -(-3 * (cores or 1) // 2)
