"""Instructions of the native kernels, counted by valgrind: unaffected by other work.

The processor that valgrind emulates has AVX2 but no AVX-512, so the AVX2 code is counted. The
difference between a run with more and one with fewer repetitions excludes start and end.

    python -m benches.python instructions           # compare with the record
    python -m benches.python instructions --write   # write the record
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

RECORD = Path(__file__).parents[1] / "record" / "instructions.json"
TOLERANCE = 0.05
FEW, MANY = 1, 3
EVENTS = 1 << 14
# Number of events, cells or reads in one repetition of each kernel.
KERNELS = {
    "exact-count-min": EVENTS,
    "lazy-count-min": EVENTS,
    "lazy-count-min-geometric": EVENTS,
    "lazy-count-sketch": EVENTS,
    "lazy-count-min-text": EVENTS,
    "lazy-count-min-single": EVENTS,
    "release": 3 * 1024,
    "estimate": 1024,
}


def counts(program: Path) -> dict[str, float]:
    """Return instructions per event, cell or read of each kernel; empty without valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    return {
        kernel: (count(program, kernel, MANY) - count(program, kernel, FEW)) / (MANY - FEW) / events
        for kernel, events in KERNELS.items()
    }


def count(program: Path, kernel: str, times: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    finished = subprocess.run(
        [*command, str(program), kernel, str(times)], check=True, capture_output=True, text=True
    )
    found = re.search(r"Collected : (\d+)", finished.stderr)
    if found is None:
        raise RuntimeError("valgrind: expected a count of instructions, got none")
    return int(found[1])


def compare(found: dict[str, float]) -> list[str]:
    """Return a line for each kernel that exceeds its record by more than the tolerance."""
    recorded: dict[str, float] = json.loads(RECORD.read_text())
    return [
        f"{kernel}: {found[kernel]:.1f} instructions, record {expected:.1f}"
        for kernel, expected in recorded.items()
        if found.get(kernel, 0.0) > expected * (1 + TOLERANCE)
    ]


def write(found: dict[str, float]) -> None:
    rounded = {kernel: round(value, 2) for kernel, value in found.items()}
    RECORD.write_text(json.dumps(rounded, indent=2) + "\n")
