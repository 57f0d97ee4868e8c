"""One negative control: a planted bug and the check that must detect it.

Several bugs are looked for by the same check. Without a bug the check gives one answer for all of
them, so it runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from typing import Final, TypeVar

from lazysketch.audit.finding import Finding, Outcome, timed
from lazysketch.audit.suite import standard_checks

__all__ = ["AREA_OF_CHECK", "Control", "controls_of_model"]

AREA_OF_CHECK: Final = {check.name: check.area for check in standard_checks()} | {
    "memory": "behaviour"
}

_Bug = TypeVar("_Bug", bound=Enum)
_System = TypeVar("_System")


@dataclass(frozen=True)
class Control:
    """A planted bug and the check that must detect it.

    Args:
        bug: description of the bug.
        check: name of the check, as in a run.
        area: the part of the audit that the check belongs to.
        sound: the check of a system without the bug.
        planted: the same check of the system with the bug.
    """

    bug: str
    check: str
    area: str
    sound: Callable[[], Outcome]
    planted: Callable[[], Outcome]

    def run(self) -> tuple[Finding, Finding]:
        """Return the findings of the check without the bug and with it."""
        return (
            timed(self.check, system="model without a bug", case="", run=self.sound),
            timed(self.check, system=f"planted: {self.bug}", case="", run=self.planted),
        )


def controls_of_model(
    detected: Iterable[tuple[_Bug, str, Callable[[_System], Outcome]]],
    model: Callable[[_Bug | None], _System],
) -> Iterator[Control]:
    """Yield a control for each bug that can be planted in a model.

    Args:
        detected: each bug, the name of the check that must detect it, and the check.
        model: makes a system with a bug, or one without.
    """
    sound: dict[Callable[[_System], Outcome], Callable[[], Outcome]] = {}
    for bug, check, run in detected:
        if run not in sound:
            sound[run] = cache(partial(run, model(None)))
        yield Control(
            str(bug.value), check, AREA_OF_CHECK[check], sound[run], partial(run, model(bug))
        )
