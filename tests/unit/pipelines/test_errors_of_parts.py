"""Errors of a part of a pipeline name the part: when it is made, and when rows are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    ItemError,
    LazySketchError,
)

PRIVACY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
SIZE: dict[str, Any] = {"depth": 2, "width": 8}
CANARY = 987_654
VISITORS = ls.Part(ls.DistinctCount, "client")
PARTS = {
    "visitors": VISITORS,
    "networks": ls.Part(
        ls.HierarchicalHeavyHitters, "ip", levels=ls.ipv4_prefixes((8, 32)), share=0.1, **SIZE
    ),
    "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 9, number=9)),
    "spent": ls.Part(ls.Sums, "path", value="cost", low=0, high=9, **SIZE),
    "ports": ls.Part(ls.Ranges, "port", bits=8, width=8),
    "pages": ls.Part(ls.HeavyHitters, "page", share=0.1, **SIZE),
    "bytes": ls.Part(ls.LazyCountMin, "path", weight="size", max_weight=5, **SIZE),
}
ROWS: dict[str, list[Any]] = {
    "client": ["a", "b"],
    "ip": ["10.0.0.1", "10.0.0.2"],
    "ms": [1.0, 2.0],
    "path": ["/", "/a"],
    "cost": [1.0, 2.0],
    "port": [1, 2],
    "page": ["/", "/a"],
    "size": [1, 2],
}
WRONG = [
    ("visitors", "client", ["a", 1.5], ItemError),
    ("networks", "ip", ["10.0.0.1", f"{CANARY}"], ItemError),
    ("latency", "ms", [1.0, f"{CANARY}"], ArgumentTypeError),
    ("latency", "ms", [1.0, float("nan")], ArgumentValueError),
    ("spent", "cost", [1.0, f"{CANARY}"], ArgumentTypeError),
    ("ports", "port", [1, CANARY], ItemError),
    ("ports", "port", [1, "x"], ItemError),
    ("pages", "page", ["/", 1.5], ItemError),
    ("bytes", "size", [1, CANARY], ArgumentValueError),
    ("bytes", "size", [1, "x"], ArgumentTypeError),
]
PEOPLE: dict[str, Any] = {"user": "client", "person_bound": ls.PersonBound(events=2)}


def refused(live: ls.Pipeline, rows: dict[str, Any], name: str, error: type[Exception]) -> None:
    """Whether it is refused by Python, by the core or by the log."""
    before = live.steps
    with pytest.raises(error, match=f"^part '{name}': [a-z_ ]+.*: expected ") as raised:
        live.update_many(rows)
    assert str(CANARY) not in str(raised.value)
    assert str(raised.value).count("part '") == 1
    assert live.steps == before
    live.update_many(ROWS)
    assert live.steps == before + 2


@pytest.mark.parametrize("options", [{}, PEOPLE], ids=["rows", "people"])
def test_rows_that_a_part_refuses_name_it(options: dict[str, Any], tmp_path: Path) -> None:
    parts = {name: part for name, part in PARTS.items() if not (options and name == "visitors")}
    with Lives(tmp_path).open() as store:
        stored = store.pipeline("site", parts, **PRIVACY, **options)
        with ls.Pipeline(parts, **PRIVACY, **options) as plain:
            for live in (plain, stored):
                for name, column, values, error in WRONG:
                    if name in parts:
                        refused(live, ROWS | {column: values}, name, error)


def test_a_wrong_value_of_one_row_names_its_part() -> None:
    with ls.Pipeline(PARTS, **PRIVACY) as live:
        row = {name: column[0] for name, column in ROWS.items()}
        with pytest.raises(ItemError, match="^part 'ports': items: expected an integer"):
            live.update(row | {"port": CANARY})


def test_a_batch_that_a_part_refuses_names_it() -> None:
    in_batches = {
        "pages": ls.Part(ls.LazyCountMin, "page", schedule=ls.Batch(horizon=9), **SIZE),
        "ports": ls.Part(ls.Ranges, "port", bits=8, width=8, schedule=ls.Batch(horizon=9)),
    }
    for options in ({}, PEOPLE):
        with ls.Pipeline(in_batches, **PRIVACY, **options) as live:
            with pytest.raises(ItemError, match="^part 'ports': "):
                live.update_batch(ROWS | {"port": [1, CANARY]})
            with pytest.raises(ItemError, match="^part 'pages': "):
                live.update_batch(ROWS | {"page": ["/", 1.5]})


def test_the_part_with_the_least_horizon_is_named() -> None:
    parts = {"a": VISITORS, "b": ls.Part(ls.LazyCountMin, "page", horizon=3, **SIZE)}
    with ls.Pipeline(parts, **PRIVACY, horizon=9) as live:
        live.tick(2)
        with pytest.raises(HorizonError, match="^part 'b': "):
            live.tick(2)
        with pytest.raises(HorizonError, match="^part 'b': "):
            live.update_many(ROWS)
        assert live.steps == 2


def test_what_is_closed_is_so_as_a_whole() -> None:
    live = ls.Pipeline({"a": VISITORS}, **PRIVACY)
    live.close()
    with pytest.raises(ClosedError) as raised:
        live.tick()
    assert "part" not in str(raised.value)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda: ls.Part(ls.HeavyHitters, "page"), "share: expected a share of the stream"),
        (lambda: ls.Part(ls.HeavyHitters, "page", share=2), "share: expected a number above 0"),
        (lambda: ls.Part(ls.LazyCountMin, "page", depth=0, width=8), "depth: expected an integer"),
        (lambda: ls.Part(ls.LazyCountMin, "page", dept=1), "dept: expected an argument of"),
        (lambda: ls.Part(ls.Ranges, "page", bits=99), "bits: expected"),
    ],
)
def test_a_part_that_cannot_be_made_is_named(
    part: Callable[[], ls.Part], message: str, tmp_path: Path
) -> None:
    parts = {"visitors": VISITORS, "pages": part()}
    with pytest.raises(LazySketchError, match=f"^part 'pages': {message}"):
        ls.Pipeline(parts, **PRIVACY)
    with (
        Lives(tmp_path).open() as store,
        pytest.raises(LazySketchError, match=f"^part 'pages': {message}"),
    ):
        store.pipeline("site", parts, **PRIVACY)


def test_a_wrong_share_names_its_part() -> None:
    parts = {"visitors": VISITORS, "pages": ls.Part(ls.LazyCountMin, "page", **SIZE)}
    with pytest.raises(ArgumentValueError, match="^part 'pages': shares: expected a finite number"):
        ls.Pipeline(parts, **PRIVACY, shares={"visitors": 1.0, "pages": -1.0})


def test_a_column_that_has_no_values_is_refused() -> None:
    with (
        ls.Pipeline({"visitors": VISITORS}, **PRIVACY) as live,
        pytest.raises(ArgumentTypeError, match="^rows: expected columns of values, got NoneType"),
    ):
        live.update_many({"client": None})
