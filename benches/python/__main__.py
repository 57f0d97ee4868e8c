"""``python -m benches.python run [--quick] --programs FOLDER``: see benches/README.md."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import alone, contenders, input_types, instructions, machine, report

RECORDS = Path(__file__).parents[1] / "record"


def native(program: Path, *arguments: str) -> list[dict[str, Any]]:
    """The results that a native benchmark prints, a JSON object per line."""
    printed = subprocess.check_output([str(program), *arguments], text=True)
    return [json.loads(line) for line in printed.splitlines()]


def run(programs: Path, *, quick: bool) -> list[dict[str, Any]]:
    rounds = 3 if quick else 25
    native_arguments = [str(rounds), *(["quick"] if quick else [])]
    ingest = programs / "ingest"
    parts = {
        "native table": lambda: native(ingest, "table", *native_arguments),
        "scaling": lambda: native(ingest, "scaling", *native_arguments),
        "batches": lambda: contenders.batch_ingest(quick=quick, rounds=rounds),
        "discovery": lambda: contenders.discovery(rounds=rounds),
        "side doors": lambda: input_types.input_types(rounds=rounds),
        "single calls": lambda: contenders.single_calls(rounds=rounds),
        "reads": lambda: contenders.whole_reads(rounds=rounds),
        "memory": alone.memory_per_cell,
        "import": lambda: alone.import_seconds(rounds=rounds),
        "error": lambda: alone.error_of_the_top(seeds=3 if quick else 20),
    }
    if not quick:
        parts["instructions"] = lambda: [
            {"group": "instructions", "name": kernel, "instructions": count}
            for kernel, count in instructions.counts(programs / "kernels").items()
        ]
    return [row for name, part in parts.items() for row in alone.timed(name, part)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.python", description=__doc__)
    parser.add_argument("verb", choices=["run", "instructions"])
    parser.add_argument("--programs", type=Path, default=Path("target/release"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="a minute; records nothing")
    parser.add_argument("--write", action="store_true", help="instructions: make the record")
    options = parser.parse_args()
    if options.verb == "instructions":
        found = instructions.counts(options.programs / "kernels")
        if not found:
            print("instructions: expected valgrind, found none", file=sys.stderr)
            return 1
        if options.write:
            instructions.write(found)
            return 0
        print(json.dumps(found, indent=2))
        worse = instructions.compare(found)
        print("\n".join(worse), file=sys.stderr)
        return 1 if worse else 0
    facts = machine.description()
    results = run(options.programs, quick=options.quick)
    name = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if options.quick else RECORDS
        report.write(folder, name, facts, results)
        print((folder / f"{name}.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
