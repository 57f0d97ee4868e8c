"""The audit of CI: no alarm from the library, an alarm from every planted bug.

False-alarm rate of the run: at most 1e-5, derived in lazysketch.audit.finding (1e-7 for each of
at most 100 findings). The controls may fail to see a bug with a probability below 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.audit import (
    AREAS,
    Bug,
    Configuration,
    Finding,
    audit,
    controls,
    residuals,
    standard_checks,
)
from lazysketch.audit.controls import Control
from lazysketch.audit.finding import ALARM, MOST, Outcome, worst
from lazysketch.audit.suite import Check, checks_of, companion, configurations, widened

CHECKS = list(standard_checks())
CONTROLS = list(controls())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.name}: {check.configuration}")
def test_the_library_raises_no_alarm(check: Check) -> None:
    (found,) = audit([check])
    assert found.passed, f"{found.claim}: {found.observed}"
    assert found.samples > 0
    assert found.subject == "lazysketch"


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: f"{control.bug}: {control.check}")
def test_a_planted_bug_never_passes(control: Control) -> None:
    sound, planted = control.run()
    assert sound.passed, f"alarm without the bug: {sound.observed}"
    assert not planted.passed, f"{control.bug} passed: {planted.observed}"


def test_every_bug_is_planted() -> None:
    assert {bug.value for bug in Bug} <= {control.bug for control in CONTROLS}
    # And every check has a control, or compares the library with itself on another way.
    without = {"command line", "release on disk", "sweep", "ids"}
    assert {check.name for check in CHECKS} - {control.check for control in CONTROLS} <= without


def test_the_false_alarm_rate_is_the_one_that_is_stated() -> None:
    configured = list(checks_of(next(configurations())))
    assert len(CHECKS) + len(configured) <= MOST
    assert ALARM * MOST <= 1e-4
    assert {check.area for check in CHECKS} == set(AREAS)
    with pytest.raises(AssertionError, match="at most 100"):
        audit([CHECKS[0]] * (MOST + 1))


def test_each_configuration_can_be_audited() -> None:
    """What ``lazysketch audit`` adds for the table that its options describe."""
    configuration = next(configurations())
    small = companion(configuration)
    assert small.cells <= 4
    assert (small.epsilon, small.delta) == (configuration.epsilon, configuration.delta)
    found: list[Finding] = audit(list(checks_of(configuration, trials=300)))
    assert [finding.check for finding in found] == ["residual law", "sensitivity", "distinguisher"]
    assert all(finding.passed for finding in found)
    assert found[0].row()["p_value"] > ALARM


def test_the_least_likely_law_decides() -> None:
    def outcome(p_value: float) -> Outcome:
        laws = [(f"law {i}", 0.5) for i in range(9)] + [("the tenth", p_value)]
        return worst("ten laws", iter(laws), samples=1)

    assert outcome(1e-6).passed
    assert outcome(1.1e-8).passed
    assert not outcome(0.9e-8).passed  # ten times it is below the alarm
    assert "the tenth" in outcome(1e-9).observed


def test_the_variance_of_a_single_cell_is_no_law() -> None:
    """Found by repeating the audit: the only counted cell had a residual of exactly 0."""
    claim = Configuration("counters", 1, 8, ls.Punctual(horizon=8)).claim("tree")
    pushes, truth = np.ones(8, dtype=np.int64), np.zeros((1, 8), dtype=np.int64)
    truth[0, 3] = 1
    values = np.random.default_rng(1).normal(0, claim.deviation(1), (1, 8)).round()
    values[0, 3] = 0
    assert all(
        p_value > ALARM for _, p_value in residuals._of_residuals(claim, pushes, values, truth)
    )


def test_a_small_table_is_widened_for_its_law() -> None:
    for schedule in (ls.RoundRobin(horizon=90, period=2), ls.Geometric(), ls.Punctual(horizon=9)):
        small = Configuration("count-sketch", 3, 5, schedule)
        wide = widened(small)
        assert wide.cells >= 4096
        assert wide.leaves == small.leaves
        assert widened(wide) == wide
