"""The programs in examples/ that need an engine run, as those without one in tests/contract."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.locations import ROOT

pytest.importorskip("pyspark")


def test_spark_counts_the_logs_of_each_day(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "spark_daily_logs.py", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    days = re.findall(r"^day (\d): / ([\d,]+), ", done.stdout, re.MULTILINE)
    assert [day for day, _ in days] == ["1", "2", "3"]
    for day, count in days:  # 8 of 18 visits
        expected = int(day) * 20_000 * 8 / 18
        assert abs(int(count.replace(",", "")) - expected) < 0.05 * expected
    assert "(1, 1e-08)-DP per event" in done.stdout
