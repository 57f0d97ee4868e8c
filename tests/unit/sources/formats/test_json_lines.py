"""JSON lines: independent lines, types as written, fields inside objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazysketch import CountMin
from lazysketch.errors import ArgumentTypeError
from lazysketch.sources import RowBatch, feed, open_source
from lazysketch.sources.formats.json_lines import read_json_lines
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream


def read(*lines: str | bytes, **settings: object) -> RowBatch:
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    selection = Selection(**{"field": "k", "encoding": "utf-8", **settings})
    (batch,) = read_json_lines(ByteStream("test", path=None, blocks=[data]), selection)
    return batch


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ('{"k": "a"}', "a"),
        ('{"k": ""}', ""),
        ('{"k": 1}', 1),
        ('{"k": "1"}', "1"),
        ('{"k": -1}', -1),
        ('{"k": 123456789012345678901234567890}', 123456789012345678901234567890),
        (' \t{"k": "a"} \r', "a"),
        ('{"k": "\\u00e9\\ud83d\\ude00"}', "é😀"),
        ('{"x": [1, {"k": 2}], "k": "a"}', "a"),
        ('{"k": "a", "k": "b"}', "b"),
        ('{"k": null}', None),
        ('{"k": true}', None),
        ('{"k": 1.0}', None),
        ('{"k": 1e2}', None),
        ('{"k": NaN}', None),
        ('{"k": {}}', None),
        ('{"k": ["a"]}', None),
        ('{"k": "\\ud800"}', None),
        ('{"K": "a"}', None),
        ("{}", None),
        ("", None),
        ("null", None),
        ('"k"', None),
        ('[{"k": "a"}]', None),
        ('{"k": "a"} {"k": "b"}', None),
        ('{"k": "a"', None),
        ('{"k": "a\tb"}', None),
        ("{'k': 'a'}", None),
        ('{"k": ' + "9" * 5000 + "}", None),
        ('{"k": ' + "[" * 100_000, None),
        (b'{"k": "\xff"}', None),
        (b'{"k": "a", "x": "\xff"}', None),
    ],
)
def test_each_line_is_judged_independently(line: str | bytes, item: object) -> None:
    batch = read('{"k": "first"}', line, '{"k": "last"}')
    assert batch.item_list == (["first", "last"] if item is None else ["first", item, "last"])
    assert batch.malformed == ([1] if item is None else [])


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ('{"user": {"id": "a"}}', "a"),
        ('{"user.id": "a"}', "a"),
        ('{"user.id": "a", "user": {"id": "b"}}', "a"),
        ('{"user": {"id": null}}', None),
        ('{"user": {}}', None),
        ('{"user": "a"}', None),
        ('{"user": [{"id": "a"}]}', None),
        ('{"id": "a"}', None),
    ],
)
def test_a_path_of_keys(line: str, item: str | None) -> None:
    assert read(line, field="user.id").item_list == ([] if item is None else [item])


@pytest.mark.parametrize(
    ("weight", "counted"),
    [
        *(("0", 0), ("5", 5), ("10", 9), ("9" * 30, 9)),
        *((text, None) for text in ("-1", "1.0", "true", "null", '"5"', "[]")),
    ],
)
def test_weights(weight: str, counted: int | None) -> None:
    batch = read('{"k": "a", "n": {"w": ' + weight + "}}", weight="n.w", max_weight=9)
    assert batch.weights is not None
    assert list(batch.weights) == ([] if counted is None else [counted])
    assert bool(batch.clipped) == (counted is not None and weight != str(counted))
    assert read('{"k": "a"}', weight="n", max_weight=9).malformed == [0]


def test_items_of_one_type_only() -> None:
    lines = ('{"k": "1"}', '{"k": 1}')
    assert (read(*lines, item_type="str").item_list, read(*lines, item_type="int").item_list) == (
        ["1"],
        [1],
    )
    assert read(*lines, item_type="int").malformed == [0]


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["k", "x", "é"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=8), st.booleans())
def test_json_written_by_python_is_read_back(values: list[object], ascii_only: bool) -> None:
    lines = [json.dumps(value, ensure_ascii=ascii_only) for value in values]
    items = [value.get("k") if isinstance(value, dict) else None for value in values]
    batch = read(*lines, '{"k": "end"}')
    assert batch.item_list == [item for item in items if type(item) in (str, int)] + ["end"]
    assert batch.rows == len(values) + 1


def test_text_and_integers_are_different_items(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"k": "1"}\n{"k": 1}\n{"k": 1}\n')
    sketch = CountMin(depth=5, width=1024)
    source = open_source(path, field="k")
    feed(sketch, source)
    assert (sketch.estimate("1"), sketch.estimate(1)) == (1.0, 2.0)
    assert source.tally.formats == ["jsonl, field k"]


def test_the_format_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('broken\n{"k": 1}\n{"k": 2}\n')
    assert [batch.item_list for batch in open_source(path, field="k")] == [[1, 2]]
    with pytest.raises(ArgumentTypeError, match="expected the name of a key for format 'json"):
        list(open_source(path))
    assert [batch.rows for batch in open_source(path, format="lines")] == [3]
