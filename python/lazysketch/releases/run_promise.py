"""What a run promised in total: the counts of all its tables, and the names.

The noise of one table says what that table promises. Heavy hitters publish names too, and a
hierarchy has a table per level: a release of one of them carries the promise of the whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart, sum_up

__all__ = ["RunFacts", "RunPromise", "Together", "facts_of"]

# Depth, and epsilon, delta, sigma, l2_sensitivity, epsilon and delta of names (0 without names).
TableFacts: TypeAlias = tuple[int, tuple[float, float, float, float, float, float]]
RunFacts: TypeAlias = tuple[bytes, float, float, Sequence[TableFacts]]


class Together(Protocol):
    """The guarantee of several mechanisms as one pair."""

    @property
    def epsilon(self) -> float:
        """Epsilon of all together."""

    @property
    def delta(self) -> float:
        """Delta of all together."""

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The counts of each table, followed by its names if it has discovery."""


@dataclass(frozen=True)
class RunPromise:
    """The guarantee of everything that one run published.

    Guarantee: (``epsilon``, ``delta``)-DP for the relation of its tables. All releases of one run
    carry the same promise, which counts once.

    Attributes:
        id: 16 bytes, the same in all releases of the run.
        epsilon: epsilon of all counts and names together.
        delta: delta of all counts and names together.
        parts_to_compose: the counts of each table, followed by its names if it has discovery.
    """

    id: bytes
    epsilon: float
    delta: float
    parts_to_compose: tuple[Privacy | PlainPart, ...]

    @property
    def counts(self) -> tuple[Privacy, ...]:
        """The guarantee of the counts of each table."""
        return tuple(part for part in self.parts_to_compose if isinstance(part, Privacy))

    @property
    def names(self) -> tuple[PlainPart, ...]:
        """The guarantee of the names of each table that has discovery."""
        return tuple(part for part in self.parts_to_compose if isinstance(part, PlainPart))

    @classmethod
    def read(cls, facts: RunFacts, own: Privacy) -> RunPromise:
        """Return the promise that a release has.

        Args:
            facts: as the core reads them.
            own: guarantee of the table of the release, with the relation, the weights and the
                people of all tables of the run.

        Returns:
            The promise.
        """
        run_id, epsilon, delta, tables = facts
        return cls(run_id, epsilon, delta, tuple(_mechanisms(tables, own)))

    def __str__(self) -> str:
        """Return the guarantee in one line."""
        first = self.counts[0]
        if not first.private:
            return str(first)
        _, _, scope = str(first).partition("-DP ")
        line = f"({self.epsilon:g}, {self.delta:g})-DP {scope}"
        if len(self.counts) > 1:
            line += f", {len(self.counts)} tables together"
        if self.names:
            epsilon = sum_up(part.epsilon for part in self.names)
            delta = sum_up(part.delta for part in self.names)
            line += f", of which ({epsilon:.4g}, {delta:.4g}) for names"
        return line


def facts_of(run_id: bytes, whole: Together) -> RunFacts | None:
    """Return what a release says of its run; None if that is its own table alone.

    Args:
        run_id: 16 bytes, the same for all tables of the run.
        whole: guarantee of everything that the run publishes.
    """
    tables: list[TableFacts] = []
    for part in whole.parts_to_compose:
        if isinstance(part, Privacy):
            numbers = (part.epsilon, part.delta, part.sigma, part.l2_sensitivity, 0.0, 0.0)
            tables.append((part.depth, numbers))
        else:
            depth, (epsilon, delta, sigma, l2_sensitivity, _, _) = tables.pop()
            names = (part.epsilon, part.delta)
            tables.append((depth, (epsilon, delta, sigma, l2_sensitivity, *names)))
    if len(tables) == 1 and len(whole.parts_to_compose) == 1:
        return None
    return run_id, whole.epsilon, whole.delta, tables


def _mechanisms(tables: Iterable[TableFacts], own: Privacy) -> Iterable[Privacy | PlainPart]:
    for depth, (epsilon, delta, sigma, l2_sensitivity, names_epsilon, names_delta) in tables:
        yield replace(
            own,
            epsilon=epsilon,
            delta=delta,
            sigma=sigma,
            noise_multiplier=math.nextafter(sigma / l2_sensitivity, 0.0),
            l2_sensitivity=l2_sensitivity,
            depth=depth,
        )
        if names_epsilon:
            yield PlainPart(names_epsilon, names_delta)
