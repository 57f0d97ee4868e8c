"""Which code is mutated: files in their order, a sample of the rest, lines of a change."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Mutant

__all__ = [
    "CORE",
    "OUTSIDE",
    "PYTHON",
    "READING",
    "ROOT",
    "RUST",
    "changed_lines",
    "diff_of_change",
    "in_sample",
    "module_of",
]

ROOT: Final = Path(__file__).resolve().parents[2]
CORE: Final = "rust/core/src"

# Every mutant of these files, in this order.
RUST: Final = (
    "key.rs",
    "item.rs",
    "noise/prf.rs",
    "noise/mod.rs",
    "noise/gaussian.rs",
    "noise/gaussian_batch.rs",
    "mechanism/path.rs",
    "mechanism/quietest_end.rs",
    "mechanism/rounding.rs",
    "mechanism/binary.rs",
    "mechanism/haar.rs",
    "mechanism/square_root.rs",
    "mechanism/final_push.rs",
    "mechanism/mod.rs",
    "mechanism/weights.rs",
    "mechanism/descent.rs",
    "mechanism/deep/*.rs",
    "mechanism/endless/*.rs",
    "mechanism/tree/*.rs",
    "mechanism/value_tree.rs",
    "mechanism/difference.rs",
    "schedule/*.rs",
    "discovery/mod.rs",
    "discovery/counted_names.rs",
    "discovery/counting.rs",
    "discovery/decision.rs",
    "discovery/epoch_counts.rs",
    "discovery/epochs_ahead.rs",
    "discovery/epochs_in_threads.rs",
    "discovery/misra_gries.rs",
    "discovery/name.rs",
    "discovery/keyed_hashes.rs",
    "discovery/order.rs",
    "discovery/name_store.rs",
    "discovery/laplace.rs",
    "discovery/selection.rs",
    "discovery/threshold.rs",
    "discovery/slots.rs",
    "discovery/dictionary.rs",
    "discovery/long_items.rs",
    "discovery/spec.rs",
    "discovery/saved.rs",
    "guarantee.rs",
    "parameters.rs",
    "memory.rs",
    "fixed_width.rs",
    "byte_reader.rs",
    "saved_state.rs",
    "simd.rs",
    "table/*.rs",
    "table/item_list/*.rs",
    "people/mod.rs",
    "people/contributions.rs",
    "people/saved.rs",
    "partial/*.rs",
    "sketch/*.rs",
    "release/*.rs",
)
# What computes from public releases only: accuracy, no privacy. Its tests meet no mutant.
READING: Final = ("estimation", "peeling")
# That, and what has no code of its own.
OUTSIDE: Final = (*(f"{it}/*.rs" for it in READING), "error.rs", "lib.rs", "planted.rs")
_SEED: Final = b"sample of mutants, 1"

# One mutant in this many, by a hash, so the choice is the same in every run.
PYTHON: Final[dict[str, int]] = {
    "python/lazysketch/privacy": 16,
    "python/lazysketch/specification": 16,
    "python/lazysketch/releases/parts.py": 16,
    "python/lazysketch/releases/run_promise.py": 16,
    "python/lazysketch/ledger": 16,
    "python/lazysketch/heavy_hitters": 64,
    "python/lazysketch/windows": 64,
}


def in_sample(mutant: Mutant) -> bool:
    """Return whether the sample contains this mutant."""
    rate = next(rate for part, rate in PYTHON.items() if mutant.file.startswith(part))
    drawn = hashlib.blake2b(mutant.identity.encode("utf-8"), digest_size=8, key=_SEED).digest()
    return int.from_bytes(drawn, "little") % rate == 0


def module_of(file: str) -> str:
    """Return the name under which a file is reported: its folder, or itself at the top."""
    path = Path(file)
    inner = path.relative_to(CORE) if file.startswith(CORE) else path.relative_to("python")
    return str(inner.parent if len(inner.parts) > 1 else inner)


def diff_of_change() -> str:
    """Return the current change as a diff: from the branch point, or the last commit, to now."""
    base = _git("merge-base", "main", "HEAD") or _git("rev-parse", "HEAD~1")
    if base == _git("rev-parse", "HEAD"):
        base = _git("rev-parse", "HEAD~1")
    return _git("diff", base, "--", CORE, *PYTHON) + "\n"


def changed_lines(diff: str) -> dict[str, set[int]]:
    """Return the numbers of the lines that a diff adds or changes, by file."""
    found: dict[str, set[int]] = {}
    file, number = "", 0
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line[4:].removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(hunk[1])
        elif line.startswith("+"):
            found.setdefault(file, set()).add(number)
            number += 1
        elif line.startswith(" "):
            number += 1
    return found


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
