"""Results as tables: columns, Arrow, HTML, and sequences of rows."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import MissingPackageError
from lazysketch.result_tables import html_table, number_text, plain_text

ITEMS = st.one_of(st.text(), st.binary(), st.integers(-(2**80), 2**80))
COUNTS = st.floats(allow_nan=False)
HITTERS = st.builds(
    ls.HeavyHitter,
    item=ITEMS,
    estimate=COUNTS,
    low=COUNTS,
    high=COUNTS,
    share=COUNTS,
    complete=st.booleans(),
)
LISTS = st.lists(HITTERS, max_size=8)


def hitters(*items: Any) -> ls.HeavyItems:
    return ls.HeavyItems(ls.HeavyHitter(item, 9.0, 1.0, 17.5, 0.25) for item in items)


def node(item: str, *children: ls.HierarchyNode) -> ls.HierarchyNode:
    return ls.HierarchyNode(item, 0, "level", 9.0, 1.0, 17.5, 0.5, 4.0, 0.25, tuple(children))


class Texts(HTMLParser):
    """The tags and texts that a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(LISTS, LISTS)
def test_rows_are_a_frozen_sequence_that_equals_a_list(one: Any, other: Any) -> None:
    rows, others = ls.HeavyItems(one), ls.HeavyItems(other)
    assert rows == one
    assert one == rows
    assert (rows == others) == (one == other)
    assert (rows != other) == (one != other)
    assert rows != tuple(one)
    assert hash(rows) == hash(ls.HeavyItems(one))
    assert list(rows) == one
    assert list(reversed(rows)) == one[::-1]
    assert len(rows) == len(one)
    assert repr(rows) == f"HeavyItems({one!r})"
    assert rows[1:3] == one[1:3]
    assert type(rows[::2]) is ls.HeavyItems
    for again in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert again == rows
    for position, hitter in enumerate(one):
        assert rows[position] is hitter
        assert hitter in rows
        assert rows.index(hitter) == one.index(hitter)
        assert rows.count(hitter) == one.count(hitter)
    changed: Any = rows
    with pytest.raises(TypeError):
        changed[0] = None
    with pytest.raises(IndexError):
        rows[len(one)]


@given(LISTS)
def test_columns_hold_the_rows(rows: Any) -> None:
    columns = ls.HeavyItems(rows).to_dict()
    assert list(columns) == ["item", "estimate", "low", "high", "share", "complete"]
    assert [ls.HeavyHitter(*row) for row in zip(*columns.values(), strict=True)] == rows
    assert pandas.DataFrame(columns).shape == (len(rows), 6)


@given(LISTS)
def test_arrow_has_the_columns_with_fixed_types(rows: Any) -> None:
    found = ls.HeavyItems(rows)
    table = pa.table(found)
    assert table.num_rows == len(rows)
    for name in ("estimate", "low", "high", "share"):
        assert table.schema.field(name).type == pa.float64()
        assert table[name].to_pylist() == found.to_dict()[name]
    assert table["complete"].to_pylist() == [hitter.complete for hitter in rows]
    if "item_type" in table.column_names:
        assert table["item"].to_pylist() == [plain_text(hitter.item) for hitter in rows]
        names = [type(hitter.item).__name__ for hitter in rows]
        assert table["item_type"].to_pylist() == names
    else:
        assert table["item"].to_pylist() == [hitter.item for hitter in rows]
    frame = polars.DataFrame(found)
    assert frame.shape == (len(rows), table.num_columns)


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([], pa.string()),
        (["a", ""], pa.string()),
        ([b"\xff", b""], pa.binary()),
        ([1, -1], pa.int64()),
        ([-(2**63), 2**63 - 1], pa.int64()),
        ([0, 2**64 - 1], pa.uint64()),
    ],
)
def test_items_of_one_type_keep_it(items: list[Any], wanted: Any) -> None:
    table = pa.table(hitters(*items))
    assert table.schema.field("item").type == wanted
    assert table["item"].to_pylist() == items
    assert "item_type" not in table.column_names


