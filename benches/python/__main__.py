"""Command line of the benchmarks; see benches/README.md."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import (
    commands,
    contenders,
    distinct,
    distribution,
    file_formats,
    footprint,
    hierarchies,
    input_types,
    instructions,
    kept_releases,
    known_names,
    partial_counts,
    ranges,
    report,
    service,
    stores,
    sums,
    two_threads,
    wide_tables,
)
from .measuring import Results

RECORDS = Path(__file__).parents[1] / "record"


def native(program: Path, *arguments: str) -> Results:
    """Return the results that a native benchmark prints, one JSON object per line."""
    printed = subprocess.check_output([str(program), *arguments], text=True)
    results: Results = [json.loads(line) for line in printed.splitlines()]
    return results


def run(programs: Path, *, quick: bool) -> Results:
    """Run all parts; a quick run has fewer rounds and settings."""
    rounds = 3 if quick else 25
    native_arguments = [str(rounds), *(["quick"] if quick else [])]
    ingest = programs / "ingest"
    parts: dict[str, Callable[[], Results]] = {
        "native table": lambda: native(ingest, "table", *native_arguments),
        "scaling": lambda: native(ingest, "scaling", *native_arguments),
        "batches": lambda: contenders.batch_ingest(quick=quick, rounds=rounds),
        "discovery": lambda: contenders.discovery(rounds=rounds),
        "input types": lambda: input_types.input_types(rounds=rounds),
        "hierarchies": lambda: hierarchies.hierarchies(rounds=rounds),
        "distinct": lambda: distinct.distinct(rounds=rounds),
        "distribution": lambda: distribution.distribution(rounds=rounds),
        "sums": lambda: sums.sums(rounds=rounds),
        "ranges": lambda: ranges.ranges(rounds=min(rounds, 9)),
        "file formats": lambda: file_formats.file_formats(rounds=min(rounds, 9)),
        "stores": lambda: stores.stores(rounds=rounds),
        "service": lambda: service.service(rounds=1 if quick else 5),
        "partial counts": lambda: partial_counts.partial_counts(rounds=rounds),
        "single calls": lambda: contenders.single_calls(rounds=rounds),
        "reads": lambda: contenders.reads_of_tables(rounds=rounds),
        "wide tables": lambda: wide_tables.wide_tables(rounds=min(rounds, 9)),
        "known names": lambda: known_names.known_names(rounds=min(rounds, 5)),
        "two threads": lambda: two_threads.two_threads(rounds=min(rounds, 9)),
        "kept releases": lambda: kept_releases.kept_releases(rounds=min(rounds, 9)),
        "commands": lambda: commands.commands(rounds=min(rounds, 9)),
        "memory": footprint.memory_per_cell,
        "import": lambda: footprint.import_seconds(rounds=rounds),
        "error": lambda: footprint.error_of_the_top(seeds=3 if quick else 20),
    }
    if not quick:
        parts["instructions"] = lambda: [
            {"group": "instructions", "name": kernel, "instructions": count}
            for kernel, count in instructions.counts(programs / "kernels").items()
        ]
    return [row for name, part in parts.items() for row in footprint.timed(name, part)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.python", description=__doc__)
    parser.add_argument(
        "verb",
        choices=["run", "service", "load", "instructions"],
        help="measure speed, that of the service alone, or its memory under load; or count "
        "instructions and compare them with the record",
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, metavar="N", help="length of the load (60)"
    )
    parser.add_argument(
        "--programs",
        type=Path,
        default=Path("target/release"),
        metavar="FOLDER",
        help="folder of the native benchmarks (target/release)",
    )
    parser.add_argument("--quick", action="store_true", help="take a minute and record nothing")
    parser.add_argument("--write", action="store_true", help="write the record of instructions")
    options = parser.parse_args()
    if options.verb == "instructions":
        counted = instructions.counts(options.programs / "kernels")
        if not counted:
            print("instructions: expected valgrind, found none", file=sys.stderr)
            return 1
        if options.write:
            instructions.write(counted)
            return 0
        print(json.dumps(counted, indent=2))
        worse = instructions.compare(counted)
        print("\n".join(worse), file=sys.stderr)
        return 1 if worse else 0
    if options.verb == "load":
        for row in service.memory_under_load(minutes=options.minutes):
            print(json.dumps(row), flush=True)
        return 0
    if options.verb == "service":
        found = service.service(rounds=1 if options.quick else 5)
        print("\n".join(report.table(found)))
        return 0
    facts = report.machine()
    results = run(options.programs, quick=options.quick)
    name = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if options.quick else RECORDS
        report.write(folder, name, facts, results)
        print((folder / f"{name}.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
