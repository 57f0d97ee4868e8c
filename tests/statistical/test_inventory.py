"""docs/testing.md agrees with the tests: names, false-alarm rates, power and their sums."""

from __future__ import annotations

import re

import pytest
from tests.locations import ROOT
from tests.statistical import declared
from tests.statistical.inventory import EXACT, tables
from tests.statistical.laws import rows

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
ROWS = rows()
CORE = (ROOT / "rust" / "core" / "src" / "pearson.rs").read_text(encoding="utf-8")


def test_the_page_has_the_tables() -> None:
    """After a change: python -m tests.statistical.laws prints them."""
    for table in tables(ROWS).strip().split("\n\n"):
        assert table in PAGE


def test_every_row_names_a_test() -> None:
    named = [(row.file, row.test) for row in ROWS] + [(file, test) for _, file, test in EXACT]
    for file, test in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b(?:def|fn) {test}\(", text), f"{file}: {test}"


def test_every_statistical_file_is_declared() -> None:
    """A file with a budget has a declared rate, and takes it from there."""
    by_file = {rate.file: name for name, rate in declared.RATES.items()}
    for file in by_file:
        assert (ROOT / file).exists(), file
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path.name == "test_inventory.py":
            continue
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        for used in re.findall(r'declared\.budget\("([^"]+)"\)', text):
            assert declared.RATES[used].file == name
        if re.search(r"^BUDGET = ", text, re.MULTILINE):
            assert f'BUDGET = declared.budget("{by_file[name]}")' in text, name


def test_the_rates_of_the_core_are_those_of_its_tests() -> None:
    rate = float(re.findall(r"const FALSE_ALARM: f64 = ([\d.e-]+);", CORE)[0])
    assert "const DRAWS: u64 = 400_000;" in CORE
    for name in ("core draws", "core Laplace", "core hashes"):
        assert declared.RATES[name].alpha == pytest.approx(rate)


def test_a_full_run_raises_a_false_alarm_in_at_most_one_of_a_thousand() -> None:
    assert declared.total(fresh=True) + declared.total(fresh=False) <= declared.MOST_IN_TOTAL


def test_every_law_is_tested_on_both_sides() -> None:
    """Rates of misses by two rows, an attack by the tests of residuals; all others by one row."""
    for row in ROWS:
        found = row.found()
        if row.unit != "misses" and "distinguisher" not in row.law and "control" not in row.law:
            assert -1.0 < found.below < found.above < 2.0, row.law
    one_sided = [row.found() for row in ROWS if row.unit == "misses"]
    assert sum(found.below == -1.0 for found in one_sided) == len(one_sided) / 2
