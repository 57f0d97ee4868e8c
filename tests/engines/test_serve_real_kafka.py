"""``lazysketch serve --kafka`` against a broker of Apache Kafka: restarts under one group."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.cli.serving import Serving

pytest.importorskip("confluent_kafka")
pytest.importorskip("starlette")

from tests.engines.brokers import PARTITIONS
from tests.engines.real_brokers import RealBroker
from tests.engines.test_serve_kafka import (
    check_counts,
    configured,
    has_counted,
    metric,
    of_item,
    offsets,
    serving,
    stored,
    wait_for,
)

_TOOK_OVER = 30.0  # seconds; a consumer that is lost is missed for 45


def counted(service: Serving) -> float:
    return metric(service, "lazysketch_kafka_messages_total")


@pytest.mark.parametrize("ended", ["killed", "in order"])
def test_a_restart_goes_on_in_its_own_place(
    real_broker: RealBroker, tmp_path: Path, ended: str
) -> None:
    """At its group, without waiting for the session of the old consumer; each message once."""
    topic = f"restart-{ended}".replace(" ", "-")
    real_broker.create(topic)
    (tmp_path / "kafka.properties").write_text("# the default session of 45 seconds\n")
    settings = configured(tmp_path, real_broker.address, topic, more='format = "lines"')
    real_broker.send(topic, [of_item("a")] * 40)
    service = Serving(tmp_path, "--settings", str(settings))
    wait_for(lambda: counted(service) == 40)
    if ended == "killed":
        service.process.kill()
        service.process.wait(60)
    else:
        assert service.end() == 0
    with stored(tmp_path) as store:
        durable = sum(offsets(store, topic))
    assert durable <= 40
    real_broker.send(topic, [of_item("b")] * 40)
    began = time.monotonic()
    with serving(tmp_path, settings) as service:
        wait_for(lambda: has_counted(service))
        assert time.monotonic() - began < _TOOK_OVER
        wait_for(lambda: counted(service) >= 80 - durable)
        time.sleep(1.0)
        assert counted(service) == 80 - durable
    with stored(tmp_path) as store:
        assert offsets(store, topic) == [80 // PARTITIONS] * PARTITIONS
    check_counts(tmp_path, settings, {"a": 40, "b": 40})


def test_aborted_transactions_are_no_events(real_broker: RealBroker, tmp_path: Path) -> None:
    """And their offsets, and those of control records, are no gap."""
    real_broker.create("served-transactions")
    (tmp_path / "kafka.properties").write_text("")
    settings = configured(
        tmp_path, real_broker.address, "served-transactions", more='format = "lines"'
    )
    producer = real_broker.transactions("served")
    with serving(tmp_path, settings) as service:
        for life, commit in enumerate((True, False, True, False)):
            producer.begin_transaction()
            for number in range(8):
                value = of_item("a" if commit else "bad")
                producer.produce("served-transactions", value=value, partition=number % PARTITIONS)
            producer.flush(60)
            if commit:
                producer.commit_transaction(60)
                wanted = 8 * (life // 2 + 1)
                wait_for(lambda wanted=wanted: counted(service) == wanted)  # type: ignore[misc]
            else:
                producer.abort_transaction(60)
        time.sleep(1.0)
        assert counted(service) == 16
        assert metric(service, "lazysketch_kafka_failures_total") == 0
        assert metric(service, "lazysketch_kafka_deleted_total") == 0
    check_counts(tmp_path, settings, {"a": 16, "bad": 0})
