"""What a check finds: a claim, a statistic, and whether it stands.

Every statistical check ends in one p-value, already multiplied by the number of laws that it
looked at, and raises an alarm at or below :data:`ALARM`. A run makes at most :data:`MOST`
findings, so that by the union bound the probability of any false alarm in a run of correct code
is at most ALARM x MOST = 1e-5, ten times below the 1e-4 that is promised; nothing is assumed about
independence. Exact checks (differences under one key, enumeration, equal bytes) have no false
alarms at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

__all__ = ["ALARM", "MOST", "Finding", "Outcome", "exact", "timed", "worst"]

ALARM: Final = 1e-7
MOST: Final = 100


@dataclass(frozen=True)
class Outcome:
    """What a check saw, before it was timed.

    Args:
        claim: what should hold, in words.
        observed: what was seen, in words and numbers.
        samples: how many independent values, or cases tried.
        passed: whether the claim stands.
        figures: numbers for reports.
    """

    claim: str
    observed: str
    samples: int
    passed: bool
    figures: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Finding:
    """One check of one subject.

    Args:
        check: name of the check.
        subject: what was checked: the library, or a planted bug.
        configuration: parameters, in words.
        claim: what should hold.
        observed: what was seen.
        samples: independent values, or cases tried.
        seconds: wall-clock time.
        passed: whether the claim stands.
        figures: numbers for reports.
    """

    check: str
    subject: str
    configuration: str
    claim: str
    observed: str
    samples: int
    seconds: float
    passed: bool
    figures: Mapping[str, float]

    def row(self) -> dict[str, Any]:
        """Return the finding as one flat mapping."""
        flat = asdict(self)
        flat.update(flat.pop("figures"))
        return flat


def timed(check: str, *, subject: str, configuration: str, run: Callable[[], Outcome]) -> Finding:
    """Run a check and return what it found.

    Args:
        check: its name.
        subject: what is checked.
        configuration: parameters, in words.
        run: the check.

    Returns:
        The finding.
    """
    begin = time.perf_counter()
    outcome = run()
    return Finding(
        check=check,
        subject=subject,
        configuration=configuration,
        claim=outcome.claim,
        observed=outcome.observed,
        samples=outcome.samples,
        seconds=time.perf_counter() - begin,
        passed=outcome.passed,
        figures=dict(outcome.figures or {}),
    )


def worst(claim: str, p_values: Iterator[tuple[str, float]], *, samples: int) -> Outcome:
    """Return the outcome of several laws that should all hold, by the least likely of them.

    False-alarm rate: at most :data:`ALARM` (union bound: the smallest p-value times their
    number).

    Args:
        claim: what should hold.
        p_values: name and p-value of each law; all of them are computed.
        samples: independent values behind them.

    Returns:
        Failed at or below :data:`ALARM`.
    """
    found = sorted((p_value, name) for name, p_value in p_values)
    p_value, name = found[0]
    p_value = min(1.0, p_value * len(found))
    return Outcome(
        claim=claim,
        observed=f"p = {p_value:.2g} over {len(found)} laws, the least likely: {name}",
        samples=samples,
        passed=p_value > ALARM,
        figures={"p_value": p_value},
    )


def exact(claim: str, failures: Iterator[str], *, cases: int) -> Outcome:
    """Return the outcome of cases without chance.

    Args:
        claim: what should hold.
        failures: what is wrong in each case that fails.
        cases: how many were tried.

    Returns:
        Failed if there is a failure; the first is told.
    """
    wrong = list(failures)
    observed = f"{wrong[0]} ({len(wrong)} of {cases} cases)" if wrong else f"{cases} cases agree"
    return Outcome(claim=claim, observed=observed, samples=cases, passed=not wrong)
