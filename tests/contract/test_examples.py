"""Every program in examples/ without an engine runs, and the page of the documents lists each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = {"spark_daily_logs"}  # tests/engines runs them
EVERY = sorted((ROOT / "examples").glob("*.py"))
EXAMPLES = [path for path in EVERY if path.stem not in ENGINES]
# What each says at its end.
SAYS = {
    "netflow_watch_list": "203.0.113.66",
    "shop_windows": "12:00 product 7",
    "web_log_to_page": "paths.html: ",
    "year_with_ledger": "days of epsilon 0.2 were counted",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, example, tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[example.stem] in done.stdout


def test_the_page_lists_every_example() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    assert [path.name for path in EVERY if f"/examples/{path.name})" not in page] == []
    assert {path.stem for path in EVERY} == set(SAYS) | ENGINES
