"""One check of a run, and the areas that checks belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lazysketch.audit.finding import Finding, Outcome, timed
from lazysketch.audit.system_under_test import SystemUnderTest

__all__ = ["AREAS", "Check", "of_library"]

AREAS: Final = (
    "distribution",
    "sensitivity",
    "distinguisher",
    "low-bits",
    "hygiene",
    "behaviour",
    "discovery",
    "windows",
    "hierarchies",
    "releases",
    "people",
    "distinct",
    "values",
    "ranges",
    "sums",
    "service",
)


@dataclass(frozen=True)
class Check:
    """One check that can be run.

    Args:
        name: name of the check.
        area: one of :data:`AREAS`.
        case: the tables that it checks, in words.
        run: the check, of a system under test.
    """

    name: str
    area: str
    case: str
    run: Callable[[SystemUnderTest], Outcome]

    def of(self, system: SystemUnderTest) -> Finding:
        """Run the check.

        Args:
            system: the system under test.

        Returns:
            The finding.
        """
        return timed(
            self.name,
            system=system.name,
            case=self.case,
            run=lambda: self.run(system),
        )


def of_library(run: Callable[[], Outcome]) -> Callable[[SystemUnderTest], Outcome]:
    """Return a check of the library that does not use the system under test.

    Args:
        run: the check.

    Returns:
        The check as a function of a system.
    """
    return lambda _: run()
