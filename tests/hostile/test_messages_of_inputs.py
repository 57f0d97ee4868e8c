"""Messages on inputs of another format, wrong fields and long headers: what to write, no data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.sources import open_source

_SECRET = "alice@example.com"
TABLES = [("ann;1\nbob;2\neve;3\n", "table of 2 columns", "bob")]


@pytest.mark.parametrize(("data", "looks", "item"), TABLES)
def test_a_table_that_is_read_as_lines_says_the_command_that_counts_it(
    tmp_path: Path, data: str, looks: str, item: str
) -> None:
    path = tmp_path / "input"
    path.write_text(data)
    source = open_source(path)
    batches = list(source)
    assert sum(batch.rows for batch in batches) == data.count("\n")  # nothing else changed
    (hint,) = source.tally.hints
    assert looks in hint
    assert item not in hint.removeprefix(str(path))
    # The command is run, up to the reader.
    command, _, reader = hint.partition(" FILE | ")
    shell = command.rpartition("; to count")[2].partition(": ")[2]
    done = subprocess.run(
        f"{shell} input", shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    converted = tmp_path / "converted"
    converted.write_text(done.stdout)
    options: dict[str, str] = {"format": reader.split()[4].rstrip(";")}
    counted = [name for batch in open_source(converted, **options) for name in batch.item_list]  # type: ignore[arg-type]
    assert item in map(str, counted)


@pytest.mark.parametrize("data", ["ann\nbob\neve\n", "a b\nc\n", "x,y\nz\n", '{"a": 1}\n' * 3])
def test_lines_and_known_formats_get_no_hint(tmp_path: Path, data: str) -> None:
    path = tmp_path / "input"
    path.write_text(data)
    source = open_source(path, field="a" if data.startswith("{") else None)
    list(source)
    assert source.tally.hints == []
    explicit = open_source(path, format="lines")
    list(explicit)
    assert explicit.tally.hints == []


def test_integers_in_json_name_the_option(tmp_path: Path) -> None:
    path = tmp_path / "input.jsonl"
    path.write_text('{"v": 1}\n{"v": 2}\n{"v": "a"}\n')
    source = open_source(path, field="v", item_type="str")
    assert [batch.item_list for batch in source] == [["a"]]
    assert (
        "got integers in most of the first rows; for integers write --items-type int"
        in (source.tally.hints[0])
    )


@pytest.mark.parametrize(
    "data",
    [
        f"{_SECRET},1\nbob,2\n",
        f"#separator \\x09\n#fields\tts\t{_SECRET}\n1\tb\n",
        f"#separator {_SECRET}\n#fields\ta\n1\n",
        "#fields\t" + "\t".join([_SECRET] * 10_000) + "\nx\n",
    ],
)
@pytest.mark.parametrize("field", ["other", "alice@example.org", None])
def test_a_header_that_may_be_data_is_never_shown(
    tmp_path: Path, data: str, field: str | None
) -> None:
    path = tmp_path / ("input.csv" if data.startswith("alice") else "input")
    path.write_text(data)
    with pytest.raises((SourceError, ArgumentTypeError)) as caught:
        list(open_source(path, field=field))
    assert _SECRET not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_missing_field_lists_the_columns_of_a_schema(tmp_path: Path) -> None:
    table = pa.table({f"column{number}" + "x" * 100: ["a"] for number in range(30)})
    path = tmp_path / "input.parquet"
    pq.write_table(table, path)
    stream = tmp_path / "input.arrow"
    with pa.ipc.new_stream(str(stream), table.schema) as out:
        out.write_table(table)
    for one, name in ((path, "parquet"), (stream, "arrow")):
        for options in ({}, {"format": name}):
            with pytest.raises(ArgumentTypeError) as caught:
                list(open_source(one, **options))  # type: ignore[arg-type]
            assert "(--by NAME), got none; its columns are 'column0xxxx" in str(caught.value)
            assert "... (30 columns)" in str(caught.value)
            assert len(str(caught.value)) < 1500


def test_a_column_of_bytes_names_no_option_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "input.parquet"
    pq.write_table(pa.table({"v": [b"a"], "n": [1]}), path)
    with pytest.raises(SourceError, match="bytes are counted in Python only"):
        list(open_source(path, field="v", item_type="str"))
    with pytest.raises(SourceError, match="write --items-type int"):
        list(open_source(path, field="n", item_type="str"))
