"""The run: which checks, on which configurations, at which cost.

A CI-size run makes some 60 findings in about 25 seconds on one core. Each statistical one has a
false-alarm rate of at most 1e-7 (:mod:`lazysketch.audit.finding`), and a run of more than
:data:`lazysketch.audit.finding.MOST` = 100 findings is refused, so that correct code raises a
false alarm in at most one run of 100,000 (union bound).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lazysketch.audit import behaviour, hygiene, low_bits, residuals
from lazysketch.audit.claims import multiplier
from lazysketch.audit.configuration import Configuration
from lazysketch.audit.distinguisher import distinguish, distinguish_everywhere
from lazysketch.audit.finding import MOST, Finding, Outcome, timed
from lazysketch.audit.sensitivity import sensitivity_by_enumeration
from lazysketch.audit.system_under_test import Library, Subject
from lazysketch.specification.schedules import (
    Batch,
    Geometric,
    Punctual,
    RoundRobin,
    Schedule,
    Single,
)

__all__ = [
    "AREAS",
    "Check",
    "audit",
    "checks_of",
    "companion",
    "configurations",
    "epsilon_at",
    "standard_checks",
    "widened",
]

AREAS: Final = (
    "law",
    "sensitivity",
    "distinguisher",
    "low-bits",
    "hygiene",
    "behaviour",
)
_CELLS = 8192  # of a table whose law is looked at: 10 % more noise leaves p below 1e-25
_ENOUGH = 4096  # cells of a table that the user described
_LIBRARY = Library()


@dataclass(frozen=True)
class Check:
    """One check that can be run.

    Args:
        name: what it is called.
        area: one of :data:`AREAS`.
        configuration: what it looks at, in words.
        run: the check, given what makes the tables.
    """

    name: str
    area: str
    configuration: str
    run: Callable[[Subject], Outcome]

    def of(self, subject: Subject) -> Finding:
        """Run it.

        Args:
            subject: what makes the tables.

        Returns:
            What it found, timed.
        """
        return timed(
            self.name,
            subject=subject.name,
            configuration=self.configuration,
            run=lambda: self.run(subject),
        )


def epsilon_at(mu: float, delta: float) -> float:
    """Return the epsilon that mu is worth at a delta, to configure a sketch for this mu.

    Args:
        mu: distance in deviations.
        delta: privacy parameter.

    Returns:
        By bisection.

    Example:
        >>> round(1 / multiplier(epsilon_at(3.0, 1e-6), 1e-6), 6)
        3.0
    """
    low, high = 1e-3, 90.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / multiplier(middle, delta) < mu else (low, middle)
    return high


def configurations() -> Iterator[Configuration]:
    """Yield wide tables of every kind, schedule, mechanism and relation; not all combinations.

    Yields:
        Tables of 8192 cells.
    """
    width = _CELLS // 4
    lazy = RoundRobin(horizon=64 * width)
    cases: tuple[tuple[str, Schedule, str, str], ...] = (
        ("count-min", lazy, "tree", "substitution"),
        ("count-sketch", lazy, "tree", "substitution"),
        ("count-min", lazy, "haar", "zero-out"),
        ("count-sketch", lazy, "binary", "substitution"),
        ("count-min", RoundRobin(horizon=128 * width, period=2), "tree", "substitution"),
        ("count-sketch", Geometric(), "tree", "zero-out"),
        ("count-min", Geometric(), "haar", "substitution"),
        ("count-sketch", Punctual(horizon=64), "tree", "substitution"),
        ("count-min", Batch(horizon=64), "tree", "substitution"),
        ("count-sketch", Single(horizon=4096), "tree", "substitution"),
    )
    for kind, schedule, mechanism, relation in cases:
        yield Configuration(
            kind, 4, width, schedule, relation=relation, mechanism=mechanism, epsilon=1.0
        )
    for counted in (RoundRobin(horizon=64 * _CELLS), Punctual(horizon=64)):
        yield Configuration("counters", 1, _CELLS, counted)


def companion(configuration: Configuration) -> Configuration:
    """Return the small table with the same promise, for attacks that need thousands of tables.

    Args:
        configuration: of any size.

    Returns:
        At most 2 x 2 cells and eight pushes of each; events of weight 1.
    """
    return replace(
        configuration,
        depth=min(configuration.depth, 2),
        width=2,
        schedule=RoundRobin(horizon=16),
        max_weight=1,
        max_events_per_user=1,
    )


def widened(configuration: Configuration) -> Configuration:
    """Return a table with the same rows, schedule, pushes and promise, and cells enough for a law.

    Args:
        configuration: of any size.

    Returns:
        The same, if it has 4096 cells; else one that is wider.

    Example:
        >>> small = Configuration("count-min", 2, 4, RoundRobin(horizon=32))
        >>> widened(small).cells, widened(small).leaves == small.leaves
        (4096, True)
    """
    width = -(-_ENOUGH // configuration.depth)
    if configuration.width >= width:
        return configuration
    schedule = configuration.schedule
    if isinstance(schedule, RoundRobin):
        horizon = configuration.leaves * width * schedule.period
        schedule = replace(schedule, horizon=horizon)
    return replace(configuration, width=width, schedule=schedule)


def checks_of(configuration: Configuration, *, trials: int = 6000) -> Iterator[Check]:
    """Yield what can be said of one configuration: its law, its sensitivity, an attack on it.

    Args:
        configuration: what is audited.
        trials: tables per stream of the attack.

    Yields:
        Three checks.
    """
    small, wide = companion(configuration), widened(configuration)
    yield Check(
        "residual law",
        "law",
        str(wide),
        lambda subject: residuals.law_of_releases(subject, wide),
    )
    yield Check(
        "sensitivity",
        "sensitivity",
        str(small),
        lambda subject: sensitivity_by_enumeration(subject, small),
    )
    yield Check(
        "distinguisher",
        "distinguisher",
        str(small),
        lambda subject: distinguish(subject, small, trials=trials),
    )


def standard_checks() -> Iterator[Check]:
    """Yield the checks of every run, cheap ones first.

    Yields:
        Checks of all areas.
    """
    yield from _of_hygiene()
    yield from _of_low_bits()
    yield from _of_sensitivity()
    yield from _of_laws()
    yield from _of_behaviour()
    yield from _of_distinguishers()


def _of_hygiene() -> Iterator[Check]:
    base = str(hygiene.BASE)
    yield Check("model", "hygiene", "27 configurations", _library(hygiene.model_equals_library))
    yield Check("ids", "hygiene", base, _library(hygiene.ids_cannot_be_chosen))
    yield Check("draws", "hygiene", base, hygiene.no_draw_twice)
    yield Check("keys", "hygiene", base, hygiene.parameters_change_all_draws)
    yield Check("replay", "hygiene", "count-sketch 2 x 4", hygiene.replay_repeats)
    yield Check("overflow", "hygiene", "count-sketch 1 x 1", hygiene.no_count_overflows)


def _of_low_bits() -> Iterator[Check]:
    yield Check("small noise", "low-bits", str(low_bits.SMALL), low_bits.law_of_small_noise)
    yield Check("parity", "low-bits", str(low_bits.USUAL), low_bits.parity_at_usual_noise)
    yield Check("low bits", "low-bits", str(low_bits.LARGE), low_bits.low_bits_of_large_noise)


def _of_sensitivity() -> Iterator[Check]:
    schedules: tuple[Schedule, ...] = (
        RoundRobin(horizon=14),
        RoundRobin(horizon=14, period=2),
        Geometric(),
        Punctual(horizon=8),
        Batch(horizon=8),
        Single(horizon=8),
    )
    for kind in ("count-min", "count-sketch", "counters"):
        for schedule in schedules:
            if kind == "counters" and schedule == schedules[1]:
                continue  # counters are made by the name of a schedule, without a period
            small = Configuration(kind, 1 if kind == "counters" else 2, 2, schedule)
            cases = [
                replace(small, relation=relation, mechanism=mechanism)
                for relation in ("substitution", "zero-out")
                for mechanism in ("tree", "haar", "binary")
            ]
            yield Check(
                "sensitivity",
                "sensitivity",
                f"{kind} {small.depth} x 2, {schedule.name}, 2 relations x 3 mechanisms",
                lambda subject, cases=cases: _worst_of(  # type: ignore[misc]
                    [sensitivity_by_enumeration(subject, case) for case in cases]
                ),
            )
    heavy = Configuration(
        "count-sketch", 1, 2, RoundRobin(horizon=14), max_weight=3, max_events_per_user=2
    )
    yield Check(
        "sensitivity",
        "sensitivity",
        f"{heavy}, weight 3, two events",
        lambda subject: sensitivity_by_enumeration(subject, heavy),
    )


def _worst_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The first that failed, else the one with the largest distance; samples of all."""
    told = min(
        outcomes,
        key=lambda outcome: (outcome.passed, -(outcome.figures or {}).get("mu_attained", 0.0)),
    )
    return replace(told, samples=sum(outcome.samples for outcome in outcomes))


