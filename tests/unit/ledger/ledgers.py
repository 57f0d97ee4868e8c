"""Ledgers in a temporary directory, with a clock that tests set."""

from __future__ import annotations

import calendar
from dataclasses import dataclass, field
from pathlib import Path

import lazysketch as ls
from lazysketch.ledger.terms import Unit
from lazysketch.privacy.relations import Relation

DAY = 86_400.0
KEY = ls.Key.from_bytes(bytes(range(32)))


def instant(year: int, month: int = 1, day: int = 1) -> float:
    """Return the begin of a day, in seconds since 1970 UTC."""
    return float(calendar.timegm((year, month, day, 0, 0, 0)))


@dataclass
class Place:
    """The files of a ledger and the time of its clock."""

    folder: Path
    now: float = field(default_factory=lambda: instant(2026))

    @property
    def path(self) -> Path:
        """The ledger."""
        return self.folder / "people.db"

    @property
    def anchor(self) -> Path:
        """Its anchor."""
        return self.folder / "anchor"

    def create(
        self,
        *,
        epsilon: float = 4.0,
        delta: float = 1e-6,
        unit: Unit = "event",
        relation: Relation = "substitution",
        period: str | None = None,
    ) -> ls.Ledger:
        """Make the ledger."""
        return ls.Ledger.create(
            self.path,
            key=KEY,
            anchor=self.anchor,
            population="visitors",
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            period=period,
            clock=lambda: self.now,
        )

    def open(self, key: ls.Key = KEY, wait: float = 0.0) -> ls.Ledger:
        """Open the ledger again."""
        return ls.Ledger(self.path, key=key, anchor=self.anchor, wait=wait, clock=lambda: self.now)
