"""Statistical tests with law, samples, false-alarm rate and power: the tables of docs/testing.md.

``python -m tests.statistical.laws`` prints them; ``test_inventory`` compares them with the page,
and names and rates with the files of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.statistical.declared import RATES, total
from tests.statistical.power import Found


@dataclass(frozen=True)
class Row:
    """One law and one test of it; `unit` says what the deviation is."""

    law: str
    test: str
    rate: str
    samples: int
    unit: str
    found: Callable[[], Found]

    @property
    def file(self) -> str:
        """The file of the test."""
        return RATES[self.rate].file

    def __str__(self) -> str:
        """A line of the table."""
        name = self.test.removeprefix("test_").replace("_", " ")
        low, high = (shown(side, self.unit) for side in (self.found().below, self.found().above))
        rate = f"{RATES[self.rate].alpha:.0e}".replace("e-0", "e-")
        return f"| {self.law} | {name} | {self.samples:,} | {rate} | {low} | {high} |"


def shown(value: float, unit: str) -> str:
    """A deviation in words."""
    if unit != "correlation" and value in (-1.0, 2.0):
        return ""
    if unit == "scale":
        return f"{100 * (value - 1):+.2g} %"
    if unit == "misses":
        return f"{100 * value:.1f} %"
    return f"{value:+.2f}" if unit in ("correlation", "shift") else f"{value:.3g}"


EXACT = [
    (
        "many draws equal single ones, bit for bit",
        "rust/core/src/noise/gaussian_batch.rs",
        "many_equal_one_by_one",
    ),
    (
        "quantiles in all regions, to 2e-15",
        "rust/core/src/noise/gaussian.rs",
        "quantiles_equal_high_precision_arithmetic",
    ),
    (
        "digits of a Laplace draw: at most epsilon, and at least epsilon less 2^-30",
        "rust/core/src/discovery/laplace.rs",
        "no_step_loses_more_than_epsilon",
    ),
    (
        "thresholds: neither one too low nor one too high",
        "rust/core/src/discovery/threshold.rs",
        "thresholds_equal_their_definitions",
    ),
    (
        "sensitivities: attained, and sigma at most 1 % above the claim",
        "tests/statistical/test_calibration_end_to_end.py",
        "test_no_event_moves_releases_further_than_claimed",
    ),
    ("planned noise, to 0.5 %", "tests/statistical/test_utility.py", "test_planned_noise"),
    (
        "predicted half widths, to 12 %, of seeded sketches",
        "tests/unit/planning/test_prediction.py",
        "test_predictions_agree_with_measured_errors",
    ),
]


def tables(rows: Iterable[Row]) -> str:
    """The tables of the page."""
    lines = ["| law | test | samples | false alarms | found below | found above |"]
    lines += ["| --- | --- | --- | --- | --- | --- |", *map(str, rows), ""]
    lines += ["| without false alarms | test |", "| --- | --- |"]
    for law, _, test in EXACT:
        lines.append(f"| {law} | {test.removeprefix('test_').replace('_', ' ')} |")
    lines += ["", "| file | checks, at most | false alarms per run |", "| --- | --- | --- |"]
    for fresh, what in ((True, "fresh keys"), (False, "fixed seeds, over seeds")):
        for rate in RATES.values():
            if rate.fresh == fresh:
                lines.append(f"| `{rate.file}` | {rate.checks:,} | {rate.total:.1e} |")
        lines.append(f"| **all with {what}** | | **{total(fresh=fresh):.1e}** |")
    return "\n".join(lines) + "\n"
