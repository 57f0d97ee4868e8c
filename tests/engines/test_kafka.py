"""Members of a group count each message once, through rebalances, duplicates and kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.locations import ROOT
from tests.unit.store.lives import CANARY, KEY, Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("confluent_kafka")

import pyarrow as pa
from tests.engines.brokers import PARTITIONS, MockBroker

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.kafka import GroupMember, MalformedMessage, count_topics
from lazysketch.workers import OffsetGate


@pytest.fixture(scope="module")
def broker() -> MockBroker:
    return MockBroker()


def read_all(members: list[GroupMember], messages: int, *, seconds: float = 60) -> int:
    """Poll members in turn until they have read that number of messages."""
    found, end = 0, time.monotonic() + seconds
    while found < messages and time.monotonic() < end:
        found += sum(member.poll(0.1) for member in members)
    assert found == messages, f"{found} of {messages}"
    return found


def values(number: int, *, rows: int = 1) -> list[bytes]:
    return [
        b"\n".join(b"item %d" % (at % 11) for at in range(start, start + rows))
        for start in range(number)
    ]


def items_of(sent: list[bytes]) -> list[str]:
    return [row.decode() for value in sent for row in value.split(b"\n")]


def test_a_topic_is_counted_as_by_one_machine(
    broker: MockBroker, lives: Lives, tmp_path: Path
) -> None:
    """By one member, then by two, then by the other: releases of each tick are those of one."""
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    sent = values(2_000, rows=3)
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        settings = broker.settings("rebalanced")
        broker.send("rebalanced", sent[:800])
        first = GroupMember(gate, ["rebalanced"], settings)
        read_all([first], 800)
        # Not handed over yet: the rebalance does it, and the next member goes on there.
        with GroupMember(gate, ["rebalanced"], settings) as second:
            wait_for(lambda: bool(first.partitions and second.partitions), [first, second])
            assert len(first.partitions) + len(second.partitions) == PARTITIONS
            broker.send("rebalanced", sent[800:1_600])
            read_all([first, second], 800)
            first.hand_over()
            second.hand_over()
            local.update_batch(items_of(sent[:1_600]))
            assert gate.tick().to_bytes() == local.release().to_bytes()
            first.close()
            wait_for(lambda: len(second.partitions) == PARTITIONS, [second])
            broker.send("rebalanced", sent[1_600:])
            read_all([second], 400)
        local.update_batch(items_of(sent[1_600:]))
        assert gate.tick().to_bytes() == local.release().to_bytes()
        offsets = [gate.next_offset("rebalanced", number) for number in range(PARTITIONS)]
        assert offsets == [len(sent) // PARTITIONS] * PARTITIONS


def wait_for(is_true: Any, members: list[GroupMember], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        assert not any(member.poll(0.1) for member in members)
    assert is_true()


def test_a_member_that_is_cut_off_is_refused(
    broker: MockBroker, lives: Lives, tmp_path: Path
) -> None:
    """It was taken for lost, and another has counted its messages: it begins again after them."""
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        broker.send("cut", values(400))
        lost = GroupMember(gate, ["cut"], broker.settings("one group"))
        other = GroupMember(gate, ["cut"], broker.settings("another group"))
        with lost, other:
            read_all([lost], 400)
            read_all([other], 400)
            assert other.hand_over()
            assert not lost.hand_over()
            local.update_batch(items_of(values(400)))
            assert gate.tick().to_bytes() == local.release().to_bytes()
            broker.send("cut", values(40))
            read_all([lost], 40)  # the new ones only
            assert lost.hand_over()
            local.update_batch(items_of(values(40)))
            assert gate.tick().to_bytes() == local.release().to_bytes()
        assert [gate.next_offset("cut", number) for number in range(PARTITIONS)] == [110] * 4


def test_messages_that_cannot_be_read_are_reported_by_place(
    broker: MockBroker, lives: Lives, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And count as nothing; a message without a value is a deletion, and is none."""
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    good = [json.dumps({"user": f"u{number % 5}"}).encode() for number in range(40)]
    sent: list[bytes | None] = [*good]
    sent[7], sent[18], sent[30] = b"\xff\xfe " + CANARY.encode(), None, b'{"user": {}}'
    sent[31] = good[31] + b"\n" + b"{"  # one row of two
    found: list[MalformedMessage] = []
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        broker.send("poison", sent)
        member = GroupMember(
            gate,
            ["poison"],
            broker.settings("poison"),
            format="jsonl",
            field="user",
            malformed=found.extend,
        )
        with member:
            read_all([member], 39)
        local.update_batch([f"u{number % 5}" for number in range(40) if number not in (7, 18, 30)])
        assert gate.tick().to_bytes() == local.release().to_bytes()
        assert sorted(found) == sorted(
            MalformedMessage("poison", number % 4, number // 4) for number in (7, 30, 31)
        )
        assert CANARY not in repr(found) + caplog.text


@pytest.mark.parametrize("form", ["lines", "arrow"])
def test_formats_of_messages(form: str, broker: MockBroker, lives: Lives, tmp_path: Path) -> None:
    with lives.open() as store:
        OPENED["count-sketch"](store)
    others = lives.copied_to(tmp_path / "copy")
    items = [f"u{number % 7}" for number in range(600)]
    weights = [number % 4 for number in range(600)]
    sent: list[bytes] = []
    for at in range(0, 600, 60):
        if form == "lines":
            sent.append("\r\n".join(items[at : at + 60]).encode() + b"\n" * (at % 120 // 60))
            continue
        table = pa.table({"user": items[at : at + 60], "n": weights[at : at + 60]})
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=17)
        sent.append(out.getvalue().to_pybytes())
    found: list[MalformedMessage] = []
    options: dict[str, Any] = {"format": form, "malformed": found.extend}
    if form == "arrow":
        options |= {"field": "user", "weight": "n", "max_weight": 2}
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-sketch"](local_store), OPENED["count-sketch"](store)
        gate = OffsetGate(store, "group", into=live)
        bad = b"\xff" if form == "lines" else sent[0][:-200]
        broker.send(f"as {form}".replace(" ", "-"), [*sent, bad])
        with GroupMember(gate, [f"as-{form}"], broker.settings(f"as {form}"), **options) as member:
            read_all([member], 11)
        local.update_batch(
            items, None if form == "lines" else [min(weight, 2) for weight in weights]
        )
        assert gate.tick().to_bytes() == local.release().to_bytes()
        assert found == [MalformedMessage(f"as-{form}", 2, 2)]


def test_settings_and_options_are_checked(lives: Lives) -> None:
    with lives.open() as store:
        gate = OffsetGate(store, "group", into=OPENED["count-min"](store))
        good = {"bootstrap.servers": "x", "group.id": "g"}
        cases: list[tuple[dict[str, Any], dict[str, Any], Any, str]] = [
            ({"enable.auto.commit": True}, {}, ArgumentValueError, "enable.auto.commit"),
            ({"isolation.level": "read_uncommitted"}, {}, ArgumentValueError, "isolation.level"),
            ({"auto.offset.reset": "latest"}, {}, ArgumentValueError, "auto.offset.reset"),
            ({}, {"format": "xml"}, ArgumentValueError, "format: expected one of"),
            ({}, {"format": "jsonl"}, ArgumentTypeError, "field"),
            ({}, {"field": "user"}, ArgumentValueError, "field: expected none for lines"),
            ({}, {"start": "middle"}, ArgumentValueError, "start"),
            ({}, {"weight": "n"}, ArgumentTypeError, "max_weight"),
        ]
        for settings, options, error, message in cases:
            with pytest.raises(error, match=message):
                GroupMember(gate, ["t"], {**good, **settings}, **options)
        for missing in good:
            with pytest.raises(ArgumentValueError, match=missing):
                GroupMember(gate, ["t"], {name: good[name] for name in good if name != missing})


def test_a_clock_ticks_without_messages(broker: MockBroker, lives: Lives) -> None:
    """Each multiple of the interval, also while nothing arrives."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        steps: list[int] = []
        sender = threading.Timer(1.5, lambda: broker.send("quiet", values(50)))
        broker.send("quiet", values(50))
        sender.start()
        count_topics(
            store,
            "group",
            into=live,
            topics=["quiet"],
            settings=broker.settings("quiet"),
            every=1.0,
            ticks=8,
            publish=lambda release: steps.append(release.step),
        )
        sender.join()
        assert steps == [*range(1, 9)]
        assert live.step == 8


# Counts a topic tick by tick; dies at one point of one of them.
DRIVER = """
import os, signal, sys, time
from pathlib import Path
import lazysketch as ls
from lazysketch.kafka import GroupMember
from lazysketch.workers import OffsetGate
from tests.unit.store.lives import Lives
from tests.unit.store import lives
from tests.unit.store.partials import OPENED, WatchedStore

folder, address, point, at = Path(sys.argv[1]), sys.argv[3], sys.argv[4], int(sys.argv[5])
lives.KEY = ls.Key.from_bytes(bytes.fromhex(sys.argv[2]))
store = Lives(folder).open()
live = OPENED["count-min"](store)
native = store._native
gate = OffsetGate(store, "group", into=live)

def die(where):
    if point == where and step == at:
        os.kill(os.getpid(), signal.SIGKILL)

settings = {"bootstrap.servers": address, "group.id": f"{os.getpid()}", "log_level": 2}
member = GroupMember(gate, ["killed"], settings)
for step in range(live.step + 1, 5):
    # The number of messages of each partition in a tick; a member reads no further.
    wanted = 4 * 25 * step
    end = time.monotonic() + 60
    have = lambda: sum(offset or 0 for offset in member._next.values())
    while len(member._next) < 4 or have() < wanted:
        assert time.monotonic() < end, have()
        member.poll(0.1)
    assert have() == wanted
    die("before hand over")
    member.hand_over()
    die("before tick")
    store._journal.native = WatchedStore(native, die)
    release = gate.tick()
    store._journal.native = native
    print(release.step, release.to_bytes().hex(), flush=True)
    die("after release")
    print("send", flush=True)
    sys.stdin.readline()
"""


def test_a_member_that_is_killed_counts_each_message_once(
    broker: MockBroker, lives: Lives, tmp_path: Path
) -> None:
    """With the process of the store, before and after the commit, at every tick."""
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    sent = values(400)
    expected = []
    with others.open() as store:
        local = OPENED["count-min"](store)
        for tick in range(4):
            local.update_batch(items_of(sent[100 * tick : 100 * tick + 100]))
            expected.append(local.release().to_bytes().hex())
    found: dict[int, str] = {}
    kills = 0
    sent_ticks = 1
    broker.send("killed", sent[:100])
    points = ["before hand over", "before tick", "before append", "after append"]
    points += ["before commit", "after commit", "after release"]
    for number, point in enumerate([*points, "never"]):
        at = number % 4 + 1 if point != "never" else 0
        arguments = [str(tmp_path), KEY.to_bytes().hex(), broker.address, point, str(at)]
        with subprocess.Popen(
            [sys.executable, "-c", DRIVER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stderr is not None
            for line in process.stdout:
                if line == "send\n":
                    step = max(found)
                    if step == sent_ticks and sent_ticks < 4:
                        broker.send("killed", sent[100 * step : 100 * step + 100])
                        sent_ticks += 1
                    process.stdin.write("\n")
                    process.stdin.flush()
                    continue
                step_text, release = line.split()
                assert found.setdefault(int(step_text), release) == release
            status = process.wait(60)
            assert status in (0, -signal.SIGKILL), process.stderr.read()
            kills += status != 0
        with lives.open() as store:
            step = OPENED["count-min"](store).step
            if step == sent_ticks and sent_ticks < 4:
                broker.send("killed", sent[100 * step : 100 * step + 100])
                sent_ticks += 1
    assert kills >= 4
    assert [found.get(step + 1, release) for step, release in enumerate(expected)] == expected
    with lives.open() as store:
        live = OPENED["count-min"](store)
        assert live.step == 4
        assert live.release().to_bytes().hex() == expected[-1]