def _of_laws() -> Iterator[Check]:
    for configuration in configurations():
        yield Check(
            "residual law",
            "law",
            str(configuration),
            lambda subject, of=configuration: residuals.law_of_releases(subject, of),  # type: ignore[misc]
        )
    wide = Configuration("count-min", 4, _CELLS // 4, RoundRobin(horizon=16 * _CELLS // 4))
    for configuration in (
        wide,
        replace(wide, mechanism="haar", kind="count-sketch"),
        replace(wide, mechanism="binary"),
        replace(wide, schedule=Geometric()),
    ):
        yield Check(
            "transcripts",
            "law",
            str(configuration),
            lambda subject, of=configuration: residuals.law_of_transcripts(subject, of),  # type: ignore[misc]
        )
    yield Check(
        "release on disk", "law", str(wide), _library(lambda: residuals.law_through_the_disk(wide))
    )
    sketch = replace(wide, kind="count-sketch")
    yield Check(
        "command line",
        "law",
        str(sketch),
        _library(lambda: residuals.law_through_the_command_line(sketch)),
    )


def _of_behaviour() -> Iterator[Check]:
    yield Check("states", "behaviour", "2 x 4096", _library(behaviour.empty_and_saturated_alike))
    yield Check("canary", "behaviour", "library and cli", _library(behaviour.canary_in_outputs))
    if behaviour.MEMORY_CAN_BE_READ:
        yield Check("memory", "behaviour", "2 x 8", _library(behaviour.canary_in_memory))


def _of_distinguishers() -> Iterator[Check]:
    """At mu = 3, where mistakes are rare enough to see a wrong sensitivity, and in production."""
    for kind in ("count-min", "count-sketch"):
        usual = Configuration(kind, 2, 2, RoundRobin(horizon=16))
        close = replace(usual, epsilon=epsilon_at(3.0, usual.delta))
        for configuration, trials in (
            (close, 3000),
            (replace(close, relation="zero-out", mechanism="haar"), 1000),
            (usual, 6000),
        ):
            yield Check(
                "distinguisher",
                "distinguisher",
                str(configuration),
                lambda subject, of=configuration, n=trials: distinguish(subject, of, trials=n),  # type: ignore[misc]
            )
        yield Check(
            "sweep",
            "distinguisher",
            str(close),
            lambda subject, of=close: distinguish_everywhere(subject, of, trials=60),  # type: ignore[misc]
        )


def _library(run: Callable[[], Outcome]) -> Callable[[Subject], Outcome]:
    """A check of the library alone: its faces and processes, not what makes tables."""
    return lambda _: run()


def audit(
    checks: Sequence[Check],
    *,
    subject: Subject = _LIBRARY,
    begun: Callable[[Check], None] = lambda _: None,
) -> list[Finding]:
    """Run checks, one after the other.

    Guarantee: correct code raises a false alarm with probability at most 1e-5.

    Args:
        checks: at most :data:`lazysketch.audit.finding.MOST`.
        subject: what makes the tables.
        begun: called with each check before it runs.

    Returns:
        A finding for each.

    Raises:
        AssertionError: more checks than the false-alarm rate is shared by.

    Example:
        >>> found = audit([check for check in standard_checks() if check.area == "low-bits"])
        >>> [finding.passed for finding in found]
        [True, True, True]
    """
    if len(checks) > MOST:
        raise AssertionError(f"checks: expected at most {MOST}, got {len(checks)}")
    found = []
    for check in checks:
        begun(check)
        found.append(check.of(subject))
    return found
