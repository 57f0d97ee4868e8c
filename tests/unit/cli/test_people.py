"""``--user``: people are bounded, what was refused stays with the operator, names may be people."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.locations import ROOT
from tests.unit.cli.visits import ROBOT, TRUTH, write_visits

from lazysketch import Release
from lazysketch.cli import main
from lazysketch.cli.run.people import may_hold_people

ASKED = ["--by", "page", "--items", "pages.txt"]
PEOPLE = ["--user", "client", "--cells", "3"]
GROUPS = 200
# Of the people 1 to 4, and of no one; two of these are repetitions.
GROUP = [
    *((1, "/a"), (2, "/a"), (1, "/a"), (0, "/b"), (0, "/b"), (0, "/b")),
    *((1, "/b"), (3, "/a"), (3, "/a"), (3, "/b"), (2, ""), (4, "/a")),
]
OF_GROUPS = {"/a": 4 * GROUPS, "/b": 2 * GROUPS}
# Little noise, so that a count tells what was counted.
CLEAR = ["--epsilon", "15", "--delta", "1e-3", "--relation", "zero-out", "--width", "512"]
# Without collisions: an item that shares a cell with another one of its person does not count.
CLEAR += ["--hash-seed", "1"]


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_visits(Path())
    return Path("visits.csv")


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Groups of four people and twelve rows, of which three have no person."""
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("/a\n/b\n")
    rows = [
        f"{10 * group + person if person else ''},{page}"
        for group in range(GROUPS)
        for person, page in GROUP
    ]
    path = Path("few.csv")
    path.write_text("\n".join(["client,page", *rows, ""]))
    return path


