"""Findings: the result of a check (a claim, a statistic and a verdict) and its false-alarm rate.

Every statistical check ends in one p-value, already multiplied by the number of tests that it
combines, and raises an alarm at or below :data:`ALARM`. A run has at most :data:`MOST` findings,
so by the union bound the probability of any false alarm in a run of correct code is at most
ALARM x MOST = 2e-5, five times below the promised 1e-4; independence is not assumed. Exact checks
(differences under one key, enumeration, equal bytes) have no false alarms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Final

__all__ = [
    "ALARM",
    "MOST",
    "Finding",
    "Outcome",
    "check_number",
    "exact_outcome",
    "statistical_outcome",
    "timed",
]

ALARM: Final = 1e-7
MOST: Final = 200


def check_number(checks: int) -> None:
    """Raise if the checks of a run are more than share its false-alarm rate.

    Args:
        checks: their number.

    Raises:
        AssertionError: more than :data:`MOST`.
    """
    if checks > MOST:
        raise AssertionError(f"checks: expected at most {MOST}, got {checks}")


@dataclass(frozen=True)
class Outcome:
    """The result of a check.

    Args:
        claim: what should hold, in words.
        observed: what was observed, in words and numbers.
        samples: number of independent values, or of cases tried.
        passed: whether the observation is consistent with the claim.
        figures: numbers for reports.
    """

    claim: str
    observed: str
    samples: int
    passed: bool
    figures: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Finding:
    """The result of one check of one system, timed.

    Args:
        check: name of the check.
        system: name of the system under test: the library, or a planted bug.
        case: the tables that were checked, in words.
        claim: what should hold.
        observed: what was observed.
        samples: number of independent values, or of cases tried.
        seconds: wall-clock time.
        passed: whether the observation is consistent with the claim.
        figures: numbers for reports.
    """

    check: str
    system: str
    case: str
    claim: str
    observed: str
    samples: int
    seconds: float
    passed: bool
    figures: Mapping[str, float]

    def row(self) -> dict[str, object]:
        """Return the finding as one flat mapping."""
        flat = asdict(self)
        flat.update(flat.pop("figures"))
        return flat


def timed(check: str, *, system: str, case: str, run: Callable[[], Outcome]) -> Finding:
    """Run a check and return its finding.

    Args:
        check: name of the check.
        system: name of the system under test.
        case: the tables that are checked, in words.
        run: the check.

    Returns:
        The finding.
    """
    begin = time.perf_counter()
    outcome = run()
    return Finding(
        check=check,
        system=system,
        case=case,
        claim=outcome.claim,
        observed=outcome.observed,
        samples=outcome.samples,
        seconds=time.perf_counter() - begin,
        passed=outcome.passed,
        figures=dict(outcome.figures or {}),
    )


def statistical_outcome(
    claim: str, p_values: Iterator[tuple[str, float]], *, samples: int
) -> Outcome:
    """Return the outcome of several tests that should all pass, by the smallest p-value.

    False-alarm rate: at most :data:`ALARM` (union bound: the smallest p-value times the number
    of tests).

    Args:
        claim: what should hold.
        p_values: name and p-value of each test; all of them are computed.
        samples: number of independent values that were tested.

    Returns:
        Failed at or below :data:`ALARM`.
    """
    found = sorted((p_value, name) for name, p_value in p_values)
    p_value, name = found[0]
    p_value = min(1.0, p_value * len(found))
    return Outcome(
        claim=claim,
        observed=f"p = {p_value:.2g} over {len(found)} tests; smallest: {name}",
        samples=samples,
        passed=p_value > ALARM,
        figures={"p_value": p_value},
    )


def exact_outcome(claim: str, failures: Iterator[str], *, cases: int) -> Outcome:
    """Return the outcome of a check without chance.

    Args:
        claim: what should hold.
        failures: a description of each failure.
        cases: number of cases tried.

    Returns:
        Failed if there is a failure; the first one is described.
    """
    wrong = list(failures)
    observed = f"{wrong[0]} ({len(wrong)} of {cases} cases)" if wrong else f"{cases} cases agree"
    return Outcome(claim=claim, observed=observed, samples=cases, passed=not wrong)
