"""Rows by a regular expression: groups, malformed rows, errors, hostile expressions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources import RowBatch, open_source

EXPRESSION = r"(?<when>[^ ]+) user=(?P<who>\w+) page=(?<page>[^ ]*) (?<bytes>\d+|-)"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "input"
    path.write_text(
        "x 2026-05-17T10:05:03Z user=ann page=/a 7\n"
        "other\n"
        "2026-05-17T10:05:04Z user=bob page= 5\n"
        "2026-05-17T10:05:05Z user=bób page=/c 50 and more\r\n"
        "2026-05-17T10:05:06Z user=eve page=/d -\n"
    )
    return path


def batch_of(path: Path, **options: object) -> RowBatch:
    (batch,) = open_source(path, **options)  # type: ignore[arg-type]
    return batch


def test_groups_are_fields(log: Path) -> None:
    batch = batch_of(log, regex=EXPRESSION, field="page")
    assert batch.item_list == ["/a", "/c", "/d"]
    assert list(batch.malformed) == [1, 2]  # no match; an empty group
    assert batch_of(log, regex=EXPRESSION).item_list[0] == "2026-05-17T10:05:03Z"  # the first


def test_weight_time_and_person_are_groups(log: Path) -> None:
    batch = batch_of(
        log,
        format="regex",
        regex=EXPRESSION,
        field="page",
        weight="bytes",
        max_weight=9,
        time="when",
        user="who",
    )
    assert batch.item_list == ["/a", "/c"]
    assert batch.weights is not None
    assert (list(batch.weights), list(batch.clipped)) == ([7, 9], [1])
    assert batch.user_list == ["ann", "bób"]
    assert batch.times is not None
    assert (batch.times.astype("datetime64[ns]").astype(str) == "NaT").tolist() == [
        False,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regex": "("}, 'regex: expected a regular expression, got "unclosed group"'),
        ({"regex": r"(?<a>x)\1"}, 'regex: expected a regular expression, got "backreferences'),
        ({"regex": "a{1000}{1000}{1000}"}, "regex: expected a regular expression, got"),
        ({"regex": "[^ ]+"}, "regex: expected a named group"),
        ({"regex": "x" * 10_001}, "regex: expected text of at most 10,000 characters"),
        ({"regex": "\ud800"}, "regex: expected text of at most"),
        ({"regex": "(?<a>x)", "field": "b"}, "field: expected one of the groups a, got 'b'"),
        ({"regex": "(?<a>x)", "user": "b"}, "user: expected one of the groups a, got 'b'"),
        ({"regex": "(?<a>x)", "user": "a"}, "user: expected another field than the one"),
    ],
)
def test_expressions_that_do_not_fit(options: dict[str, str], message: str, log: Path) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        list(open_source(log, **options))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_the_format_and_the_expression_need_each_other(log: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="regex: expected an expression for format 'regex'"):
        open_source(log, format="regex")
    with pytest.raises(ArgumentTypeError, match="regex: expected none with format 'csv', got one"):
        open_source(log, format="csv", field="a", regex="(?<a>x)")


def test_an_expression_that_backtracks_elsewhere_takes_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("a" * 500_000 + "\n")
    begin = time.process_time()
    assert batch_of(path, regex="^(?<x>(a+)+)b").item_list == []
    assert time.process_time() - begin < 5
