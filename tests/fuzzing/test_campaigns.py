"""Every campaign for a few seconds, the corpus, and the controls of the detectors.

Seeds are the same in every run. A failure shows the command that repeats it; FUZZ_SECONDS in the
environment makes the sample longer.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fuzzing import constructions, live_classes
from tests.fuzzing.campaigns import CONTROLS
from tests.fuzzing.corpus.calls import CALLS
from tests.fuzzing.corpus_sessions import FILES
from tests.fuzzing.minimised import minimised
from tests.fuzzing.verdicts import Finding
from tests.fuzzing.watched import run_session, run_slice

import lazysketch as ls

SECONDS = float(os.environ.get("FUZZ_SECONDS", "8"))
# Public names that no campaign makes: results, and the root of the errors.
RESULTS = {
    *("Change", "Changes", "HeavyHitter", "HeavyItems", "HeavyLevel", "HierarchyNode"),
    *("HierarchyNodes", "Interval", "Intervals", "JointPrivacy", "LevelsPrivacy", "Moment"),
    *(
        "Plan",
        "Prediction",
        "Privacy",
        "DistinctPlan",
        "ClipBounds",
        "DistributionPlan",
        "SumsPlan",
        "DistinctRelease",
        "DistributionRelease",
        "Release",
        "ReleasePart",
        "ReleasedWindow",
        "Window",
        "WindowsOfLevel",
        "LazySketchError",
    ),
    *("FiredAlerts", "ItemSum", "PrivacyShare", "RangesPlan", "RangesRelease", "SumsRelease"),
    "SumsSpec",
    "__version__",
    # Stores and ledgers write files; their tests give them hostile histories, disks and arguments.
    *("Store", "open_store", "NO_ANCHOR", "ReleasesOnly", "Ledger"),
    # Counts of workers need a store; a campaign damages their bytes.
    "PartialCounts",
    # Made of other live objects: their unit tests give them hostile arguments.
    *("Alert", "AlertRule", "Alerts", "Part", "Pipeline"),
}


def shown(findings: list[Finding]) -> str:
    commands = [
        f"python -m tests.fuzzing --repeat {one.campaign!r} {one.session!r}\n{one.kind}: {one.text}"
        for one in findings
    ]
    return "\n\n".join(commands)


def test_a_sample_of_all_campaigns(tmp_path: Path) -> None:
    # The same sessions in every run: `make fuzz` looks for more.
    done = run_slice("a sample of all", seed="sample", first=0, seconds=SECONDS, folder=tmp_path)
    assert not done.findings, shown(done.findings)
    assert done.cases > 300


@pytest.mark.parametrize(("corpus", "size"), [("calls", len(CALLS)), ("inputs", len(FILES))])
def test_the_corpus(corpus: str, size: int, tmp_path: Path) -> None:
    done = run_slice(f"corpus of {corpus}", seed="corpus", first=0, seconds=0.001, folder=tmp_path)
    assert not done.findings, shown(done.findings)
    assert done.cases >= size > 20


@pytest.mark.parametrize("control", sorted(CONTROLS))
def test_planted_defects_are_detected(control: str, tmp_path: Path) -> None:
    done = run_slice(control, seed="planted", first=0, seconds=0.001, folder=tmp_path)
    assert [finding.kind for finding in done.findings] == [CONTROLS[control]]


def test_a_reproducer_is_short(tmp_path: Path) -> None:
    control = "planted wrong class"
    (finding,) = run_slice(control, seed="m", first=0, seconds=0.001, folder=tmp_path).findings
    kept = minimised(finding, folder=tmp_path)
    assert len(kept) == 1
    (again,) = run_session(control, name=finding.session, kept=kept, folder=tmp_path)
    assert again.text == finding.text


def test_every_public_operation_is_fuzzed() -> None:
    """Public methods of live classes, and everything that can be called."""
    made = {
        "private sketches": (ls.LazyCountMin, ls.PunctualCountSketch),
        "exact sketches": (ls.CountMin, ls.CountSketch),
        "counters": (ls.ContinualCounters,),
        "distinct items": (ls.DistinctCount,),
        "values": (ls.Distribution,),
        "ranges": (ls.Ranges,),
        "sums": (ls.Sums,),
        "heavy hitters": (ls.HeavyHitters,),
        "hierarchies": (ls.HierarchicalHeavyHitters,),
        "windows": (ls.Windows,),
        "windows of distinct items": (ls.DistinctWindows,),
        "windows of values": (ls.DistributionWindows,),
        "windows of ranges": (ls.RangesWindows,),
        "windows of sums": (ls.SumsWindows,),
        "windows of a hierarchy": (ls.HierarchicalWindows,),
    }
    assert set(made) == set(live_classes.FAMILIES)
    for name, classes in made.items():
        known = {operation.name for operation in live_classes.FAMILIES[name].operations}
        for kind in classes:
            callables = {
                one
                for one in dir(kind)
                if not one.startswith("_") and callable(getattr(kind, one)) and one != "from_spec"
            }
            assert callables <= known, (name, callables - known)
    names = {subject.name.split(".")[0] for subject in constructions.SUBJECTS}
    assert set(ls.__all__) - names - RESULTS == set()
