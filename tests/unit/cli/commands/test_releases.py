"""``--save-release``, ``query``, ``inspect`` and ``merge``: releases to and from files."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.locations import ROOT
from tests.unit.cli.reminder import REMINDER

import lazysketch as ls
from lazysketch.cli import main
from lazysketch.cli.view.guarantees import guarantees
from lazysketch.testing import seeded_key

CLEAR = ["--epsilon", "12", "--width", "64"]
GOLDEN = ROOT / "tests" / "golden" / "releases"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("most\nsome\nnever\n")
    Path("rows.txt").write_text("most\nsome\nmost\nmost\n" * 2_500)
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Run a command and return its JSON, without Infinity and NaN."""
    assert main([*arguments, "--output", "json"]) == 0

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=refuse)
    return found


def saved(path: str, *, seed: int = 7, **settings: Any) -> ls.Release:
    given: dict[str, Any] = {"depth": 2, "width": 8, "epsilon": 1.0, "delta": 1e-8, **settings}
    with ls.LazyCountMin(hash_seed=seed, **given) as sketch:
        sketch.update_many(["a", "b"] * 50)
        release = sketch.release()
    release.save(path)
    return release


@pytest.mark.parametrize(("verb", "of"), [("top", "--domain"), ("estimate", "--items")])
def test_the_saved_release_is_the_one_shown(
    capsys: pytest.CaptureFixture[str], verb: str, of: str
) -> None:
    asked = [verb, "rows.txt", of, "items.txt", "--save-release", "kept.lzs", *CLEAR]
    assert main([*asked, "--output", "json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"lazysketch: release saved to kept.lzs\n{REMINDER}"
    shown = {row["item"]: row["estimate"] for row in json.loads(captured.out)["items"]}
    kept = ls.Release.load("kept.lzs")
    decoded = zip(shown, kept.decode(list(shown)), strict=True)
    assert {item: max(round(estimate, 1), 0.0) for item, estimate in decoded} == shown
    asked_again = result_of(capsys, "query", "kept.lzs", *shown)
    assert {row["item"]: row["estimate"] for row in asked_again["items"]} == shown
    assert [path.name for path in Path().iterdir() if "partial" in path.name] == []


def test_intervals_of_the_rows_cover_the_list_that_they_were_chosen_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = ["most", "some", *(f"absent {n}" for n in range(300))]
    Path("items.txt").write_text("".join(f"{item}\n" for item in listed))
    asked = ["top", "rows.txt", "--domain", "items.txt", "-k", "2", "--save-release", "kept.lzs"]
    shown = result_of(capsys, *asked, "--width", "64")["items"]
    release = ls.Release.load("kept.lzs")
    together = release.interval_many(listed, simultaneous=True, known=listed)
    assert [row["item"] for row in shown] == ["most", "some"]
    for place, row in enumerate(shown):
        assert (row["low"], row["high"]) == (
            np.floor(together[place].low),
            np.ceil(together[place].high),
        )


def test_a_release_may_be_replaced_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["top", "rows.txt", "--domain", "items.txt", *CLEAR, "--save-release"]
    assert main([*asked, "kept.lzs"]) == 0
    first = Path("kept.lzs").read_bytes()
    assert main([*asked, "kept.lzs", "--overwrite"]) == 0
    assert Path("kept.lzs").read_bytes() != first
    capsys.readouterr()
    before = Path("rows.txt").read_bytes()
    assert main([*asked, "rows.txt"]) == 2
    assert (
        "expected a new file or a release to replace, got another kind of file: rows.txt"
        in capsys.readouterr().err
    )
    assert Path("rows.txt").read_bytes() == before


def test_items_come_as_words_from_a_file_and_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = saved("r.lzs")
    pipe = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"b\nnever\n")))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", pipe)
    found = result_of(capsys, "query", "r.lzs", "a", "-", "a", "--items", "items.txt")
    items = [row["item"] for row in found["items"]]
    assert items == ["a", "b", "never", "most", "some"]
    truth = release._intervals_of_list(items, confidence=0.95, among=None)
    assert [row["estimate"] for row in found["items"]] == truth.estimate.round(1).tolist()
    assert [row["low"] for row in found["items"]] == np.floor(truth.low).tolist()
    assert [row["high"] for row in found["items"]] == np.ceil(truth.high).tolist()


