"""What only a broker of Apache Kafka does: transactions, compaction, deletion, rebalances."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

import pytest
from tests.locations import ROOT
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("confluent_kafka")

from confluent_kafka import TopicPartition
from tests.engines.brokers import PARTITIONS
from tests.engines.estimates import Runs
from tests.engines.real_brokers import RealBroker

from lazysketch.errors import SourceError
from lazysketch.kafka import GroupMember, open_topics
from lazysketch.workers import OffsetGate

SMALL = ["--width", "64", "--depth", "2", "--epsilon", "4", "--delta", "1e-6"]


def wait_for(is_true: Callable[[], bool], *, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.1)


def items_of(source: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for batch in source:
        found.update(batch.item_list)
    return found


@pytest.fixture
def runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Runs:
    monkeypatch.chdir(tmp_path)
    return Runs(tmp_path, capfd)


def send_in_transaction(producer: Any, topic: str, values: list[bytes], *, commit: bool) -> None:
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce(topic, value=value, partition=number % PARTITIONS)
    producer.flush(60)
    if commit:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)


def test_only_committed_transactions_count(
    real_broker: RealBroker, lives: Lives, tmp_path: Path
) -> None:
    """Read once and by a member of a group; offsets go on over control records and gaps."""
    real_broker.create("transactions")
    producer = real_broker.transactions("t")
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        member = GroupMember(gate, ["transactions"], real_broker.settings("transactions"))
        with member:
            for tick in (1, 2):
                good = [b"good %d" % (number % 7) for number in range(200 * tick)]
                send_in_transaction(producer, "transactions", [b"bad"] * 80, commit=False)
                send_in_transaction(producer, "transactions", good, commit=True)
                send_in_transaction(producer, "transactions", [b"bad"] * 8, commit=False)
                end, read = time.monotonic() + 60, 0
                while read < len(good) and time.monotonic() < end:
                    read += member.poll(0.2)
                assert read == len(good)
                assert member.poll(1.0) == 0
                member.hand_over()
                local.update_batch([value.decode() for value in good])
                assert gate.tick().to_bytes() == local.release().to_bytes()
    # What a transaction has written that is open, and what follows it, is not there yet.
    address = f"kafka://{real_broker.address}/transactions"
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce("transactions", value=b"open", partition=partition)
    producer.flush(60)
    real_broker.send("transactions", [b"behind it"] * PARTITIONS)
    before = items_of(open_topics(address))
    assert before == Counter(f"good {n % 7}" for number in (200, 400) for n in range(number))
    producer.commit_transaction(60)
    wait_for(lambda: items_of(open_topics(address))["behind it"] == PARTITIONS)
    assert items_of(open_topics(address)) == before + Counter(["open", "behind it"] * PARTITIONS)


def test_compacted_topics_have_gaps(real_broker: RealBroker, lives: Lives, tmp_path: Path) -> None:
    """Of each key the last value counts that is left, and a deletion is no event."""
    real_broker.create(
        "compacted",
        partitions=1,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.001",
        max_compaction_lag_ms="200",
        delete_retention_ms="60000",
    )
    producer = real_broker._producer
    for round_ in range(3):
        for key in range(50):
            producer.produce("compacted", value=b"round %d" % round_, key=b"%d" % key, partition=0)
        producer.flush(60)
        time.sleep(0.3)
    producer.produce("compacted", value=None, key=b"7", partition=0)
    producer.flush(60)
    address = f"kafka://{real_broker.address}/compacted"

    def is_compacted() -> bool:
        time.sleep(0.3)
        producer.produce("compacted", value=b"tail", key=b"tail", partition=0)
        producer.flush(60)
        left = items_of(open_topics(address))
        return set(left) == {"round 2", "tail"} and left["round 2"] == 49 and left["tail"] < 4

    wait_for(is_compacted)
    time.sleep(2.0)  # nothing is sent now, so nothing more is compacted
    found = open_topics(address)
    counted = items_of(found)
    assert found.tally.absent == 1
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        with GroupMember(gate, ["compacted"], real_broker.settings("compacted")) as member:
            read, end = 0, time.monotonic() + 60
            while read < counted.total() and time.monotonic() < end:
                read += member.poll(0.2)
            assert read == counted.total()
            assert (member._next[member.partitions[0]] or 0) > 150 > read
            member.hand_over()
            local.update_batch([*counted.elements()])
            assert gate.tick().to_bytes() == local.release().to_bytes()


def test_messages_that_were_deleted_are_refused(real_broker: RealBroker, runs: Runs) -> None:
    real_broker.create("deleted", partitions=1)
    topic = f"kafka://{real_broker.address}/deleted"
    real_broker.send_to("deleted", 0, [b"item 1"] * 100)
    assert runs.run("a", topic, *SMALL)[1] == 100
    real_broker.send_to("deleted", 0, [b"item 2"] * 100)
    opened = open_topics(topic)
    for future in real_broker.admin.delete_records([TopicPartition("deleted", 0, 150)]).values():
        future.result(60)
    with pytest.raises(SourceError, match="were deleted before they were counted"):
        items_of(opened)
    runs.run("a", topic, status=2)
    assert "deleted [0]: expected the messages from offset 100 on" in runs.said
    assert runs.run("a", topic, "--reread")[1] == 150


def test_a_topic_that_was_made_anew_is_refused(real_broker: RealBroker, runs: Runs) -> None:
    """Also one that has grown beyond the offsets of the old one."""
    real_broker.create("anew", partitions=1)
    topic = f"kafka://{real_broker.address}/anew"
    real_broker.send_to("anew", 0, [b"item 1"] * 10)
    assert runs.run("a", topic, *SMALL)[1] == 10
    real_broker.delete("anew")
    wait_for(lambda: "anew" not in real_broker.admin.list_topics(timeout=10).topics)
    real_broker.create("anew", partitions=1)
    real_broker.send_to("anew", 0, [b"item 2"] * 30)
    runs.run("a", topic, status=2)
    assert "made anew under its name" in runs.said
    assert runs.run("a", topic, "--reread")[1] == 40
    assert runs.run("a", topic)[1] == 40


def test_a_run_that_is_killed_counts_each_message_once(real_broker: RealBroker, runs: Runs) -> None:
    """At any instant, while it follows the topic: the next one goes on there."""
    real_broker.create("killed-runs")
    topic = f"kafka://{real_broker.address}/killed-runs"
    real_broker.send("killed-runs", [b"item 1"] * 50)
    runs.run("a", topic, *SMALL)
    (runs.folder / "empty.txt").touch()
    sent, durable = 0, []
    for _ in range(3):
        words = runs.words("a", topic, "--follow")
        with subprocess.Popen(
            [sys.executable, "-m", "lazysketch", *words],
            cwd=runs.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            for _ in range(50):
                sent += real_broker.send("killed-runs", [b"item 2\nitem 3"] * 40)
                time.sleep(0.1)
            os.kill(process.pid, signal.SIGKILL)
        durable.append(runs.run("a", "empty.txt")[1])
    assert 50 < durable[0] < durable[1] < durable[2]
    assert runs.run("a", topic)[1] == 50 + 2 * sent


class Gates(BaseManager):
    """Serves a gate to members in other processes."""


MEMBER = """
import sys
from multiprocessing.managers import BaseManager
from lazysketch.kafka import GroupMember

