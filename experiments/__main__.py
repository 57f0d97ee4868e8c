"""``python -m experiments run`` and ``python -m experiments report``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import experiments
from experiments.cell import Journal
from experiments.definition import Definition, definitions
from experiments.expectations import Verdict, verdicts
from experiments.running import run
from experiments.streams import DATA
from experiments.summary import RECORD, Result, result_of
from lazysketch import LazySketchError

__all__ = ["main"]

_OUT = Path("build/experiments")
_TRIALS = 20


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=experiments.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run", help="run experiments; resumes the last run")
    running.add_argument("names", nargs="+", metavar="NAME", choices=["all", *names])
    running.add_argument("--quick", action="store_true", help="few values and trials, with checks")
    running.add_argument("--trials", type=_positive, default=_TRIALS)
    running.add_argument("--out", type=Path, default=_OUT, help="folder of finished cells")
    running.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1)
    running.add_argument(
        "--record", action="store_true", help="store the results in experiments/record"
    )
    reporting = verbs.add_parser("report", help="one HTML page, PNG and SVG plots")
    reporting.add_argument("--out", type=Path, default=_OUT)
    reporting.add_argument(
        "--recorded", action="store_true", help="report experiments/record in docs/experiments.md"
    )
    for verb in (running, reporting):
        verb.add_argument("--data", type=Path, default=DATA, help="folder of the real streams")
        verb.add_argument(
            "--stream",
            action="append",
            metavar="FILE[:FIELD]",
            help="find heavy hitters in this file (log, CSV, capture) instead of the real streams",
        )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text}")
    return number


def _with_streams(one: Definition, asked: argparse.Namespace) -> Definition | None:
    """Return the experiment with the available streams, or None if it needs missing ones."""
    if one.measure != "heavy":
        return one
    if asked.stream:
        # The title states the finding on the recorded streams.
        return replace(
            one,
            title=f"Heavy hitters by {one.axis}",
            parameters={**one.parameters, "streams": asked.stream},
        )
    if not asked.data.is_dir():
        return None
    if asked.data == DATA:
        return one
    return replace(one, parameters={**one.parameters, "data": str(asked.data)})


def _chosen(asked: argparse.Namespace) -> list[Definition]:
    known = definitions()
    names = list(known) if "all" in asked.names else list(dict.fromkeys(asked.names))
    chosen = []
    for name in names:
        one = known[name].for_quick_run() if asked.quick else known[name]
        if with_streams := _with_streams(one, asked):
            chosen.append(with_streams)
        else:
            _tell(f"{name}: left out, no real streams in {asked.data}")
    return chosen


def _run(asked: argparse.Namespace) -> int:
    chosen = _chosen(asked)
    journal = Journal(asked.out)
    run(chosen, journal, trials=asked.trials, jobs=asked.jobs, quick=asked.quick)
    finished = list(journal.read())
    failed = 0
    for one in chosen:
        result = result_of(one, finished, quick=asked.quick)
        if result is None:
            continue
        if asked.record and not asked.quick:
            result.save(RECORD)
        found = verdicts(one, result, _recorded(one) if asked.quick else None)
        failed += sum(not verdict.passed for verdict in found)
        print(_shown(one, result, found))
    return 1 if failed else 0


def _recorded(one: Definition) -> Result | None:
    path = RECORD / f"{one.name}.json"
    return Result.load(path) if path.exists() else None


def _shown(one: Definition, result: Result, found: Sequence[Verdict]) -> str:
    lines = [f"{one.name} ({result.trials} trials, {result.made['seconds']} s)"]
    lines += [f"  {'ok  ' if each.passed else 'NOT '} {each.what}: {each.seen}" for each in found]
    return "\n".join(lines)


def _report(asked: argparse.Namespace) -> int:
    from experiments.report import write_documents, write_report

    known = {name: _with_streams(one, asked) or one for name, one in definitions().items()}
    if asked.recorded:
        results = {name: found for name, one in known.items() if (found := _recorded(one))}
        write_documents(known, results)
        return 0
    finished = list(Journal(asked.out).read())
    results = {
        name: found
        for name, one in known.items()
        if (found := result_of(one, finished, quick=False))
    }
    if not results:
        _tell(f"report: expected finished cells in {asked.out}, got none; run experiments first")
        return 2
    print(write_report(asked.out, known, results))
    return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: command line; that of the process when None.

    Returns:
        0; 1 if an expectation was not met; 2 if a file or package is missing.
    """
    parser = _parser(list(definitions()))
    asked = parser.parse_args(arguments)
    if asked.verb == "run" and asked.record and (asked.quick or asked.stream):
        parser.error("--record: expected a full run of the real streams")
    try:
        return _run(asked) if asked.verb == "run" else _report(asked)
    except (FileNotFoundError, ModuleNotFoundError, LazySketchError) as missing:
        _tell(f"experiments: {missing}")
        return 2
    except KeyboardInterrupt:
        _tell("experiments: stopped; finished cells are kept, the same command resumes")
        return 130


if __name__ == "__main__":
    sys.exit(main())
