"""Reading inputs in a child process, with the processor time and the peak memory it took."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_CODE = """
import json, pathlib, sys, time
from lazysketch.errors import SourceError
from lazysketch.sources import open_source

for path, options in json.loads(sys.argv[1]):
    begin = time.process_time()
    source = open_source(path, **options)
    error = ""
    items = 0
    try:
        for batch in source:
            items += len(batch.items)
    except SourceError as failure:
        error = str(failure).partition(": ")[2]
    seconds = time.process_time() - begin
    # Not ru_maxrss, which survives exec and so contains the parent.
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) >> 10
    print(json.dumps([source.tally.rows, items, error, seconds, peak]), flush=True)
"""


class Outcome(NamedTuple):
    """What reading one input took.

    Args:
        rows: The rows.
        items: The rows with an item.
        error: The error that ended it, "" for none.
        seconds: The processor time.
        peak: The peak memory of the process until then, in MiB.
    """

    rows: int
    items: int
    error: str
    seconds: float
    peak: int


def outcomes(inputs: list[tuple[Path, dict[str, object]]], *, seconds: float) -> list[Outcome]:
    """Read inputs, with these options of ``open_source``, one after the other in one child."""
    arguments = json.dumps([(str(path), options) for path, options in inputs])
    done = subprocess.run(
        [sys.executable, "-c", _CODE, arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]
