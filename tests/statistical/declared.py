"""The false-alarm rate of every statistical test, in one place.

A test file takes its :class:`~lazysketch.audit.p_values.Budget` from here by name. The rate of a
file is that of one full run. Where keys, ids and data are seeded, a pass stays a pass: the rate is
then that of one change of the noise (a new version of a draw, another seed), and a run of unchanged
code adds nothing. The Rust tests declare their rates in ``rust/core/src/pearson.rs`` and are listed
here too, so that the sum is that of the whole suite; ``test_inventory`` compares both.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazysketch.audit.finding import ALARM, MOST
from lazysketch.audit.p_values import Budget

MOST_IN_TOTAL = 1e-3


@dataclass(frozen=True)
class Rate:
    """The false-alarm rate of one file: of at most `checks` checks together."""

    file: str
    total: float
    checks: int
    fresh: bool = True

    @property
    def alpha(self) -> float:
        """The rate of one check."""
        return self.total / self.checks


RATES = {
    "residuals": Rate("tests/statistical/test_residuals.py", 1.5e-6, 1500),
    "streams": Rate("tests/statistical/test_residuals_of_streams.py", 1e-6, 1000),
    "tree": Rate("tests/statistical/test_tree_residuals.py", 1e-6, 300),
    "composed noise": Rate("tests/statistical/test_composed_noise.py", 1e-7, 100),
    "utility": Rate("tests/statistical/test_utility.py", 1.6e-7, 2),
    "discovery noise": Rate("tests/statistical/test_discovery_noise.py", 3e-8, 30),
    "hierarchies": Rate("tests/statistical/test_hierarchies.py", 8e-6, 4),
    "keys": Rate("tests/statistical/test_keys.py", 1e-8, 4),
    "recall": Rate("tests/statistical/test_recall_of_discovery.py", 1.6e-6, 16),
    "changes": Rate("tests/statistical/test_changes_of_windows.py", 1e-5, 5),
    "sliding windows": Rate("tests/statistical/test_sliding_windows.py", 1.9e-6, 19),
    "hygiene": Rate("tests/properties/test_draw_hygiene.py", 1e-5, 1000),
    # Every check of the audit, and every control without its bug.
    "audit": Rate("tests/unit/audit/test_audit.py", 1.5 * MOST * ALARM, 300),
    "real streams": Rate("tests/real_streams/test_exact_and_private.py", 1e-6, 480),
    "words of books": Rate("tests/unit/heavy_hitters/test_discovery.py", 4e-6, 2),
    "timing": Rate("rust/core/src/mechanism/timing.rs", 1e-39, 10),
    "coverage": Rate("tests/statistical/test_interval_coverage.py", 1.5e-5, 15, fresh=False),
    "known names": Rate("tests/statistical/test_known_names.py", 1.4e-5, 14, fresh=False),
    "simultaneous lists": Rate(
        "tests/statistical/test_simultaneous_lists.py", 1.2e-5, 120, fresh=False
    ),
    "lists of real streams": Rate(
        "tests/real_streams/test_simultaneous_lists.py", 2e-5, 200, fresh=False
    ),
    "ranked lists": Rate("tests/statistical/test_ranked_lists.py", 5e-6, 5, fresh=False),
    "distinct": Rate("tests/statistical/test_distinct_coverage.py", 8e-6, 8, fresh=False),
    "distribution": Rate(
        "tests/statistical/test_distribution_coverage.py", 3.6e-5, 36, fresh=False
    ),
    "windows of statistics": Rate(
        "tests/statistical/test_statistic_windows_coverage.py", 1.2e-5, 12, fresh=False
    ),
    "windows of ranges and sums": Rate(
        "tests/statistical/test_ranges_and_sums_of_windows.py", 3.2e-5, 32, fresh=False
    ),
    "sums": Rate("tests/statistical/test_sums_coverage.py", 3.7e-5, 37, fresh=False),
    "ranges": Rate("tests/statistical/test_ranges_coverage.py", 2.9e-5, 29, fresh=False),
    "core draws": Rate("rust/core/src/noise/distribution.rs", 1.8e-5, 18, fresh=False),
    "core Laplace": Rate("rust/core/src/discovery/laplace.rs", 5e-6, 5, fresh=False),
    "core hashes": Rate("rust/core/src/table/hash.rs", 2.5e-5, 25, fresh=False),
    "oracle": Rate("tests/oracle/test_oracle.py", 3.2e-8, 16, fresh=False),
    "zipf": Rate("tests/unit/experiments/test_definition.py", 1e-7, 50, fresh=False),
    "experiments": Rate("tests/unit/experiments/test_experiments.py", 1e-4, 1, fresh=False),
}


def budget(name: str) -> Budget:
    """The budget of a test file."""
    return Budget(total=RATES[name].total, checks=RATES[name].checks)


def total(*, fresh: bool) -> float:
    """The sum of the rates of all files, with fresh keys or with fixed seeds."""
    return sum(rate.total for rate in RATES.values() if rate.fresh == fresh)
