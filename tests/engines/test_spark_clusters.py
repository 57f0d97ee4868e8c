"""Executors that are killed and tasks that run twice, in a cluster: each row is counted once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.locations import ROOT
from tests.unit.store.lives import CANARY, KEY

pytest.importorskip("pyspark")

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="finds executors in /proc"
)


@dataclass(frozen=True)
class Cluster:
    """What a cluster has published and written."""

    folder: Path
    published: dict[str, list[str]]
    kept_names: list[str]
    printed: bytes

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of that kind of Spark's log."""
        logs = [path for path in (self.folder / "events").rglob("*") if path.is_file()]
        lines = [line for path in logs for line in path.read_text().splitlines() if line]
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in events if event.get("Event") == f"SparkListener{kind}"]

    def tries(self, run: str, tick: int) -> dict[int, int]:
        """Return how often each task of a tick of a run was counted."""
        found: dict[int, int] = {}
        for mark in (self.folder / "runs" / run / "marks").glob(f"counted-{tick}-*"):
            number = int(mark.name.split("-")[2])
            found[number] = found.get(number, 0) + 1
        return found

    def bytes_in(self, *folders: str) -> Iterator[bytes]:
        """Yield the files of folders."""
        for folder in folders:
            for path in (self.folder / folder).rglob("*"):
                if path.is_file():
                    yield path.read_bytes()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Run all runs in one cluster, which takes about a minute."""
    folder = tmp_path_factory.mktemp("cluster")
    run = subprocess.run(
        [sys.executable, "-m", "tests.engines.cluster_runs", str(folder), KEY.to_bytes().hex()],
        capture_output=True,
        cwd=ROOT,
        timeout=900,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert run.returncode == 0, run.stderr.decode()[-5000:]
    said = json.loads(run.stdout.splitlines()[-1])
    return Cluster(folder, said["published"], said["files"], run.stdout + run.stderr)


@pytest.mark.parametrize("run", ["source", "column"])
def test_a_killed_executor_changes_nothing(run: str, cluster: Cluster) -> None:
    """Its JVM is killed after a task has counted and before the driver has the result."""
    assert cluster.published[f"{run}, kill"] == cluster.published["local"]
    assert max(cluster.tries(f"{run}, kill", 0).values()) > 1
    reasons = [event["Removed Reason"] for event in cluster.events("ExecutorRemoved")]
    assert sum("137" in reason for reason in reasons) >= 4  # of source, column, tick, shuffle


@pytest.mark.parametrize("run", ["source", "column"])
def test_a_task_that_runs_twice_is_counted_once(run: str, cluster: Cluster) -> None:
    """The first one waits until its copy, on the other executor, has counted the same rows."""
    assert cluster.published[f"{run}, slow"] == cluster.published["local"]
    assert cluster.tries(f"{run}, slow", 0)[0] > 1
    executors: dict[tuple[int, int], set[str]] = {}
    copied = []
    for event in cluster.events("TaskStart"):
        task, info = (event["Stage ID"], event["Task Info"]["Index"]), event["Task Info"]
        executors.setdefault(task, set()).add(info["Executor ID"])
        if info["Speculative"]:
            copied.append(task)
    assert len(copied) >= 3  # of source, column, tick
    assert all(len(executors[task]) > 1 for task in copied)


def test_ticks_are_those_of_one_machine(cluster: Cluster) -> None:
    """An executor is killed in the first one, and a task runs twice in the second."""
    assert cluster.published["ticks"] == cluster.published["local ticks"]
    assert max(cluster.tries("ticks", 1).values()) > 1
    assert cluster.tries("ticks", 2)[0] > 1


def test_counts_that_were_shuffled_and_lost_are_never_added_twice(cluster: Cluster) -> None:
    """Spark counts again what the executor had shuffled; those counts have other ids.

    A shuffle places rows by their content, so it may now give one task twice and another never.
    """
    assert cluster.published["shuffled"] == cluster.published["local"]
    assert max(cluster.tries("lost shuffle", 0).values()) > 1
    (lost,) = cluster.published["lost shuffle"]
    assert lost in cluster.published["local"] or lost.startswith("results: expected one of each")


def test_no_item_is_in_what_a_cluster_writes(cluster: Cluster) -> None:
    """Shuffle files, spills, logs of executors, event log, checkpoint, inputs, what is printed."""
    assert any(
        name.startswith("shuffle_") and name.endswith(".data") for name in cluster.kept_names
    )
    assert any(name.startswith("temp_local_") for name in cluster.kept_names)  # a spill
    assert any(name.startswith("rdd_") for name in cluster.kept_names)
    canary = CANARY.encode()
    written = [
        *cluster.bytes_in("kept", "work", "events", "runs/ticks/state", "runs/ticks/checkpoint")
    ]
    assert any(b"ExecutorLostFailure" in data for data in written)
    assert any(b"org.apache.spark" in data for data in cluster.bytes_in("work"))
    assert [data for data in [*written, cluster.printed] if canary in data] == []
    # The search finds rows where rows are.
    assert any(canary in data for data in cluster.bytes_in("kept-rows"))
