"""The audit of CI: no alarm on the library, an alarm on every planted bug.

False-alarm rate of the run: at most 2e-5, derived in lazysketch.audit.finding (1e-7 for each of
at most 200 findings). A control fails to detect its bug with a probability below 1e-9.
"""

from __future__ import annotations

import sys
from enum import Enum

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.audit import (
    AREAS,
    Bug,
    Case,
    Finding,
    audit,
    controls,
    residuals,
    standard_checks,
)
from lazysketch.audit.control import Control
from lazysketch.audit.discovery_system import DiscoveryBug
from lazysketch.audit.distinct_model import DistinctBug
from lazysketch.audit.finding import ALARM, MOST, Outcome, statistical_outcome
from lazysketch.audit.level_system import LevelBug
from lazysketch.audit.level_window_model import LevelWindowBug
from lazysketch.audit.people_of_sums import PeopleOfSumsBug
from lazysketch.audit.people_of_values import PeopleOfValuesBug
from lazysketch.audit.people_system import PeopleBug
from lazysketch.audit.range_and_sum_window_system import RangeAndSumWindowsBug
from lazysketch.audit.ranges_model import RangesBug
from lazysketch.audit.service_suite import service_checks
from lazysketch.audit.service_system import ServiceBug
from lazysketch.audit.statement_checks import StatementBug
from lazysketch.audit.suite import Check, checks_of, companion, wide_cases, widened
from lazysketch.audit.sums_model import SumsBug
from lazysketch.audit.values_model import ValuesBug
from lazysketch.audit.window_system import WindowBug

CHECKS = list(standard_checks())
CONTROLS = list(controls())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.name}: {check.case}")
def test_the_library_raises_no_alarm(check: Check) -> None:
    (found,) = audit([check])
    assert found.passed, f"{found.claim}: {found.observed}"
    assert found.samples > 0
    assert found.system == "lazysketch"


def control_of(control: Control) -> object:
    """A test of the first control of each check; the others take two minutes, and are `long`."""
    is_first = next(one for one in CONTROLS if one.check == control.check) is control
    marks = () if is_first else pytest.mark.long
    return pytest.param(control, marks=marks, id=f"{control.bug}: {control.check}")


@pytest.mark.parametrize("control", [control_of(one) for one in CONTROLS])
def test_every_planted_bug_raises_an_alarm(control: Control) -> None:
    sound, planted = control.run()
    assert sound.passed, f"alarm without the bug: {sound.observed}"
    assert not planted.passed, f"{control.bug} passed: {planted.observed}"


def test_every_bug_has_a_control() -> None:
    planted: list[type[Enum]] = [
        Bug, DiscoveryBug, WindowBug, LevelBug, LevelWindowBug, StatementBug, PeopleBug,
        DistinctBug, ValuesBug, RangesBug, SumsBug, ServiceBug, PeopleOfValuesBug,
        PeopleOfSumsBug, RangeAndSumWindowsBug,
    ]  # fmt: skip
    for bugs in planted:
        assert {bug.value for bug in bugs} <= {control.bug for control in CONTROLS}
    # Every check has a control, or repeats a check that has one by another path.
    without = {"command line", "release on disk", "sweep", "ids"}
    assert {check.name for check in CHECKS} - {control.check for control in CONTROLS} <= without


def test_the_false_alarm_rate_is_as_stated() -> None:
    configured = list(checks_of(next(wide_cases())))
    assert len(CHECKS) + len(configured) <= MOST
    assert ALARM * MOST <= 1e-4
    assert {check.area for check in CHECKS} == set(AREAS)
    with pytest.raises(AssertionError, match="at most 200"):
        audit([CHECKS[0]] * (MOST + 1))


def test_without_the_packages_of_the_service_its_checks_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    found = audit(list(service_checks()))
    assert all(finding.passed for finding in found)
    expected = "not tested: starlette missing (pip install 'lazysketch[serve]')"
    assert {finding.observed for finding in found if not finding.samples} == {expected}
    bugs = {bug.value for bug in ServiceBug}
    assert not bugs & {control.bug for control in controls()}


def test_a_described_table_can_be_audited() -> None:
    """The checks that ``lazysketch audit`` adds for the table described by its options."""
    case = next(wide_cases())
    small = companion(case)
    assert small.cells <= 4
    assert (small.spec.epsilon, small.spec.delta) == (case.spec.epsilon, case.spec.delta)
    found: list[Finding] = audit(list(checks_of(case, trials=300)))
    assert [finding.check for finding in found] == ["residuals", "sensitivity", "distinguisher"]
    assert all(finding.passed for finding in found)
    assert found[0].figures["p_value"] > ALARM
    assert found[0].row()["p_value"] == found[0].figures["p_value"]


def test_the_smallest_p_value_decides() -> None:
    def outcome(p_value: float) -> Outcome:
        tests = [(f"test {i}", 0.5) for i in range(9)] + [("the tenth", p_value)]
        return statistical_outcome("ten claims", iter(tests), samples=1)

    assert outcome(1e-6).passed
    assert outcome(1.1e-8).passed
    assert not outcome(0.9e-8).passed  # ten times it is below the alarm
    assert "the tenth" in outcome(1e-9).observed


def test_the_variance_of_a_single_cell_is_not_tested() -> None:
    """Regression: the only counted cell had a residual of exactly 0."""
    noise = Case.of("counters", 1, 8, ls.Punctual(horizon=8)).claimed_noise("tree")
    pushes, truth = np.ones(8, dtype=np.int64), np.zeros((1, 8), dtype=np.int64)
    truth[0, 3] = 1
    values = np.random.default_rng(1).normal(0, noise.deviation(1), (1, 8)).round()
    values[0, 3] = 0
    assert all(
        p_value > ALARM for _, p_value in residuals.of_residuals(noise, pushes, values, truth)
    )


def test_a_small_table_is_widened_for_tests_of_residuals() -> None:
    for schedule in (ls.RoundRobin(horizon=90, period=2), ls.Geometric(), ls.Punctual(horizon=9)):
        small = Case.of("count-sketch", 3, 5, schedule)
        wide = widened(small)
        assert wide.cells >= 4096
        assert wide.leaves == small.leaves
        assert widened(wide) == wide
