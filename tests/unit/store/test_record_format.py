"""The bytes of records and of checkpoint headers, pinned: a change here is another version."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.store.lives import KEY, Lives

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.store.calls import Call, Share
from lazysketch.store.checkpoint_header import header_of, objects_of
from lazysketch.store.eras import Eras
from lazysketch.store.partial_batches import CommittedBatch, PartialBatches
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.window import Window

GOLDEN = Path(__file__).parents[2] / "golden" / "releases" / "count-min-geometric.lzs"


def counts(*values: int) -> Any:
    return np.array(values, dtype=np.uint64)


# What happens, the header, and the parts after it.
RECORDS: dict[str, tuple[Call, bytes, str]] = {
    "texts of a source, with weights": (
        Call(
            object="pages",
            method="update_rows",
            events=(_native.logged_events(["a", "bcd"]),),
            weights=counts(3, 1),
            empty_rows=counts(1),
            source="web",
            sequence=7,
            note="byte 9",
        ),
        (
            b'{"object":"pages","method":"update_rows","batches":1,'
            b'"weights":true,"empty rows":true,'
            b'"sizes":[16,16,8],"source":"web","sequence":7,"note":"byte 9"}'
        ),
        "04 0200000000000000 01 01 03 616263640300000000000000 0100000000000000 0100000000000000",
    ),
    "batches of several sources": (
        Call(
            object="a",
            method="update_many",
            events=(_native.logged_events([1, -2]),),
            sources={"web": 7, "app": 1},
        ),
        (
            b'{"object":"a","method":"update_many","batches":1,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[17],"sources":{"web":7,"app":1}}'
        ),
        "05 0200000000000000 01000000 feffffff",
    ),
    "partial counts": (
        Call(
            object="a",
            method="add_partials",
            source="s",
            sequence=3,
            note="p",
            facts={"partials": [[0, "1f"]], "content": "0b", "table": "7e", "step": 1},
            contents=(b"xyz",),
        ),
        (
            b'{"object":"a","method":"add_partials","batches":0,'
            b'"weights":false,"empty rows":false,"sizes":[3],"source":"s","sequence":3,"note":"p",'
            b'"facts":{"partials":[[0,"1f"]],"content":"0b","table":"7e","step":1},"contents":1}'
        ),
        "78797a",
    ),
    "rows of several objects": (
        Call(
            object="site",
            method="update_rows",
            events=(_native.logged_events([1]), _native.logged_events([-2])),
            empty_rows=counts(1, 0),
            objects=(Share("site/a", 1, 1), Share("site/b", 1, 1)),
        ),
        (
            b'{"object":"site","method":"update_rows","batches":2,'
            b'"weights":false,"empty rows":true,'
            b'"sizes":[13,13,16],"objects":[["site/a",1,1],["site/b",1,1]]}'
        ),
        (
            "05 0100000000000000 01000000 05 0100000000000000 feffffff"
            " 0100000000000000 0000000000000000"
        ),
    ),
    "integers": (
        Call(object="a", method="update_many", events=(_native.logged_events([1, -2]),)),
        (
            b'{"object":"a","method":"update_many","batches":1,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[17]}'
        ),
        "05 0200000000000000 01000000 feffffff",
    ),
    "large integers": (
        Call(object="a", method="update_batch", events=(_native.logged_events([1 << 40]),)),
        (
            b'{"object":"a","method":"update_batch","batches":1,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[17]}'
        ),
        "01 0100000000000000 0000000000010000",
    ),
    "items of several types at two levels": (
        Call(
            object="nets",
            method="update_many",
            events=(_native.logged_events(["a", b"b", 5]), _native.logged_events(["x"])),
        ),
        (
            b'{"object":"nets","method":"update_many","batches":2,'
            b'"weights":false,'
            b'"empty rows":false,"sizes":[22,12]}'
        ),
        "03 0300000000000000 08 61 09 62 44 0500000000000000 04 0100000000000000 01 01 78",
    ),
    "an event of windows with its time": (
        Call(
            object="day",
            method="update_many",
            events=(_native.logged_events([6]),),
            times=np.array([-2], dtype=np.int64),
        ),
        (
            b'{"object":"day","method":"update_many","batches":1,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[13,8],"times":true}'
        ),
        "05 0100000000000000 06000000 feffffffffffffff",
    ),
    "events of people": (
        Call(
            object="a",
            method="update_many",
            events=(_native.logged_events([6, 7]),),
            user=_native.LoggedPeople.from_bytes(bytes(range(16)) + b"\xff" * 16),
            weights=counts(2, 3),
        ),
        (
            b'{"object":"a","method":"update_many","batches":1,'
            b'"weights":true,"empty rows":false,'
            b'"sizes":[17,32,16],"people":true}'
        ),
        (
            "05 0200000000000000 06000000 07000000 000102030405060708090a0b0c0d0e0f "
            "ffffffffffffffffffffffffffffffff 0200000000000000 0300000000000000"
        ),
    ),
    "the clock": (
        Call(object="hours", method="advance", now=1704067200.5),
        (
            b'{"object":"hours","method":"advance","batches":0,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[],"now":1704067200.5}'
        ),
        "",
    ),
    "steps": (
        Call(object="a", method="tick", steps=12),
        (
            b'{"object":"a","method":"tick","batches":0,'
            b'"weights":false,"empty rows":false,"sizes":[],'
            b'"steps":12}'
        ),
        "",
    ),
    "an object": (
        Call(object="a", method="made", digest="0a0b", facts={"privacy": {"epsilon": 1.0}}),
        (
            b'{"object":"a","method":"made","batches":0,'
            b'"weights":false,"empty rows":false,"sizes":[],'
            b'"digest":"0a0b","facts":{"privacy":{"epsilon":1.0}}}'
        ),
        "",
    ),
    "an era": (
        Call(object="", method="era", facts={"id": 5, "anchored": True, "copied": False}),
        (
            b'{"object":"","method":"era","batches":0,'
            b'"weights":false,"empty rows":false,"sizes":[],'
            b'"facts":{"id":5,"anchored":true,"copied":false}}'
        ),
        "",
    ),
    "what an era published": (
        Call(object="a", method="ended", contents=(b"\x01\x02", b"\x03")),
        (
            b'{"object":"a","method":"ended","batches":0,'
            b'"weights":false,"empty rows":false,'
            b'"sizes":[2,1],"contents":2}'
        ),
        "01 02 03",
    ),
}


def test_records(lives: Lives) -> None:
    """Written to a log and read from it."""
    options = {"key": KEY, "anchor": str(lives.folder / "anchor")}
    (lives.folder / "s").mkdir(parents=True)
    store = _native.Store(str(lives.folder / "s"), **options)
    for call, _, _ in RECORDS.values():
        store.append(call.encoded().parts)
    store.close()
    store = _native.Store(str(lives.folder / "s"), **options)
    found = store.records()
    store.close()
    for record, (name, (call, header, parts)) in zip(found, RECORDS.items(), strict=True):
        version = 3 if call.objects else 2 if call.sources else 1  # earlier programs refuse
        head = bytes([version]) + len(header).to_bytes(4, "little") + header
        assert record == head + bytes.fromhex(parts), name
        assert len(record) == call.encoded().size, name
        again = Call.decoded(record)
        assert b"".join(p for p in again.encoded().parts if isinstance(p, bytes)) == b"".join(
            p for p in call.encoded().parts if isinstance(p, bytes)
        )
        assert [it.tolist() for it in again.events] == [it.tolist() for it in call.events]


def test_parts_of_the_people_of_a_batch(lives: Lives) -> None:
    """Windows split a batch that is logged as one."""
    people = _native.LoggedPeople.from_bytes(bytes(range(64)))
    chosen = [people[1:3], people.take(np.array([3, 0])), people[4:]]
    assert [(len(some), some.size) for some in chosen] == [(2, 32), (2, 32), (0, 0)]
    (lives.folder / "s").mkdir(parents=True)
    options = {"key": KEY, "anchor": str(lives.folder / "anchor")}
    store = _native.Store(str(lives.folder / "s"), **options)
    store.append([*chosen])
    store.close()
    store = _native.Store(str(lives.folder / "s"), **options)
    assert store.records() == [bytes([*range(16, 48), *range(48, 64), *range(16)])]
    store.close()
    with pytest.raises(ArgumentTypeError, match=r"slice of step 1"):
        people[::2]
    for wrong in ([4], [-1]):
        with pytest.raises(ArgumentValueError, match=r"positions: expected those of the batch"):
            people.take(np.array(wrong))


def test_other_records_are_refused() -> None:
    record = b"".join(p for p in RECORDS["steps"][0].encoded().parts if isinstance(p, bytes))
    assert Call.decoded(record).steps == 12
    with pytest.raises(StoreError, match="state: expected record version 1 to 3, got 4"):
        Call.decoded(b"\x04" + record[1:])
    for other in (b"", b"\x01", record[:-1], record + b"x", record.replace(b"sizes", b"sises")):
        with pytest.raises(StoreError, match="expected a record of this version, got another"):
            Call.decoded(other)


class Kept:
    """What a header says of an object."""

    _parameters_digest = b"\x0a\x0b"

    def _further_parameters(self) -> str:
        return ""

    def __init__(self, progress: Progress | None = None, people: Any = None) -> None:
        self._windows, self._known = progress, people

    def _people(self) -> dict[int, Any]:
        return {} if self._known is None else {0: self._known}

    def _progress(self) -> Progress | None:
        return self._windows

    def _clock_said(self) -> float | None:
        return 7.5 if self._windows is not None else None


HEADER = (
    b'{"version":1,"objects":{"a":{"digest":"0a0b","era":5,"first":0,"tables":[0],"people":[0]},'
    b'"hours":{"digest":"0a0b","era":5,"first":2,"tables":[0],"windows":{"number":3,"whole":false,'
    b'"last":null,"finished":false,"ended":[{"number":2,"begin":"2024-01-01T00:00:00+00:00",'
    b'"end":9,"whole":true,"bytes":SIZE}]},"now":7.5}},"sources":{"web":7},'
    b'"notes":{"web":"byte 9"},"eras":{"number":1,"id":5,"anchored":true,"copied":true,'
    b'"spent":[["a",0,{"epsilon":1.0}]],"earlier":{"a":[SIZE]}}}'
)


def test_headers_of_checkpoints() -> None:
    release = ls.Release.load(GOLDEN)
    data = release.to_bytes()
    begin = datetime(2024, 1, 1, tzinfo=timezone.utc)
    ended = Window(2, begin, 9, ended=True, whole=True, release=release, names=release.names)
    progress = Progress(ended=(ended,), number=3, whole=False)
    eras = Eras(1, 5, copied=True, parts=[("a", 0, {"epsilon": 1.0})], earlier={"a": [release]})
    people = object()
    objects = {"a": Kept(people=people), "hours": Kept(progress)}
    none = PartialBatches()
    header, states = header_of(objects, {"web": 7}, {"web": "byte 9"}, none, eras)
    plain = HEADER.replace(b"SIZE", str(len(data)).encode())
    assert header == len(plain).to_bytes(4, "little") + plain + data + data
    assert [id(it) for it in states] == [id(it) for it in (objects["a"], people, objects["hours"])]
    again = Eras()
    found, sources, notes = objects_of(header, again, none)
    assert (sources, notes) == ({"web": 7}, {"web": "byte 9"})
    assert again.described() == eras.described()
    assert none == PartialBatches()
    assert (found["a"].era, found["a"].states, found["hours"].states) == (5, {0: 0}, {0: 2})
    assert (found["a"].people, found["hours"].people) == ({0: 1}, {})
    assert found["hours"].clock_said == 7.5
    kept = found["hours"].progress
    assert kept is not None
    assert kept.ended[0].release.to_bytes() == data
    assert (kept.ended[0].begin, kept.ended[0].end, kept.number) == (begin, 9, 3)
    other = json.loads(plain) | {"version": 2}
    text = json.dumps(other).encode()
    with pytest.raises(StoreError, match="state: expected checkpoint version 1, got 2"):
        objects_of(len(text).to_bytes(4, "little") + text, Eras(), none)
    for damaged in (b"", header[:-1], header + b"x", header[:100]):
        with pytest.raises(StoreError, match="expected a checkpoint of this version"):
            objects_of(damaged, Eras(), none)


PARTIALS = (
    b'{"version":1,"objects":{},"sources":{"s":2,"t":9},"notes":{},'
    b'"eras":{"number":0,"id":0,"anchored":true,"copied":false,"spent":[],"earlier":{}},'
    b'"partials":{"batches":{"s":["a",2,"0a","0b","7e",5],"t":["b",9,"0c","0d","7f",6],'
    b'"u":["c",1,"0e","0f","7d",2]},'
    b'"added":{"a":{"1f":4},"b":{}},"tables":{"a":"7e"},"publications":{"t":3,"u":[2,1]}}}'
)


def test_headers_with_partial_counts() -> None:
    """The publications are last, one for each level; one that was never made is left out."""
    batches = {
        "s": CommittedBatch("a", 2, "0a", "0b", "7e", 5),
        "t": CommittedBatch("b", 9, "0c", "0d", "7f", 6, (b"xyz",)),
        "u": CommittedBatch("c", 1, "0e", "0f", "7d", 2, (b"pq", b"r")),
    }
    partials = PartialBatches(batches, {"a": {"1f": 4}, "b": {}}, {"a": "7e"})
    header, _ = header_of({}, {"s": 2, "t": 9}, {}, partials, Eras())
    assert header == len(PARTIALS).to_bytes(4, "little") + PARTIALS + b"xyzpqr"
    again = PartialBatches()
    assert objects_of(header, Eras(), again) == ({}, {"s": 2, "t": 9}, {})
    assert again == partials
    for damaged in (header[:-1], header + b"x"):
        with pytest.raises(StoreError, match="expected a checkpoint of this version"):
            objects_of(damaged, Eras(), PartialBatches())
