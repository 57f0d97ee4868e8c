"""The checks of a run, and the tables that they are run on.

A CI run has 137 findings and takes about a minute of one core. Each statistical check
has a false-alarm rate of at most 1e-7 (:mod:`lazysketch.audit.finding`), and a run of more than
:data:`lazysketch.audit.finding.MOST` = 200 checks is refused, so that correct code raises a
false alarm in at most one run of 50,000 (union bound).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from lazysketch.audit import behaviour, canary, hygiene, low_bits, residuals
from lazysketch.audit.adaptive import distinguish_adaptively
from lazysketch.audit.case import Case
from lazysketch.audit.check import AREAS, Check, of_library
from lazysketch.audit.claimed_noise import adaptive_delta
from lazysketch.audit.counts_suite import counts_checks
from lazysketch.audit.distinguisher import distinguish, distinguish_everywhere
from lazysketch.audit.ends import ends_have_noise_of_their_own
from lazysketch.audit.finding import Finding, Outcome, check_number
from lazysketch.audit.heavy_suite import heavy_checks
from lazysketch.audit.sensitivity import sensitivity_by_enumeration
from lazysketch.audit.service_suite import service_checks
from lazysketch.audit.system_under_test import Library, SystemUnderTest
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.specification.mechanisms import MechanismName
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
    "epsilon_at",
    "standard_checks",
    "wide_cases",
    "widened",
]

_CELLS = 8192  # of a table for tests of residuals: 10 % more noise gives p below 1e-25
_ENOUGH = 4096  # the same, for a table that the user described
_LIBRARY = Library()


def epsilon_at(mu: float, delta: float, depth: int) -> float:
    """Return the epsilon for which a sketch has this mu at a delta.

    Args:
        mu: distance in deviations.
        delta: privacy parameter.
        depth: rows of the sketch.

    Returns:
        Found by bisection.

    Example:
        >>> from lazysketch.audit.claimed_noise import multiplier
        >>> round(1 / multiplier(epsilon_at(3.0, 1e-6, 2), 1e-6, 2), 6)
        3.0
    """
    low, high = 1e-3, 90.0
    for _ in range(60):
        middle = (low + high) / 2
        enough = adaptive_delta(middle, mu, depth) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def wide_cases() -> Iterator[Case]:
    """Yield wide tables with every kind, schedule, mechanism and relation; not all combinations.

    Yields:
        Tables of 8192 cells.
    """
    width = _CELLS // 4
    lazy = RoundRobin(horizon=64 * width)
    combinations: tuple[tuple[CountKind, Schedule, MechanismName, Relation], ...] = (
        ("count-min", lazy, "tree", "substitution"),
        ("count-sketch", lazy, "tree", "substitution"),
        ("count-min", lazy, "haar", "zero-out"),
        ("count-sketch", lazy, "binary", "substitution"),
        ("count-min", RoundRobin(horizon=128 * width, period=2), "tree", "substitution"),
        ("count-sketch", Geometric(), "tree", "zero-out"),
        ("count-min", Geometric(), "haar", "substitution"),
        ("count-sketch", Punctual(horizon=64), "tree", "substitution"),
        ("count-min", Batch(horizon=64), "tree", "substitution"),
        ("count-min", Punctual(), "tree", "substitution"),
        ("count-sketch", Single(horizon=4096), "tree", "substitution"),
    )
    for kind, schedule, mechanism, relation in combinations:
        yield Case.of(kind, 4, width, schedule, relation=relation, mechanism=mechanism)
    yield Case.of("counters", 1, _CELLS, RoundRobin(horizon=64 * _CELLS))
    yield Case.of("counters", 1, _CELLS, Punctual(horizon=64))


def companion(case: Case) -> Case:
    """Return a small table with the same guarantee, for attacks that need thousands of tables.

    Args:
        case: a table of any size.

    Returns:
        At most 2 x 2 cells and eight pushes of each; events of weight 1.
    """
    return case.changed(
        depth=min(case.spec.depth, 2),
        width=2,
        schedule=RoundRobin(horizon=16),
        max_weight=1,
        max_events_per_user=1,
    )


def widened(case: Case) -> Case:
    """Return a table with the same guarantee and pushes, wide enough for tests of residuals.

    Args:
        case: a table of any size.

    Returns:
        The same case if it has 4096 cells; otherwise one with more columns.

    Example:
        >>> small = Case.of("count-min", 2, 4, RoundRobin(horizon=32))
        >>> widened(small).cells, widened(small).leaves == small.leaves
        (4096, True)
    """
    width = -(-_ENOUGH // case.spec.depth)
    if case.spec.width >= width:
        return case
    schedule = case.spec.schedule
    if isinstance(schedule, RoundRobin):
        horizon = case.leaves * width * schedule.period
        schedule = replace(schedule, horizon=horizon)
    return case.changed(width=width, schedule=schedule)


def checks_of(case: Case, *, trials: int = 6000) -> Iterator[Check]:
    """Yield the checks of one table: its residuals, its sensitivity, an attack on it.

    Args:
        case: the table.
        trials: tables per stream of the attack.

    Yields:
        Three checks.
    """
    small, wide = companion(case), widened(case)
    yield Check(
        "residuals",
        "distribution",
        str(wide),
        lambda system: residuals.check_releases(system, wide),
    )
    yield Check(
        "sensitivity",
        "sensitivity",
        str(small),
        lambda system: sensitivity_by_enumeration(system, small),
    )
    yield Check(
        "distinguisher",
        "distinguisher",
        str(small),
        lambda system: distinguish(system, small, trials=trials),
    )


def standard_checks() -> Iterator[Check]:
    """Yield the checks of every run, cheap ones first.

    Yields:
        Checks of all areas.
    """
    yield from _of_hygiene()
    yield from _of_low_bits()
    yield from _of_sensitivity()
    yield from _of_residuals()
    yield from _of_behaviour()
    yield from heavy_checks()
    yield from counts_checks()
    yield from service_checks()
    yield from _of_distinguishers()


def _of_hygiene() -> Iterator[Check]:
    base = str(hygiene.BASE)
    yield Check("model", "hygiene", "29 cases", of_library(hygiene.model_equals_library))
    yield Check("ids", "hygiene", base, of_library(hygiene.ids_cannot_be_chosen))
    yield Check("draws", "hygiene", base, hygiene.draws_are_distinct)
    yield Check("keys", "hygiene", base, hygiene.parameters_change_all_draws)
    yield Check("replay", "hygiene", "count-sketch 2 x 4", hygiene.replay_is_equal)
    yield Check("overflow", "hygiene", "count-sketch 1 x 1", hygiene.counts_do_not_overflow)
    yield Check("ends", "hygiene", "2 x 3, 7 schedules", ends_have_noise_of_their_own)


def _of_low_bits() -> Iterator[Check]:
    yield Check(
        "small noise", "low-bits", str(low_bits.SMALL), low_bits.distribution_of_small_noise
    )
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
    relations: tuple[Relation, ...] = ("substitution", "zero-out")
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch", "counters")
    for kind in kinds:
        for schedule in schedules:
            if kind == "counters" and schedule == schedules[1]:
                continue  # counters take the name of a schedule, and no period
            small = Case.of(kind, 1 if kind == "counters" else 2, 2, schedule)
            cases = [
                small.changed(relation=relation, mechanism=mechanism)
                for relation in relations
                for mechanism in ("tree", "haar", "binary")
            ]
            yield Check(
                "sensitivity",
                "sensitivity",
                f"{kind} {small.spec.depth} x 2, {schedule.name}, 2 relations x 3 mechanisms",
                partial(_worst_sensitivity, cases=cases),
            )
    endless = Case.of("count-sketch", 2, 2, Punctual())
    yield Check(
        "sensitivity",
        "sensitivity",
        "count-sketch 2 x 2, punctual without a horizon, 2 relations",
        partial(_worst_sensitivity, cases=[endless, endless.changed(relation="zero-out")]),
    )
    heavy = Case.of(
        "count-sketch", 1, 2, RoundRobin(horizon=14), max_weight=3, max_events_per_user=2
    )
    yield Check(
        "sensitivity",
        "sensitivity",
        f"{heavy}, weight 3, two events",
        lambda system: sensitivity_by_enumeration(system, heavy),
    )


def _worst_sensitivity(system: SystemUnderTest, cases: Sequence[Case]) -> Outcome:
    return _worst_of([sensitivity_by_enumeration(system, case) for case in cases])


def _worst_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The first failed outcome, else the one with the largest distance; samples of all."""
    worst = min(
        outcomes,
        key=lambda outcome: (outcome.passed, -(outcome.figures or {}).get("mu_attained", 0.0)),
    )
    return replace(worst, samples=sum(outcome.samples for outcome in outcomes))