class Gates(BaseManager):
    pass

Gates.register("gate")
gates = Gates(("127.0.0.1", int(sys.argv[1])), b"key of a test")
gates.connect()
settings = dict(pair.split("=", 1) for pair in sys.argv[2:])
member = GroupMember(gates.gate(), ["group"], settings)
read = 0
while True:
    read += member.poll(0.2)
    print(len(member.partitions), read, flush=True)
    if sys.stdin.readable() and read % 3 == 0:
        member.hand_over()
"""


def test_a_member_that_is_killed_loses_nothing(
    real_broker: RealBroker, lives: Lives, tmp_path: Path
) -> None:
    """Its partitions go to the other member, which reads again what was not handed over."""
    real_broker.create("group")
    settings = real_broker.settings("killed-member")
    sent: list[str] = []

    def send(number: int) -> None:
        items = [f"item {at % 11}" for at in range(len(sent), len(sent) + number)]
        real_broker.send("group", [item.encode() for item in items])
        sent.extend(items)

    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        Gates.register("gate", callable=lambda: gate)
        server: Any = Gates(("127.0.0.1", 0), b"key of a test").get_server()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [f"{name}={value}" for name, value in settings.items()]
        port = str(server.address[1])
        with GroupMember(gate, ["group"], settings) as member:
            child = subprocess.Popen(
                [sys.executable, "-c", MEMBER, port, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            try:
                assert child.stdout is not None
                lines = iter(child.stdout.readline, "")
                said = threading.Thread(target=lambda: shown.extend(lines), daemon=True)
                shown: list[str] = []
                said.start()
                wait_for(lambda: member.poll(0.1) == 0 and (shown or [""])[-1].startswith("2 "))
                for _ in range(10):
                    send(100)
                    member.poll(0.2)
                wait_for(lambda: member.poll(0.1) == 0 and int(shown[-1].split()[1]) > 100)
                os.kill(child.pid, signal.SIGKILL)
            finally:
                child.kill()
                child.wait(60)
            send(100)
            began = time.monotonic()
            wait_for(lambda: member.poll(0.1) >= 0 and len(member.partitions) == PARTITIONS)
            assert time.monotonic() - began < 45

            def has_read_all() -> bool:
                member.poll(0.1)
                return sum(member._next[one] or 0 for one in member.partitions) == len(sent)

            wait_for(has_read_all)
            assert member.hand_over()
            release = gate.tick()
        counted = [gate.next_offset("group", number) for number in range(PARTITIONS)]
        assert counted == [len(sent) // PARTITIONS] * PARTITIONS
        local.update_batch(sent)
        assert release.to_bytes() == local.release().to_bytes()