def test_integers_are_queried_as_integers(capsys: pytest.CaptureFixture[str]) -> None:
    with ls.LazyCountMin(depth=2, width=8, epsilon=12.0, delta=1e-8) as sketch:
        sketch.update_many([7] * 1_000)
        sketch.release().save("numbers.lzs")
    as_text = result_of(capsys, "query", "numbers.lzs", "7")["items"][0]
    as_number = result_of(capsys, "query", "numbers.lzs", "7", "--items-type", "int")["items"][0]
    assert (as_text["item"], as_number["item"]) == ("7", 7)
    release = ls.Release.load("numbers.lzs")
    assert as_number["estimate"] == round(release.interval(7, at="now").estimate, 1)
    assert as_text["estimate"] == round(release.interval("7", at="now").estimate, 1)


def test_counters_are_queried_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    counters = ls.ContinualCounters(counters=3, epsilon=1.0, delta=1e-8, horizon=100)
    counters.update(2)
    counters.release().save("doors.lzs")
    found = result_of(capsys, "query", "doors.lzs", "0", "2")
    assert [row["item"] for row in found["items"]] == [0, 2]
    assert found["kind"] == "counters"
    assert main(["query", "doors.lzs", "3"]) == 2
    assert "expected an integer from 0 to 2" in capsys.readouterr().err


def test_shares_need_steps_of_weight_one(capsys: pytest.CaptureFixture[str]) -> None:
    saved("plain.lzs")
    saved("weighted.lzs", max_weight=10)
    assert result_of(capsys, "query", "plain.lzs", "a")["items"][0]["share"] is not None
    assert result_of(capsys, "query", "weighted.lzs", "a")["items"][0]["share"] is None
    assert main(["query", "weighted.lzs", "a"]) == 0
    assert ", weights up to 10" in capsys.readouterr().out


def test_inspect_shows_all_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    release = saved("r.lzs", max_events_per_user=3, relation="zero-out", horizon=200)
    found = result_of(capsys, "inspect", "r.lzs")
    assert found["hash_seed"] == "7"
    assert found["privacy"]["epsilon"] == 1.0
    assert found["composition"] is None
    (part,) = found["parts"]
    assert part["sketch"] == release.sketch_id.hex()
    assert (part["steps"], part["relation"], part["max_events_per_user"]) == (100, "zero-out", 3)
    assert (part["schedule"], part["horizon"], part["leaves"]) == ("round robin", 200, 25)
    assert (part["pushes_min"], part["pushes_max"]) == (12, 13)
    deviation = release.noise_deviation
    assert part["noise_deviation_min"] == found["noise_deviation_min"] == deviation.min()
    assert part["noise_deviation_max"] == found["noise_deviation_max"] == deviation.max()
    least, most = f"{deviation.min():,.1f}", f"{deviation.max():,.1f}"
    spread = least if least == most else f"{least} to {most}"
    assert main(["inspect", "r.lzs"]) == 0
    out = capsys.readouterr().out
    for line in (
        "r.lzs: count-min 2 x 8, hash seed 7, 100 steps",
        "round robin schedule, horizon 200 steps; columns published 12 to 13 times of at most 25",
        f"standard deviation {spread}",
        "(1, 1e-08)-DP per person with at most 3 events (zero-out)",
    ):
        assert line in out


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.lzs")), ids=lambda path: path.stem)
@pytest.mark.parametrize("output", ["table", "csv", "json", "jsonl"])
def test_every_kind_of_release_can_be_inspected_and_queried(
    capsys: pytest.CaptureFixture[str], path: Path, output: str
) -> None:
    private = ls.Release.load(path).private
    for asked in (["inspect", str(path)], ["query", str(path), "0"]):
        assert main([*asked, "--output", output]) == 0
        captured = capsys.readouterr()
        assert "nan" not in captured.out.lower()
        assert "infinity" not in captured.out.lower()
        shown = captured.out + captured.err
        assert private or "NOT PRIVATE" in shown or '"private": false' in shown


