"""What the runs of a period have spent of a cap, and whether one more fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lazysketch.ledger.entries import Entry
from lazysketch.ledger.terms import Terms
from lazysketch.privacy.charges import Charge, total_of

__all__ = ["Spending", "spending_at"]

_NOTHING: Final = Charge(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_BY_SUMS: Final = ("epsilon", "pair_delta")
_BY_CHARGES: Final = ("mu_squared", "factor", "epsilon_numeric", "delta")
_WORDS: Final = {
    "mu_squared": "the sum of mu squared",
    "factor": "the sum of what integer noise costs",
    "epsilon_numeric": "the sum of epsilon for numerics, 2 % of the cap",
    "delta": "the sum of delta, half of the cap",
    "epsilon": "the sum of epsilon",
    "pair_delta": "the sum of delta",
}
_MOST_RUNS: Final = 10**6


@dataclass(frozen=True)
class Spending:
    """What was spent in a period.

    Guarantee: as long as no run that does not :meth:`admit` was started, everything that the runs
    publish is within the cap, for the unit in this period.

    Attributes:
        terms: the terms of the ledger.
        runs: those that were charged in the period, or before it and not closed.
        carried: how many of them were open when the period began.
        begin: when the period begins, in seconds since 1970 UTC; None for one for ever.
    """

    terms: Terms
    runs: tuple[Entry, ...]
    carried: int = 0
    begin: float | None = None

    @cached_property
    def total(self) -> Charge:
        """The sum of the charges."""
        return total_of(run.charge for run in self.runs) if self.runs else _NOTHING

    @property
    def epsilon(self) -> float:
        """Epsilon of all runs together at the delta of the cap; 0 for none.

        The cap holds also for parameters that follow from earlier results; this figure is that of
        parameters that were fixed in advance.
        """
        return self.total.epsilon_at(self.terms.delta) if self.runs else 0.0

    @property
    def share(self) -> float:
        """The part of the cap that is spent, of what it runs out of first; 1 for all."""
        return max(self._shares(self.total).values())

    @cached_property
    def by_sums(self) -> bool:
        """Whether epsilons and deltas are added, instead of mu squared.

        What was there first decides: the runs that were open when the period began, or else the
        first one. Its parameters depend on nothing that is counted in the period.
        """
        first = self.runs[: max(1, self.carried)]
        if not first:
            return False
        return not _within(total_of(run.charge for run in first), self.terms.bounds, _BY_CHARGES)

    def admits(self, charge: Charge) -> bool:
        """Return whether a run with this charge is within the cap.

        Args:
            charge: of the run.
        """
        return bool(self.rules_for(charge))

    def rules_for(self, charge: Charge) -> tuple[str, ...]:
        """Return the sums by which a run is within the cap; none if it is not.

        Args:
            charge: of the run.
        """
        together = total_of([self.total, charge])
        rules = [_BY_SUMS if self.by_sums else _BY_CHARGES]
        if not self.runs:
            rules.append(_BY_SUMS)
        bounds = self.terms.bounds
        return next((rule for rule in rules if _within(together, bounds, rule)), ())

    def more(self, charge: Charge) -> int:
        """Return how many more runs with this charge are within the cap.

        Args:
            charge: of each run.

        Returns:
            Their number, at most a million.
        """
        rule = self.rules_for(charge)
        bounds, total = self.terms.bounds, self.total
        rooms = [
            (getattr(bounds, name) - getattr(total, name)) / getattr(charge, name)
            for name in rule
            if getattr(charge, name) > 0.0
        ]
        return min([_MOST_RUNS, *(int(room * (1.0 + 1e-9)) for room in rooms)]) if rule else 0

    def refusal(self, charge: Charge) -> str:
        """Return why a run is not within the cap, with the numbers.

        Args:
            charge: of the run.
        """
        terms, bounds, total = self.terms, self.terms.bounds, self.total
        period = f" {self.named}" if self.begin is not None else ""
        short = "; ".join(self._short(name, charge) for name in self._exceeded(charge))
        figures = (
            f"asked {_figures(charge, by_sums=self.by_sums)}; "
            f"spent {_figures(total, by_sums=self.by_sums)} by {_runs(len(self.runs))}; "
            f"cap {_figures(bounds, by_sums=self.by_sums)}; "
            f"rest {_figures(_rest(bounds, total), by_sums=self.by_sums)}"
        )
        return (
            f"cap: refused, nothing was read: expected a run within ({terms.epsilon:g}, "
            f"{terms.delta:g})-DP per {terms.unit} for {terms.population}{period}, got one beyond "
            f"it{self._smaller(charge)}{self._until()}; {short}; {figures}"
        )

    def _exceeded(self, charge: Charge) -> list[str]:
        """Return the sums that a run would take beyond their bounds."""
        together, bounds = total_of([self.total, charge]), self.terms.bounds
        rule = _BY_SUMS if self.by_sums else _BY_CHARGES
        return [name for name in rule if getattr(together, name) > getattr(bounds, name)]

    def _short(self, name: str, charge: Charge) -> str:
        """Return what is left of one sum, of which a run would take more."""
        rest = max(0.0, getattr(self.terms.bounds, name) - getattr(self.total, name))
        asked = getattr(charge, name)
        return f"the limit that binds is {_WORDS[name]}: {rest:.3g} is left, {asked:.3g} asked"

    def _until(self) -> str:
        if self.terms.periods is None or self.begin is None:
            return ""
        return f"; the period ends on {self.named.rpartition(' to ')[2]}"

    def _smaller(self, charge: Charge) -> str:
        """Return about which epsilon of such a run is within the cap; empty if none is.

        At a fixed delta the mu of counts falls a little more slowly than their epsilon.
        """
        rest = _rest(self.terms.bounds, self.total)
        if self.by_sums or not rest.mu_squared or not rest.delta > charge.delta:
            return ""
        scale = math.sqrt(rest.mu_squared / charge.mu_squared)
        # What a run takes of the other sums does not fall with its epsilon.
        others = [name for name in self._exceeded(charge) if name != "mu_squared"]
        if scale >= 1.0 or others:
            return ""
        epsilon = 0.98 * scale**1.06 * charge.epsilon
        unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
        return (
            f"; such a run with epsilon of about {math.floor(epsilon / unit) * unit:.2g} would fit"
        )

    @property
    def named(self) -> str:
        """The period in words."""
        periods = self.terms.periods
        if periods is None or self.begin is None:
            return "for ever"
        return periods.named(self.begin)

    def _shares(self, charge: Charge) -> dict[str, float]:
        rule = _BY_SUMS if self.by_sums else _BY_CHARGES
        return {name: getattr(charge, name) / getattr(self.terms.bounds, name) for name in rule}


def spending_at(terms: Terms, entries: Iterable[Entry], instant: float) -> Spending:
    """Return what was spent in the period of an instant.

    Args:
        terms: the terms of the ledger.
        entries: its runs, in order.
        instant: in seconds since 1970 UTC.
    """
    if terms.periods is None:
        return Spending(terms, tuple(entries))
    begin, end = terms.periods.begin(instant), terms.periods.end(instant)
    runs = [
        run for run in entries if run.begun < end and (run.closed is None or run.closed >= begin)
    ]
    carried = sum(run.begun < begin for run in runs)
    return Spending(terms, tuple(sorted(runs, key=_begun)), carried=carried, begin=begin)


def _begun(run: Entry) -> tuple[float, int]:
    return run.begun, run.run


def _within(charge: Charge, bounds: Charge, names: Sequence[str]) -> bool:
    return all(getattr(charge, name) <= getattr(bounds, name) for name in names)


def _rest(bounds: Charge, total: Charge) -> Charge:
    names = (*_BY_CHARGES, *_BY_SUMS)
    return Charge(
        **{name: max(0.0, getattr(bounds, name) - getattr(total, name)) for name in names}
    )


def _figures(charge: Charge, *, by_sums: bool) -> str:
    if by_sums:
        return f"epsilon {charge.epsilon:.4g} and delta {charge.pair_delta:.3g}"
    return f"mu {math.sqrt(charge.mu_squared):.4g} and delta {charge.delta:.3g}"


def _runs(number: int) -> str:
    return f"{number:,} {'run' if number == 1 else 'runs'}"
