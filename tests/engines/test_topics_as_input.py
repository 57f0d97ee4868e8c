"""Topics as the input of a run: every message once, up to where they ended, also over runs."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

import pyarrow as pa
from tests.engines.brokers import PARTITIONS, MockBroker
from tests.engines.estimates import Runs

import lazysketch as ls
from lazysketch.cli import main
from lazysketch.cli.run import topics as topics_of_runs
from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.kafka import open_topics
from lazysketch.sources import RowBatch, feed
from lazysketch.sources.topic_positions import TopicPlace, TopicPosition

SMALL = ["--width", "64", "--depth", "2", "--epsilon", "4", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def broker() -> MockBroker:
    return MockBroker()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """This broker does not tell the ids of topics; tests with a real one have them."""
    monkeypatch.setattr("lazysketch.kafka.topic_source._ANSWER", 0.1)


def items_of(source: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for batch in source:
        weights = [1] * len(batch.items) if batch.weights is None else batch.weights
        for item, weight in zip(batch.item_list, weights, strict=True):
            found[item] += int(weight)
    return found


def arrow(users: list[str], weights: list[int]) -> bytes:
    table = pa.table({"user": users, "n": weights})
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return bytes(out.getvalue().to_pybytes())


STAMP = "[10/Oct/2000:13:55:36 -0700]"
ROWS = [(f"u{number % 5}", number % 4) for number in range(400)]
FORMATS: dict[str, tuple[dict[str, Any], Callable[[list[tuple[str, int]]], bytes], bytes]] = {
    "lines": ({}, lambda rows: "\n".join(user for user, _ in rows).encode(), b"\xff"),
    "jsonl": (
        {"field": "user", "weight": "n", "max_weight": 2},
        lambda rows: "\n".join(json.dumps({"user": u, "n": n}) for u, n in rows).encode(),
        b'{"user": {}}',
    ),
    "common": (
        {"field": "path"},
        lambda rows: "".join(f'h - - {STAMP} "GET {u} HTTP/1.0" 200 5\n' for u, _ in rows).encode(),
        b"GET",
    ),
    "regex": (
        {"regex": "^(?<user>u[0-9]+)$"},
        lambda rows: "\n".join(user for user, _ in rows).encode(),
        b"nothing",
    ),
    "arrow": (
        {"field": "user", "weight": "n", "max_weight": 2},
        lambda rows: arrow([user for user, _ in rows], [n for _, n in rows]),
        b"no stream",
    ),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_row_is_a_step(form: str, broker: MockBroker) -> None:
    """Also those that cannot be read, and messages without a value."""
    options, write, bad = FORMATS[form]
    sent: list[bytes | None] = [write(ROWS[at : at + 20]) for at in range(0, len(ROWS), 20)]
    sent[3:3] = [None, bad]
    broker.send(f"as-{form}", sent)
    source = open_topics(f"kafka://{broker.address}/as-{form}", format=form, **options)
    expected: Counter[str] = Counter()
    for user, weight in ROWS:
        expected[user] += min(weight, 2) if "weight" in options else 1
    assert items_of(source) == expected
    tally = source.tally
    assert (tally.rows, tally.malformed, tally.absent) == (402, 1, 1)
    assert tally.first_malformed[0] == (f"as-{form} [0] offset 1", 1)
    assert source.part_read == 1.0
    # As a sketch counts them.
    sketch = ls.LazyCountMin(depth=2, width=64, horizon=500, epsilon=4.0, delta=1e-6, max_weight=2)
    feed(sketch, open_topics(f"kafka://{broker.address}/as-{form}", format=form, **options))
    assert sketch.step == 402


def test_topics_are_read_up_to_where_they_ended(broker: MockBroker) -> None:
    """Several at a time; what is sent later belongs to the next run, or is followed."""
    broker.send("ends", [b"a"] * 100)
    broker.send("ends-too", [b"b"] * 30)
    names = [f"kafka://{broker.address}/{topic}" for topic in ("ends", "ends-too")]
    source = open_topics(names)
    followed = open_topics(names[0], follow=True)
    assert followed.part_read is None
    broker.send("ends", [b"late"] * 10)
    assert items_of(source) == {"a": 100, "b": 30}
    found: Counter[Any] = Counter()
    sender = threading.Timer(1.0, lambda: broker.send("ends", [b"later"] * 10))
    sender.start()
    for batch in followed:
        found.update(batch.item_list)
        if sum(found.values()) == 120:
            followed.stop()
    sender.join()
    assert found == {"a": 100, "late": 10, "later": 10}


def test_a_strict_reading_ends_before_the_row(broker: MockBroker) -> None:
    broker.send("strict", [b"a\na\n\nb"])
    source = open_topics(f"kafka://{broker.address}/strict", strict=True)
    found: list[RowBatch] = []
    with pytest.raises(SourceError, match=r"strict \[0\]: expected no malformed row"):
        found.extend(source)
    assert [batch.item_list for batch in found] == [["a", "a"]]
    assert source.place is not None
    position: Any = source.place.after(2)
    assert (position.offset, position.skipped, position.rows) == (0, 2, 2)
    notes = {source.place.source: position.to_text()}
    rest = open_topics(f"kafka://{broker.address}/strict", note=lambda name: notes.get(name, ""))
    assert items_of(rest) == {"b": 1}
    assert (rest.tally.rows, rest.tally.malformed) == (2, 1)


def test_positions_of_rows_within_messages() -> None:
    """After each number of rows; a message without rows belongs to the one before it."""
    place = TopicPlace("s", 10, offsets=[3, 5, 6, 9], ends=[2, 2, 5, 5], skipped=4, topic_id="t")
    expected = [(3, 4), (3, 5), (6, 0), (6, 1), (6, 2), (10, 0)]
    for rows, (offset, skipped) in enumerate(expected):
        position = place.after(rows)
        assert position == TopicPosition(10 + rows, offset, skipped, "t")
        assert TopicPosition.from_text(position.to_text()) == position
    assert [place.message_of(row) for row in range(5)] == [(3, 5), (3, 6), (6, 1), (6, 2), (6, 3)]
    with pytest.raises(SourceError, match="position: expected one of this version"):
        TopicPosition.from_text("{}")


@pytest.fixture
def runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Runs:
    monkeypatch.chdir(tmp_path)
    return Runs(tmp_path, capfd)


def test_runs_with_a_state_count_each_message_once(
    broker: MockBroker, runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    """In pieces, they publish what one run over a file with the same rows does, bit for bit."""
    topic = f"kafka://{broker.address}/kept"
    rows = [f"item {number % 6}" for number in range(900)]
    values = [f"{rows[at]}\n{rows[at + 1]}".encode() for at in range(0, 900, 2)]
    broker.send_to("kept", 0, values[:100])
    runs.run("a", topic, *SMALL)
    runs.copy("a", "b")
    for begin, end in ((100, 250), (250, 450), (450, 450)):
        broker.send_to("kept", 0, values[begin:end])
        pieces = runs.run("a", topic)
    Path("rest.txt").write_text("\n".join(rows[200:]))
    assert pieces == runs.run("b", "rest.txt")
    assert pieces[1] == 900
    assert runs.run("a", topic) == pieces
    kept = ["--anchor", "a.anchor", "--key-file", "key", "--output", "json"]
    assert main(["state", "a", *kept]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["files"] == [{"file": "kept [0]", "rows": 900, "format": "kafka"}]


def test_messages_that_are_gone_are_refused(broker: MockBroker, runs: Runs) -> None:
    """The broker keeps 5 MB of a partition; with --reread the run goes on at the oldest."""
    topic = f"kafka://{broker.address}/gone"
    broker.send("gone", [b"item 1"] * PARTITIONS)
    runs.run("a", topic, *SMALL)
    large = b"item 2\n" * 14_000
    sent = broker.send("gone", [large] * (80 * PARTITIONS))
    runs.run("a", topic, status=2)
    assert "were deleted before they were counted" in runs.said
    _, steps = runs.run("a", topic, "--reread")
    assert 40 * PARTITIONS * 14_000 < steps < sent * 14_000


def test_what_cannot_be_read_is_refused_by_name(
    broker: MockBroker, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"kafka://{broker.address}/refused"
    broker.send("refused", [b"item 1"])
    Path("bad.properties").write_text("enable.auto.commit=true")
    Path("unknown.properties").write_text("no.such=hidden-value")
    cases: list[tuple[list[str], str]] = [
        (["kafka://broker/x"], "address: expected kafka://HOST:PORT"),
        ([topic, "items.txt"], "expected topics only, or files only, got both: items.txt"),
        ([topic, topic], "expected each topic once"),
        ([topic, "kafka://other:9092/x"], "expected topics of the same brokers"),
        ([f"kafka://{broker.address}/with space"], "topic: expected 1 to 249 letters"),
        ([topic, "--format", "csv", "--by", "x"], "format: expected one of"),
        ([topic, "--delimiter", ";"], "delimiter: expected none for topics"),
        (["items.txt", "--kafka-settings", "x"], "kafka-settings: expected an input kafka://"),
        ([topic, "--kafka-settings", "missing"], "missing: expected a readable file"),
        ([topic, "--kafka-settings", "bad.properties"], "enable.auto.commit"),
        ([topic, "--kafka-settings", "unknown.properties"], "refuses: no.such"),
    ]
    for number, (words, message) in enumerate(cases):
        runs.run(f"case {number}", *words, *SMALL, status=2)
        assert message in runs.said, (words, runs.said)
        assert "hidden-value" not in runs.said
    monkeypatch.setattr(topics_of_runs, "find_spec", lambda _name: None)
    runs.run("without", topic, *SMALL, status=2)
    assert "pip install 'lazysketch[kafka]'" in runs.said


def test_errors_before_a_run(broker: MockBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazysketch.kafka.ranges._ANSWER", 3.0)
    with pytest.raises(SourceError, match="brokers: expected an answer, got the error _TRANSPORT"):
        open_topics("kafka://127.0.0.1:9/visits")
    with pytest.raises(ArgumentValueError, match="format: expected one of"):
        open_topics(f"kafka://{broker.address}/x", format="parquet", field="x")
    broker.send("counted", [b"a"] * PARTITIONS)
    source = open_topics(f"kafka://{broker.address}/counted", note=lambda _name: '[1,1,0,""]')
    assert items_of(source) == {}
    with pytest.raises(SourceError, match="goes up to offset 2, got one that ends at 1"):
        open_topics(f"kafka://{broker.address}/counted", note=lambda _name: '[2,2,0,""]')
