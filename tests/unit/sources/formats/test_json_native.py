"""JSON lines as read by the native core, against the json module on every row."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.locations import DATA
from tests.oracle.access_log import decoded_rows
from tests.oracle.written_json import EDITS, line

import lazysketch as ls
from lazysketch import testing
from lazysketch._native import TextColumn
from lazysketch.sources import RowBatch, feed, open_source
from lazysketch.sources.formats.json_lines import UNSURE, columns_of, read_json_lines, row_decoder
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream

SELECTIONS = [
    Selection(encoding="utf-8", **asked)
    for asked in (
        {"field": "k"},
        {"field": "k", "item_type": "str"},
        {"field": "k", "item_type": "int", "weight": "n", "max_weight": 5},
        {"field": "a.b", "weight": "n", "max_weight": 2**63 - 1},
        {"field": "b", "weight": "a.b.n", "times": True, "time": "a.t"},
        {"field": "k", "weight": "k", "max_weight": 9, "times": True, "time": "k"},
        {"field": "k", "times": True, "time": "t", "time_unit": "ns"},
        {"field": "a..b", "times": True, "time": ".", "weight": ""},
        {"field": "\udcff", "times": True, "time": "a.\ud800"},
    )
]


def contents(batch: RowBatch) -> dict[str, object]:
    """Return the contents of a batch with types, since 1 == True."""
    return {
        "items": [(type(item), item) for item in batch.item_list],
        "malformed": list(batch.malformed),
        "weights": batch.weights if batch.weights is None else [*map(int, batch.weights)],
        "clipped": list(batch.clipped),
        "times": batch.times if batch.times is None else batch.times.tolist(),
        "total": batch.total_weight,
    }


def read(data: bytes, selection: Selection) -> RowBatch:
    (batch,) = read_json_lines(ByteStream("test", path=None, blocks=[data]), selection)
    return batch


def assert_rows_equal_those_of_python(data: bytes) -> None:
    rows = decoded_rows(data.removeprefix("\ufeff".encode()), "utf-8")
    for selection in SELECTIONS:
        assert contents(read(data, selection)) == contents(row_decoder(selection)(rows)), selection


ORDINARY = [
    '{"k": "a", "n": 3, "t": "2011-08-18T15:40:53.826372Z"}',
    '{"a":{"b":7,"n":2,"t":1521911720.865716},"k":-1}',
    '{"a.b":"x","a":{"b":{"n":5},"n":[1,{"b":2}]},"n":9}',
    '{"k":"a\\nb\\u00e9\\ud83d\\ude00","x":[true,false,null,{}],"t":1.5e9,"é":"é"}',
    ' { "k" : 18446744073709551615 , "" : 1 , "." : "0" , "a" : { "" : { "b" : "" } } } ',
    '{"k":"a","k":"b","a":{"b":1},"a":{},"n":1,"n":-0,"t":5}',
    '{"k":1.0,"n":2.0,"a":{"b":-2.0,"n":1e3},"a.t":[]}',
    '{"\\u006b":2,"\\u0061":{"\\u0062":"x","n":3},"\\u0061.\\u006e":4,"t":"\\u0031"}',
]


def edited(line: str) -> list[str]:
    """Return the line after every edit of one character."""
    places = range(len(line) + 1)
    inserted = [line[:place] + edit + line[place:] for place in places for edit in EDITS]
    replaced = [line[:place] + edit + line[place + 1 :] for place in places for edit in EDITS]
    return [*inserted, *replaced, *(line[:place] + line[place + 1 :] for place in places)]


def block_of(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("line", ORDINARY)
def test_every_line_with_one_edit(line: str) -> None:
    lines = edited(line)
    assert_rows_equal_those_of_python(block_of(lines))
    selection = SELECTIONS[5]
    decode = row_decoder(selection)
    for alone in lines[:: 7 if len(lines) > 1000 else 1]:
        assert contents(read(block_of([alone]), selection)) == contents(decode([alone]))


@pytest.mark.parametrize(
    "tail",
    [
        *(
            "[",
            '{"k":',
            "9",
            '"',
            "\\",
            "\\u",
            "\\ud800",
            "[],",
            " ",
            "{}",
            '"k":1,',
            "1e9",
            "[1,",
            "}",
        )
    ],
)
def test_hostile_rows_take_linear_time(tail: str) -> None:
    heads = ("", '{"k":', '{"k": "', '{"a": {"b": ', '{"x": [', '{"')
    begin = time.process_time()
    for head in heads:
        row = head + tail * (100_000 // len(tail))
        for selection in SELECTIONS:
            read(block_of([row, row + "}", row + '"}', row + "]}"]), selection)
    # 216 rows of 100 kB take less than a second; in quadratic time they would take minutes.
    assert time.process_time() - begin < 20


def test_ordinary_lines_are_never_returned_undecoded() -> None:
    lines = [*ORDINARY, "", "rubbish", "[1]", '{"k": "cut o', '{"k": 1.0}', "{}", '{"k": {"k": 1}}']
    for selection in SELECTIONS:
        assert not len(columns_of(block_of(lines), selection).rows_of(UNSURE))


@pytest.mark.parametrize(
    "line",
    [
        *('{"k": NaN}', '{"x": -Infinity}', '{"k": 18446744073709551616}'),
        *('{"k": "\\ud800"}', '{"\\ud800": 1}', "{broken}", '{"k": 1,}', '{"k": 1} {}'),
        '{"x": ' + "9" * 640 + "}",
        '{"x": ' + "[" * 128 + "]" * 128 + "}",
        '{"x": ' + '{"x":' * 128 + "1" + "}" * 128 + "}",
    ],
)
def test_unsure_lines_are_returned_unchanged(line: str) -> None:
    selection, sure = SELECTIONS[6], '{"k": "a", "t": 1}'
    columns = columns_of(block_of([sure, f" {line}\r", sure]), selection)
    assert columns.kinds.tolist() == [0, UNSURE, 0]
    assert columns.unsure.tolist() == [f" {line}"]
    assert_rows_equal_those_of_python(block_of([sure, line, sure]))


def test_the_gil_is_released_meanwhile() -> None:
    data = block_of([ORDINARY[0]] * 200_000)
    counted, ended = [0], threading.Event()

    def count() -> None:
        while not ended.is_set():
            counted[0] += 1

    # So long that the interpreter does not force a GIL switch within the call.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.3)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        columns_of(data, SELECTIONS[0])
        during = counted[0] - before
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        thread.join()
    assert during > 0


def test_lines_that_the_core_decodes_stay_within_the_limits_of_python() -> None:
    digits, levels = 639, 126
    lines = [
        '{"x": ' + "9" * digits + ', "k": ' + "1" * 15 + "}",
        '{"x": "' + "[" * 1000 + '", "k": 1}',
        '{"x": [' + "[]," * 1000 + '[]], "k": 1}',
        '{"x": ' + "[" * levels + "]" * levels + ', "k": 1}',
    ]
    assert not len(columns_of(block_of(lines), SELECTIONS[0]).rows_of(UNSURE))
    assert read(block_of(lines), SELECTIONS[0]).item_list == [int("1" * 15), 1, 1, 1]


@pytest.mark.parametrize("length", [639, 640, 641, 1279, 1280, 4300, 4301, 5000])
@pytest.mark.parametrize("shift", range(0, 641, 64))
def test_long_numbers_anywhere_in_a_row(length: int, shift: int) -> None:
    line = '{"x": "' + "x" * shift + '", "y": ' + "9" * length + ', "k": "a"}'
    unsure = len(columns_of(block_of([line]), SELECTIONS[0]).rows_of(UNSURE))
    assert unsure == (length >= 640)
    assert_rows_equal_those_of_python(block_of([line]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (['"a"', '"b"'], TextColumn),
        (["1", "-1"], np.int64),
        (["1", str(2**64 - 1)], np.uint64),
        ([str(2**63)], np.uint64),
        (["-1", str(2**64 - 1)], list),
        (["1", '"1"'], list),
        (["1", str(2**64)], list),
        (["null"], list),
    ],
)
def test_items_of_one_type_are_an_array(values: list[str], kind: object) -> None:
    lines = [f'{{"k": {value}}}' for value in values]
    items = read(block_of(lines), SELECTIONS[0]).items
    kinds = (getattr(items, "dtype", None), type(items))
    assert kind in kinds
    assert_rows_equal_those_of_python(block_of(lines))


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_any_json_is_read_like_python(seed: int) -> None:
    chance = random.Random(seed)
    lines = [line(chance) for _ in range(chance.choice([1, 5, 100]))]
    assert_rows_equal_those_of_python(block_of(lines))


def test_the_generated_json_covers_every_kind() -> None:
    lines = [line(random.Random(seed)) for seed in range(3000)]
    kinds = columns_of(block_of(lines), SELECTIONS[0]).kinds
    text, signed, unsigned, malformed, unsure = np.bincount(kinds, minlength=5).tolist()
    assert min(text, signed, malformed, unsure) > 200
    assert unsigned > 5
    columns = columns_of(block_of(lines), SELECTIONS[3])
    assert len(columns.weights) > 20


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_like_python(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [b"\n", b"\r\n", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"{", b"}\n"]
    pieces += [chance.randbytes(3), *(line.encode() + b"\n" for line in ORDINARY)]
    pieces += [block_of([line(chance)]) for _ in range(10)]
    assert_rows_equal_those_of_python(b"".join(chance.choices(pieces, k=30)) + b"\n")


@pytest.mark.parametrize(
    "lines",
    [
        ['{"k": 1}', '{"k": NaN}', "x", '{"k": 18446744073709551616}', '{"k": "a"}'],
        ['{"k": 7, "x": NaN}', '{"k": 10}', '{"k": 11, "x": NaN}', "{", '{"k": 3, "t": "1"}'],
        ['{"a.b": null, "a": {"b": 1}}', '{"a": {"b": 1, "b": 2}}', '{"a": {"b": 1}, "a": 1}'],
        ['{"\\udcff": 1, "a": {"\\ud800": 5}}', '{"\\ufffd": 1}'],
        ['{"$serde_json::private::RawValue": "1", "k": {"$serde_json::private::RawValue": "1"}}'],
    ],
)
def test_blocks_with_some_undecoded_rows(lines: list[str]) -> None:
    assert_rows_equal_those_of_python(block_of(lines))


@pytest.mark.parametrize("encoding", ["utf-8", "iso8859-1", "ascii", "shift_jis"])
@pytest.mark.parametrize("size", [7, 40, 1000])
def test_blocks_and_encodings(encoding: str, size: int) -> None:
    lines = [*ORDINARY, '{"k": NaN}', '{"k": 3, "x": NaN, "t": 4}', "", "x", '{"k": "\xa7é"}']
    data = "\n".join(lines * 3).encode(encoding, "replace")
    rows = decoded_rows(data, encoding)
    blocks = [data[begin : begin + size] for begin in range(0, len(data), size)]
    for selection in SELECTIONS:
        asked = dataclasses.replace(selection, encoding=encoding)
        batches = list(read_json_lines(ByteStream("test", path=None, blocks=blocks), asked))
        expected = row_decoder(asked)(rows)
        assert sum(batch.rows for batch in batches) == len(rows) == expected.rows
        assert [item for batch in batches for item in batch.item_list] == expected.items
        if expected.times is not None:
            times = [time for batch in batches for time in batch.times.tolist()]  # type: ignore[union-attr]
            assert times == expected.times.tolist()


@pytest.mark.parametrize("every", [400, 50, 2])
def test_a_sketch_is_the_same_row_by_row(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows are returned undecoded, of which every other has an item."""
    path = tmp_path / "rows.jsonl"
    items: list[object] = [f"10.0.0.{row % 7}\n" if row < 700 else row % 5 for row in range(1000)]
    given_back = [row for row in range(1000) if row % every == 1]
    for row in given_back[::2]:
        items[row] = 2**70 + row
    for row in given_back[1::2]:
        items[row] = float("nan")
    path.write_text("".join(f"{json.dumps({'k': item, 'w': 2})}\n" for item in items))
    one_by_one = private()
    for item in items:
        if isinstance(item, float):
            one_by_one.tick()
        else:
            one_by_one.update(item, 2)
    for without in (False, True):
        if without:
            monkeypatch.setitem(sys.modules, "pyarrow", None)
        fed = private()
        source = open_source(path, field="k", weight="w", max_weight=2)
        feed(fed, source)
        assert (fed.release().table == one_by_one.release().table).all()
        assert (fed.step, source.tally.malformed) == (1000, len(given_back[1::2]))


