"""Negative controls: every planted bug, the check that must catch it, and the proof that it does.

A control passes if its check raises an alarm on the planted bug and none on the same model without
one. What a bug leaves to chance (sigma wrong by 10 %) is caught with a probability above
1 - 1e-9: the p-values lie below 1e-15 where the alarm is at 1e-7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lazysketch.audit import behaviour, hygiene, low_bits, residuals
from lazysketch.audit.configuration import Configuration
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.finding import Finding, Outcome, timed
from lazysketch.audit.model import Bug, Model
from lazysketch.audit.sensitivity import sensitivity_by_enumeration
from lazysketch.audit.suite import epsilon_at, standard_checks
from lazysketch.audit.system_under_test import Subject
from lazysketch.specification.schedules import RoundRobin

__all__ = ["Control", "controls", "run_controls"]

_WIDE = Configuration("count-min", 4, 2048, RoundRobin(horizon=16 * 2048), mechanism="haar")
_SMALL = Configuration("count-sketch", 2, 2, RoundRobin(horizon=16), mechanism="haar")
_TALKATIVE = "planted: talkative"
_AREAS = {check.name: check.area for check in standard_checks()} | {"memory": "behaviour"}


@dataclass(frozen=True)
class Control:
    """A planted bug and a check that must not let it pass.

    Args:
        bug: what is planted.
        check: name of the check, as in a run.
        area: the part of the audit that the check belongs to.
        sound: the check on something without the bug.
        planted: the same check on the bug.
    """

    bug: str
    check: str
    area: str
    sound: Callable[[], Outcome]
    planted: Callable[[], Outcome]

    def run(self) -> tuple[Finding, Finding]:
        """Return what the check finds without the bug and with it."""
        return (
            timed(self.check, subject="model without a bug", configuration="", run=self.sound),
            timed(self.check, subject=f"planted: {self.bug}", configuration="", run=self.planted),
        )


def controls() -> Iterator[Control]:
    """Yield a control for every planted bug; some bugs must be caught twice.

    Yields:
        Controls, in the order of :class:`lazysketch.audit.model.Bug`.
    """
    close = Configuration(
        "count-sketch",
        2,
        2,
        RoundRobin(horizon=16),
        epsilon=epsilon_at(3.0, 1e-6),
        mechanism="haar",
    )

    def law(subject: Subject) -> Outcome:
        return residuals.law_of_releases(subject, _WIDE)

    def transcripts(subject: Subject) -> Outcome:
        return residuals.law_of_transcripts(subject, _WIDE)

    def sensitivity(subject: Subject) -> Outcome:
        return sensitivity_by_enumeration(subject, _SMALL)

    def distinguisher(subject: Subject) -> Outcome:
        return distinguish(subject, close, trials=1000)

    caught_by: tuple[tuple[Bug, str, Callable[[Subject], Outcome]], ...] = (
        (Bug.SMALL_SIGMA, "residual law", law),
        (Bug.LARGE_SIGMA, "residual law", law),
        (Bug.HALF_SENSITIVITY, "sensitivity", sensitivity),
        (Bug.HALF_SENSITIVITY, "distinguisher", distinguisher),
        (Bug.LEVEL, "sensitivity", sensitivity),
        (Bug.LEVEL, "residual law", law),
        (Bug.VARIANCE, "residual law", law),
        (Bug.SHARED_NODES, "transcripts", transcripts),
        (Bug.SHARED_NODES, "draws", hygiene.no_draw_twice),
        (Bug.SHARED_CELLS, "draws", hygiene.no_draw_twice),
        (Bug.SKIPPED, "residual law", law),
        (Bug.TRUNCATED, "draws", hygiene.no_draw_twice),
        (Bug.WRAPPING, "overflow", hygiene.no_count_overflows),
        (Bug.FLOAT, "small noise", low_bits.law_of_small_noise),
        (Bug.FLOAT, "parity", low_bits.parity_at_usual_noise),
        (Bug.SINGLE_PRECISION, "low bits", low_bits.low_bits_of_large_noise),
        (Bug.FRESH, "replay", hygiene.replay_repeats),
        (Bug.FRESH, "transcripts", transcripts),
        (Bug.LAG, "residual law", law),
        (Bug.LAG, "model", hygiene.model_equals_library),
        (Bug.HALF_EVEN, "small noise", low_bits.law_of_small_noise),
        (Bug.HALF_EVEN, "parity", low_bits.parity_at_usual_noise),
        (Bug.HALF_AWAY, "small noise", low_bits.law_of_small_noise),
        (Bug.NO_ID, "keys", hygiene.parameters_change_all_draws),
    )
    for bug, check, run in caught_by:
        yield Control(
            bug.value,
            check,
            _AREAS[check],
            sound=lambda run=run: run(Model()),  # type: ignore[misc]
            planted=lambda run=run, bug=bug: run(Model(bug)),  # type: ignore[misc]
        )
    talking: tuple[tuple[str, str, Callable[..., Outcome]], ...] = (
        ("memory that grows with counts", "states", behaviour.empty_and_saturated_alike),
        ("an item in an error", "canary", behaviour.canary_in_outputs),
    )
    if behaviour.MEMORY_CAN_BE_READ:
        talking += (("an item that is kept", "memory", behaviour.canary_in_memory),)
    for planted, check, look in talking:
        yield Control(
            planted,
            check,
            _AREAS[check],
            sound=look,
            planted=lambda look=look: look(_TALKATIVE),  # type: ignore[misc]
        )


def run_controls(
    planted: Iterable[Control], *, begun: Callable[[Control], None] = lambda _: None
) -> list[Finding]:
    """Run controls, one after the other.

    Args:
        planted: some or all of :func:`controls`.
        begun: called with each control before it runs.

    Returns:
        For each the finding on the planted bug, passed if it was caught and the check without
        the bug raised no alarm.

    Example:
        >>> few = [control for control in controls() if control.check == "replay"]
        >>> [finding.passed for finding in run_controls(few)]
        [True]
    """
    found = []
    for control in planted:
        begun(control)
        sound, on_bug = control.run()
        caught = sound.passed and not on_bug.passed
        observed = on_bug.observed if sound.passed else f"alarm without the bug: {sound.observed}"
        found.append(
            Finding(
                check=on_bug.check,
                subject=on_bug.subject,
                configuration=on_bug.configuration,
                claim="the check raises an alarm",
                observed=observed,
                samples=on_bug.samples,
                seconds=on_bug.seconds,
                passed=caught,
                figures=on_bug.figures,
            )
        )
    return found
