"""Negative controls: every planted bug, with the check that must detect it.

A control passes if its check raises an alarm on the planted bug and none on the same model without
it. Where detection depends on chance (sigma wrong by 10 %), its probability is above 1 - 1e-9: the
p-values are below 1e-15 and the alarm is at 1e-7. The distinguisher misses 2 d for 4 d with a
probability below 1e-7: the mistakes of its one decision that needs no training are binomial, and at
:data:`ATTACK_TRIALS` their bound exceeds the claim (docs/testing.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from lazysketch.audit import behaviour, canary, hygiene, low_bits, residuals
from lazysketch.audit.adaptive import distinguish_adaptively
from lazysketch.audit.case import Case
from lazysketch.audit.child_process import LEAKY, SOUND
from lazysketch.audit.control import AREA_OF_CHECK, Control, controls_of_model
from lazysketch.audit.counts_controls import counts_controls
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.ends import ends_have_noise_of_their_own
from lazysketch.audit.finding import Finding, Outcome
from lazysketch.audit.heavy_controls import heavy_controls
from lazysketch.audit.model import Bug, Model
from lazysketch.audit.sensitivity import sensitivity_by_enumeration
from lazysketch.audit.service_controls import service_controls
from lazysketch.audit.suite import epsilon_at
from lazysketch.audit.system_under_test import SystemUnderTest
from lazysketch.specification.schedules import Punctual, RoundRobin

__all__ = ["Control", "controls", "run_controls"]

_WIDE = Case.of("count-min", 4, 2048, RoundRobin(horizon=16 * 2048), mechanism="haar")
_ENDLESS = Case.of("count-min", 4, 2048, Punctual())
_SMALL = Case.of("count-sketch", 2, 2, RoundRobin(horizon=16), mechanism="haar")
ATTACK_TRIALS = 1500  # tables per stream, for a test; a third as many to learn from
ADAPTIVE_TRIALS = 3200  # tables per stream; the bound of 1.69 is missed by less than 1e-7 of runs


def controls() -> Iterator[Control]:
    """Yield the controls; some bugs must be detected by two checks.

    Yields:
        At least one control per bug: of tables in the order of :class:`lazysketch.audit.model.Bug`,
        of leaks, and those of :mod:`lazysketch.audit.heavy_controls`, of counts and of the service.
    """
    yield from controls_of_model(_detections(), Model)
    yield from _leak_controls()
    yield from heavy_controls()
    yield from counts_controls()
    yield from service_controls()


def _detections() -> tuple[tuple[Bug, str, Callable[[SystemUnderTest], Outcome]], ...]:
    """Return each bug with the check that must detect it."""
    close = Case.of(
        "count-sketch",
        2,
        2,
        RoundRobin(horizon=8),
        epsilon=epsilon_at(3.0, 1e-6, 2),
        mechanism="haar",
    )

    def releases(system: SystemUnderTest) -> Outcome:
        return residuals.check_releases(system, _WIDE)

    def endless_releases(system: SystemUnderTest) -> Outcome:
        return residuals.check_releases(system, _ENDLESS)

    def transcripts(system: SystemUnderTest) -> Outcome:
        return residuals.check_transcripts(system, _WIDE)

    def sensitivity(system: SystemUnderTest) -> Outcome:
        return sensitivity_by_enumeration(system, _SMALL)

    def endless_sensitivity(system: SystemUnderTest) -> Outcome:
        return sensitivity_by_enumeration(system, _ENDLESS.changed(depth=1, width=2))

    def distinguisher(system: SystemUnderTest) -> Outcome:
        return distinguish(system, close, trials=ATTACK_TRIALS)

    moderate = close.changed(epsilon=epsilon_at(1.5, 1e-6, 2))

    def adaptive(system: SystemUnderTest) -> Outcome:
        return distinguish_adaptively(system, moderate, trials=ADAPTIVE_TRIALS)

    return (
        (Bug.SMALL_SIGMA, "residuals", releases),
        (Bug.SMALL_SIGMA, "residuals", endless_releases),
        (Bug.LARGE_SIGMA, "residuals", releases),
        (Bug.HALF_SENSITIVITY, "sensitivity", sensitivity),
        (Bug.HALF_SENSITIVITY, "sensitivity", endless_sensitivity),
        (Bug.HALF_SENSITIVITY, "distinguisher", distinguisher),
        (Bug.HALF_SENSITIVITY, "adaptive", adaptive),
        (Bug.LEVEL, "sensitivity", sensitivity),
        (Bug.LEVEL, "residuals", releases),
        (Bug.VARIANCE, "residuals", releases),
        (Bug.SHARED_NODES, "transcripts", transcripts),
        (Bug.SHARED_NODES, "draws", hygiene.draws_are_distinct),
        (Bug.SHARED_CELLS, "draws", hygiene.draws_are_distinct),
        (Bug.SKIPPED, "residuals", releases),
        (Bug.TRUNCATED, "draws", hygiene.draws_are_distinct),
        (Bug.WRAPPING, "overflow", hygiene.counts_do_not_overflow),
        (Bug.FLOAT, "small noise", low_bits.distribution_of_small_noise),
        (Bug.FLOAT, "parity", low_bits.parity_at_usual_noise),
        (Bug.SINGLE_PRECISION, "low bits", low_bits.low_bits_of_large_noise),
        (Bug.FRESH, "replay", hygiene.replay_is_equal),
        (Bug.FRESH, "transcripts", transcripts),
        (Bug.LAG, "residuals", releases),
        (Bug.LAG, "model", hygiene.model_equals_library),
        (Bug.HALF_EVEN, "small noise", low_bits.distribution_of_small_noise),
        (Bug.HALF_EVEN, "parity", low_bits.parity_at_usual_noise),
        (Bug.HALF_AWAY, "small noise", low_bits.distribution_of_small_noise),
        (Bug.NO_ID, "keys", hygiene.parameters_change_all_draws),
        (Bug.OLD_LEAF, "ends", ends_have_noise_of_their_own),
        (Bug.TWO_ENDS, "ends", ends_have_noise_of_their_own),
        (Bug.EARLY, "ends", ends_have_noise_of_their_own),
    )


def _leak_controls() -> Iterator[Control]:
    """Yield the controls of leaks outside of releases."""
    of_leaks: tuple[tuple[str, str, Callable[[str], Outcome]], ...] = (
        ("memory that grows with counts", "states", behaviour.states_are_alike),
        ("an item in an error", "canary", canary.canary_in_outputs),
    )
    if canary.MEMORY_CAN_BE_READ:
        of_leaks += (("an item that is kept", "memory", canary.canary_in_memory),)
    for leak, check, look in of_leaks:
        yield Control(
            leak,
            check,
            AREA_OF_CHECK[check],
            sound=partial(look, SOUND),
            planted=partial(look, LEAKY),
        )


def run_controls(
    planted: Iterable[Control], *, begun: Callable[[Control], None] = lambda _: None
) -> list[Finding]:
    """Run controls, one after the other.

    Args:
        planted: some or all of :func:`controls`.
        begun: called with each control before it runs.

    Returns:
        For each control the finding on the planted bug; passed if the bug was detected and the
        check raised no alarm without it.

    Example:
        >>> few = [control for control in controls() if control.check == "replay"]
        >>> [finding.passed for finding in run_controls(few)]
        [True]
    """
    found = []
    for control in planted:
        begun(control)
        sound, on_bug = control.run()
        detected = sound.passed and not on_bug.passed
        observed = on_bug.observed if sound.passed else f"alarm without the bug: {sound.observed}"
        found.append(
            Finding(
                check=on_bug.check,
                system=on_bug.system,
                case=on_bug.case,
                claim="the check raises an alarm",
                observed=observed,
                samples=on_bug.samples,
                seconds=on_bug.seconds,
                passed=detected,
                figures=on_bug.figures,
            )
        )
    return found
