"""``lazysketch pipeline --user`` protects people; parts have weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lazysketch as ls
from lazysketch.cli import main

ROWS = 12_000
PARTS = """
[pages]
statistic = "top"
by = "page"
share = 0.05
cells = 3

[bytes]
statistic = "top"
by = "page"
share = 0.05
weight = "size"
max-weight = 100
per-cell = 2

[clients]
statistic = "distinct"
by = "client"

[times]
statistic = "quantiles"
by = "ms"
low = 0
high = 100
per-person = 2

[ports]
statistic = "ranges"
by = "port"
bits = 16
per-person = 2
most-people = 100000

[spent]
statistic = "sums"
by = "page"
value = "ms"
items = "pages.txt"
low = 0
high = 100
cells = 3
"""
RUN = ("pipeline", "rows.csv", "--parts", "site.toml", "--epsilon", "8", "--delta", "1e-3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Client 0 sends half of all rows; each other client 6 of them, to 2 pages."""
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    rows = []
    for row in range(ROWS):
        client = 0 if row % 2 else 1 + row // 12
        rows.append(f"/{row % 4 // 2},client {client},{row % 90},{row % 1_000},{row % 300}")
    Path("rows.csv").write_text("\n".join(["page,client,ms,port,size", *rows]) + "\n")
    Path("site.toml").write_text(PARTS)
    Path("pages.txt").write_text("/0\n/1\n")
    return tmp_path


def test_what_a_person_contributes_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    arguments = (*RUN, "--user", "client", "--save-releases", "out", "--output", "json")
    assert main([*arguments]) == 0
    told = capsys.readouterr()
    shown: dict[str, Any] = json.loads(told.out)
    assert "DP per person, of whom" in shown["guarantee"]
    certain = 1 - 1e-9
    times = ls.DistributionRelease.load("out/times.lzs").histogram(confidence=certain)
    assert sum(times.low) <= 2 * 1_001 <= sum(times.high)
    people = ls.DistinctRelease.load("out/clients.lzs").interval(confidence=certain)
    assert people.low <= 1_001 <= people.high < 2_000
    pages = ls.Release.load("out/pages.lzs")
    for page, most in (("/0", 1_001), ("/1", 1_001)):
        assert pages.interval(page, confidence=certain).low <= most
        assert pages.interval(page, confidence=certain).high < 3_000
    weights = ls.Release.load("out/bytes.lzs")
    assert weights.parts[0].privacy.max_weight == 100
    assert f"times: {ROWS - 2 * 1_001:,} events were beyond the bound and not counted" in told.err
    assert "1,001 people in the stream" in told.err


def test_a_row_without_a_person_counts_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text("page,client,ms,port,size\n" + "/0,,1,2,3\n" * 9_000)
    Path("out").mkdir()
    main([*RUN, "--user", "client", "--save-releases", "out", "--output", "json"])
    capsys.readouterr()
    times = ls.DistributionRelease.load("out/times.lzs")
    assert times.step == 9_000
    assert all(low <= 0.0 for low in times.histogram(confidence=1 - 1e-9).low)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv", "dictionary"])
def test_a_person_is_one_however_it_is_written(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """7 and "7" are one person; empty text and nothing are none."""
    people: list[Any] = [7, 7, 8, None, None] if form != "csv" else ["7", "7", "8", "", ""]
    texts = ["7", "7", "8", None, ""]
    table = pa.table({"client": people * 400, "ms": [1.0] * 2_000})
    text = pa.array(texts * 400)
    other = table.set_column(
        0, "client", text.dictionary_encode() if form == "dictionary" else text
    )
    for name, one in (("first", table), ("second", other)):
        if form in ("parquet", "dictionary"):
            pq.write_table(one, f"{name}.data")
            continue
        rows = one.to_pylist()
        csv = ["client,ms", *(f"{row['client'] or ''},{row['ms']}" for row in rows)]
        lines = csv if form == "csv" else [json.dumps(row) for row in rows]
        Path(f"{name}.data").write_text("\n".join(lines) + "\n")
    Path("site.toml").write_text(
        '[times]\nstatistic = "quantiles"\nby = "ms"\nlow = 0\nhigh = 9\nper-person = 3\n'
        '[people]\nstatistic = "distinct"\nby = "client"\n'
    )
    Path("out").mkdir()
    arguments = ("--parts", "site.toml", "--user", "client", "--output", "json")
    main(["pipeline", "first.data", "second.data", *arguments])
    told = capsys.readouterr()
    counted = 2 * 3 * 400
    assert f"times: {counted - 2 * 3:,} events were beyond the bound" in told.err
    assert "2 people in the stream" in told.err


def test_weights_without_people(capsys: pytest.CaptureFixture[str]) -> None:
    Path("site.toml").write_text(
        '[bytes]\nstatistic = "top"\nby = "page"\nweight = "size"\nmax-weight = 300\n'
        '[networks]\nstatistic = "ranges"\nby = "port"\nbits = 16\nweight = "size"\n'
        "max-weight = 300\n"
    )
    Path("out").mkdir()
    assert main([*RUN, "--save-releases", "out", "--output", "json"]) == 0
    capsys.readouterr()
    true = sum(row % 300 for row in range(ROWS) if row % 4 // 2 == 0)
    found = ls.Release.load("out/bytes.lzs").interval("/0", confidence=1 - 1e-9)
    assert found.low <= true <= found.high
    networks = ls.RangesRelease.load("out/networks.lzs").count_between(
        0, 2**16, confidence=1 - 1e-9
    )
    assert networks.low <= sum(row % 300 for row in range(ROWS)) <= networks.high


@pytest.mark.parametrize(
    ("parts", "arguments", "message"),
    [
        (PARTS, (), "[pages] cells: expected --user too"),
        (
            '[x]\nstatistic = "quantiles"\nby = "ms"\nlow = 0\nhigh = 1\nper-person = 2',
            (),
            "--user",
        ),
        (
            '[x]\nstatistic = "distinct"\nby = "page"',
            ("--user", "client"),
            "[x] by: expected the field of --user for distinct items",
        ),
        (
            '[x]\nstatistic = "top"\nby = "page"\ncells = 0',
            ("--user", "client"),
            "[x] cells: expected an integer from 1",
        ),
        (
            '[x]\nstatistic = "ranges"\nby = "port"\nper-person = 0',
            ("--user", "client"),
            "[x] per-person: expected an integer from 1",
        ),
        (
            '[x]\nstatistic = "top"\nby = "page"\nweight = "size"',
            (),
            "[x] max-weight: expected one with weight, got none",
        ),
        (
            '[x]\nstatistic = "top"\nby = "page"\nmax-weight = 3',
            (),
            "[x] weight: expected one with max-weight, got none",
        ),
        (
            '[x]\nstatistic = "distinct"\nby = "client"\nweight = "size"',
            (),
            "weight",
        ),
    ],
)
def test_settings_that_are_refused(
    parts: str, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("site.toml").write_text(parts)
    assert main([*RUN, *arguments]) == 2
    assert message in capsys.readouterr().err
