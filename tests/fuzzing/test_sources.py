"""Every reader with damaged and truncated data of its format, plain and compressed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.fuzzing.mutations import SECONDS, damaged, rounds
from tests.oracle import captures

from lazysketch.errors import LazySketchError
from lazysketch.sources import FORMATS, open_source

ROWS = 30
TABLE = pa.table(
    {
        "a": [f"item {i}" for i in range(ROWS)],
        "b": list(range(ROWS)),
        "t": pa.array(range(ROWS)).cast(pa.timestamp("ms", "Europe/Berlin")),
        "u": pa.array([f"2015-05-17 10:05:{i:02}" for i in range(ROWS)]).dictionary_encode(),
    }
)
LOG = '203.0.113.{} - - [17/May/2015:10:05:03 +0000] "GET /p HTTP/1.1" 200 512 "-" "agent"\n'
ZEEK = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdns\n"
ZEEK += "#fields\ta\tb\n#types\tstring\tcount\n"


def arrow_bytes(new: Callable[..., pa.RecordBatchWriter]) -> bytes:
    sink = io.BytesIO()
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    return sink.getvalue()


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, sink, row_group_size=7)
    return sink.getvalue()


def text(row: str) -> bytes:
    return "".join(row.format(i, i) for i in range(ROWS)).encode()


WHOLE: dict[str, bytes] = {
    "lines": text("item {}\n"),
    "csv": b"a,b\n" + text('"item ""{}""",{}\n'),
    "tsv": b"a\tb\n" + text("item {}\t{}\n"),
    "jsonl": text('{{"a": "item {}", "b": {}, "c": {{"d": [1, null]}}}}\n'),
    "combined": text(LOG),
    "common": text(LOG.replace(' "-" "agent"', "")),
    "zeek": ZEEK.encode() + text("item {}\t{}\n"),
    "parquet": parquet_bytes(),
    "arrow": arrow_bytes(pa.ipc.new_stream),
    "pcap": captures.pcap(
        [
            captures.framed(captures.ip(f"198.51.100.{i}", "203.0.113.9"), captures.ETHERNET)
            for i in range(ROWS)
        ]
    ),
}
# The field to count, if it is not "a".
FIELD = {"lines": None, "combined": "host", "common": "host", "pcap": "src"}


def test_every_format_is_fuzzed() -> None:
    assert set(WHOLE) == set(FORMATS)


def read(path: Path, **settings: object) -> int:
    """Return the number of items, read as on the command line."""
    rows = 0
    for batch in open_source([str(path)], **settings):
        rows += len(batch.items)
        if batch.times is not None:
            assert len(batch.times) == batch.rows
            assert len(batch.item_times) == len(batch.items)  # type: ignore[arg-type]
    return rows


@pytest.mark.parametrize("form", sorted(WHOLE))
def test_damaged_inputs(form: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    field = FIELD.get(form, "a")
    path.write_bytes(WHOLE[form])
    assert read(path, format=form, field=field) == ROWS
    whole = refused = 0
    for chance, name in rounds(SECONDS / 2):
        data = damaged(WHOLE[form], chance)
        if chance.random() < 0.3:
            data = gzip.compress(data)
            data = damaged(data, chance) if chance.random() < 0.7 else data
        path.write_bytes(data)
        settings = {
            "format": chance.choice([form, form, "auto"]),
            "field": chance.choice([field, field, "b", None]),
            "item_type": chance.choice(["str", "str", "int"]),
            "strict": chance.random() < 0.3,
            "times": chance.random() < 0.3,
            "time": chance.choice([None, None, "a", "b", "t", "u"]),
            "encoding": chance.choice(["utf-8", "utf-8", "latin-1"]),
        }
        try:
            read(path, **settings)
            whole += 1
        except LazySketchError as error:
            refused += 1
            if len(str(error)) > 2000:
                pytest.fail(f"{name}: {error!r}")
        except BaseException as error:
            pytest.fail(f"{name}: {settings}: {error!r}")
    assert whole > 0
    assert refused > 0