def test_not_private_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    exact = ls.CountMin(depth=2, width=8)
    exact.update("a")
    exact.release().save("exact.lzs")
    assert main(["inspect", "exact.lzs"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "NOT PRIVATE (exact counts, no noise): no privacy guarantee"
    found = result_of(capsys, "inspect", "exact.lzs")
    assert found["private"] is False
    assert found["privacy"]["epsilon"] is None  # infinite


def test_merge_keeps_the_parts_and_shows_their_composition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    releases = [saved(f"{day}.lzs") for day in range(4)]
    assert main(["merge", "0.lzs", "1.lzs", "2.lzs", "3.lzs", "-o", "all.lzs"]) == 0
    captured = capsys.readouterr()
    assert "release saved to all.lzs" in captured.err
    mu = 2 * releases[0].privacy.mu  # sqrt(4 mu^2)
    assert f"mu = sqrt(sum of mu^2) = {mu:.3g}, that is (2.09, 1e-08)-DP" in captured.out
    assert "4 parts, each (1, 1e-08)-DP per event" in captured.out
    merged = ls.Release.load("all.lzs")
    assert merged.estimate("a") == releases[0].merge(*releases[1:]).estimate("a")
    found = result_of(capsys, "inspect", "all.lzs")
    assert found["steps"] == 400
    assert len(found["parts"]) == 4
    assert found["composition"]["mu"] == pytest.approx(mu)
    rows = result_of(capsys, "query", "all.lzs", "a")
    assert rows["privacy"] is None
    assert rows["composition"] == found["composition"]


def test_a_printed_epsilon_is_never_too_small() -> None:
    """Three digits, rounded up: with rounding to nearest half of these would be too small."""
    releases = [saved(f"{n}.lzs", epsilon=0.3 + 0.07 * n) for n in range(10)]
    for number in range(2, 11):
        printed = re.search(
            r"that is \(([0-9.]+), ", guarantees(releases[0].merge(*releases[1:number]))[-1]
        )
        assert printed is not None
        true = ls.compose(*(one.privacy for one in releases[:number])).epsilon_at(1e-8)
        assert true <= float(printed[1]) <= 1.01 * true


def test_different_guarantees_of_parts_are_all_listed() -> None:
    parts = [saved("a.lzs"), saved("b.lzs", epsilon=2.0)]
    lines = guarantees(parts[0].merge(parts[1]))
    assert sorted(lines[:2]) == sorted(f"1 of 2 parts: {part.privacy}" for part in parts)


def test_a_merged_release_inherits_not_private(capsys: pytest.CaptureFixture[str]) -> None:
    saved("private.lzs")
    saved("seeded.lzs", key=seeded_key(1))
    assert main(["merge", "private.lzs", "seeded.lzs", "-o", "both.lzs"]) == 0
    assert "NOT PRIVATE" in capsys.readouterr().out
    assert result_of(capsys, "inspect", "both.lzs")["composition"] is None


def test_releases_that_cannot_be_merged_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    saved("a.lzs")
    saved("b.lzs")
    saved("c.lzs", seed=8)
    for asked, message in (
        (["a.lzs", "b.lzs", "c.lzs"], "a.lzs, c.lzs: expected count-min 2 x 8 with hash_seed 7,"),
        (["a.lzs", "c.lzs"], "count releases to be merged with the same --hash-seed"),
        (["a.lzs", "b.lzs", "b.lzs"], "b.lzs, b.lzs: expected releases of different sketches"),
    ):
        assert main(["merge", *asked, "-o", "out.lzs"]) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.err.count("\n") == 1
        assert not Path("out.lzs").exists()


def test_sketches_with_one_hash_seed_can_be_merged(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["top", "rows.txt", "--domain", "items.txt", *CLEAR, "--hash-seed", "5"]
    for name in ("a.lzs", "b.lzs"):
        assert main([*asked, "--save-release", name]) == 0
    assert main(["merge", "a.lzs", "b.lzs", "-o", "both.lzs"]) == 0
    capsys.readouterr()
    found = result_of(capsys, "query", "both.lzs", "most")
    assert found["items"][0]["estimate"] == pytest.approx(15_000, rel=0.1)


def test_csv_of_parts_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    saved("a.lzs")
    assert main(["inspect", "a.lzs", "--output", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["private"], row["epsilon"], row["horizon"]) == ("true", "1.0", "")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "expected a lazysketch release, got an empty file"),
        (lambda data: b"item,count\na,3\n", "expected a lazysketch release, got other data"),
        (lambda data: data[:5], "expected a lazysketch release, got other data"),
        (lambda data: data[:20], "expected more bytes: truncated"),
        (lambda data: data[:-1], "the checksum does not match: truncated or damaged"),
        (lambda data: data + b"x", "the checksum does not match: truncated or damaged"),
        (lambda data: data[:8] + b"\x09" + data[9:], "expected format version 1 to 6, got 9"),
    ],
)
@pytest.mark.parametrize("verb", [["query", "bad.lzs", "a"], ["inspect", "bad.lzs"]])
def test_a_damaged_file_is_one_line(
    capsys: pytest.CaptureFixture[str], verb: list[str], damage: Any, message: str
) -> None:
    Path("bad.lzs").write_bytes(damage(saved("good.lzs").to_bytes()))
    assert main(verb) == 2
    assert capsys.readouterr().err == f"lazysketch: bad.lzs: {message}\n"


def test_verbs_read_releases_of_sums(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.lzs", "two.lzs"):
        with ls.Sums(
            low=0, high=10, epsilon=5.0, delta=1e-8, horizon=9_999, width=64, hash_seed=7
        ) as counted:
            counted.update_many(["a", "b"] * 4_000, [2.0, 9.0] * 4_000)
            counted.release().save(name)
    found = result_of(capsys, "query", "one.lzs", "a", "b")
    assert found["kind"] == "sums"
    assert found["guarantee"] == ["(5, 1e-08)-DP per event (substitution)"]
    sums = {row["item"]: row["sum"] for row in found["items"]}
    assert sums == pytest.approx({"a": 8_000, "b": 36_000}, rel=0.5)
    noise = result_of(capsys, "inspect", "one.lzs")["noise_deviation_max"]
    assert noise == pytest.approx(float(ls.SumsRelease.load("one.lzs").noise_deviation.max()))
    assert main(["merge", "one.lzs", "two.lzs", "-o", "both.lzs"]) == 0
    assert "2 parts, each (5, 1e-08)-DP per event" in capsys.readouterr().out
    assert ls.SumsRelease.load("both.lzs").step == 16_000
    together = result_of(capsys, "inspect", "one.lzs", "two.lzs")["composition"]
    assert 5.0 < together["epsilon"] < 10.0
    assert main(["merge", "both.lzs", "one.lzs", "-o", "no.lzs"]) != 0
    saved("counts.lzs")
    assert main(["merge", "counts.lzs", "one.lzs", "-o", "no.lzs"]) != 0
    assert "of items and of sums of values" in capsys.readouterr().err
    assert not Path("no.lzs").exists()
    assert main(["query", "one.lzs"]) != 0
    assert "expected at least one ITEM" in capsys.readouterr().err
