"""Fuzzing with a time budget: every campaign in turn, in watched processes.

    python -m tests.fuzzing [--minutes N] [--jobs N] [--seed TEXT] [CAMPAIGN ...]
    python -m tests.fuzzing --repeat CAMPAIGN SESSION [--kept 1,4]

Prints a table, writes a reproducer for each kind of defect, and goes on with the next seeds when it
is started again. Exit status 1 if there is a defect.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.fuzzing.campaigns import CAMPAIGNS, EVERY, kept_parts
from tests.fuzzing.core_targets import core_slice, core_targets
from tests.fuzzing.minimised import minimised
from tests.fuzzing.verdicts import KINDS, Finding
from tests.fuzzing.watched import Slice, run_session, run_slice
from tests.locations import ROOT

FOLDER: Final = ROOT / "build/fuzz"
_SLICE: Final = 20.0  # seconds of one campaign before the next one


class Record:
    """What all runs together did: per campaign the next session, cases and defects."""

    def __init__(self, path: Path) -> None:
        """Read the record, or begin one."""
        self._path = path
        self.of: dict[str, dict[str, int]] = {}
        if path.is_file():
            self.of = json.loads(path.read_text())

    def row(self, campaign: str) -> dict[str, int]:
        """Return the row of a campaign."""
        return self.of.setdefault(campaign, dict.fromkeys(("next", "cases", *KINDS), 0))

    def add(self, campaign: str, done: Slice) -> None:
        """Add a slice and write the record."""
        row = self.row(campaign)
        row["next"], row["cases"] = done.following, row["cases"] + done.cases
        for finding in done.findings:
            row[finding.kind] += 1
        self._path.write_text(json.dumps(self.of, indent=1))

    def table(self) -> str:
        """Return a row per campaign, and the sums."""
        names = ("cases", *KINDS)
        lines = [f"| campaign | {' | '.join(names)} |", f"| --- {'| ---: ' * len(names)}|"]
        rows = list(self.of.items())
        rows.append(("**all**", {name: sum(row[name] for _, row in rows) for name in names}))
        for campaign, row in rows:
            lines.append(f"| {campaign} | {' | '.join(f'{row[name]:,}' for name in names)} |")
        return "\n".join(lines)


def main() -> int:
    """Run the campaigns, or repeat a session."""
    known = ["corpus of calls", "corpus of inputs", *CAMPAIGNS, *core_targets()]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=f"of {', '.join(known)}")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default="seed", help="another one begins a new record")
    parser.add_argument("--repeat", nargs=2, metavar=("CAMPAIGN", "SESSION"))
    parser.add_argument("--kept", help="numbers of the parts to keep, as in a reproducer")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if given.repeat:
        return _repeat(*given.repeat, kept=given.kept)
    unknown = set(given.campaigns) - set(known)
    if unknown:
        parser.error(f"expected names of campaigns, got {', '.join(sorted(unknown))}")
    return _run(given.campaigns or known, minutes=given.minutes, jobs=given.jobs, seed=given.seed)


def _run(campaigns: list[str], *, minutes: float, jobs: int, seed: str) -> int:
    """Run the campaigns in turn until the time is up; show the table and the defects."""
    record = Record(FOLDER / f"record-{seed}.json")
    end, found = time.monotonic() + 60 * minutes, list[Finding]()

    def one(campaign: str) -> tuple[str, Slice]:
        seconds = min(_SLICE, end - time.monotonic())
        first = record.row(campaign)["next"]
        if seconds <= 0:
            return campaign, Slice(first)
        run = run_slice if campaign in EVERY else core_slice
        return campaign, run(campaign, seed=seed, first=first, seconds=seconds, folder=FOLDER)

    while time.monotonic() < end:
        with ThreadPoolExecutor(jobs) as pool:
            for campaign, done in pool.map(one, campaigns):
                record.add(campaign, done)
                found += done.findings
                print(f"{campaign}: {done.cases:,} cases", flush=True)
    for finding in _new(found):
        print(_reproducer(finding), flush=True)
    print(record.table())
    return int(bool(found))


def _new(findings: list[Finding]) -> Iterator[Finding]:
    """Yield the first finding of each kind and beginning of its text."""
    told = set()
    for finding in findings:
        alike = (finding.campaign, finding.kind, finding.text[:50])
        if alike not in told:
            told.add(alike)
            yield finding


def _reproducer(finding: Finding) -> str:
    """Write how to make a defect again, with as few parts as possible; return the text."""
    kept = minimised(finding, folder=FOLDER) if finding.campaign in EVERY else None
    again = f"{sys.executable} -m tests.fuzzing --repeat {finding.campaign!r} {finding.session!r}"
    again += f" --kept {','.join(map(str, kept))}" if kept is not None else ""
    text = f"{finding.kind}: {finding.campaign}, part {finding.part}\n{again}\n{finding.text}\n"
    plain = "".join(c if c.isalnum() else "-" for c in f"{finding.campaign}-{finding.session}")
    (FOLDER / f"{plain}.txt").write_text(text)
    return text


def _repeat(campaign: str, session: str, *, kept: str | None) -> int:
    parts = kept_parts(kept)
    found = run_session(
        campaign, name=session, kept=None if parts is None else list(parts), folder=FOLDER
    )
    for finding in found:
        print(f"{finding.kind}, part {finding.part}: {finding.text}")
    print(f"{len(found)} defects")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
