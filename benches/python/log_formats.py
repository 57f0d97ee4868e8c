"""Nanoseconds per row of every log format, next to the formats that were there before.

Reads documented rows (tests/unit/sources/formats/log_samples.py), repeated, from a file in memory
or on the disk; of each format the best of some runs, by the default field and with times.

    python -m benches.python.log_formats [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.unit.sources.formats.log_samples import SAMPLES

from lazysketch.sources import FORMATS, open_source

ROWS = 300_000
RUNS = 3
COMBINED = (
    '203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 512 "-" "Mozilla/5.0"\n'
)
OTHERS = {
    "lines": "203.0.113.9\n",
    "combined": COMBINED,
    "jsonl": '{"time": "2015-05-17T10:05:03Z", "path": "/a", "host": "203.0.113.9"}\n',
}
EXPRESSION = r'^(?<host>[^ ]+) [^ ]+ [^ ]+ \[(?<time>[^\]]+)\] "[A-Z]+ (?<path>[^ ]+)'


def seconds(path: Path, **options: Any) -> tuple[int, float]:
    begin = time.process_time()
    rows = sum(batch.rows for batch in open_source(path, **options))
    return rows, time.process_time() - begin


def nanoseconds(path: Path, **options: Any) -> float:
    runs = (seconds(path, **options) for _ in range(RUNS))
    return min(1e9 * taken / rows for rows, taken in runs)


def main(rows: int) -> None:
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    inputs = {sample.format: sample.rows for sample in SAMPLES} | OTHERS | {"regex": COMBINED}
    print(f"{'format':16}{'bytes/row':>10}{'ns/row':>8}{'with times':>12}")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name, "rows")
        for form, text in inputs.items():
            times = rows // text.count("\n")
            path.write_text(text * times)
            options: dict[str, object] = {"format": form}
            if form in ("logfmt", "jsonl"):
                options["field"] = "path"
            if form == "regex":
                options["regex"] = EXPRESSION
            timed = dict(options)
            if form in ("logfmt", "regex", "jsonl"):
                timed["time"] = "time"
            else:
                timed["times"] = True
            has_times = FORMATS[form].fields != ()
            size = path.stat().st_size / (text.count("\n") * times)
            plain = nanoseconds(path, **options)
            shown = f"{nanoseconds(path, **timed):12.0f}" if has_times else f"{'-':>12}"
            print(f"{form:16}{size:10.0f}{plain:8.0f}{shown}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else ROWS)