@pytest.mark.parametrize(
    ("items", "texts", "types"),
    [
        (["1", 1, b"1"], ["1", "1", "1"], ["str", "int", "bytes"]),
        ([-1, 2**63], ["-1", str(2**63)], ["int", "int"]),
        ([2**64], [str(2**64)], ["int"]),
        (["é", b"\xc3\xa9\xff"], ["é", "é\\xff"], ["str", "bytes"]),
        (["", 1 << 40_000], ["", hex(1 << 40_000)], ["str", "int"]),
    ],
)
def test_other_items_are_text_and_type(
    items: list[Any], texts: list[str], types: list[str]
) -> None:
    table = pa.table(hitters(*items))
    assert table["item"].to_pylist() == texts
    assert table["item_type"].to_pylist() == types


def test_nodes_are_tables_without_their_children() -> None:
    nodes = ls.HierarchyNodes([node("a", node("a.b"))])
    frame = polars.DataFrame(nodes)
    assert frame.columns == [name for name in nodes.to_dict() if name != "children"]
    assert frame["item"].to_list() == ["a"]
    assert frame["own_share"].to_list() == [0.25]
    assert frame["level"].to_list() == [0]
    assert "children" not in nodes._repr_html_()


def intervals(number: int, *, simultaneous: bool = False) -> ls.Intervals:
    sketch = ls.LazyCountMin(depth=2, width=32, epsilon=1.0, delta=1e-6)
    sketch.update_many(np.arange(500) % 20)
    return sketch.release().interval_many(range(number), simultaneous=simultaneous)


@pytest.mark.parametrize("number", [0, 1, 20])
def test_intervals_are_tables(number: int) -> None:
    found = intervals(number)
    columns = found.to_dict()
    assert list(columns) == ["estimate", "low", "high"]
    assert columns["low"] == found.low.tolist()
    assert pa.table(found).to_pydict() == columns
    assert polars.DataFrame(found).to_dict(as_series=False) == columns
    assert pandas.DataFrame(columns).shape == (number, 3)


def test_intervals_say_in_a_notebook_what_they_cover() -> None:
    texts = Texts(intervals(20, simultaneous=True)._repr_html_()).texts
    assert "simultaneous 95% confidence intervals, at='now'" in texts
    assert not any("simultaneous" in text for text in Texts(intervals(2)._repr_html_()).texts)
    assert "150 more rows" in Texts(intervals(200)._repr_html_()).texts


def test_without_pyarrow_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for result in (hitters("a"), ls.HierarchyNodes(), intervals(1)):
        with pytest.raises(MissingPackageError, match="pyarrow") as raised:
            result.__arrow_c_stream__()
        assert isinstance(raised.value, ImportError)
        assert result.to_dict()
        assert result._repr_html_()


@pytest.mark.parametrize(
    "item",
    [
        "<script>alert(1)</script>",
        b"<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</td></table><script>",
        "&lt;b&gt;",
    ],
)
def test_html_shows_items_and_never_runs_them(item: str | bytes) -> None:
    seen = Texts(hitters(item, "other")._repr_html_())
    assert seen.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert plain_text(item) in "".join(seen.texts)


@given(LISTS)
def test_html_has_a_cell_for_every_value(rows: Any) -> None:
    html = ls.HeavyItems(rows)._repr_html_()
    mixed = len({type(hitter.item) for hitter in rows}) > 1
    assert html.count("<th>") == 6 + mixed
    assert len(re.findall("<td[ >]", html)) == len(rows) * (6 + mixed)


def test_html_tells_items_of_one_text_by_their_types() -> None:
    texts = Texts(hitters("1", 1, b"1")._repr_html_()).texts
    assert [text for text in texts if text in ("str", "int", "bytes")] == ["str", "int", "bytes"]


def test_html_shows_the_first_of_many_rows_and_the_head_of_long_items() -> None:
    seen = Texts(hitters(*range(60), "x" * 10_000)._repr_html_())
    assert "11 more rows" in seen.texts
    assert "49" in seen.texts
    assert "50" not in seen.texts
    (text,) = (text for text in Texts(hitters("x" * 10_000)._repr_html_()).texts if "xx" in text)
    assert text == "x" * 200 + "…"


def test_numbers_for_people() -> None:
    assert [number_text(value) for value in (1234.5, -3.0, float("inf"), float("-inf"))] == [
        "1,234",
        "-3",
        "∞",
        "-∞",
    ]
    assert number_text(float("nan")) == "unknown"
    texts = Texts(html_table({"share": [0.5, float("nan")], "count": [7.0, 8.0]})).texts
    assert {"50.00%", "unknown", "7", "8"} <= set(texts)
