"""Instructions of the native kernels, counted by valgrind: the same on a busy machine.

The processor that valgrind shows has AVX2 and no AVX-512, so these are the counts of the AVX2
code. The count of more repetitions less that of fewer, per event, drops start and end.

    python -m benches.python instructions           # compares with the record
    python -m benches.python instructions --write   # makes the record
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
# Kernels and how many events, cells or reads one repetition has.
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
    """Instructions per event, cell or read of each kernel; empty without valgrind."""
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
    """What takes more instructions than on record, beyond the tolerance."""
    recorded: dict[str, float] = json.loads(RECORD.read_text())
    return [
        f"{kernel}: {found[kernel]:.1f} instructions, {expected:.1f} on record"
        for kernel, expected in recorded.items()
        if found.get(kernel, 0.0) > expected * (1 + TOLERANCE)
    ]


def write(found: dict[str, float]) -> None:
    rounded = {kernel: round(value, 2) for kernel, value in found.items()}
    RECORD.write_text(json.dumps(rounded, indent=2) + "\n")
