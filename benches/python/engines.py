"""Spark and Kafka: what executors and members take to count, next to what Spark itself offers.

    python -m benches.python.engines [--rows N] [--rounds N] [--kafka-only]

One Parquet file of Zipf-distributed 64-bit integers, read by every contender in turn, in a session
of one core and in one of two. The first round is shown alone: it starts the workers. CPU seconds
are of the driver, the JVM and all Python workers; they do not depend on what else runs.
Needs the extras ``spark`` and ``kafka``, psutil and Java.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazysketch as ls

from .measuring import integers

DEPTH, WIDTH = 4, 4096
GROUP_ROWS = 1_000_000


def write_rows(path: Path, rows: int) -> None:
    """Write the file in row groups of a million rows, each from another part of one sample."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet as pq

    sample = integers(min(rows, 8_000_000), skew=1.1)
    schema = pa.schema([("item", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, GROUP_ROWS):
            part = np.roll(sample, -begin)[: min(GROUP_ROWS, rows - begin)]
            writer.write_table(pa.table({"item": part.astype(np.int64)}, schema=schema))


def cpu_seconds() -> float:
    """Return the processor time of this process and all below it, also of those that ended."""
    import psutil

    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def spark_rounds(path: Path, master: str, rounds: int, only: str = "") -> list[dict[str, Any]]:
    """Run all contenders in turn, in one session."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    import lazysketch.spark as lazy

    builder: Any = SparkSession.builder.master(master)
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(path.parent / "local"),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    lazy.register(session)
    folder = Path(tempfile.mkdtemp(dir=path.parent))
    found: list[dict[str, Any]] = []
    with ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor") as store:
        spec = ls.TableSpec(
            kind="count-min",
            depth=DEPTH,
            width=WIDTH,
            schedule=ls.Batch(horizon=100_000),
            epsilon=1.0,
            delta=1e-8,
        )
        live = store.sketch("items", spec)

        def source() -> None:
            frame = session.read.format("lazysketch").options(
                path=str(path), field="item", settled="0", spec=live.partial_spec().hex()
            )
            lazy.add_frame(store, "a", store.last_sequence("a") + 1, frame.load(), into=live)

        planned: list[Any] = []

        def planned_source() -> None:
            # As a query of ticks, whose planner is there already: no process is started.
            if not planned:
                frame = session.read.format("lazysketch").options(
                    path=str(path), field="item", settled="0", spec=live.partial_spec().hex()
                )
                planned.append(frame.load())
            lazy.add_frame(store, "c", store.last_sequence("c") + 1, planned[0], into=live)

        def column() -> None:
            frame = session.read.parquet(str(path))
            counted = lazy.count_column(frame, "item", spec=live.partial_spec(), input="rows")
            lazy.add_frame(store, "b", store.last_sequence("b") + 1, counted, into=live)

        def group_by() -> None:
            counts = session.read.parquet(str(path)).groupBy("item").count()
            counts.write.format("noop").mode("overwrite").save()

        def aggregate(expression: str) -> Callable[[], None]:
            def run() -> None:
                session.read.parquet(str(path)).selectExpr(expression).collect()

            return run

        contenders: dict[str, Callable[[], None]] = {
            "lazysketch, data source": source,
            "lazysketch, data source, planned": planned_source,
            "lazysketch, mapInArrow": column,
            "groupBy count": group_by,
            # The same shape: 2 / eps columns, log2(1 / (1 - confidence)) rows.
            "count_min_sketch": aggregate(f"count_min_sketch(item, {2 / WIDTH}D, 0.9375D, 7)"),
            "approx_top_k": aggregate("approx_top_k(item, 20)"),
        }
        chosen = {name: run for name, run in contenders.items() if re.search(only, name)}
        for number in range(rounds + 1):
            for name, run in chosen.items():
                begun, used = time.perf_counter(), cpu_seconds()
                run()
                row = {
                    "master": master,
                    "name": name,
                    "round": number,
                    "seconds": time.perf_counter() - begun,
                    "cpu": cpu_seconds() - used,
                }
                found.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    session.stop()
    return found


BROKER = """
import sys
from tests.engines.brokers import MockBroker
broker = MockBroker()
print(broker.address, flush=True)
sys.stdin.read()
"""


def messages_of_kafka() -> dict[str, tuple[list[bytes], str, str | None, int]]:
    """Return values of messages, their format, the field, and the number of events."""
    import pyarrow as pa

    numbers = integers(1_000_000, skew=1.1)
    arrow = []
    for begin in range(0, len(numbers), 10_000):
        batch = pa.record_batch({"item": pa.array(numbers[begin : begin + 10_000])})
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)
        arrow.append(out.getvalue().to_pybytes())
    lines = [
        "\n".join(f"{n % 10**9:09d}" for n in numbers[begin : begin + 1000].tolist()).encode()
        for begin in range(0, len(numbers), 1000)
    ]
    single = [f"{n % 10**9:09d}".encode() for n in numbers[:200_000].tolist()]
    return {
        "Arrow, 10,000 events per message": (arrow, "arrow", "item", len(numbers)),
        "lines, 1,000 events per message": (lines, "lines", None, len(numbers)),
        "one event per message": (single, "lines", None, len(single)),
    }


def kafka_rounds(rounds: int) -> list[dict[str, Any]]:
    """Count topics of a broker in another process; CPU seconds are those of the member alone."""
    from confluent_kafka import Producer

    from lazysketch.kafka import GroupMember
    from lazysketch.workers import OffsetGate

    topics = messages_of_kafka()
    found: list[dict[str, Any]] = []
    with subprocess.Popen(
        [sys.executable, "-c", BROKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        producer = Producer({"bootstrap.servers": address, "log_level": 2})
        folder = Path(tempfile.mkdtemp())
        store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
        spec = ls.TableSpec(
            kind="count-min",
            depth=DEPTH,
            width=WIDTH,
            schedule=ls.Batch(horizon=1000),
            epsilon=1.0,
            delta=1e-8,
        )
        for at, (name, (sent, form, field, events)) in enumerate(topics.items()):
            for index, value in enumerate(sent):
                producer.produce(f"topic{at}", value=value, partition=index % 4)
                producer.poll(0)
            assert producer.flush(60) == 0
            for number in range(rounds):
                live = store.sketch(f"{at} {number}", spec)
                gate = OffsetGate(store, f"{at} {number}", into=live)
                settings = {
                    "bootstrap.servers": address,
                    "group.id": f"{at} {number}",
                    "log_level": 2,
                }
                member = GroupMember(gate, [f"topic{at}"], settings, format=form, field=field)
                left, used = len(sent), time.process_time()
                while left:
                    left -= member.poll(0.2)
                member.hand_over()
                cpu = time.process_time() - used
                gate.tick()
                member.close()
                found.append({"name": name, "round": number, "events_per_cpu_second": events / cpu})
        store.close()
        process.kill()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=48_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kafka-only", action="store_true")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="contenders whose name has it"
    )
    parser.add_argument("--session", nargs=2, metavar=("FILE", "MASTER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session:
        path, master = options.session
        print(json.dumps(spark_rounds(Path(path), master, options.rounds, options.only)))
        return 0
    for row in kafka_rounds(options.rounds):
        print(json.dumps(row))
    if options.kafka_only:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "items.parquet")
        write_rows(path, options.rows)
        rows: list[dict[str, Any]] = []
        for master in ("local[1]", "local[2]"):
            command = [sys.executable, "-m", "benches.python.engines", "--rounds"]
            command += [str(options.rounds), "--only", options.only]
            command += ["--session", str(path), master]
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            rows += json.loads(printed.splitlines()[-1])
    print(f"| {options.rows / 1e6:.0f} M rows | cores | first, s | warm, s | warm, CPU s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for master, name in dict.fromkeys((row["master"], row["name"]) for row in rows):
        own = [row for row in rows if (row["master"], row["name"]) == (master, name)]
        first, *warm = own
        middle = [statistics.median(row[of] for row in warm) for of in ("seconds", "cpu")]
        cores = master[len("local[") : -1]
        print(f"| {name} | {cores} | {first['seconds']:.1f} | {middle[0]:.2f} | {middle[1]:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
