"""``top`` without a list: discovered items, the messages about them, the saved files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.locations import DATA
from tests.unit.sure_intervals import nearly_covers

from lazysketch import Release
from lazysketch.cli import main

WEBLOGS = DATA / "weblogs"
SEED = 7
# 30,000 rows: three items of 5 % and more, the rest one row each.
HEAVY = {"first": 12_000, "second": 4_000, "third": 1_500}
LIGHT = 12_500
# Little noise and two epochs: a heavy item is missed with probability below 1e-9.
CLEAR = ["--epsilon", "20", "--width", "256", "--names-every", "15000"]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    stream = [item for item, count in HEAVY.items() for _ in range(count)]
    stream += [f"light {i}" for i in range(LIGHT)]
    random.Random(SEED).shuffle(stream)
    path = Path("rows.txt")
    path.write_text("".join(f"{item}\n" for item in stream))
    Path("items.txt").write_text("first\nsecond\n")
    return path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["top", *arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_heavy_items_are_discovered_with_valid_intervals(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    found = result_of(capsys, str(rows), *CLEAR)
    assert [row["item"] for row in found["items"]] == list(HEAVY)
    assert [row["rank"] for row in found["items"]] == [1, 2, 3]
    for row in found["items"]:
        truth = HEAVY[row["item"]]
        assert abs(row["estimate"] - truth) < 300
        assert row["share"] == pytest.approx(truth / 30_000, abs=0.01)
        assert nearly_covers(row["low"], truth, row["high"])
        assert row["high"] - row["low"] < 60


def test_rows_have_the_form_of_a_public_list(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    own = result_of(capsys, str(rows), *CLEAR)["items"][0]
    listed = result_of(capsys, str(rows), "--domain", "items.txt")["items"][0]
    assert list(own) == list(listed)
    assert {key: type(value) for key, value in own.items() if key != "estimate"} == {
        key: type(value) for key, value in listed.items() if key != "estimate"
    }


def test_the_joint_guarantee_is_shown(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    found = result_of(capsys, str(rows), "--epsilon", "2", "--delta", "1e-7")
    privacy = found["privacy"]
    assert (privacy["epsilon"], privacy["delta"]) == (2.0, 1e-7)
    assert (privacy["discovery_epsilon"], privacy["discovery_delta"]) == (0.5, 5e-8)
    assert found["names"]["every"] is None
    assert found["names"]["smallest_share"] == pytest.approx(0.0025, rel=0.1)
    live = result_of(capsys, str(rows), "--epsilon", "2", "--delta", "1e-7", "--live")
    assert live["names"]["every"] > 1_000
    assert live["names"]["smallest_share"] == pytest.approx(0.01, rel=0.1)
    assert main(["top", str(rows), "--epsilon", "2", "--delta", "1e-7"]) == 0
    out = capsys.readouterr().out
    assert "(2, 1e-07)-DP per event (substitution), of which (0.5, 5e-08) for names" in out


def test_the_end_of_the_input_ends_the_open_epoch(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = [*CLEAR[:-1], "1000000"]  # much longer than the stream
    found = result_of(capsys, str(rows), *asked)
    assert [row["item"] for row in found["items"]] == list(HEAVY)


@pytest.mark.parametrize(
    ("steps", "options", "note"),
    [
        (
            30,
            [],
            "no item discovered, 20 rows asked for; the stream is too short for any; to dis",
        ),
        (
            3_000,
            [],
            "threshold about 8 %; to discover more in the next period of the stream: --epsilon 8, ",
        ),
        (
            30_000,
            [],
            "3 items discovered, 20 rows asked for; detection threshold about 1 %; to ",
        ),
        (
            30_000,
            ["--epsilon", "9"],
            "threshold about 0.37 %; to discover more in the next period of the stream: --share 0.",
        ),
        (30_000, ["-k", "3"], "3 items discovered; detection threshold about 1 %"),
        (30_000, ["--live", "-k", "3"], "3 items discovered; detection threshold about 0.95 %"),
    ],
)
def test_the_detection_threshold_and_what_helps(
    capsys: pytest.CaptureFixture[str], rows: Path, steps: int, options: list[str], note: str
) -> None:
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:steps]))
    notes = result_of(capsys, str(rows), *options)["notes"]
    assert note in notes[-1]
    assert notes[-1].endswith(" %") is ("-k" in options)


@pytest.mark.parametrize("output", ["table", "csv", "json", "jsonl"])
def test_no_discovered_item_is_a_result(
    capsys: pytest.CaptureFixture[str], rows: Path, output: str
) -> None:
    rows.write_text("a\nb\na\n")
    assert main(["top", str(rows), "--output", output]) == 0
    captured = capsys.readouterr()
    assert "no item discovered" in captured.out + captured.err
    if output == "csv":
        assert captured.out == "rank,item,estimate,low,high,share,above_noise,complete\n"
    elif output == "json":
        assert json.loads(captured.out)["items"] == []
    elif output == "jsonl":
        assert captured.out == ""
    else:
        assert "3 steps of rows.txt" in captured.out.splitlines()[0]


def test_a_long_item_is_truncated_and_marked(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    rows.write_text(f"{'x' * 400}\nshort\n" * 5_000)
    asked = ["top", str(rows), *CLEAR]
    assert main([*asked, "--output", "csv", "--save-names", "names.txt"]) == 0
    captured = capsys.readouterr()
    table = {row["item"]: row for row in csv.DictReader(io.StringIO(captured.out))}
    assert table["x" * 256]["complete"] == "false"
    assert table["x" * 256]["high"] == ""
    assert table["short"]["complete"] == "true"
    assert "1 item truncated" in captured.err
    assert Path("names.txt").read_text() == "short\n"
    assert main(asked) == 0
    assert f"{'x' * 256}… " in capsys.readouterr().out


def test_saved_items_can_be_queried_in_the_release(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = [str(rows), *CLEAR, "--save-names", "names.txt", "--save-release", "r.lzs"]
    shown = result_of(capsys, *asked)["items"]
    assert Path("names.txt").read_text() == "first\nsecond\nthird\n"
    assert sorted(Release.load("r.lzs").names, key=str) == ["first", "second", "third"]
    assert main(["query", "r.lzs", "--items", "names.txt", "--output", "jsonl"]) == 0
    asked_again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["estimate"] for row in asked_again] == [row["estimate"] for row in shown]
    assert main(["top", *asked, "--overwrite"]) == 2
    captured = capsys.readouterr()
    assert "--save-names: expected a new file, got the existing names.txt" in captured.err
    assert captured.out == ""


def test_integers_are_discovered(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    Path("rows.jsonl").write_text('{"port": 443}\n{"port": 53}\n{"port": 443}\n' * 5_000)
    asked = ["rows.jsonl", "--field", "port", "--items-type", "int", *CLEAR]
    assert [row["item"] for row in result_of(capsys, *asked)["items"]] == [443, 53]


def test_weights_are_shares_of_their_total(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    Path("flows.csv").write_text("src,bytes\n" + "a,30\nb,10\na,30\nb,10\n" * 5_000)
    asked = ["flows.csv", "--field", "src", "--weight", "bytes", "--max-weight", "30", *CLEAR]
    found = result_of(capsys, *asked)["items"]
    assert [row["item"] for row in found] == ["a", "b"]
    assert found[0]["share"] == pytest.approx(0.75, abs=0.05)


def test_names_by_weight(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    """Of 8,000 rows published once, 80 have 83 % of the weight, and all others are different."""
    light = [f"x{number},1" for number in range(8_000)]
    lines = [
        line for row in light for line in ([row, "big,500"] if row.endswith("00,1") else [row])
    ]
    Path("flows.csv").write_text("\n".join(["src,bytes", *lines]))
    asked = ["flows.csv", "--by", "src", "--weight", "bytes", "--max-weight", "500"]
    asked += ["--share", "50%", "--epsilon", "15", "--width", "256"]
    assert result_of(capsys, *asked)["items"] == []
    asked += ["--names-weight", "100"]
    found = result_of(capsys, *asked)
    assert [row["item"] for row in found["items"]] == ["big"]
    assert main(["top", *asked]) == 0
    captured = capsys.readouterr()
    assert "% of the rows, if each weighs 100" in captured.out + captured.err


def test_a_stream_longer_than_its_horizon_shows_what_was_published(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = ["top", str(rows), "--epsilon", "20", "--horizon", "20000", "--width", "256"]
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert "20,000 steps of rows.txt" in captured.out
    assert "first" in captured.out
    assert "--horizon: expected an upper bound on the steps" in captured.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--domain items.txt --share 1%", "--share: expected no --domain, with which"),
        ("--domain items.txt --names-every 9", "--names-every: expected no --domain, with which"),
        ("--domain items.txt --memory 1MB", "--memory: expected no --domain, with which"),
        (
            "--domain items.txt --names-weight 2",
            "--names-weight: expected no --domain, with which",
        ),
        ("--names-weight 2", "--names-weight: expected an integer from 1 to 1, got 2"),
        ("--names-weight 0", "'--names-weight': 0 is not in the range x>=1"),
        ("--domain items.txt --save-names n.txt", "--save-names: expected no --domain, with which"),
        ("--json --output csv", "--json: expected no --output, got one"),
        ("--every 1ms", "--every: expected a time of at least 50ms, got 1ms"),
        ("--every soon", "expected a time such as 500ms"),
        (
            "--mechanism haar",
            "--mechanism: expected tree without a public list (--domain), got h",
        ),
        ("--share 0", "--share: expected"),
        ("--share 5", "'--share': expected a fraction such as 0.001 or 0.1%, got '5'"),
        ("--share 200%", "--share: expected a number above 0, at most 1, got 2"),
        ("--names-every 0", "--names-every: expected"),
        ("--memory 1KB", "--memory: expected"),
        ("--kind count-sketch --relation zero-out", "--kind: expected 'count-min'"),
        ("--plot top.gif", "--plot: expected a file ending in one of .png, .svg, .html, got top.g"),
        ("--plot nowhere/top.png", "--plot: expected an existing directory, got nowhere"),
        ("--save-names nowhere/n.txt", "--save-names: expected an existing directory, got nowhere"),
        ("--save-names items.txt", "--save-names: expected a new file, got the existing items.txt"),
        ("--save-names -", "--save-names: expected a file, got standard output"),
    ],
)
def test_wrong_use_fails_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rows: Path,
    options: str,
    message: str,
) -> None:
    def reads(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("lazysketch.cli.run.controller.feed", reads)
    assert main(["top", str(rows), *options.split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert Path("items.txt").read_text() == "first\nsecond\n"


def test_settings_from_a_file_do_not_conflict_with_a_list(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    Path("own.toml").write_text('[top]\nshare = 0.02\njson = false\nevery = "2s"\n')
    assert result_of(capsys, str(rows), "--config", "own.toml")["names"]["every"] < 15_000
    asked = [str(rows), "--config", "own.toml", "--domain", "items.txt"]
    assert "names" not in result_of(capsys, *asked)


@pytest.mark.parametrize(("name", "field"), [("apache_logs.gz", "host"), ("nasa_short.gz", "path")])
def test_real_logs_without_a_list(
    capsys: pytest.CaptureFixture[str], name: str, field: str
) -> None:
    path = WEBLOGS / name
    if not path.exists():
        pytest.skip("the web logs of ../shared/data are not here")
    column = {"host": 0, "path": 6}[field]
    lines = gzip.decompress(path.read_bytes()).decode("latin-1").splitlines()
    truth = Counter(line.split(" ")[column] for line in lines)
    asked = [str(path), "--field", field, "--epsilon", "8", "--width", "256", "-k", "8"]
    found = result_of(capsys, *asked, "--encoding", "latin-1")
    assert found["steps"] == len(lines)
    top = [item for item, _ in truth.most_common(3)]
    # An item of a hundred events misses the threshold of about forty with probability below 1e-9.
    assert set(top) <= {row["item"] for row in found["items"]}
    for row in found["items"]:
        assert row["estimate"] == pytest.approx(truth[row["item"]], rel=0.3, abs=60)


def test_the_saved_release_is_that_of_the_counts(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    result_of(capsys, str(rows), "--save-release", "r.lzs", "--width", "128", "--depth", "3")
    kept = Release.load("r.lzs")
    assert (kept.depth, kept.width, kept.step) == (3, 128, 30_000)
    assert kept.privacy.epsilon < 0.75 + 1e-9  # a quarter is spent on discovery


def test_an_item_with_a_line_ending_is_omitted(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    Path("rows.jsonl").write_text('{"q": "a"}\n{"q": "b\\nc"}\n{"q": "a"}\n{"q": "d\\r"}\n' * 4_000)
    asked = ["top", "rows.jsonl", "--field", "q", *CLEAR, "--save-names", "names.txt"]
    assert main([*asked, "--output", "json"]) == 0
    captured = capsys.readouterr()
    assert {row["item"] for row in json.loads(captured.out)["items"]} == {"a", "b\nc", "d\r"}
    assert "1 item saved to names.txt; 2 omitted" in captured.err
    assert Path("names.txt").read_bytes() == b"a\n"
