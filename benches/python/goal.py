"""A goal: a limit on figures of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from .measuring import Results, figure


class Judged(TypedDict):
    """A goal, the worst value found, and whether it meets the limit; None if not measured."""

    goal: str
    limit: float
    found: float | None
    met: bool | None


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A limit on values that ``found`` takes from the results; the worst value counts."""

    text: str
    limit: float
    at_most: bool
    found: Callable[[Results], list[float]]

    def row(self, results: Results) -> Judged:
        """Judge the results of one run."""
        try:
            values = self.found(results)
        except LookupError:
            values = []
        if not values:
            return {"goal": self.text, "limit": self.limit, "found": None, "met": None}
        worst = max(values) if self.at_most else min(values)
        met = worst <= self.limit if self.at_most else worst >= self.limit
        return {"goal": self.text, "limit": self.limit, "found": worst, "met": met}


def value(results: Results, field: str, **facts: str | float) -> float:
    """Return one figure of the result with these facts; raise LookupError if there is none."""
    for row in results:
        if facts.items() <= row.items():
            return figure(row, field)
    raise LookupError(str(facts))


def at_most(text: str, limit: float, found: Callable[[Results], list[float]]) -> Goal:
    return Goal(text=text, limit=limit, at_most=True, found=found)


def at_least(text: str, limit: float, found: Callable[[Results], list[float]]) -> Goal:
    return Goal(text=text, limit=limit, at_most=False, found=found)
