"""``lazysketch serve --kafka``: events per processor second, next to a member that counts partials.

    python -m benches.python.kafka_service [--rounds N]

The same messages of one broker, in another process, are counted by the service and by
:class:`~lazysketch.kafka.GroupMember`, in turn. Processor seconds are those of the process that
holds the store, from the first message that is sent to the last that is counted; they do not depend
on what else runs. The service also logs, encrypts and commits each message with its offset.
Needs the extras ``serve`` and ``kafka``, and psutil.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Producer

import lazysketch as ls
from lazysketch.kafka import GroupMember
from lazysketch.workers import OffsetGate

from .engines import BROKER, messages_of_kafka

SETTINGS = """
[streams.pages]
every = "1h"
share = 0.01
kafka = "{address}"
topics = ["{topic}"]
format = "{form}"
{more}
[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""


class Serving:
    """The service as a process, with what its operator sees."""

    def __init__(self, folder: Path, settings: Path) -> None:
        words = ["serve", "--state", folder / "state", "--key-file", folder / "key"]
        words += ["--anchor", folder / "anchor", "--settings", settings]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lazysketch", *map(str, words)],
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        assert self.process.stderr is not None
        threading.Thread(
            target=self._lines.extend, args=(self.process.stderr,), daemon=True
        ).start()
        while not any("operator" in line for line in self._lines):
            assert self.process.poll() is None, self._lines
            time.sleep(0.1)

    def messages(self) -> float:
        """Return how many messages were counted."""
        line = next(line for line in self._lines if "operator" in line)
        address = re.search(r"http://[0-9.:]+", line)
        assert address is not None
        with urllib.request.urlopen(f"{address[0]}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        found = re.findall(r"^lazysketch_kafka_messages_total{.*} (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    def wait(self, messages: int) -> None:
        """Wait until that number of messages was counted."""
        while self.messages() < messages:
            time.sleep(0.1)

    def cpu(self) -> float:
        """Return the processor seconds of the process that holds the store."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


def send(producer: Any, topic: str, values: list[bytes]) -> None:
    """Send one message per value, in turn to each partition."""
    for index, value in enumerate(values):
        producer.produce(topic, value=value, partition=index % 4)
        producer.poll(0)
    assert producer.flush(60) == 0


def served_seconds(
    producer: Any, address: str, topic: str, values: list[bytes], form: str, field: str | None
) -> float:
    """Return the processor seconds of a service for messages that arrive while it runs."""
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name, "service.toml")
        more = "" if field is None else f'item = "{field}"'
        settings.write_text(SETTINGS.format(address=address, topic=topic, form=form, more=more))
        send(producer, topic, values[:4])
        service = Serving(Path(name), settings)
        service.wait(4)
        used = service.cpu()
        send(producer, topic, values)
        service.wait(4 + len(values))
        used = service.cpu() - used
        service.process.terminate()
        service.process.wait(60)
    return used


def member_seconds(
    address: str, topic: str, values: list[bytes], form: str, field: str | None
) -> float:
    """Return the processor seconds of a member, in this process, for the same messages."""
    spec = ls.TableSpec(
        kind="count-min",
        depth=4,
        width=4096,
        schedule=ls.Batch(horizon=10),
        epsilon=1.0,
        delta=1e-8,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        key = ls.Key.generate()
        with ls.open_store(folder / "store", key=key, anchor=folder / "anchor") as store:
            gate = OffsetGate(store, "bench", into=store.sketch("bench", spec))
            settings = {"bootstrap.servers": address, "group.id": topic, "log_level": 2}
            with GroupMember(gate, [topic], settings, format=form, field=field) as member:
                left, used = 4 + len(values), time.process_time()
                while left:
                    left -= member.poll(0.2)
                member.hand_over()
                gate.tick()
                return time.process_time() - used


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with subprocess.Popen(
        [sys.executable, "-c", BROKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().strip()
        producer = Producer({"bootstrap.servers": address, "log_level": 2})
        print("| values of messages | service, M/s | member, M/s | ratio |")
        print("| --- | ---: | ---: | ---: |")
        for at, (name, (values, form, field, events)) in enumerate(messages_of_kafka().items()):
            found = []
            for number in range(rounds):
                topic = f"served-{at}-{number}"
                served = served_seconds(producer, address, topic, values, form, field)
                found.append((served, member_seconds(address, topic, values, form, field)))
            service, member = (
                statistics.median(events / one[index] for one in found) for index in (0, 1)
            )
            ratio = statistics.median(one[1] / one[0] for one in found)
            print(
                f"| {name} | {service / 1e6:.2f} | {member / 1e6:.2f} | {ratio:.2f} |", flush=True
            )
        broker.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
