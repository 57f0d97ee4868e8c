"""Sources: several inputs as one stream, the tally, given or detected formats and fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import Position, open_source

COMMON = 'h{} - - [t] "GET /{} HTTP/1.0" 200 5'
COMBINED = COMMON + ' "-" "agent {}"'


def write(path: Path, *rows: str) -> Path:
    path.write_bytes("".join(row + "\n" for row in rows).encode("latin-1"))
    return path


def test_lines_are_items_unchanged(tmp_path: Path) -> None:
    path = write(tmp_path / "a", " a ", "b\tc", "#", '"')
    assert [batch.item_list for batch in open_source(path, format="lines")] == [
        [" a ", "b\tc", "#", '"']
    ]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\nb")
    assert [item for batch in open_source(path) for item in batch.item_list] == ["a", "b"]


def test_the_tally_counts_rows_and_locates_the_first_malformed_ones(tmp_path: Path) -> None:
    first = write(tmp_path / "first", "a", "", "\xff", "b")
    second = write(tmp_path / "second", "", "", "", "", "c")
    source = open_source([first, second], format="lines")
    assert [batch.item_list for batch in source] == [["a", "b"], ["c"]]
    assert (source.tally.rows, source.tally.malformed) == (9, 6)
    places = [
        (str(first), 2),
        (str(first), 3),
        (str(second), 1),
        (str(second), 2),
        (str(second), 3),
    ]
    assert source.tally.first_malformed == [Position(*place) for place in places]
    assert source.name == "2 inputs"


def test_row_positions_continue_across_batches(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789abcde\n" * 40_000 + b"\n")
    source = open_source(path)
    assert len(list(source)) > 1
    assert source.tally.first_malformed == [Position(str(path), 40_001)]


def test_another_encoding(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "caf\xe9")
    assert [batch.item_list for batch in open_source(path, encoding="latin-1")] == [["café"]]


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        ([COMBINED], "combined, field host"),
        ([COMMON], "common, field host"),
        (["a"], "lines"),
        (["", "", COMMON], "common, field host"),
        ([COMMON, COMMON, "broken"], "common, field host"),
        (["text", "text", COMMON], "lines"),
        ([COMMON + "\r"], "common, field host"),
        ([""], "lines"),
    ],
)
def test_the_format_is_detected_by_the_first_rows(
    tmp_path: Path, rows: list[str], form: str
) -> None:
    source = open_source(write(tmp_path / "a", *rows))
    list(source)
    assert source.tally.formats == [form]


def test_the_format_is_detected_for_each_input(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "empty"),
        write(tmp_path / "log", COMMON.format(1, 2)),
        write(tmp_path / "text", "a"),
    ]
    source = open_source(paths)
    assert [batch.item_list for batch in source] == [["h1"], ["a"]]
    assert source.tally.formats == ["common, field host", "lines"]


def test_a_field_requires_a_format_with_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "a", COMMON)
    expected = {
        ("lines", "host"): "field: expected none, since a row of format 'lines' is one item",
        (
            "common",
            "agent",
        ): "field: expected one of host, path, status, method, user, size for format 'common'",
        ("combined", "bytes"): "field: expected one of host, .* for format 'combined', got 'bytes'",
        ("xml", None): "format: expected one of auto, .*, combined, common, .*, got 'xml'",
    }
    for (form, field), message in expected.items():
        with pytest.raises(ArgumentValueError, match=message):
            open_source(path, format=form, field=field)


def test_a_detected_format_without_the_field_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="expected rows with a field 'host', got lines"):
        list(open_source(write(tmp_path / "a", "a"), field="host"))
    with pytest.raises(ArgumentValueError, match="for format 'common', got 'agent'"):
        list(open_source(write(tmp_path / "b", COMMON), field="agent"))


def test_an_empty_stream_is_an_error(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty")
    for field in (None, "host"):
        with pytest.raises(SourceError, match="empty: expected at least one row, got an empty"):
            list(open_source(empty, field=field))
    with pytest.raises(SourceError, match="2 inputs: expected at least one row"):
        list(open_source([empty, empty]))


def test_invalid_lists_of_inputs() -> None:
    with pytest.raises(ArgumentTypeError, match="paths: expected at least one input"):
        open_source([])
    with pytest.raises(SourceError, match="standard input: expected it once"):
        open_source(["-", "-"])
    with pytest.raises(ArgumentValueError, match="encoding"):
        open_source("-", encoding="utf-16")
