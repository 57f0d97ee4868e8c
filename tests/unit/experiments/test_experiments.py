"""Cells, the record, the report, and a quick run of all experiments.

The quick run has its own seeds and is compared with the record: the false-alarm rate is 1 in 10,000
sets of seeds (experiments/expectations.py); with the seeds fixed, a pass stays a pass.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from experiments import expectations
from experiments.__main__ import main
from experiments.cell import Cell, Finished, Journal, Observation, cells_of
from experiments.claims import claims, exponents
from experiments.contenders import PAPER, Contender, Sketch
from experiments.definition import Definition, definitions
from experiments.expectations import verdicts
from experiments.plain import Plain, program
from experiments.running import run, run_cell
from experiments.streams import zipf
from experiments.summary import RECORD, Result, result_of

KNOWN = definitions()
NO_PROGRAM = "paper_algorithms is not built: cargo build --release -p lazysketch-benches"


def records() -> dict[str, Result]:
    return {name: Result.load(RECORD / f"{name}.json") for name in KNOWN}


# --- cells ---


def small(**changes: tuple[str, ...]) -> Definition:
    one = KNOWN["error-skew"]
    parameters = {**one.parameters, "events": 20_000, "items": 1000}
    one = dataclasses.replace(one, parameters=parameters, values=(1.1, 1.3), expect=())
    return dataclasses.replace(one, **changes)


def test_a_stopped_run_resumes(tmp_path: Path) -> None:
    one = small(contenders=("CMS", "ours"))
    journal = Journal(tmp_path)
    assert run([one], journal, trials=2, jobs=1, quick=False) == 4
    before = list(journal.read())
    path = tmp_path / "cells.jsonl"
    path.write_bytes(path.read_bytes()[:-30])  # as after a stop in the middle of a line
    journal = Journal(tmp_path)
    assert len(list(journal.read())) == 3
    assert run([one], journal, trials=2, jobs=1, quick=False) == 1
    assert run([one], journal, trials=2, jobs=1, quick=False) == 0
    assert run([one], journal, trials=3, jobs=1, quick=False) == 2
    after = {finished.cell.key: finished.observations for finished in journal.read()}
    for finished in before:  # also the one that was made again
        assert after[finished.cell.key] == finished.observations
    other = small(contenders=("CMS",))
    assert run([other], journal, trials=1, jobs=1, quick=False) == 2, "another definition"


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    one = small(contenders=("LazyCMS", "ours"))
    found = []
    for jobs in (1, 2):
        journal = Journal(tmp_path / str(jobs))
        run([one], journal, trials=1, jobs=jobs, quick=True)
        found.append({each.cell.key: each.observations for each in journal.read()})
    assert found[0] == found[1]


def test_seeds_are_derived_from_the_cell() -> None:
    one = KNOWN["error-skew"]
    cells = [cell for quick in (False, True) for cell in cells_of(one, trials=2, quick=quick)]
    seeds = {cell.seed for cell in cells}
    assert len(seeds) == len(cells), "a quick run has its own seeds"
    assert Cell("e", "d", 24, 0, False).seed == Cell("e", "other", 24, 0, False).seed


def test_exact_wide_tables_have_no_error() -> None:
    """Exact tables much wider than the number of items have a mean relative error of 0."""
    one = small(contenders=("CMS", "CS"))
    wide = dataclasses.replace(one, parameters={**one.parameters, "memory": 20_000, "items": 40})
    finished = run_cell(wide, cells_of(wide, trials=1, quick=False)[0])
    metrics = {each.metric: each.value for each in finished.observations if each.series == "CMS"}
    assert metrics["are"] == metrics["are at the end"] == 0
    assert metrics["KB (paper)"] == pytest.approx(20_000, rel=1e-3)


# --- the record ---


def test_the_record_is_of_these_definitions_and_meets_them() -> None:
    for name, result in records().items():
        one = KNOWN[name]
        assert result.digest == one.digest, f"{name}: run it again with --record"
        assert result.trials >= min(12, one.most_trials)
        assert {"date", "machine", "versions"} <= result.made.keys()
        failed = [each for each in verdicts(one, result, None) if not each.passed]
        assert not failed, name


def test_the_page_is_made_from_the_record() -> None:
    from experiments.report import DOCUMENT, IMAGES, document

    assert DOCUMENT.read_text(encoding="utf-8") == document(KNOWN, records())
    sizes = [(IMAGES / f"{name}.png").stat().st_size for name in KNOWN]
    assert sum(sizes) < 700_000


def test_claims_are_answered() -> None:
    found = claims(records())
    assert len(found) >= 10
    assert {row.agrees for row in found} <= {"yes", "no", "in part"}
    wrong = [row for row in found if row.agrees == "no"]
    assert [row.theirs for row in wrong] == ["2 d"]
    assert not any("nan" in text for row in found for text in vars(row).values())
    assert all(len(row) == 6 for row in exponents(records()))


def test_every_series_looks_different() -> None:
    from experiments.plots.style import look

    for one in KNOWN.values():
        looks = [look(name)[:3] for name in one.contenders]
        assert len(set(looks)) == len(looks), one.name
        colours = {name: look(name).colour for name in PAPER}
        assert len(set(colours.values())) == 6


def test_plots_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    from experiments.report import write_report

    results = {name: records()[name] for name in ("error-skew", "sensitivity")}
    page = write_report(tmp_path, KNOWN, results).read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:)', page), "must be self-contained"
    assert page.count("<img") == 2
    svg = (tmp_path / "error-skew.svg").read_text(encoding="utf-8")
    assert KNOWN["error-skew"].title in svg
    assert "LazyCountMin (ours)" in svg


# --- quick run of all experiments ---


@pytest.mark.long
def test_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "all", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "NOT" not in printed
    assert 100 < printed.count("the error is as recorded") <= expectations.COMPARISONS
    assert main(["run", "all", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == printed, "kept cells give the same result"


@pytest.mark.parametrize(
    ("experiment", "bug"),
    [
        ("ladder", {"epsilon": 2.0}),  # half of the noise
        ("ladder", {"epsilon": 0.5}),
        ("error-width", {"width": 0.7}),
    ],
)
def test_a_planted_bug_is_detected(
    experiment: str, bug: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise or width wrong in every sketch leaves the recorded band."""
    sound = Contender.make

    def wrong(self: Contender, generator: np.random.Generator, **given: float) -> Sketch:
        given["epsilon"] = min(0.99, given["epsilon"] * bug.get("epsilon", 1.0))
        given["width"] = int(given["width"] * bug.get("width", 1.0))
        return sound(self, generator, **given)

    monkeypatch.setattr(Contender, "make", wrong)
    one = KNOWN[experiment].for_quick_run()
    trials = one.trials(99, quick=True)
    cells = [run_cell(one, cell) for cell in cells_of(one, trials=trials, quick=True)]
    result = result_of(one, cells, quick=True)
    assert result is not None
    recorded = Result.load(RECORD / f"{experiment}.json")
    failed = [each for each in verdicts(one, result, recorded) if not each.passed]
    assert failed