def counted(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[str, float], dict[str, Any], str]:
    assert main(["estimate", *arguments, *ASKED, "--output", "json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    return {row["item"]: row["estimate"] for row in found["items"]}, found, captured.err


def assert_close(counts: dict[str, float], truth: dict[str, int]) -> None:
    """Raise unless each count is that of the truth; the noise is below 3, two bounds apart 200."""
    assert counts.keys() == truth.keys()
    for item, count in truth.items():
        assert abs(counts[item] - count) < 60


def documented(heading: str) -> list[list[tuple[str, float, float]]]:
    """Item and interval of each row of the tables under a heading of the page."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = re.search(rf"^### {re.escape(heading)}.*?(?=^##)", page, re.MULTILINE | re.DOTALL)
    assert section
    blocks = re.findall(r"^```text\n(.*?)^```$", section[0], re.MULTILINE | re.DOTALL)
    row = re.compile(r"^ *(/\S+) +[\d,]+ +([\d,]+) +([\d,]+)", re.MULTILINE)
    return [
        [
            (item, *(float(end.replace(",", "")) for end in ends))
            for item, *ends in row.findall(text)
        ]
        for text in blocks
    ]  # type: ignore[misc]


def test_a_person_of_nine_tenths_of_the_events_counts_like_any_other(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    """Also as documented: of 14 intervals on the page, each of 95 %, 12 hold the true counts."""
    truths = [{**TRUTH, "/login": ROBOT}, TRUTH]
    for options, truth in zip(([], PEOPLE), truths, strict=True):
        counts, _, _ = counted(capsys, str(visits), *options, *CLEAR)
        assert_close(counts, truth)
    tables = [table for table in documented("`--user FIELD`") if table]
    assert [{item for item, _, _ in table} for table in tables] == [set(TRUTH)] * 2
    held = sum(
        low <= truth[item] <= high
        for table, truth in zip(tables, truths, strict=True)
        for item, low, high in table
    )
    assert held >= 12


def test_the_guarantee_is_that_of_the_bound(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    bound = [*PEOPLE, "--per-cell", "2", "--most-people", "5000", "--width", "512"]
    words = (
        "per person, of whom 2 events in each of 3 cells"
        " of every sketch row are counted, of the first 5,000 people"
    )
    _, found, _ = counted(capsys, str(visits), *bound)
    assert found["privacy"]["person_bound"] == {"cells": 3, "events": 2, "most_people": 5000}
    _, alone, _ = counted(capsys, str(visits), *PEOPLE, "--width", "512")
    ratio = found["privacy"]["l2_sensitivity"] / alone["privacy"]["l2_sensitivity"]
    assert ratio == pytest.approx(4)  # two events, and twice for the limit of people
    assert (found["field"], found["user"]) == ("page", "client")
    assert words in found["guarantee"][0]
    for output in ("table", "csv", "jsonl"):
        assert main(["top", str(visits), "--by", "page", *bound, "--output", output]) == 0
        captured = capsys.readouterr()
        assert words in (captured.out if output == "table" else captured.err)
    command = ["estimate", str(visits), *ASKED, *PEOPLE, "--save-release", "visits.lzs"]
    assert main(command) == 0
    assert "of whom 1 event in each of 3 cells" in str(Release.load("visits.lzs").privacy)


def test_the_default_bound(capsys: pytest.CaptureFixture[str], few: Path) -> None:
    _, found, _ = counted(capsys, str(few), "--user", "client")
    assert found["privacy"]["person_bound"] == {"cells": 10, "events": 1, "most_people": None}


def test_refused_events_are_for_the_operator_alone(
    capsys: pytest.CaptureFixture[str], few: Path
) -> None:
    _, found, err = counted(capsys, str(few), "--user", "client", *CLEAR)
    assert "400 events were beyond the bound and not counted; 800 people in the stream" in err
    assert "2,400 rows" in err
    assert "600 malformed for want of a person (no-user)" in err
    assert "(for the operator, outside the guarantee)" in err
    assert not re.search("beyond|refused|800 people|no-user", json.dumps(found))


def test_a_row_without_a_person_is_an_empty_step(
    capsys: pytest.CaptureFixture[str], few: Path
) -> None:
    counts, found, _ = counted(capsys, str(few), "--user", "client", *CLEAR)
    assert found["steps"] == 12 * GROUPS
    assert_close(counts, OF_GROUPS)


def test_no_value_of_a_person_is_printed(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    for options in ([], ["--live"], ["--strict"]):
        command = ["top", str(visits), "--by", "page", *PEOPLE, *options]
        assert main(command) == 0
        captured = capsys.readouterr()
        assert "192.0." not in captured.out + captured.err
        assert "203.0.113" not in captured.out + captured.err


def test_a_pipe_and_a_live_run_bound_people(capsys: pytest.CaptureFixture[str], few: Path) -> None:
    counts, _, _ = counted(capsys, str(few), "--user", "client", "--live", *CLEAR)
    assert_close(counts, OF_GROUPS)
    reading, writing = os.pipe()
    os.write(writing, few.read_bytes())
    os.close(writing)
    try:
        name = f"/dev/fd/{reading}"
        counts, found, _ = counted(capsys, name, "--user", "client", "--format", "csv", *CLEAR)
    finally:
        os.close(reading)
    assert found["steps"] == 12 * GROUPS
    assert_close(counts, OF_GROUPS)


def test_a_plot_is_of_the_same_counts(capsys: pytest.CaptureFixture[str], few: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ["top", str(few), "--by", "page", "--domain", "pages.txt", "--user", "client"]
    assert main([*command, *CLEAR, "--plot", "few.svg", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert_close({row["item"]: row["estimate"] for row in found["items"]}, OF_GROUPS)


def test_people_are_the_same_in_files_of_other_formats(
    capsys: pytest.CaptureFixture[str], few: Path
) -> None:
    """The person 1 of the text, of integers and of JSON has one bound."""
    people = [10 * group + 1 for group in range(GROUPS)]
    pq.write_table(pa.table({"page": ["/a"] * GROUPS, "client": people}), "few.parquet")
    rows = [{"page": "/a", "client": one} for one in people]
    Path("few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    counts, _, err = counted(
        capsys, str(few), "few.parquet", "few.jsonl", "--user", "client", *CLEAR
    )
    assert_close(counts, OF_GROUPS)
    assert "800 events were beyond the bound and not counted; 800 people" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cells", "3"], "--cells: expected --user too, the field of the person, got none"),
        (["--per-cell", "3"], "--per-cell: expected --user too"),
        (["--most-people", "3"], "--most-people: expected --user too"),
        (["--user", "client", "--cells", "0"], "--cells: expected an integer from 1 to 4096"),
        (["--user", "client", "--per-cell", "0"], "--per-cell: expected an integer from 1"),
        (["--user", "page"], "--user: expected another field than the one that is counted"),
        (["--user", "nobody"], "expected a column of the header for user, got 'nobody'"),
        (["--user", "client", "--max-events-per-user", "3"], "--max-events-per-user: expected"),
        (["--cells", "3", "--state", "kept"], "--cells: expected --user too"),
    ],
)
def test_wrong_uses_are_refused(
    capsys: pytest.CaptureFixture[str], few: Path, options: list[str], message: str
) -> None:
    assert main(["estimate", str(few), *ASKED, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert not Path("kept").exists()


def test_a_later_file_without_the_field_is_found_before_anything_is_counted(
    capsys: pytest.CaptureFixture[str], few: Path
) -> None:
    Path("other.csv").write_text("page,visitor\n/a,1\n")
    command = ["estimate", str(few), "other.csv", *ASKED, "--user", "client", "--live"]
    assert main([*command, "--save-release", "few.lzs"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "other.csv: expected a column of the header for user, got 'client'" in captured.err
    assert not Path("few.lzs").exists()


def test_no_row_and_no_person(capsys: pytest.CaptureFixture[str], few: Path) -> None:
    Path("empty.csv").write_text("")
    assert main(["estimate", "empty.csv", *ASKED, "--user", "client", "--format", "csv"]) == 2
    assert "expected at least one row" in capsys.readouterr().err
    few.write_text("client,page\n,/a\n,/b\n")
    assert main(["estimate", str(few), *ASKED, "--user", "client"]) == 2
    assert "every row was malformed, since none has a person" in capsys.readouterr().err


def test_settings_may_come_from_a_file(capsys: pytest.CaptureFixture[str], few: Path) -> None:
    Path("people.toml").write_text('user = "client"\n[estimate]\ncells = 4\nper-cell = 2\n')
    _, found, _ = counted(capsys, str(few), "--config", "people.toml")
    assert found["privacy"]["person_bound"] == {"cells": 4, "events": 2, "most_people": None}


def test_items_that_may_be_people_are_pointed_out(
    capsys: pytest.CaptureFixture[str], few: Path
) -> None:
    line = "items of field 'client' may be people, and a heavy one is named"
    for arguments, told in (
        (["top", str(few), "--by", "client"], True),
        (["top", str(few), "--by", "client", "--domain", "pages.txt"], False),  # public names
        (["top", str(few), "--by", "page"], False),
    ):
        main(arguments)
        captured = capsys.readouterr()
        assert (line in captured.err) is told
        assert line not in captured.out


@pytest.mark.parametrize(
    ("field", "people"),
    [
        *((name, True) for name in ("ip", "client", "email", "user", "user_id", "name", "host")),
        *((name, True) for name in ("src_ip", "id.orig_h", "userName", "customer.email", "src")),
        *((name, False) for name in ("path", "page", "status", "query", "hostname", "file_name")),
        *((name, False) for name in ("usage", "zip", "description", "", "é", "event.name")),
    ],
)
def test_fields_that_hold_people_are_known_by_their_names(field: str, people: bool) -> None:
    assert may_hold_people(field) is people
