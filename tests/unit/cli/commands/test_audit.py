"""``lazysketch audit``: its table, its status, its report."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import lazysketch.audit
import lazysketch.audit.processes
from lazysketch import RoundRobin
from lazysketch.audit import Case, Finding, Model, plots, standard_checks
from lazysketch.audit.full import full_audit, write_report
from lazysketch.audit.model import Bug
from lazysketch.audit.processes import audit_in_processes
from lazysketch.audit.suite import AREAS, Check, wide_cases
from lazysketch.cli import main
from lazysketch.cli.commands.audit import AREAS as CLI_AREAS
from lazysketch.errors import MissingPackageError


def test_the_areas_are_those_of_the_audit() -> None:
    assert CLI_AREAS == AREAS


def test_a_table_of_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--check", "hygiene", "--check", "low-bits"]) == 0
    shown = capsys.readouterr().out
    assert "overflow" in shown
    assert "1 run of 10 checks, no alarm" in shown


@pytest.mark.parametrize("processes", [1, 2])
def test_any_number_of_processes_runs_the_same_checks(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazysketch.audit.processes._CHECKS_PER_PROCESS", 4)
    case = Case.of("count-min", 2, 64, RoundRobin(horizon=256))
    areas = ("hygiene", "low-bits")
    begun: list[str] = []
    found = audit_in_processes(case, areas, processes=processes, begun=begun.append)
    expected = [check for check in standard_checks() if check.area in areas]
    assert [(one.check, one.case) for one in found] == [(one.name, one.case) for one in expected]
    assert begun == [f"{one.name}, {one.case}" for one in expected]
    assert all(one.passed for one in found)


def test_the_options_describe_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--kind", "count-sketch", "--depth", "3", "--width", "2048", "--horizon", "90000"]
    assert main(["audit", "--check", "distribution", "--output", "json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["alarms"] == 0
    assert found["findings"][-1]["case"].startswith("count-sketch 3 x 2048, round robin")


def test_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--check", "low-bits", "--repeat", "3", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 3


def test_an_alarm_is_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted where the library is expected."""
    sound = lazysketch.audit.audit
    monkeypatch.setattr(
        lazysketch.audit.processes,
        "audit",
        lambda checks, **more: sound(checks, system=Model(Bug.HALF_EVEN), **more),
    )
    assert main(["audit", "--check", "low-bits", "--output", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["alarms"] == 2
    assert {row["verdict"] for row in found["findings"]} == {"ok", "ALARM"}


def test_controls_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Finding("draws", "planted: x", "", "alarm", "2 equal", 9, 0.1, passed=True, figures={})
    monkeypatch.setattr(lazysketch.audit, "run_controls", lambda _, begun: [found])
    assert main(["audit", "--controls"]) == 0
    assert "1 of 1 planted bugs caught, no alarm" in capsys.readouterr().out
    missed = replace(found, passed=False)
    monkeypatch.setattr(lazysketch.audit, "run_controls", lambda _, begun: [found, missed])
    assert main(["audit", "--controls"]) == 1


@pytest.mark.parametrize("two", [["--controls", "--full"], ["--repeat", "2", "--full"]])
def test_one_thing_at_a_time(capsys: pytest.CaptureFixture[str], two: list[str]) -> None:
    assert main(["audit", *two]) == 2
    assert "expected one of --controls, --full and --repeat" in capsys.readouterr().err


def test_impossible_parameters_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--epsilon", "-1"]) == 2
    assert capsys.readouterr().err.startswith("lazysketch: --epsilon: expected")


def test_controls_of_one_area(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--controls", "--check", "low-bits", "--output", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["findings"]
    assert {row["check"] for row in rows} == {"small noise", "parity", "low bits"}


def test_a_report_without_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An hour of work is not lost for want of a plot."""
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    folder = tmp_path / "report"
    options = ["--full", "--minutes", "0.01", "--check", "low-bits", "--out", str(folder)]
    assert main(["audit", *options]) == 0
    said = capsys.readouterr()
    assert "no plots" in said.err
    assert "3 checks, no alarm" in said.out
    assert sorted(path.name for path in folder.iterdir()) == ["findings.json", "report.md"]


def test_a_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="^matplotlib: expected"):
        plots.draw_progress(tmp_path / "plot.svg", {})


@pytest.mark.long
def test_a_report(tmp_path: Path) -> None:
    """Seconds instead of an hour; the plots are drawn where matplotlib is installed."""
    begun: list[str] = []

    def note(check: Check) -> None:
        begun.append(check.name)

    found, attacks = full_audit(
        next(wide_cases()), minutes=0.01, areas=["distinguisher"], begun=note
    )
    assert all(finding.passed for finding in found)
    assert begun == [finding.check for finding in found]
    assert all(attack.progress for attack in attacks)
    pytest.importorskip("matplotlib")
    write_report(tmp_path / "report", found, attacks)
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "no alarm" in page
    assert "| LazyCountSketch, mu = 3: " in page
    assert "<svg" in (tmp_path / "report" / "distinguisher.svg").read_text(encoding="utf-8")
    rows = json.loads((tmp_path / "report" / "findings.json").read_text(encoding="utf-8"))
    assert len(rows) == len(found)
