"""A broker of Apache Kafka in a process of its own: one node, which is its own controller."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.engines.brokers import PARTITIONS, MockBroker
from tests.locations import ROOT

JARS: Final = ROOT / "build" / "kafka"
_START: Final = 120.0  # seconds, on a machine where other tests run
_JVM: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SETTINGS: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
num.partitions={partitions}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=0
log.cleaner.backoff.ms=200
"""


def missing() -> str:
    """Return what a real broker lacks on this machine; empty for nothing."""
    if shutil.which("java") is None:
        return "java (Debian: the package openjdk-17-jre-headless)"
    if not (JARS / "installed").exists():
        return "build/kafka, which make test-engines fills where Maven is installed"
    return ""


def skip_or_fail(what: str) -> None:
    """Skip a test that lacks a broker; fail where one has to be there."""
    if os.environ.get("KAFKA_REQUIRED"):
        pytest.fail(f"no broker of Kafka: missing {what}")
    pytest.skip(f"no broker of Kafka: missing {what}")


class RealBroker(MockBroker):
    """A broker that lives until ``stop``; its topics have four partitions unless created."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port, control = _free_ports()
        settings = folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(port=port, control=control, folder=folder, partitions=PARTITIONS)
        )
        # The first byte is 0, so that no id begins with "-" and is taken for an option.
        own = bytes(1) + uuid.uuid4().bytes[1:]
        cluster = base64.urlsafe_b64encode(own).rstrip(b"=").decode()
        self._run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings))
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                _java("kafka.Kafka", str(settings)), stdout=log, stderr=log
            )
        self.address = f"127.0.0.1:{port}"
        self.admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        end = time.monotonic() + _START
        while not self._answers():
            alive = self._process.poll() is None and time.monotonic() < end
            assert alive, self.log.read_text()[-2000:]
            time.sleep(0.2)
        self._producer = Producer({"bootstrap.servers": self.address, "log_level": 2})

    def create(self, topic: str, *, partitions: int = PARTITIONS, **config: str) -> None:
        """Create a topic; an underscore in the name of a setting is a full stop there."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
        for future in self.admin.create_topics([wanted]).values():
            future.result(60)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        for future in self.admin.delete_topics([topic]).values():
            future.result(60)

    def transactions(self, name: str) -> Any:
        """Return a producer of transactions."""
        settings = {"bootstrap.servers": self.address, "transactional.id": name, "log_level": 2}
        producer = Producer(settings)
        producer.init_transactions(60)
        return producer

    def stop(self) -> None:
        """End the broker."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(30)

    def _answers(self) -> bool:
        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _run(self, *arguments: str) -> None:
        run = subprocess.run(_java(*arguments), capture_output=True, text=True, timeout=_START)
        assert run.returncode == 0, run.stdout + run.stderr


def _java(*arguments: str) -> list[str]:
    return ["java", *_JVM, "-cp", f"{JARS}/*", *arguments]


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]