def _of_residuals() -> Iterator[Check]:
    for case in wide_cases():
        yield Check(
            "residuals",
            "distribution",
            str(case),
            partial(residuals.check_releases, case=case),
        )
    wide = Case.of("count-min", 4, _CELLS // 4, RoundRobin(horizon=16 * _CELLS // 4))
    for case in (
        wide,
        wide.changed(mechanism="haar", kind="count-sketch"),
        wide.changed(mechanism="binary"),
        wide.changed(schedule=Geometric()),
        wide.changed(schedule=Punctual()),
    ):
        yield Check(
            "transcripts",
            "distribution",
            str(case),
            partial(residuals.check_transcripts, case=case),
        )
    yield Check(
        "release on disk",
        "distribution",
        str(wide),
        of_library(lambda: residuals.check_saved_release(wide)),
    )
    sketch = wide.changed(kind="count-sketch")
    yield Check(
        "command line",
        "distribution",
        str(sketch),
        of_library(lambda: residuals.check_command_line(sketch)),
    )


def _of_behaviour() -> Iterator[Check]:
    yield Check("states", "behaviour", "2 x 4096", of_library(behaviour.states_are_alike))
    yield Check("canary", "behaviour", "library and cli", of_library(canary.canary_in_outputs))
    if canary.MEMORY_CAN_BE_READ:
        yield Check("memory", "behaviour", "2 x 8", of_library(canary.canary_in_memory))


def _of_distinguishers() -> Iterator[Check]:
    """Attacks at (1, 1e-6), and at mu = 3, where errors are rare enough to show a wrong sigma."""
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    for kind in kinds:
        usual = Case.of(kind, 2, 2, RoundRobin(horizon=16))
        close = usual.changed(epsilon=epsilon_at(3.0, usual.spec.delta, usual.spec.depth))
        for case, trials in (
            (close, 3000),
            (close.changed(relation="zero-out", mechanism="haar"), 1000),
            (usual, 6000),
        ):
            yield Check(
                "distinguisher",
                "distinguisher",
                str(case),
                partial(distinguish, case=case, trials=trials),
            )
        # A bound is proven for noise multipliers that are not much below 1.
        moderate = usual.changed(epsilon=epsilon_at(1.5, usual.spec.delta, usual.spec.depth))
        yield Check(
            "adaptive",
            "distinguisher",
            str(moderate),
            partial(distinguish_adaptively, case=moderate, trials=1500),
        )
        yield Check(
            "sweep",
            "distinguisher",
            str(close),
            partial(distinguish_everywhere, case=close, trials=60),
        )


def audit(
    checks: Sequence[Check],
    *,
    system: SystemUnderTest = _LIBRARY,
    begun: Callable[[Check], None] = lambda _: None,
) -> list[Finding]:
    """Run checks, one after the other.

    Guarantee: correct code raises a false alarm with probability at most 1e-5.

    Args:
        checks: at most :data:`lazysketch.audit.finding.MOST`.
        system: the system under test.
        begun: called with each check before it runs.

    Returns:
        One finding per check.

    Raises:
        AssertionError: more checks than share the false-alarm rate.

    Example:
        >>> found = audit([check for check in standard_checks() if check.area == "low-bits"])
        >>> [finding.passed for finding in found]
        [True, True, True]
    """
    check_number(len(checks))
    found = []
    for check in checks:
        begun(check)
        found.append(check.of(system))
    return found
