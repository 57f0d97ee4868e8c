"""``top`` and ``estimate``: correct counts of small streams, and where each output goes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.locations import DATA
from tests.unit.cli.reminder import REMINDER

from lazysketch import LazyCountMin, Release
from lazysketch.cli import main

WEBLOGS = DATA / "weblogs"
# A stream of 40,000 rows in a narrow sketch with little noise: within 2 % of the truth.
CLEAR = ["--epsilon", "12", "--delta", "1e-8", "--width", "64", "--depth", "4"]
SLACK = 800


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("rare\nnever\nmost\nsome\nmost\n\n")
    path = Path("rows.txt")
    path.write_text("most\nsome\nmost\nmost\n" * 9_999 + "rare\nmost\nsome\nmost\n")
    return path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], str]:
    assert main([*arguments, "--output", "json", *CLEAR]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_top_ranks_the_public_list(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    found, err = result_of(capsys, "top", str(rows), "--domain", "items.txt", "-k", "2")
    assert [(row["rank"], row["item"]) for row in found["items"]] == [(1, "most"), (2, "some")]
    for row, truth in zip(found["items"], (29_999, 10_000), strict=True):
        assert abs(row["estimate"] - truth) < SLACK
        assert row["share"] == round(row["estimate"] / 40_000, 6)
    assert err == REMINDER


def test_estimate_keeps_the_order_of_the_list(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    found, _ = result_of(capsys, "estimate", str(rows), "--items", "items.txt")
    assert [row["item"] for row in found["items"]] == ["rare", "never", "most", "some"]
    for row, truth in zip(found["items"], (1, 0, 29_999, 10_000), strict=True):
        assert abs(row["estimate"] - truth) < SLACK


def test_the_summary_has_the_guarantee(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    found, _ = result_of(capsys, "top", str(rows), "--domain", "items.txt")
    assert found["steps"] == 40_000
    assert (found["kind"], found["depth"], found["width"]) == ("count-min", 4, 64)
    privacy = found["privacy"]
    assert (privacy["epsilon"], privacy["delta"], privacy["private"]) == (12.0, 1e-8, True)
    assert privacy["relation"] == "substitution"


@pytest.mark.parametrize(
    "options",
    [
        "--kind count-sketch",
        "--mechanism binary",
        "--relation zero-out",
        "--horizon 40000",
        "--kind count-sketch --mechanism binary --relation zero-out --horizon 50000",
    ],
)
def test_each_kind_of_sketch(capsys: pytest.CaptureFixture[str], rows: Path, options: str) -> None:
    asked = ["top", str(rows), "--domain", "items.txt", *options.split()]
    found, _ = result_of(capsys, *asked)
    assert found["items"][0]["item"] == "most"
    assert abs(found["items"][0]["estimate"] - 29_999) < SLACK
    assert found["kind"] == ("count-sketch" if "--kind" in options else "count-min")
    assert found["privacy"]["relation"] in ("zero-out" if "zero" in options else "substitution")


def test_the_default_privacy_is_printed(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    asked = ["top", str(rows), "--domain", "items.txt", "--save-release", "r.lzs"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    release = Release.load("r.lzs")
    assert (release.privacy.epsilon, release.privacy.delta) == (1.0, 1e-8)
    assert str(release.privacy) in out
    assert "40,000 steps of rows.txt (lines); count-min 4 x 16,384" in out


def test_malformed_rows_are_steps_and_reported_to_the_operator_only(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    rows.write_bytes(b"most\n\nsecret\xff\n" * 5_000)
    for output in ("table", "csv", "json", "jsonl"):
        asked = ["top", str(rows), "--domain", "items.txt", "--output", output, "-k", "1"]
        assert main([*asked, *CLEAR]) == 0
        captured = capsys.readouterr()
        assert "malformed" not in captured.out
        assert "10,000 of them malformed: rows.txt row 2, rows.txt row 3," in captured.err
        assert "secret" not in captured.err
        assert "15,000 steps" in captured.out + captured.err or output == "json"


def test_all_rows_malformed_is_status_2(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    asked = ["top", str(rows), "--domain", "items.txt", "--format", "common"]
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert "every row was malformed, read as common, field host" in captured.err
    assert "40,000 steps" in captured.out


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("long.parquet", "read as parquet, field v; an item that is null, or longer than 64 KiB"),
        ("whole.jsonl", "every row was malformed, read as jsonl, field v\n"),
        ("text.jsonl", "read as jsonl, field v; check --format\n"),
    ],
)
def test_malformed_rows_are_not_put_down_to_a_format_that_is_right(
    capsys: pytest.CaptureFixture[str], rows: Path, name: str, looks: str
) -> None:
    if name.endswith("parquet"):
        parquet.write_table(pa.table({"v": ["x" * 70_000] * 9}), name)
    else:
        Path(name).write_text(('{"v": 7}\n' if name == "whole.jsonl" else '{"w": "a"}\n') * 9)
    assert main(["top", name, "--by", "v", "--domain", "items.txt", *CLEAR]) == 2
    assert looks in capsys.readouterr().err


def saved_while_open(*, width: int, steps: int) -> None:
    """Save the release of a sketch that is not finished, as a service would."""
    with LazyCountMin(depth=4, width=width, epsilon=1.0, delta=1e-8) as sketch:
        sketch.update_many(["most"] * steps)
        sketch.release().save("r.lzs")


def test_a_width_too_large_for_the_stream_gets_a_note(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    del rows
    saved_while_open(width=4096, steps=100)
    assert main(["query", "r.lzs", "most"]) == 0
    assert "3,996 of 4,096 columns are not published yet and count as 0" in capsys.readouterr().out
    saved_while_open(width=100, steps=100)
    assert main(["query", "r.lzs", "most"]) == 0
    assert "lag by up to 100 steps (100% of the stream)" in capsys.readouterr().out
    saved_while_open(width=5, steps=100)
    assert main(["query", "r.lzs", "most"]) == 0
    out = capsys.readouterr().out
    assert "columns" not in out
    assert "lag by" not in out


def test_the_advised_width_is_concrete_and_has_a_minimum(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    del rows
    saved_while_open(width=1024, steps=3_000)
    assert main(["query", "r.lzs", "most", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][-1].endswith("--width 128 reduces the lag")
    saved_while_open(width=1, steps=1)
    assert main(["query", "r.lzs", "most", "--output", "json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert notes[-1] == (
        "counts lag by up to 1 step (100% of the stream), and shares are too low by as much"
    )


@pytest.mark.parametrize(
    ("options", "when", "schedule"),
    [
        ([], "published once, at the end", "single"),
        (["--live"], "published on the way and at the end", "geometric"),
        (["--horizon", "50000"], "published on the way and at the end", "round robin"),
        (["--plot", "top.svg"], "published on the way and at the end", "geometric"),
    ],
)
def test_a_file_is_published_once_unless_it_is_wanted_earlier(
    capsys: pytest.CaptureFixture[str], rows: Path, options: list[str], when: str, schedule: str
) -> None:
    asked = ["top", str(rows), "--domain", "items.txt", "--save-release", "r.lzs", *CLEAR]
    assert main([*asked, *options]) == 0
    assert f"count-min 4 x 64; {when}\n" in capsys.readouterr().out
    release = Release.load("r.lzs")
    part = release.parts[0]
    assert release.finished
    assert part.schedule is not None
    assert part.schedule.name == schedule
    assert (part.published_steps(64) == 40_000).all()


def test_a_pipe_is_published_on_the_way_and_finished(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rows: Path
) -> None:
    data = io.BufferedReader(io.BytesIO(rows.read_bytes()))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    found, _ = result_of(capsys, "top", "-", "--domain", "items.txt")
    assert (found["finished"], found["schedule"]) == (True, "geometric")


@pytest.mark.parametrize("options", [[], ["--live"]])
def test_nothing_more_is_published_after_a_failure_of_the_content(
    capsys: pytest.CaptureFixture[str], rows: Path, options: list[str]
) -> None:
    """Half of a compressed file: where it is cut may depend on its rows."""
    whole = gzip.compress(rows.read_bytes() * 20, compresslevel=0)
    Path("cut.gz").write_bytes(whole[: len(whole) // 2])
    asked = ["top", "cut.gz", "--domain", "items.txt", "--save-release", "r.lzs", *CLEAR]
    assert main([*asked, *options]) == 2
    captured = capsys.readouterr()
    assert "cut.gz: expected a whole gzip file" in captured.err
    if options:
        assert "; published on the way\n" in captured.out
        assert not Release.load("r.lzs").finished
    else:
        assert captured.out == ""
        assert not Path("r.lzs").exists()


def test_a_stream_that_exceeds_its_horizon_is_finished_there(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    """The number of steps is public, and does not depend on their content."""
    asked = ["top", str(rows), "--domain", "items.txt", "--horizon", "30000", *CLEAR]
    assert main([*asked, "--save-release", "r.lzs"]) == 2
    assert "30,000 steps" in capsys.readouterr().out
    assert Release.load("r.lzs").finished


def test_rows_that_may_be_noise_are_marked(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    found, _ = result_of(capsys, "estimate", str(rows), "--items", "items.txt")
    for row in found["items"]:
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["above_noise"] is (row["low"] > 0)
    assert found["items"][2]["above_noise"] is True
    asked = ["estimate", str(rows), "--items", "items.txt", *CLEAR]
    assert main([*asked, "--output", "csv"]) == 0
    captured = capsys.readouterr()
    above = [row["above_noise"] for row in csv.DictReader(io.StringIO(captured.out))]
    assert above[2:] == ["true", "true"]
    note = f"{above.count('true')} of 4 counts are distinguishable from 0"
    assert (note in captured.err) is ("false" in above)


def test_json_describes_the_inputs(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    found, _ = result_of(capsys, "top", str(rows), "--domain", "items.txt", "--horizon", "50000")
    assert (found["inputs"], found["format"], found["field"]) == ([str(rows)], "lines", None)
    assert (found["schedule"], found["horizon"], found["mechanism"]) == (
        "round robin",
        50_000,
        "tree",
    )
    Path("access.log").write_text('most - - [t] "GET /x HTTP/1.0" 200 5\n' * 999)
    found, _ = result_of(capsys, "top", "access.log", "--domain", "items.txt")
    assert (found["format"], found["field"], found["horizon"]) == ("common", "host", None)


def test_mostly_malformed_rows_give_a_warning(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    rows.write_text("most\n\n\n" * 999)
    _, err = result_of(capsys, "top", str(rows), "--domain", "items.txt")
    assert "more than half of the rows were malformed, read as lines; check --format" in err
    rows.write_text("most\nmost\n\n" * 999)
    _, err = result_of(capsys, "top", str(rows), "--domain", "items.txt")
    assert "--format" not in err


def test_a_large_delta_gets_a_note(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    asked = ["top", str(rows), "--domain", "items.txt", "--width", "64", "--delta"]
    assert main([*asked, "1e-3"]) == 0
    assert (
        "delta = 0.001 allows a mechanism to reveal one event in 1,000" in capsys.readouterr().out
    )
    assert main([*asked, "1e-5"]) == 0
    assert "reveal" not in capsys.readouterr().out


def test_several_inputs_are_one_stream(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    Path("more.gz").write_bytes(gzip.compress(rows.read_bytes()))
    found, _ = result_of(capsys, "top", str(rows), "more.gz", "--domain", "items.txt")
    assert found["steps"] == 80_000
    assert abs(found["items"][0]["estimate"] - 2 * 29_999) < 2 * SLACK


def test_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rows: Path
) -> None:
    data = io.BufferedReader(io.BytesIO(rows.read_bytes()))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    found, _ = result_of(capsys, "top", "-", "--domain", "items.txt")
    assert found["steps"] == 40_000


def test_the_list_may_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rows: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"some\n"))))  # type: ignore[arg-type]
    found, _ = result_of(capsys, "top", str(rows), "--domain", "-")
    assert [row["item"] for row in found["items"]] == ["some"]


def test_an_item_with_controls_is_escaped_in_tables_and_unchanged_in_json(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    evil = "a\x1b[2Jb"
    Path("items.txt").write_text(evil + "\n")
    rows.write_text(f"{evil}\n" * 5_000)
    assert main(["top", str(rows), "--domain", "items.txt"]) == 0
    out = capsys.readouterr().out
    assert r"a\x1b[2Jb" in out
    assert "\x1b" not in out
    assert (
        result_of(capsys, "top", str(rows), "--domain", "items.txt")[0]["items"][0]["item"] == evil
    )


def test_csv_has_a_header_and_a_row_per_item(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = ["estimate", str(rows), "--items", "items.txt", "--save-release", "r.lzs"]
    assert main([*asked, "--output", "csv", *CLEAR]) == 0
    captured = capsys.readouterr()
    table = list(csv.DictReader(io.StringIO(captured.out)))
    assert [row["item"] for row in table] == ["rare", "never", "most", "some"]
    assert str(Release.load("r.lzs").privacy) in captured.err


@pytest.mark.parametrize(("name", "field"), [("apache_logs.gz", "host"), ("nasa_short.gz", "path")])
def test_real_logs_with_little_noise_show_the_true_top(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, field: str
) -> None:
    path = WEBLOGS / name
    if not path.exists():
        pytest.skip("the web logs of ../shared/data are not here")
    column = {"host": 0, "path": 6}[field]
    lines = gzip.decompress(path.read_bytes()).decode("latin-1").splitlines()
    truth = Counter(line.split(" ")[column] for line in lines)
    domain = tmp_path / "items.txt"
    domain.write_text("".join(f"{item}\n" for item in sorted(truth)))
    asked = ["top", str(path), "--field", field, "--domain", str(domain), "-k", "5"]
    assert main([*asked, "--output", "json", "--epsilon", "12", "--width", "1024"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["steps"] == len(lines)
    true_top = [item for item, _ in truth.most_common(10)]
    assert {row["item"] for row in found["items"][:3]} <= set(true_top)
    for row in found["items"][:3]:
        assert row["estimate"] == pytest.approx(truth[row["item"]], rel=0.35, abs=40)