def private() -> ls.LazyCountMin:
    return ls.LazyCountMin(
        depth=2,
        width=8,
        epsilon=1.0,
        delta=1e-6,
        horizon=1000,
        max_weight=2,
        hash_seed=1,
        key=testing.seeded_key(1),
    )


def netflow() -> list[dict[str, object]]:
    path = DATA / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
    with gzip.open(path, "rt", newline="") as text:
        flows = list(csv.DictReader(text))
    return [
        {"k": flow["SrcAddr"], "t": flow["StartTime"], "a": {"n": int(flow["TotPkts"])}, **flow}
        for flow in flows
    ]


def zeek() -> list[dict[str, object]]:
    lines = gzip.decompress((DATA / "zeek_wrccdc" / "dns.log.gz").read_bytes()).decode()
    rows = [line.split("\t") for line in lines.splitlines() if not line.startswith("#")]
    return [
        {"k": int(row[5]), "a.b": row[2], "t": float(row[0]), "n": int(row[3]), "a": row}
        for row in rows
    ]


@pytest.mark.skipif(not DATA.is_dir(), reason="no real streams: ../shared/data does not exist")
@pytest.mark.parametrize("stream", [pytest.param(netflow, marks=pytest.mark.long), zeek])
@pytest.mark.parametrize("selection", [SELECTIONS[0], SELECTIONS[3], SELECTIONS[4], SELECTIONS[6]])
def test_real_streams_written_as_json(
    stream: Callable[[], list[dict[str, object]]], selection: Selection
) -> None:
    lines = [json.dumps(value) for value in stream()]
    data = block_of(lines)
    assert not len(columns_of(data, selection).rows_of(UNSURE))
    assert contents(read(data, selection)) == contents(row_decoder(selection)(lines))
