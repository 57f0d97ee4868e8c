"""Spark counts ranges of offsets once, and the release is that of one machine, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("pyspark")
pytest.importorskip("confluent_kafka")

from confluent_kafka import TopicPartition
from tests.engines.brokers import PARTITIONS
from tests.engines.real_brokers import RealBroker
from tests.engines.sessions import run_ticks
from tests.engines.test_spark_streams import forget_last_commit

import lazysketch.spark as lazy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.spark.source_options import SourceOptions


def send_in_transactions(broker: RealBroker, topic: str, items: list[str]) -> None:
    """Send items between two transactions that are aborted."""
    producer = broker.transactions(topic)
    for values, commit in ((["bad"] * 40, False), (items, True), (["bad"] * 40, False)):
        producer.begin_transaction()
        for number, item in enumerate(values):
            value = json.dumps({"user": item}).encode()
            producer.produce(topic, value=value, partition=number % PARTITIONS)
        producer.flush(60)
        if commit:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)


def test_a_topic_is_counted_as_by_one_machine(
    session: Any, real_broker: RealBroker, lives: Lives, tmp_path: Path
) -> None:
    """Also when Spark runs tasks again; named offsets are the same later, others are refused."""
    items = [f"user {number % 37}" for number in range(3_000)]
    real_broker.create("batch")
    send_in_transactions(real_broker, "batch", items)
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        local.update_batch(items)
        options = {"kafka": real_broker.address, "topics": "batch", "field": "user"}
        options["spec"] = live.partial_spec().hex()
        frame = session.read.format("lazysketch").options(**options).load()
        assert frame.rdd.getNumPartitions() == PARTITIONS
        for _ in range(2):
            release = lazy.add_frame(store, "days", 1, frame, into=live)
            assert release.to_bytes() == local.release().to_bytes()
        real_broker.send("batch", [b'{"user": "late"}'] * PARTITIONS)
        frame = session.read.format("lazysketch").options(**options).load()
        with pytest.raises(ArgumentValueError, match="positions: expected those of batch 1"):
            lazy.add_frame(store, "days", 1, frame, into=live)
        # Ranges that are named: those before the late messages are in this one.
        ends = {}
        for number in range(PARTITIONS):
            partition = TopicPartition("batch", number)
            (future,) = real_broker.admin.list_offsets({partition: _latest()}).values()
            ends[number] = future.result(60).offset
        offsets = json.dumps({"batch": {number: [end - 1, end] for number, end in ends.items()}})
        frame = session.read.format("lazysketch").options(offsets=offsets, **options).load()
        release = lazy.add_frame(store, "days", 2, frame, into=live)
        local.update_batch(["late"] * PARTITIONS)
        assert release.to_bytes() == local.release().to_bytes()
        for number, end in ends.items():
            record = TopicPartition("batch", number, end - 1)
            (future,) = real_broker.admin.delete_records([record]).values()
            future.result(60)
        frame = session.read.format("lazysketch").options(offsets=offsets, **options).load()
        release = lazy.add_frame(store, "days", 2, frame, into=live)  # still whole
        assert release.to_bytes() == local.release().to_bytes()
        offsets = json.dumps({"batch": {number: [end - 2, end] for number, end in ends.items()}})
        frame = session.read.format("lazysketch").options(offsets=offsets, **options).load()
        with pytest.raises(Exception, match="were deleted before they were counted"):
            lazy.add_frame(store, "days", 3, frame, into=live)
        assert live.step == 2


def _latest() -> Any:
    from confluent_kafka.admin import OffsetSpec

    return OffsetSpec.latest()


def test_ticks_of_a_topic_and_replays(
    session: Any, real_broker: RealBroker, lives: Lives, tmp_path: Path
) -> None:
    """Each tick is one step, with its own messages, also when it is run again after more came."""
    real_broker.create("ticks")
    sent = {1: ["a"] * 500 + ["b"] * 100, 2: [], 3: ["c"] * 300}
    expected, published = list[bytes](), list[bytes]()
    with lives.open() as store:
        OPENED["count-min"](store)
    with lives.copied_to(tmp_path / "copy").open() as local_store:
        local = OPENED["count-min"](local_store)
        for items in sent.values():
            local.update_batch(items)
            expected.append(local.release().to_bytes())
    options = {
        "kafka": real_broker.address,
        "topics": "ticks",
        "format": "lines",
        "state": str(tmp_path / "state"),
    }
    with lives.open() as store:
        live = OPENED["count-min"](store)

        def publish(release: Any) -> None:
            published.append(release.to_bytes())

        sink = lazy.StoreSink(
            session, store, "s", into=live, state=options["state"], publish=publish
        )
        for items in sent.values():
            real_broker.send("ticks", [item.encode() for item in items])
            run_ticks(session, sink, tmp_path, 1, **options)
        assert published == expected
        # As after a crash between the commit of the store and that of Spark.
        real_broker.send("ticks", [b"late"] * 40)
        forget_last_commit(tmp_path)
        run_ticks(session, sink, tmp_path, 1, **options)
        assert published[3] == expected[2]
        assert live.step == 4  # and the late ones in a tick of their own
        # What is gone before its tick is an error of the query, never silence.
        real_broker.send("ticks", [b"gone"] * 40)
        ends = [TopicPartition("ticks", number, -1) for number in range(PARTITIONS)]
        for future in real_broker.admin.delete_records(ends).values():
            future.result(60)
        with pytest.raises(Exception, match="were deleted before they were counted"):
            run_ticks(session, sink, tmp_path, 1, **options)
        assert live.step == 4


def test_options_of_topics_are_checked() -> None:
    given = {"kafka": "broker:9092", "topics": "visits, clicks", "spec": "00"}
    found = SourceOptions.of(given).topics
    assert found is not None
    assert (found.brokers, found.topics, found.offsets) == (
        "broker:9092",
        ("visits", "clicks"),
        (),
    )
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"kafka": "broker"}, ArgumentValueError, "address: expected kafka://HOST:PORT"),
        ({"topics": None}, ArgumentTypeError, "topics: expected names"),
        ({"topics": "a b"}, ArgumentValueError, "topic: expected 1 to 249 letters"),
        ({"kafka": None, "path": "rows"}, ArgumentTypeError, "topics: expected the option kafka"),
        ({"path": "rows"}, ArgumentTypeError, "path: expected none with the option kafka"),
        ({"settled": "1"}, ArgumentTypeError, "settled: expected none with the option kafka"),
        ({"format": "csv", "field": "x"}, ArgumentValueError, "format: expected one of"),
        ({"offsets": "[]"}, ArgumentValueError, "offsets: expected"),
        ({"offsets": '{"visits": {"0": [1, 2]}}'}, ArgumentValueError, "of all topics"),
        ({"offsets": '{"visits": {"0": [2, 1]}}', "topics": "visits"}, ArgumentValueError, "FIRST"),
    ]
    for wrong, error, message in cases:
        texts = {name: text for name, text in {**given, **wrong}.items() if text is not None}
        with pytest.raises(error, match=message):
            SourceOptions.of(texts)
