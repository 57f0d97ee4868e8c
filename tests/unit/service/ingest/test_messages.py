"""Values of messages: their events, and which values have rows that are no events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.service.publications import settings

from lazysketch.errors import ArgumentValueError, MissingPackageError, SourceError
from lazysketch.releases.items import plain_values
from lazysketch.service import kafka_settings
from lazysketch.service.ingest.envelopes import MOST_BODY
from lazysketch.service.ingest.messages import Part, parts_of, unreadable_part
from lazysketch.service.kafka_settings import consumer_settings, read_properties
from lazysketch.service.stream_settings import StreamSettings


def topics(**changes: Any) -> StreamSettings:
    return settings(kafka="broker:9092", topics=("visits",), **changes)


def items_of(part: Part) -> list[object]:
    return list(plain_values("items", part.events.items))


def unreadable(parts: list[Part]) -> list[int]:
    return [index for part in parts for index in part.unreadable(part.events.judged)]


def test_lines() -> None:
    values = [b"a\nb", None, b"c\n", b"\xff", b"d\n\xff\ne", b"x" * 2_000]
    (part,) = parts_of(values, topics(format="lines"))
    assert (part.begin, part.end) == (0, 6)
    assert items_of(part) == ["a", "b", "c", "d", "e"]
    assert unreadable([part]) == [3, 4, 5]


def test_json_of_people() -> None:
    rows = [{"item": "a", "u": 1}, {"item": "b"}, {"item": {}, "u": 2}, {"item": "c", "u": 3}]
    values = [json.dumps(row).encode() for row in rows]
    chosen = topics(user="u", relation="zero-out")
    (part,) = parts_of(values, chosen)
    assert items_of(part) == ["a", "c"]
    assert len(part.events.users) == 2
    assert unreadable([part]) == [1, 2]
    assert unreadable_part(3, chosen).events.users == []


def test_a_row_cannot_change_the_next_value() -> None:
    values = [b'{"item": "a', b'{"item": "b"}']
    (part,) = parts_of(values, topics())
    assert items_of(part) == ["b"]
    assert unreadable([part]) == [0]


def test_arrow() -> None:
    out = pa.BufferOutputStream()
    table = pa.table({"item": ["a", "b", None]})
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    whole = out.getvalue().to_pybytes()
    parts = list(parts_of([whole, None, whole[:-60], b"", whole], topics(format="arrow")))
    assert [items_of(part) for part in parts] == [["a", "b"], [], [], [], ["a", "b"]]
    assert [(part.begin, part.end) for part in parts] == [(at, at + 1) for at in range(5)]
    assert unreadable(parts) == [0, 2, 3, 4]


def test_large_values_are_parts_of_their_own() -> None:
    half = b"a\n" * (MOST_BODY // 4)
    values = [half, half, b"b", b"c" * (MOST_BODY + 1)]
    parts = list(parts_of(values, topics(format="lines")))
    assert [(part.begin, part.end) for part in parts] == [(0, 2), (2, 3), (3, 4)]
    assert unreadable(parts) == [3]
    assert not list(parts_of([], topics()))


def test_settings_of_a_consumer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("# a comment\n\n sasl.password = a=b \ngroup.id=of the file\n")
    assert read_properties(file) == {"sasl.password": "a=b", "group.id": "of the file"}
    monkeypatch.setattr(kafka_settings, "find_spec", lambda _: object())
    assert consumer_settings(topics(), state="s") == {
        "bootstrap.servers": "broker:9092",
        "group.id": "lazysketch s pages",
        "group.instance.id": "lazysketch-s-pages",
    }
    chosen = consumer_settings(topics(kafka_settings=str(file)), state="s")
    assert chosen["group.id"] == "of the file"
    chosen = consumer_settings(topics(kafka_settings=str(file), kafka_group="g"), state="s")
    assert chosen["group.id"] == "g"
    monkeypatch.setattr(kafka_settings, "find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"lazysketch\[kafka\]"):
        consumer_settings(topics(), state="s")


def test_files_of_settings_are_refused_without_their_values(tmp_path: Path) -> None:
    file = tmp_path / "kafka.properties"
    with pytest.raises(SourceError, match="expected a readable file"):
        read_properties(file)
    for text in ("secret", "=secret", "a=secret\na=secret"):
        file.write_text(text)
        with pytest.raises(ArgumentValueError, match="expected NAME=VALUE in line") as error:
            read_properties(file)
        assert "secret" not in str(error.value)
    file.write_bytes(b"a=\xff")
    with pytest.raises(SourceError, match="UTF-8"):
        read_properties(file)
