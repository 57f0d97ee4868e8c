"""The options of the inputs, from the command line to the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.cli.reminder import REMINDER

from lazysketch.cli import main

# With this seed the items of the tests share no cell; with another they may share all four.
CLEAR = ["--epsilon", "12", "--width", "16", "--hash-seed", "5", "--output", "json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flows.csv").write_text("src;n\n" + "a;2\nb;100\n" * 2000)
    Path("items.txt").write_text("a\nb\n")
    Path("numbers.txt").write_text("1\n2\n02\n")
    pq.write_table(pa.table({"id": [1, 2, 2] * 1000, "n": [3, 1, 0] * 1000}), "ids.parquet")


def result_of(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[Any, Any], Any, str]:
    assert main(["estimate", *arguments, *CLEAR]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    return {row["item"]: row["estimate"] for row in found["items"]}, found, captured.err


def test_weights_are_clipped_and_scale_the_noise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["flows.csv", "--field", "src", "--items", "items.txt"]
    counts, found, err = result_of(capsys, *asked, "--weight", "n", "--max-weight", "10")
    assert abs(counts["a"] - 4_000) < 1000
    assert abs(counts["b"] - 20_000) < 1000
    assert found["privacy"]["max_weight"] == 10
    assert found["steps"] == 4_000
    assert "total weight 24,000, 2,000 weights clipped" in err


@pytest.mark.parametrize(
    "command",
    [
        "estimate flows.csv --items items.txt",
        "top flows.csv --domain items.txt",
        "top flows.csv",
        "top flows.csv --window 1000",
    ],
)
def test_bounds_of_events_reach_the_noise(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Three events of weight 2 need six times the noise of one of weight 1."""
    asked = [*command.split(), "--field", "src", "--relation", "zero-out", *CLEAR]
    privacy = []
    for bounds in ([], ["--max-events-per-user", "3", "--weight", "n", "--max-weight", "2"]):
        assert main([*asked, *bounds]) == 0
        privacy.append(json.loads(capsys.readouterr().out)["privacy"])
    one, many = privacy
    assert (one["relation"], many["relation"]) == ("zero-out", "zero-out")
    assert (one["max_events_per_user"], many["max_events_per_user"]) == (1, 3)
    assert (one["max_weight"], many["max_weight"]) == (1, 2)
    # Floating point takes up to 1 % of the budget, and more of it where noise is larger.
    assert 6 * one["sigma"] * (1 - 1e-12) <= many["sigma"] <= 6.06 * one["sigma"]


@pytest.mark.parametrize("verb", ["estimate", "top"])
def test_only_estimates_depend_on_the_events(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Two inputs of equal length: their results agree but for estimates and notes about them."""
    of = {"estimate": "--items", "top": "--domain"}[verb]
    asked = [verb, "flows.csv", "--field", "src", of, "items.txt", *CLEAR]
    found = []
    for rows in ("a;2\nb;100\n" * 2_000, "c;7\nbad\n;1\nc;0\n" * 1_000):
        Path("flows.csv").write_text(f"src;n\n{rows}")
        assert main([*asked, "--weight", "n", "--max-weight", "10"]) == 0
        result = json.loads(capsys.readouterr().out)
        del result["items"], result["notes"]
        found.append(result)
    assert found[0] == found[1]
    assert found[0]["steps"] == 4_000


def test_a_delimiter_and_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["flow?.csv", "--field", "src", "--delimiter", ";", "--items", "items.txt"]
    counts, found, err = result_of(capsys, *asked)
    assert abs(counts["a"] - 2_000) < 100
    assert found["privacy"]["max_weight"] == 1
    assert err == REMINDER


def test_integers_are_listed_as_integers(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["ids.parquet", "--field", "id", "--items", "numbers.txt"]
    counts, _, _ = result_of(capsys, *asked, "--items-type", "int")
    assert list(counts) == [1, 2]
    assert abs(counts[2] - 2_000) < 100
    assert main(["estimate", *asked]) == 2
    assert "expected items of type str in field 'id', got int64" in capsys.readouterr().err
    assert main(["estimate", *asked[:-1], "items.txt", "--items-type", "int"]) == 2
    assert "--items: expected an integer per line" in capsys.readouterr().err


def test_a_list_that_a_pattern_matches_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "*.txt", "--items", "items.txt"]) == 2
    assert "--items: expected a public list, got one of the inputs" in capsys.readouterr().err


def test_a_strict_reading_that_stops_shows_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither printed nor saved, also where what was counted before is public."""
    with Path("flows.csv").open("a") as file:
        file.write("secret;x;y\n")
    asked = ["flows.csv", "--field", "src", "--items", "items.txt", *CLEAR]
    assert main(["estimate", *asked, "--live", "--save-release", "out.lzs", "--strict"]) == 2
    assert not Path("out.lzs").exists()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(
        "flows.csv: expected no malformed row in strict mode, got one in row 4,001\n"
    )
    assert main(["estimate", *asked]) == 0
    assert "1 of them malformed: flows.csv row 4,001" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weight", "n"], "--max-weight: expected with weight"),
        (["--max-weight", "3"], "--max-weight: expected none without weight"),
        (["--weight", "m", "--max-weight", "3"], "for weight, got 'm'"),
        (["--max-weight", "0", "--weight", "n"], "--max-weight"),
        (["--delimiter", "ab"], "delimiter: expected one ASCII character"),
        (["--format", "lines"], "field: expected none"),
        (["--format", "parquet"], "expected a Parquet file, got damaged data"),
    ],
)
def test_wrong_uses_are_one_line(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["estimate", "flows.csv", "--field", "src", "--items", "items.txt", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_times_and_their_unit_reach_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["flows.csv", "--field", "src", "--items", "items.txt"]
    counts, found, _ = result_of(capsys, *asked, "--time", "n", "--time-unit", "ms")
    assert abs(counts["a"] - 2_000) < 100
    assert found["field"] == "src"
    assert main(["estimate", *asked, "--time", "when"]) == 2
    assert "flows.csv: expected a column of the header for time, got 'when'" in (
        capsys.readouterr().err
    )
    lines = ["estimate", "flows.csv", "--items", "items.txt", "--format", "lines"]
    assert main([*lines, "--time", "n"]) == 2
    assert capsys.readouterr().err == (
        "lazysketch: --time: expected none, since a row of format 'lines' has no time, got 'n'\n"
    )


@pytest.mark.parametrize("option", ["--follow", "--time=when", "--time-unit=ms"])
def test_a_sample_is_read_once(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--steps", "1e6", "--sample", "items.txt", option]) == 2
    assert f"No such option '{option.partition('=')[0]}'" in capsys.readouterr().err
