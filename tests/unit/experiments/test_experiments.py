"""experiments/: definitions, cells, expectations, the report, and the quick run of everything.

The quick run has seeds of its own and is held against the record: chance alone would fail it once
in 10,000 sets of seeds (experiments/expectations.py); with the seeds fixed, a pass stays a pass.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from experiments import expectations
from experiments.__main__ import main
from experiments.cell import Cell, Finished, Journal, Observation, cells_of
from experiments.claims import claims, exponents
from experiments.contenders import PAPER, Contender, Sketch, contender, contenders
from experiments.definition import Definition, Expectation, Value, definition, definitions
from experiments.expectations import exponent, student_quantile, verdicts
from experiments.measures import MEASURES
from experiments.plain import Plain, program
from experiments.running import run, run_cell
from experiments.settings import Settings
from experiments.streams import heaviest, named, zipf
from experiments.summary import RECORD, Estimate, Made, Result, result_of
from tests.locations import ROOT

KNOWN = definitions()
NO_PROGRAM = "paper_algorithms is not built: cargo build --release -p lazysketch-benches"


def records() -> dict[str, Result]:
    return {name: Result.load(RECORD / f"{name}.json") for name in KNOWN}


def made(lines: dict[tuple[str, str], dict[Value, list[float]]]) -> Result:
    numbers = {
        key: {x: Estimate.of(values) for x, values in line.items()} for key, line in lines.items()
    }
    circumstances: Made = {"date": "-", "machine": "-", "versions": "-", "seconds": 0}
    return Result("made", "digest", numbers, circumstances)


# --- definitions ---


@pytest.mark.parametrize("name", KNOWN)
def test_definitions_name_what_there_is(name: str) -> None:
    one = KNOWN[name]
    assert one.measure in MEASURES
    others = {"discovery", "2 d", "4 d", "binary", "haar", "square-root", "tree"}
    assert set(one.contenders) <= contenders().keys() | others
    assert len(one.title) > 20
    quick = one.for_quick_run()
    assert set(quick.values) <= set(one.values)
    for entry in one.expect:
        assert math.isfinite(entry.least) or math.isfinite(entry.most), "cannot fail"


def test_the_papers_panels_have_the_papers_settings() -> None:
    panels = {one.panel: one for one in KNOWN.values()}
    assert {"a", "b", "c", "d", "e", "f", "table 1", "heavy hitters"} <= panels.keys()
    for panel in "abcdef":
        one = panels[panel]
        assert set(PAPER) <= set(one.contenders)
        taken = {**one.parameters, one.axis: None}
        assert (taken["delta"], taken["events"], taken["items"]) == (1e-3, 2**20, 2**20)
        assert taken.get("depth", 3) in (3, None)
        assert panel == "a" or taken["top"] == 15
    assert KNOWN["heavy-memory"].parameters["k"] == 256


@pytest.mark.parametrize(
    ("name", "width"),
    [("CMS", 2000), ("LazyCMS", 55), ("LazyCS", 55), ("PunctualCMS", 33), ("ours", 1000)],
)
def test_24_kilobytes_are_the_papers_widths(name: str, width: int) -> None:
    one = contender(name)
    assert one.width(memory=24, depth=3) == width
    assert one.kilobytes(one.width_by, depth=3, width=width) <= 24


def test_a_definition_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    text = 'title = "t"\npanel = "p"\nmeasure = "error"\naxis = "x"\nvalues = [1]\n'
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"^broken.toml: expected contenders, parameters, got none"
    ):
        definition(path)
    path.write_text(text + 'contenders = ["CMS"]\nstrange = 1\n[parameters]\n')
    with pytest.raises(ValueError, match="known keys, got strange"):
        definition(path)
    with pytest.raises(ValueError, match="contender: expected one of CMS"):
        contender("unknown")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "strange"}, "kind: expected one of ratio"),
        ({"series": None}, "slope: expected series, got none"),
        ({"strange": 1}, "slope: expected known keys, got strange"),
        ({"least": None}, "slope: expected least or most, got none"),
        ({"least": "1"}, "least: expected a number, got str"),
        ({"at": [True]}, "at: expected a number or string, got bool"),
    ],
)
def test_an_expectation_is_checked(change: dict[str, object], message: str) -> None:
    entry = {"kind": "slope", "what": "w", "metric": "m", "series": "s", "least": 1, **change}
    with pytest.raises(ValueError, match=message):
        Expectation.of(Settings({key: each for key, each in entry.items() if each is not None}))


def test_only_what_users_see_is_used() -> None:
    for path in (ROOT / "experiments").rglob("*.py"):
        assert "_native" not in path.read_text(encoding="utf-8"), path.name


# --- streams ---


def test_zipf_follows_its_law() -> None:
    """False-alarm rate: each count is within six deviations of a binomial, 2e-9 for 50 items."""
    events = zipf(np.random.default_rng(1), skew=1.3, items=1000, events=200_000)
    weights = np.arange(1, 1001.0) ** -1.3
    shares = weights / weights.sum()
    counts = np.bincount(events, minlength=1000)
    for rank in range(50):
        spread = math.sqrt(len(events) * shares[rank] * (1 - shares[rank]))
        assert abs(counts[rank] - len(events) * shares[rank]) < 6 * spread
    assert heaviest(counts, 15).tolist() == sorted(range(1000), key=lambda i: -counts[i])[:15]


def test_a_file_of_the_user_is_a_stream(tmp_path: Path) -> None:
    words = ["b", "a", "b", "c", "b", "a"] * 100
    path = tmp_path / "words.csv"
    path.write_text("when,word\n" + "".join(f"{at},{word}\n" for at, word in enumerate(words)))
    events = named(f"{path}:word", tmp_path)
    assert Counter(Counter(events.tolist()).values()) == Counter(Counter(words).values())
    assert events[:4].tolist() == [0, 1, 0, 2]


# --- cells ---


def small(**changes: tuple[str, ...]) -> Definition:
    one = KNOWN["error-skew"]
    parameters = {**one.parameters, "events": 20_000, "items": 1000}
    one = dataclasses.replace(one, parameters=parameters, values=(1.1, 1.3), expect=())
    return dataclasses.replace(one, **changes)


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    one = small(contenders=("CMS", "ours"))
    journal = Journal(tmp_path)
    assert run([one], journal, trials=2, jobs=1, quick=False) == 4
    before = list(journal.read())
    path = tmp_path / "cells.jsonl"
    path.write_bytes(path.read_bytes()[:-30])  # as if it had been stopped in the midst of a line
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
    one = small(contenders=("LazyCMS", "ours-joint"))
    found = []
    for jobs in (1, 2):
        journal = Journal(tmp_path / str(jobs))
        run([one], journal, trials=1, jobs=jobs, quick=True)
        found.append({each.cell.key: each.observations for each in journal.read()})
    assert found[0] == found[1]


def test_seeds_follow_from_the_cell() -> None:
    one = KNOWN["error-skew"]
    cells = [cell for quick in (False, True) for cell in cells_of(one, trials=2, quick=quick)]
    seeds = {cell.seed for cell in cells}
    assert len(seeds) == len(cells), "a quick run has seeds of its own"
    assert Cell("e", "d", 24, 0, False).seed == Cell("e", "other", 24, 0, False).seed


def test_errors_are_what_they_are_called() -> None:
    """The mean relative error of exact tables that are far wider than the stream has items: 0."""
    one = small(contenders=("CMS", "CS"))
    wide = dataclasses.replace(one, parameters={**one.parameters, "memory": 20_000, "items": 40})
    finished = run_cell(wide, cells_of(wide, trials=1, quick=False)[0])
    metrics = {each.metric: each.value for each in finished.observations if each.series == "CMS"}
    assert metrics["are"] == metrics["are at the end"] == 0
    assert metrics["KB (paper)"] == pytest.approx(20_000, rel=1e-3)


# --- summaries and expectations ---


def test_estimates_and_records_round_trip(tmp_path: Path) -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    estimate = Estimate.of(values)
    assert estimate.mean == 3.75
    assert estimate.error == pytest.approx(np.std(values, ddof=1) / 2)
    assert math.exp(estimate.log_mean) == pytest.approx(math.sqrt(8))
    assert math.isnan(Estimate.of([0.0, 1.0]).log_mean)
    result = made({("s", "are"): {24: values, 0.3: [0.0, 1.0]}})
    again = Result.load(result.save(tmp_path))
    assert again.series == ["s"]
    for x, each in result.line("s", "are").items():
        for name, value in vars(each).items():
            assert vars(again.line("s", "are")[x])[name] == pytest.approx(
                value, rel=1e-5, nan_ok=True
            )


@pytest.mark.parametrize(
    ("tail", "degrees", "expected"),
    [(0.025, 19, 2.093024), (0.001, 3, 10.214532), (4e-7, 19, 7.182164), (0.05, 1, 6.313752)],
)
def test_student_quantile(tail: float, degrees: int, expected: float) -> None:
    """Against scipy.stats.t.isf."""
    assert student_quantile(tail, degrees=degrees) == pytest.approx(expected, rel=1e-5)


def test_exponent() -> None:
    line = {x: Estimate.of([3.0 * x**-0.5]) for x in (1, 2, 4, 8)}
    assert exponent(line, "are") == pytest.approx(-0.5)
    logs = {2**k: Estimate.of([float(k) ** 2]) for k in (4, 8, 16)}
    assert exponent(logs, "are", logarithmic=True) == pytest.approx(2)


GOOD: dict[tuple[str, str], dict[Value, list[float]]] = {
    ("a", "are"): {1: [1.0, 1.1, 0.9], 2: [0.5, 0.55, 0.45], 4: [0.25, 0.27, 0.23]},
    ("b", "are"): {1: [2.0, 2.1, 1.9], 2: [2.0, 2.1, 1.9], 4: [2.0, 2.1, 1.9]},
    ("a", "epsilon claimed"): {1: [5.0]},
    ("a", "epsilon audited"): {1: [6.0]},
}


@pytest.mark.parametrize(
    ("entry", "right", "wrong"),
    [
        ({"kind": "ratio", "series": "a", "than": "b"}, {"most": 0.6}, {"least": 0.6}),
        ({"kind": "slope", "series": "a"}, {"least": -1.1, "most": -0.9}, {"least": -0.9}),
        ({"kind": "falls", "series": "a", "from": 1, "to": 4}, {"most": 0.3}, {"least": 0.5}),
        ({"kind": "value", "series": "b"}, {"least": 1.5}, {"most": 1.5}),
        ({"kind": "value"}, {"least": 0.1}, {"most": 1.5}),
        ({"kind": "beyond", "series": "a", "at": [1]}, {"least": 1}, {"most": 1}),
    ],
)
def test_expectations_can_fail(
    entry: dict[str, object], right: dict[str, float], wrong: dict[str, float]
) -> None:
    metric = {} if entry["kind"] == "beyond" else {"metric": "are"}
    for band, passes in ((right, True), (wrong, False)):
        entries = (Expectation.of(Settings({"what": "w", **metric, **entry, **band})),)
        one = dataclasses.replace(KNOWN["error-skew"], expect=entries)
        (verdict,) = verdicts(one, made(GOOD), None)
        assert verdict.passed is passes, verdict


# --- the record ---


def test_the_record_is_of_these_definitions_and_meets_them() -> None:
    for name, result in records().items():
        one = KNOWN[name]
        assert result.digest == one.digest, f"{name}: run it again with --record"
        assert result.trials == min(20, one.most_trials)
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
    assert not re.search(r'(src|href)="(?!data:)', page), "needs nothing else"
    assert page.count("<img") == 2
    svg = (tmp_path / "error-skew.svg").read_text(encoding="utf-8")
    assert KNOWN["error-skew"].title in svg
    assert "LazyCountMin (ours)" in svg


# --- everything, quickly ---


def test_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "all", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "NOT" not in said
    assert 100 < said.count("the error is as recorded") <= expectations.COMPARISONS
    assert main(["run", "all", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == said, "kept cells say the same"


@pytest.mark.parametrize(
    ("experiment", "bug"),
    [
        ("ladder", {"epsilon": 2.0}),  # half of the noise
        ("ladder", {"epsilon": 0.5}),
        ("error-width", {"width": 0.7}),
    ],
)
def test_a_planted_bug_is_seen(
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


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    """Plain Punctual has more to do than plain Lazy, by about the width."""
    common = {"depth": 3, "width": 250, "horizon": 2**20, "sigma": 100.0}
    times = {}
    for name, levels in (("CMS", 0), ("LazyCMS", 13), ("PunctualCMS", 21)):
        rounds = [Plain(name, **common).nanoseconds(4000, skew=1.3, seed=s) for s in range(3)]
        assert {found for _, found in rounds} == {levels}
        times[name] = min(time for time, _ in rounds)
    assert times["CMS"] < times["LazyCMS"]
    assert times["PunctualCMS"] > 50 * times["LazyCMS"]
