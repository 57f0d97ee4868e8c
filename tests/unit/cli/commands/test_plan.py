"""``lazysketch plan``: one call of the library, numbers with units, and --period."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from tests.unit.cli.visits import write_visits

import lazysketch as ls
from lazysketch.cli import main
from lazysketch.cli.quantities import BYTES, DURATION, RATE, SHARE, STEPS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("sample.txt").write_text("a\nb\na\nc\na\nd\n" * 400)
    Path("flows.csv").write_text("src,bytes\n" + "h1,10\nh2,30\nh1,20\n" * 300)
    return tmp_path


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["plan", *arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (STEPS, "1e8", 10**8),
        (STEPS, "250", 250),
        (STEPS, "1.5e3", 1500),
        (BYTES, "64KB", 65_536),
        (BYTES, "64k", 65_536),
        (BYTES, "1.5 MiB", 1_572_864),
        (BYTES, "100", 100),
        (SHARE, "0.1%", 0.001),
        (SHARE, "95%", 0.95),
        (SHARE, ".25", 0.25),
        (SHARE, 0.25, 0.25),
        (DURATION, "30d", 2_592_000.0),
        (DURATION, "90", 90.0),
        (DURATION, "1.5h", 5_400.0),
        (DURATION, "2w", 1_209_600.0),
        (RATE, "5000/s", 5_000.0),
        (RATE, "60/m", 1.0),
        (RATE, "864e2/d", 1.0),
        (RATE, "7", 7.0),
    ],
)
def test_numbers_with_units(kind: Any, text: Any, value: float) -> None:
    found = kind.convert(text, None, None)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (STEPS, "1.5"),
        (STEPS, "-5"),
        (STEPS, "1e8s"),
        (STEPS, "1e999999999"),
        (STEPS, ""),
        (STEPS, "nan"),
        (BYTES, "64XB"),
        (BYTES, "0.3"),
        (SHARE, "1/2"),
        (DURATION, "30y"),
        (RATE, "5/"),
        (RATE, "inf/s"),
    ],
)
def test_other_numbers_are_refused(kind: Any, text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a .* such as .*, got"):
        kind.convert(text, None, None)


def test_is_one_call_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--steps", "1e6", "--error", "5%", "--share", "1%", "--skew", "1.2")
    plan = ls.plan(steps=10**6, epsilon=1.0, delta=1e-8, relative_error=0.05, share=0.01, skew=1.2)
    assert {name: found[name] for name in plan.to_dict()} == json.loads(json.dumps(plan.to_dict()))
    assert found["errors"][0]["part"] == "in all"
    assert found["errors"][0]["relative_error"] == plan.predicted.relative_error
    assert "explanation" not in found


def test_a_rate_for_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--rate", "10/s", "--for", "1d", "--memory", "32KB")
    assert found["steps"] == 864_000
    assert found["memory"] <= 32_768


@pytest.mark.parametrize("end", [["--steps", "5000"], ["--horizon", "50000", "--epsilon", "0.9"]])
def test_its_options_make_the_sketch(capsys: pytest.CaptureFixture[str], end: list[str]) -> None:
    more = ["--share", "30%", "--memory", "8KB", "--kind", "count-sketch"]
    found = planned(capsys, *end, *more, "--max-events-per-user", "2")
    Path("items.txt").write_text("a\nb\n")
    options = shlex.split(found["command"])
    top = ["top", "sample.txt", "--domain", "items.txt", *options, "--output", "json"]
    # A plan is for a stream that is published on the way; a file alone is published at its end.
    assert main([*top, "--save-release", "r.lzs", "--save-every", "1h"]) == 0
    made = json.loads(capsys.readouterr().out)
    for name in ("kind", "depth", "width", "schedule", "horizon", "mechanism"):
        assert made[name] == found[name], name
    (part,) = ls.Release.load("r.lzs").parts
    assert part.privacy.sigma == found["sigma"]
    assert getattr(part.schedule, "period", None) == found["period"]
    assert part.privacy.max_events_per_user == 2


def test_a_sample_is_read_and_must_be_public(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--steps", "1e6", "--sample", "sample.txt"]) == 0
    out = capsys.readouterr().out
    assert "a sample of 2,400 events with 4 items" in out
    assert "must be public" in out
    assert main(["plan", "--steps", "1e6", "--sample", "sample.txt", "--output", "csv"]) == 0
    assert "must be public" in capsys.readouterr().err
    found = planned(capsys, "--steps", "1e6", "--sample", "sample.txt")
    assert found["sampled"] is True


def test_a_weighted_sample_gives_the_mean_weight(capsys: pytest.CaptureFixture[str]) -> None:
    reading = ["--sample", "flows.csv", "--field", "src", "--weight", "bytes"]
    found = planned(capsys, "--steps", "1e6", *reading, "--max-weight", "40")
    assert found["predicted"]["count"] == pytest.approx(0.01 * 1e6 * 20)
    assert found["max_weight"] == 40
    assert "--weight FIELD --max-weight 40" in found["command"]
    given = planned(capsys, "--steps", "1e6", "--max-weight", "40", "--mean-weight", "20")
    assert given["predicted"]["count"] == found["predicted"]["count"]


def test_a_sample_with_people_chooses_what_counts_of_a_person(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_visits(Path())
    options = ["--steps", "6e4", "--reads", "end", "--kind", "count-min", "--share", "10%"]
    of_people = ["--sample", "visits.csv", "--by", "page", "--user", "client"]
    found = planned(capsys, *options, *of_people)
    own = next(each for each in found["bounds"] if each["is_chosen"])
    assert found["person_bound"]["cells"] == own["cells"]
    parts = [row["part"] for row in found["errors"]]
    assert parts[:3] == ["in all", "dropped of people", "interval"]
    assert found["errors"][0]["counts"] == pytest.approx(
        found["errors"][1]["counts"] + found["errors"][2]["counts"], abs=0.2
    )
    made = shlex.split(found["command"].replace("FIELD", "client"))
    run = ["estimate", "visits.csv", "--by", "page", "--items", "pages.txt", *made]
    assert main([*run, "--save-release", "r.lzs"]) == 0
    (part,) = ls.Release.load("r.lzs").parts
    assert part.privacy.sigma == found["sigma"]
    capsys.readouterr()
    assert main(["plan", *options, *of_people]) == 0
    said = capsys.readouterr().out
    assert f"->  {own['cells']}" in " ".join(said.split()).replace("-> ", "->  ")
    assert "must be public" in said
    assert "for as long as the run lasts" in said


def test_samples_without_people_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_visits(Path())
    Path("one.csv").write_text("page,client\na,x\nb,x\n")
    Path("empty.csv").write_text("page,client\n")
    plan = ["plan", "--steps", "1e6", "--by", "page", "--sample"]
    assert "for user, got 'account'" in refused(capsys, *plan, "visits.csv", "--user", "account")
    assert "--user: expected a sample of" in refused(capsys, *plan, "one.csv", "--user", "client")
    assert "empty.csv: expected at least" in refused(capsys, *plan, "empty.csv", "--user", "client")
    alone = refused(capsys, "plan", "--steps", "1e6", "--user", "client")
    assert "--user: expected --sample too" in alone


def test_explains(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--steps", "1e6", "--explain")
    assert any("Twice the epsilon would give" in line for line in found["explanation"])
    assert main(["plan", "--steps", "1e6", "--explain"]) == 0
    out = capsys.readouterr().out
    assert all(line in out for line in found["explanation"])


def test_failures_are_one_line_with_the_name_of_the_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "(--steps 1e8, or --rate and --for, or --horizon)" in refused(capsys, "plan")
    assert "--for: expected a value" in refused(capsys, "plan", "--rate", "5/s")
    both = refused(capsys, "plan", "--steps", "1e6", "--error", "1%", "--memory", "1MB")
    assert "--error: expected this or memory" in both
    tiny = refused(capsys, "plan", "--steps", "1e4", "--error", "1%")
    assert "--error: expected one that a table can reach" in tiny
    assert "such as 1e8" in refused(capsys, "plan", "--steps", "many")
    missing = refused(capsys, "plan", "--steps", "1e6", "--sample", "none.txt")
    assert "none.txt" in missing


def test_a_longer_round_needs_a_horizon(capsys: pytest.CaptureFixture[str]) -> None:
    Path("items.txt").write_text("a\n")
    top = ["top", "sample.txt", "--domain", "items.txt", "--period", "2"]
    assert "--period: expected none without a horizon" in refused(capsys, *top)
    assert main([*top, "--horizon", "2400", "--width", "32", "--save-release", "r.lzs"]) == 0
    (part,) = ls.Release.load("r.lzs").parts
    assert part.schedule == ls.RoundRobin(horizon=2400, period=2)


def test_settings_may_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.toml").write_text('[plan]\nsteps = 1000000\nshare = 0.02\nmemory = "16KB"\n')
    found = planned(capsys, "--config", "c.toml")
    assert (found["steps"], found["share"]) == (10**6, 0.02)
    assert found["memory"] <= 16_384


def test_a_plot_without_matplotlib_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = refused(capsys, "plan", "--steps", "1e6", "--plot", "a.png")
    assert "--plot: expected matplotlib (pip install 'lazysketch[plot]')" in said
    assert not Path("a.png").exists()
