"""Commands on small files, each in a process of its own, next to duckdb.

What counts is the processor time of the child, so rounds are interleaved here.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .measuring import Results

START, DUCKDB = "top of 1,000 lines", "top of 1,000 lines, duckdb"
TABLE, CSV = "estimates of 1,000 items, table", "estimates of 1,000 items, CSV"
LINES = 1_000
COMMAND = "import sys; from lazysketch.cli import process; sys.exit(process())"
QUERY = """
import duckdb, sys
file = sys.argv[1]
query = f"select line, count(*) from read_csv('{file}', header=false, names=['line']) group by 1"
print(duckdb.sql(f"{query} order by 2 desc limit 20").fetchall())
"""


def commands(*, rounds: int) -> Results:
    """Measure processor and elapsed time of whole processes; a round runs each once."""
    with tempfile.TemporaryDirectory() as name:
        lines, items = Path(name, "lines.txt"), Path(name, "items.txt")
        lines.write_text("".join(f"line{at % 37}\n" for at in range(LINES)))
        items.write_text("".join(f"line{at}\n" for at in range(LINES)))
        estimate = [COMMAND, "estimate", str(lines), "--items", str(items), "--output"]
        scripts = {
            START: [COMMAND, "top", str(lines)],
            TABLE: [*estimate, "table"],
            CSV: [*estimate, "csv"],
        }
        if importlib.util.find_spec("duckdb") is not None:
            scripts[DUCKDB] = [QUERY, str(lines)]
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in scripts}
        for number in range(rounds + 1):
            for script, arguments in scripts.items():
                seconds = seconds_of(arguments)
                if number > 0:
                    taken[script].append(seconds)
    return [
        {
            "group": "commands",
            "name": name,
            "ns": 1e9 * statistics.median(elapsed for elapsed, _ in found),
            "cpu_ns": 1e9 * statistics.median(processor for _, processor in found),
        }
        for name, found in taken.items()
    ]


def seconds_of(arguments: list[str]) -> tuple[float, float]:
    """Run a script in a new process; return its elapsed and its processor time."""
    begin, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", *arguments], check=True, capture_output=True)
    after = os.times()
    processor = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - begin, processor
