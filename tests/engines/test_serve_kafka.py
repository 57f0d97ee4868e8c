"""``lazysketch serve --kafka``: each message once, through kills, poison and a lost broker."""

from __future__ import annotations

import json
import random
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.unit.cli.serving import Serving

pytest.importorskip("confluent_kafka")
pytest.importorskip("starlette")

from tests.engines.brokers import PARTITIONS
from tests.engines.failing_brokers import FailingBroker

import lazysketch as ls
from lazysketch.service.settings import read_settings
from lazysketch.service.topics import partition_source
from lazysketch.store import Store
from lazysketch.store.opening import open_store

CANARY = "canary-3f9c"
ROWS = 300  # of a message: one more or less shows in spite of the noise, whose deviation is 10
STREAM = """
[streams.pages]
every = "366d"
slices = 1
share = 0.1
width = 64
epsilon = 8.0
delta = 1e-6
"""
LISTENERS = """
[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""


@pytest.fixture(scope="module")
def broker() -> FailingBroker:
    return FailingBroker()


@pytest.fixture
def folder(tmp_path: Path, broker: FailingBroker) -> Path:
    (tmp_path / "kafka.properties").write_text(
        f"# of tests\nclient.rack = {CANARY}\nclient.id={CANARY}\n"
        "session.timeout.ms=6000\nheartbeat.interval.ms=300\nreconnect.backoff.max.ms=500\n"
    )
    return tmp_path


def configured(folder: Path, address: str, topic: str, *, more: str = "", group: str = "") -> Path:
    """Write settings of a service that counts a topic."""
    lines = [f'kafka = "{address}"', f'topics = ["{topic}"]', more]
    lines.append(f'kafka_settings = "{folder}/kafka.properties"')
    if group:
        lines.append(f'kafka_group = "{group}"')
    path = folder / "service.toml"
    path.write_text(STREAM + "\n".join(lines) + LISTENERS)
    return path


@contextmanager
def serving(folder: Path, settings: Path) -> Iterator[Serving]:
    """Serve until the end of the block, which ends the service in order."""
    found = Serving(folder, "--settings", str(settings))
    try:
        yield found
        assert found.end() == 0, found.lines
    finally:
        if found.process.poll() is None:
            found.process.kill()
            found.process.wait(60)


def metric(service: Serving, name: str) -> float:
    """Return the sum of a metric of the operator over its labels."""
    with urllib.request.urlopen(f"{service.address('operator')}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    return sum(float(one) for one in re.findall(rf"^{name}{{.*}} (\S+)$", text, re.MULTILINE))


def has_counted(service: Serving) -> bool:
    return metric(service, "lazysketch_kafka_messages_total") > 0


def wait_for(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def stored(folder: Path) -> Iterator[Store]:
    key = ls.Key.from_file(folder / "key")
    with open_store(folder / "state" / "store", key=key, anchor=folder / "anchor") as store:
        yield store


def offsets(store: Store, topic: str) -> list[int]:
    return [
        store.last_sequence(partition_source("pages", topic, number))
        for number in range(PARTITIONS)
    ]


def check_counts(folder: Path, settings: Path, expected: dict[str, int]) -> None:
    """Check that the state has these numbers of messages with the rows of an item."""
    stream = read_settings(settings).streams[0]
    with stored(folder) as store:
        windows = stream.windows_of(store, clock=time.time)
        windows.finish()
        for item, messages in expected.items():
            assert abs(windows.estimate(item, last=10) - messages * ROWS) < ROWS / 3


def of_item(item: str) -> bytes:
    return (f"{item}\n" * ROWS).encode()


def test_each_message_counts_once_through_kills(broker: FailingBroker, folder: Path) -> None:
    """While messages arrive; each life is another member, and the state says where to go on."""
    number, killed = 4_000, threading.Event()
    values = [of_item("ab"[at % 3 == 0]) for at in range(number)]

    def send() -> None:
        for at in range(0, number, PARTITIONS):
            if at == 3 * number // 4:  # some are left, however long the lives take to begin
                killed.wait(300)
            broker.send("killed", values[at : at + PARTITIONS])
            time.sleep(0.01)

    sender = threading.Thread(target=send)
    sender.start()
    durable = 0
    within = 0
    for life in range(20):
        settings = configured(
            folder, broker.address, "killed", more='format = "lines"', group=f"life {life}"
        )
        service = Serving(folder, "--settings", str(settings))
        wait_for(partial(has_counted, service))
        time.sleep(random.uniform(0.0, 1.5))
        service.process.kill()
        service.process.wait(60)
        with stored(folder) as store:
            before, durable = durable, sum(offsets(store, "killed"))
        assert durable >= before
        within += 0 < durable < number
        if life >= 3 and within:  # a life may end before it has kept anything
            break
    killed.set()
    sender.join()
    assert within
    settings = configured(folder, broker.address, "killed", more='format = "lines"', group="last")
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") >= number - durable)
        time.sleep(1.0)
        assert metric(service, "lazysketch_kafka_messages_total") == number - durable
    with stored(folder) as store:
        assert offsets(store, "killed") == [number // PARTITIONS] * PARTITIONS
    numbers = {"b": len(range(0, number, 3))}
    check_counts(folder, settings, numbers | {"a": number - numbers["b"]})


def test_distinct_items_of_a_topic_count_once_through_a_kill(
    broker: FailingBroker, folder: Path
) -> None:
    """Items come again in other messages, and after a kill; 20,000 are different."""
    number = 200
    values = [
        "".join(f"user {place}\n" for place in range(100 * at, 100 * at + 200)).encode()
        for at in range(number)
    ]
    configure = partial(configured, folder, broker.address, "users", more='format = "lines"')

    def distinct(*, group: str) -> Path:
        settings = configure(group=group)
        written = settings.read_text().replace("share = 0.1\nwidth = 64", 'kind = "distinct"')
        settings.write_text(written.replace('"366d"\nslices = 1', '"1min"\nslices = 60'))
        return settings

    broker.send("users", values[: number // 2])
    service = Serving(folder, "--settings", str(distinct(group="first")))
    wait_for(partial(has_counted, service))
    service.process.kill()
    service.process.wait(60)
    with stored(folder) as store:
        durable = sum(offsets(store, "users"))
    broker.send("users", values[number // 2 :])
    settings = distinct(group="last")
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") >= number - durable)
        published = metric(service, "lazysketch_publications_total")
        wait_for(lambda: metric(service, "lazysketch_publications_total") >= published + 2)
    stream = read_settings(settings).streams[0]
    with stored(folder) as store:
        assert sum(offsets(store, "users")) == number
        estimate = store.distinct("pages", stream.statistic).estimate()
    assert abs(estimate - 100 * (number + 1)) < 1_000


def test_what_cannot_be_read_is_reported_by_place(broker: FailingBroker, folder: Path) -> None:
    """Of it nothing counts; a message without a value is skipped; no log has a content."""
    good = [(json.dumps({"item": "a"}) + "\n").encode() * ROWS] * 12
    sent: list[bytes | None] = [*good]
    sent[2], sent[3] = b"\xff " + CANARY.encode(), None
    sent[5] = good[5] + b"{" + CANARY.encode()  # one row of many
    sent[8] = json.dumps({"item": "x" * 2_000}).encode()
    broker.send("poison", sent)
    settings = configured(folder, broker.address, "poison")
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") == 12)
        assert metric(service, "lazysketch_kafka_unreadable_messages_total") == 3
        assert metric(service, "lazysketch_kafka_refused_events_total") == 3
        assert metric(service, "lazysketch_kafka_events_total") == 9 * ROWS
        assert metric(service, "lazysketch_kafka_failures_total") == 0
    places = re.findall(r"topic poison, partition (\d), offset (\d)", "".join(service.lines))
    assert sorted(places) == [("0", "2"), ("1", "1"), ("2", "0")]
    assert not any(CANARY in line for line in service.lines)
    check_counts(folder, settings, {"a": 9})


def test_a_broker_that_is_gone_and_back(broker: FailingBroker, folder: Path) -> None:
    """Publications go on with the clock meanwhile, and messages after it."""
    more = 'format = "lines"'
    settings = configured(folder, broker.address, "gone", more=more)
    settings.write_text(settings.read_text().replace('"366d"\nslices = 1', '"1min"\nslices = 60'))

    def published(service: Serving) -> int:
        address = f"{service.address('operator')}/v1/streams"
        with urllib.request.urlopen(address, timeout=20) as answer:
            return int(json.load(answer)["streams"][0]["published"] or 0)

    broker.send("gone", [of_item("a")] * 8)
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") == 8)
        wait_for(lambda: metric(service, "lazysketch_kafka_broker_reachable") == 1)
        broker.take_down()
        wait_for(lambda: metric(service, "lazysketch_kafka_broker_reachable") == 0)
        before = published(service)
        wait_for(lambda: published(service) >= before + 3)
        assert service.process.poll() is None
        broker.bring_back()
        wait_for(lambda: metric(service, "lazysketch_kafka_broker_reachable") == 1)
        broker.send("gone", [of_item("a")] * 8)
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") == 16)
        time.sleep(1.0)
        assert metric(service, "lazysketch_kafka_messages_total") == 16
    said = "".join(service.lines)
    assert "no broker answers" in said
    assert "a broker answers" in said
    with stored(folder) as store:
        assert offsets(store, "gone") == [4] * PARTITIONS


def test_a_service_without_a_broker_starts_publishes_and_ends(folder: Path) -> None:
    settings = configured(folder, "127.0.0.1:9", "none")
    with serving(folder, settings) as service:
        wait_for(
            lambda: (
                any("no broker answers" in line for line in service.lines)
                or metric(service, "lazysketch_kafka_broker_reachable") == 0
            )
        )
        service.send("web:1", b"a\n" * ROWS)
        began = time.monotonic()
    assert time.monotonic() - began < 20
    check_counts(folder, settings, {"a": 1})


def test_messages_that_were_deleted_are_reported(broker: FailingBroker, folder: Path) -> None:
    """The broker keeps 5 MB of a partition; the service goes on at the oldest that there is."""
    settings = configured(folder, broker.address, "deleted", more='format = "lines"')
    broker.send("deleted", [of_item("a")] * PARTITIONS)
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_messages_total") == PARTITIONS)
    large = (b"b" * 999 + b"\n") * 100
    sent = broker.send("deleted", [large] * (80 * PARTITIONS))
    with serving(folder, settings) as service:
        wait_for(lambda: metric(service, "lazysketch_kafka_deleted_total") > 0)

        def all_known() -> bool:
            found = metric(service, "lazysketch_kafka_messages_total")
            return found + metric(service, "lazysketch_kafka_deleted_total") == sent

        wait_for(all_known)
    assert any("were deleted before they were counted" in line for line in service.lines)
    with stored(folder) as store:
        assert offsets(store, "deleted") == [81] * PARTITIONS


def test_settings_that_are_refused_are_named_without_their_values(folder: Path) -> None:
    for line, message in [
        (f"no.such.setting={CANARY}", "no.such.setting"),
        (f"session.timeout.ms={CANARY}", "session.timeout.ms"),
        ("enable.auto.commit=true", "enable.auto.commit"),
        (CANARY, "expected NAME=VALUE in line 1, got another text"),
    ]:
        (folder / "kafka.properties").write_text(line)
        settings = configured(folder, "127.0.0.1:9", "none")
        with pytest.raises(AssertionError) as error:
            Serving(folder, "--settings", str(settings))
        assert message in str(error.value)
        assert CANARY not in str(error.value)
