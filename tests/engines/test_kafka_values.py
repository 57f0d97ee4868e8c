"""Messages whose rows have a number beside their item, for sums; or are numbers, or keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("confluent_kafka")

import pyarrow as pa
from tests.engines.brokers import MockBroker
from tests.engines.test_kafka import read_all

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.kafka import GroupMember, count_ranges, listed_ranges, plan_range_tasks
from lazysketch.kafka.ranges import range_settings
from lazysketch.sources import checked_request
from lazysketch.workers import OffsetGate, add_results

SHOPS = [f"shop {number % 7}" for number in range(60)]
PAID = [number / 4 - 3 for number in range(60)]


@pytest.fixture(scope="module")
def broker() -> MockBroker:
    return MockBroker()


def message(form: str, shops: list[Any], paid: list[Any]) -> bytes:
    """Return one message of several rows."""
    rows = [{"shop": shop, "paid": amount} for shop, amount in zip(shops, paid, strict=True)]
    if form == "jsonl":
        return "\n".join(map(json.dumps, rows)).encode()
    table = pa.Table.from_pylist(rows)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=17)
    data: bytes = out.getvalue().to_pybytes()
    return data


def counted(
    broker: MockBroker,
    topic: str,
    way: str,
    store: ls.Store,
    live: Any,
    *,
    form: str,
    messages: int = 2,
    **asked: Any,
) -> Any:
    """Return the release after a step that has a topic, by a member of a group or by tasks."""
    if way == "members":
        gate = OffsetGate(store, "group", into=live)
        settings = broker.settings(topic)
        with GroupMember(gate, [topic], settings, format=form, **asked) as member:
            read_all([member], messages)
        return gate.tick()
    ranges = listed_ranges([topic], range_settings(broker.address, None))
    request, spec = checked_request(**asked), live.partial_spec()
    tasks = plan_range_tasks(ranges, broker.address, request, spec, format=form)
    return add_results(store, "group", 1, map(count_ranges, tasks), into=live)


@pytest.mark.parametrize("way", ["members", "tasks"])
@pytest.mark.parametrize("form", ["jsonl", "arrow"])
def test_messages_of_sums_have_values(
    form: str, way: str, broker: MockBroker, lives: Lives, tmp_path: Path
) -> None:
    """A row without a value is malformed, a message that cannot be read has no rows."""
    with lives.open() as store:
        OPENED["sums"](store)
    others = lives.copied_to(tmp_path / "copy")
    topic = f"{form}-of-{way}"
    without = message(form, ["a", "b", None], [None, 4.5, 1.0])
    broker.send(
        topic, [message(form, SHOPS, PAID), without, b"\xff no rows", message(form, [], [])]
    )
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["sums"](local_store), OPENED["sums"](store)
        local.update_batch([*SHOPS, "b"], [*PAID, 4.5])
        release = counted(
            broker, topic, way, store, live, form=form, messages=4, field="shop", value="paid"
        )
        assert release.to_bytes() == local.release().to_bytes()


@pytest.mark.parametrize("way", ["members", "tasks"])
@pytest.mark.parametrize("form", ["lines", "jsonl", "arrow"])
@pytest.mark.parametrize("kind", ["ranges", "values"])
def test_items_of_messages_are_numbers_and_keys(
    kind: str, form: str, way: str, broker: MockBroker, lives: Lives, tmp_path: Path
) -> None:
    """Also as text; a row with another item is malformed, and the others of its message count."""
    with lives.open() as store:
        OPENED[kind](store)
    others = lives.copied_to(tmp_path / "copy")
    topic = f"{kind}-{form}-of-{way}"
    numbers = [5, 31, 63] if kind == "ranges" else [0.5, 7.25, 3.0]
    written: list[Any] = [str(one) for one in numbers] if form == "lines" else [*numbers]
    wrong: Any = {"lines": "no", "jsonl": "no", "arrow": None}[form]
    if form == "arrow" and kind == "ranges":
        written, wrong = [str(one) for one in numbers], "no"
    rows = [*written, wrong]
    sent = "\n".join(rows).encode() if form == "lines" else message(form, rows, [0] * 4)
    broker.send(topic, [sent, sent])
    asked: dict[str, Any] = {} if form == "lines" else {"field": "shop"}
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED[kind](local_store), OPENED[kind](store)
        local.update_batch([*numbers, *numbers])
        release = counted(broker, topic, way, store, live, form=form, **asked)
        assert release.to_bytes() == local.release().to_bytes()


def test_sums_need_a_value_of_each_message(broker: MockBroker, lives: Lives) -> None:
    with lives.open() as store:
        gate = OffsetGate(store, "group", into=OPENED["sums"](store))
        settings = broker.settings("none")
        with pytest.raises(ArgumentTypeError, match="^value: expected the field with the number"):
            GroupMember(gate, ["none"], settings, format="jsonl", field="shop")
        with pytest.raises(ArgumentValueError, match="^field: expected none for lines"):
            GroupMember(gate, ["none"], settings, value="paid")
