"""Output: nothing unprintable reaches a terminal, and each format can be read back."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lazysketch.cli.view.cells import bar, is_text, shown, title_of
from lazysketch.cli.view.output import (
    NOT_PRIVATE,
    Report,
    tell,
    text_of,
    visible,
    write,
)
from lazysketch.cli.view.plain_table import plain_text
from lazysketch.cli.view.table import fitting_table, table_of
from lazysketch.releases.rows import as_number

ROWS = [
    {"rank": 1, "item": "plain", "estimate": 1200, "low": 1170, "high": 1230, "share": 0.12},
    {"rank": 2, "item": "[red]:smile:", "estimate": 600, "low": 570, "high": 630, "share": 0.06},
    {
        "rank": 3,
        "item": 'a\x1b[2J\r\n\u202eb,"',
        "estimate": -7.5,
        "low": 0,
        "high": 22,
        "share": -0.001,
    },
]
REPORT = Report(rows=ROWS, summary={"steps": 10_000}, lines=["a line", "another"])
HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def show(rows: list[dict[str, object]], *, width: int, blocks: bool = True) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(table_of(rows, blocks=blocks))
    return file.getvalue()


def by_rich(rows: list[dict[str, object]], *, blocks: bool) -> list[str]:
    """The lines of a table for a file, laid out by rich."""
    table = Table(box=box.SIMPLE_HEAD if blocks else box.ASCII2, show_edge=False)
    keys = [key for key in rows[0] if key not in ("above_noise", "complete")]
    for key in keys:
        table.add_column(title_of(key), justify="left" if is_text(key) else "right")
    bars = "estimate" in keys
    if bars:
        table.add_column("")
    estimates = [float(str(row.get("estimate", 0.0))) for row in rows]
    for row, estimate in zip(rows, estimates, strict=True):
        drawn = bar(estimate, longest=max(estimates), blocks=blocks)
        above = row.get("above_noise", True)
        cells = [shown(row, key) for key in keys] + [drawn if above else ""] * bars
        table.add_row(*map(Text, cells))
    file = io.StringIO()
    Console(file=file, width=10_000, highlight=False).print(table)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@given(st.text())
def test_visible_text_has_no_controls(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not {unicodedata.category(char) for char in shown} & HARMFUL


def test_printable_text_is_unchanged() -> None:
    assert visible("Grüße/日本 a\\b") == "Grüße/日本 a\\b"


def test_items_are_neither_markup_nor_control() -> None:
    shown = show(ROWS, width=90)
    assert "[red]:smile:" in shown
    assert r'a\x1b[2J\r\n\u202eb,"' in shown
    assert "\x1b" not in shown


def test_a_negative_estimate_has_no_bar() -> None:
    first, _, last = show(ROWS, width=90).splitlines()[2:]
    assert "███████████▒" in first  # up to the ends of the interval
    assert "-8" in last
    assert "█" not in last
    table = plain_text(Report(rows=ROWS, summary={}, lines=[]), encoding="utf-8")
    first, _, last = table.splitlines()[2:5]
    assert "████████████" in first
    assert "-8" in last
    assert "█" not in last


def test_a_row_that_may_be_noise_is_dim_and_has_no_bar() -> None:
    rows = [{**ROWS[0], "above_noise": True}, {**ROWS[1], "above_noise": False}]
    file = io.StringIO()
    table = table_of(rows, blocks=True)
    Console(file=file, width=80, force_terminal=True, color_system="standard").print(table)
    first, last = file.getvalue().splitlines()[2:4]
    assert "█" in first
    assert "\x1b[2m" not in first
    assert "█" not in last
    assert "\x1b[2m" in last
    assert "above" not in file.getvalue()


def test_an_unknown_bound_is_a_dash() -> None:
    unknown = [{**ROWS[0], "high": float("inf")}]
    assert " - " in show(unknown, width=90).splitlines()[2]


def test_long_items_replace_bars() -> None:
    for length, bars in ((10, True), (34, False)):
        file = io.StringIO()
        console = Console(file=file, width=80)
        rows = [{**ROWS[0], "item": "x" * length}]
        console.print(fitting_table(rows, console=console))
        assert ("█" in file.getvalue()) is bars
        assert "x" * length in file.getvalue()


def test_a_table_in_a_pipe_has_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    write(REPORT, output="table")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [line.rstrip() for line in lines]


def test_bars_without_block_characters() -> None:
    assert show(ROWS, width=80, blocks=False).isascii()
    assert "###########-" in show(ROWS, width=80, blocks=False)
    table = plain_text(Report(rows=ROWS, summary={}, lines=[]), encoding="ascii")
    assert table.isascii()
    assert "############" in table


def test_long_items_fit_into_80_columns() -> None:
    rows: list[dict[str, object]] = [{**ROWS[0], "item": "/a/long/path" * 20}]
    folded = show(rows, width=80).splitlines()
    assert all(len(line) <= 80 for line in folded)
    assert "".join(line[7:40].strip() for line in folded).count("/a/long/path") >= 1


def test_a_table_in_a_pipe_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    item = "/a/long/path" * 20
    write(Report(rows=[{**ROWS[0], "item": item}], summary={}, lines=["x" * 200]), output="table")
    out = capsys.readouterr().out
    assert item in out
    assert "x" * 200 in out
    assert "\x1b" not in out


def test_a_terminal_gets_colour_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color in (False, True):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        if no_color:
            monkeypatch.setenv("NO_COLOR", "1")
        write(REPORT, output="table")
        assert ("\x1b[36m" in terminal.getvalue()) != no_color


def test_json_has_summary_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    write(REPORT, output="json")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"steps": 10_000, "items": ROWS}
    assert captured.err == ""


def test_json_lines_have_the_rows_and_standard_error_the_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(REPORT, output="jsonl")
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == ROWS
    assert captured.err == "lazysketch: a line\nlazysketch: another\n"


def test_csv_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    write(REPORT, output="csv")
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out, newline="")))
    assert [row["item"] for row in rows] == [row["item"] for row in ROWS]
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in ROWS]
    assert captured.err == "lazysketch: a line\nlazysketch: another\n"


def test_csv_on_a_terminal_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    write(REPORT, output="csv")
    assert "\x1b" not in terminal.getvalue()


def test_a_message_is_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell("two\nlines\x1b[31m")
    assert capsys.readouterr().err == "lazysketch: two lines\\x1b[31m\n"


def test_integers_have_no_fraction() -> None:
    assert [repr(as_number(value)) for value in (3.0, -2.0, 2.5)] == ["3", "-2", "2.5"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (713_229.4, "713,229"),
        (1e6, "1,000,000"),
        (12_345_678.9, "12,345,679"),
        (-2e9, "-2,000,000,000"),
        (10_582.34, "10,582.3"),
        (0.000_25, "0.00025"),
        (1e15, "1e+15"),
        (float("inf"), "inf"),
    ],
)
def test_values_have_an_exponent_only_if_they_are_long(value: float, shown: str) -> None:
    row = show([{"quantile": 0.5, "value": value}], width=80).splitlines()[-1]
    assert row.split() == ["0.5", shown]


# Wide, combining, hidden and joined characters; markup.
_TEXTS = st.text("ab \t日é\u0301\U0001f469\u200d\U0001f680\x1b[:]\\\u202e—")
_NUMBERS = st.integers(-5, 10**7) | st.floats(-1e3, 1e9)
_COLUMNS = {
    **dict.fromkeys(["item", "part", "verdict"], _TEXTS),
    **dict.fromkeys(["estimate", "low", "share", "seconds", "value", "other"], _NUMBERS),
    "high": _NUMBERS | st.just(float("inf")),
    **dict.fromkeys(["above_noise", "complete"], st.booleans()),
}


@pytest.mark.parametrize("encoding", ["UTF-8", "ascii"])
@given(data=st.data())
def test_a_table_in_a_pipe_is_what_rich_lays_out(data: st.DataObject, encoding: str) -> None:
    keys = data.draw(st.lists(st.sampled_from(sorted(_COLUMNS)), unique=True))
    row = st.fixed_dictionaries({"rank": _NUMBERS, **{key: _COLUMNS[key] for key in keys}})
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    lines = plain_text(Report(rows=rows, summary={}, lines=["a line"]), encoding=encoding)
    assert lines.splitlines() == [*by_rich(rows, blocks=encoding == "UTF-8"), "", "a line"]


@given(st.lists(st.text() | st.text("[]: \t\\").map(lambda text: NOT_PRIVATE + text)))
def test_lines_in_a_pipe_are_those_that_rich_writes(lines: list[str]) -> None:
    file = io.StringIO()
    console = Console(file=file, width=80)
    for line in lines:
        console.print(Text(visible(line)), soft_wrap=True)
    report = Report(rows=[], summary={}, lines=lines)
    assert text_of(report, output="table") == file.getvalue()
