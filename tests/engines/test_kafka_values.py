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
        if way == "members":
            gate = OffsetGate(store, "group", into=live)
            member = GroupMember(
                gate, [topic], broker.settings(topic), format=form, field="shop", value="paid"
            )
            with member:
                read_all([member], 4)
            release = gate.tick()
        else:
            request = checked_request(field="shop", value="paid")
            ranges = listed_ranges([topic], range_settings(broker.address, None))
            tasks = plan_range_tasks(
                ranges, broker.address, request, live.partial_spec(), format=form
            )
            release = add_results(store, "group", 1, map(count_ranges, tasks), into=live)
        assert release.to_bytes() == local.release().to_bytes()


def test_sums_need_a_value_of_each_message(broker: MockBroker, lives: Lives) -> None:
    with lives.open() as store:
        gate = OffsetGate(store, "group", into=OPENED["sums"](store))
        settings = broker.settings("none")
        with pytest.raises(ArgumentTypeError, match="^value: expected the field with the number"):
            GroupMember(gate, ["none"], settings, format="jsonl", field="shop")
        with pytest.raises(ArgumentValueError, match="^field: expected none for lines"):
            GroupMember(gate, ["none"], settings, value="paid")
