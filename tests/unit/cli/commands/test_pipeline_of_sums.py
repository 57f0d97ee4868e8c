"""``lazysketch pipeline`` with sums by item and ranges of keys: two fields of a row in one part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.cli import main

ROWS = 8_000
PARTS = """
[spent]
statistic = "sums"
by = "shop"
value = "price"
items = "shops.txt"
low = 0
high = 100
rows = 2

[ports]
statistic = "ranges"
by = "port"
bits = 10
width = 64
ranges = ["0-512", "512-1024"]

[shops]
statistic = "distinct"
by = "shop"
"""
RUN = ("pipeline", "rows.csv", "--parts", "site.toml", "--epsilon", "12", "--delta", "1e-3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prices = np.random.default_rng(5).uniform(0, 90, size=ROWS)
    rows = [f"{'aab'[row % 3]},{price:.2f},{row % 800}" for row, price in enumerate(prices)]
    rows[::7] = [f"{line.partition(',')[0]},," for line in rows[::7]]  # no price and no port
    Path("rows.csv").write_text("\n".join(["shop,price,port", *rows]) + "\n")
    Path("shops.txt").write_text("c\nb\na\n")
    Path("site.toml").write_text(PARTS)
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--output", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def truth() -> dict[str, np.ndarray[Any, Any]]:
    found: dict[str, list[float]] = {"a": [], "b": []}
    for row in Path("rows.csv").read_text().splitlines()[1:]:
        shop, price, _ = row.split(",")
        if price:
            found[shop].append(float(price))
    return {shop: np.array(prices) for shop, prices in found.items()}


def test_sums_and_ranges_are_counted_with_other_statistics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = result_of(capsys, *RUN, "--save-releases", ".")
    spent, ports = found["parts"]["spent"], found["parts"]["ports"]
    assert (spent["steps"], ports["steps"]) == (ROWS, ROWS)
    assert [row["item"] for row in spent["items"]] == ["a", "b"]  # of three, two are asked for
    release, sure = ls.SumsRelease.load("spent.lzs"), 1 - 1e-6
    for shop, prices in truth().items():
        assert prices.sum() in release.sum(shop, confidence=sure)
        assert len(prices) in release.count(shop, confidence=sure)
    counted = sum(map(len, truth().values()))
    keys = ls.RangesRelease.load("ports.lzs")
    assert counted in keys.total(confidence=sure)
    below = sum(row % 7 > 0 and row % 800 < 540 for row in range(ROWS))
    assert below in keys.count_between(0, 540, confidence=sure)
    assert len(ports["items"]) == 2
    assert sum(found["shares"].values()) == pytest.approx(1.0)


def test_the_table_names_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN]) == 0
    shown = capsys.readouterr().out
    for words in ("spent", "mean_low", "ports", "0-512", "all parts together:"):
        assert words in shown


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('value = "price"', "", "[spent] value: expected the field of the number, got none"),
        ('items = "shops.txt"', "", "[spent] items: expected the file of a public list, got none"),
        ("low = 0", "", "[spent] low: expected the smallest value that counts as it is"),
        ("low = 0", "low = 200", "high: expected a number above low"),
        ("rows = 2", "rows = 0", "[spent] rows: expected an integer of at least 1"),
        ('"shops.txt"', '"rows.csv"', "[spent] items: expected a public list, got one of the"),
        ("bits = 10", "bits = 65", "[ports] bits: expected an integer from 1 to 64"),
        ('"512-1024"', '"512-2000"', "[ports] ranges: expected keys from 0 to 2^10"),
        ('"512-1024"', '"here"', "[ports] ranges: expected"),
        ('["0-512", "512-1024"]', "[1, 2]", "[ports] ranges: expected an array of strings"),
        ("bits = 10", "share = 0.1", "share"),
    ],
)
def test_parts_that_are_refused(
    old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in PARTS
    Path("site.toml").write_text(PARTS.replace(old, new, 1))
    assert main([*RUN]) == 2
    assert message in capsys.readouterr().err