def test_a_user_runs_heavy_hitters_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "visits.txt"
    events = zipf(np.random.default_rng(3), skew=1.5, items=500, events=120_000)
    path.write_text("".join(f"host-{item}\n" for item in events))
    out = tmp_path / "out"
    asked = ["run", "heavy-memory", "--trials", "1", "--jobs", "1", "--out", str(out)]
    assert main([*asked, "--stream", str(path)]) == 0
    (folder,) = [out / "cells.jsonl"]
    (first, *_) = [json.loads(line) for line in folder.read_text().splitlines()]
    metrics = {metric for _, _, metric, _ in first["observations"]}
    assert "visits.txt: recall" in metrics
    observations = [
        Observation(*each)
        for line in folder.read_text().splitlines()
        for each in Finished.of(json.loads(line)).observations
    ]
    most = [each for each in observations if each.x == 2000 and each.series == "CMS"]
    assert {each.value for each in most if "recall" in each.metric} == {1.0}
    capsys.readouterr()


def test_missing_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--out", str(tmp_path)]) == 2
    assert "expected finished cells" in capsys.readouterr().err
    asked = [
        "run",
        "heavy-memory",
        "--quick",
        "--out",
        str(tmp_path),
        "--data",
        str(tmp_path / "x"),
    ]
    assert main(asked) == 0
    assert "left out" in capsys.readouterr().err
    for wrong in (["run", "nothing"], ["run", "all", "--quick", "--record"]):
        with pytest.raises(SystemExit) as stopped:
            main(wrong)
        assert stopped.value.code == 2


@pytest.mark.skipif(program(build=False) is None, reason=NO_PROGRAM)
def test_plain_algorithms_are_timed() -> None:
    """Plain Punctual does about width times as much work as plain Lazy."""
    common = {"depth": 3, "width": 250, "horizon": 2**20, "sigma": 100.0}
    times = {}
    for name, levels in (("CMS", 0), ("LazyCMS", 13), ("PunctualCMS", 21)):
        rounds = [Plain(name, **common).nanoseconds(4000, skew=1.3, seed=s) for s in range(3)]
        assert {found for _, found in rounds} == {levels}
        times[name] = min(time for time, _ in rounds)
    assert times["CMS"] < times["LazyCMS"]
    assert times["PunctualCMS"] > 50 * times["LazyCMS"]
