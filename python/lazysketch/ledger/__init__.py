"""Ledgers: what was spent on a population, and the cap that no run may exceed.

======== ==================================================================================
terms    population, unit, relation, cap and period; the bounds that follow from a cap
periods  periods of the clock: years, months, days and shorter
entries  what a ledger records: a run that was charged, one that was closed
spending sums over the runs of a period, and whether one more fits
ledger   the file: a log of the store, with its lock, its authentication and its anchor
======== ==================================================================================
"""

from lazysketch.ledger.entries import Entry
from lazysketch.ledger.ledger import Ledger, Run
from lazysketch.ledger.spending import Spending
from lazysketch.ledger.terms import Terms

__all__ = ["Entry", "Ledger", "Run", "Spending", "Terms"]
