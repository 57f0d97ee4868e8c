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
_ALB = (
    "https 2018-07-02T22:23:00.186641Z app/my/50dc 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 "
    '0.037 200 200 0 57 "GET https://a.example:443/ HTTP/1.1"\n'
)
_ELB = "2015-05-13T23:39:43.945958Z my-elb 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001 200\n"
_HAPROXY = (
    "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in "
    'static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /index.html HTTP/1.1"\n'
)
_SYSLOG = "Jun 14 15:16:01 combo sshd(pam_unix)[19939]: failure\n"
_SYSLOG_5424 = "<34>1 2003-10-11T22:14:15.003Z mymachine su - ID47 - text\n"
_SYSLOG_ISO = "2024-01-01T00:00:00.1+00:00 host sshd[12]: text\n"
_IIS = "#Software: x\n#Fields: date c-ip s\n2020-01-01 10.0.1.2 1\n2020-01-01 10.0.1.2 1\n"
_CLOUDFRONT = "#Version: 1.0\n#Fields: date c-ip s\n" + "2020-01-01\t10.0.1.2\t1\n" * 2
LOGS = [
    (_ALB * 3, "application load balancer", "192.168.131.39"),
    (_ELB * 3, "classic load balancer", "192.168.131.39"),
    (_HAPROXY * 3, "HAProxy", "10.0.1.2"),
    (_SYSLOG * 3, "syslog", "sshd(pam_unix)"),
    (_SYSLOG_5424 * 3, "syslog", "su"),
    (_SYSLOG_ISO * 3, "syslog", "sshd"),
    (_IIS, "W3C log with spaces", "10.0.1.2"),
    (_CLOUDFRONT, "W3C log with tabs", "10.0.1.2"),
    ("ann;1\nbob;2\neve;3\n", "table of 2 columns", "bob"),
]


@pytest.mark.parametrize(("data", "looks", "item"), LOGS)
def test_a_log_that_is_read_as_lines_says_the_command_that_counts_it(
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
    if "--by c-ip" in reader:
        options["field"] = "c-ip"
    if "--delimiter space" in reader:
        options["delimiter"] = "space"
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
