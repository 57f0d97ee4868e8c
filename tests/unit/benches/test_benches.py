"""Arithmetic of the benchmarks: goals are judged correctly, and a slower run is detected."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from benches.python import (
    goals,
    input_types,
    instructions,
    measuring,
    report,
    senders,
    service,
)
from benches.python.measuring import Results, Row

if TYPE_CHECKING:
    from pathlib import Path

NATIVE: Row = {"group": "ingest", "skew": 1.3, "depth": 3, "width": 1024}


def run_with(*, lazy: float, exact: float = 2.0) -> Results:
    return [
        {**NATIVE, "name": "CountMin", "ns": exact, "least_ns": exact},
        {**NATIVE, "name": "LazyCountMin, round robin", "ns": lazy, "least_ns": lazy},
    ]


@pytest.mark.parametrize(("lazy", "met"), [(2.0, True), (2.2, True), (2.3, False), (9.0, False)])
def test_a_slow_private_sketch_misses_its_goal(lazy: float, *, met: bool) -> None:
    row = goals.GOALS[0].row(run_with(lazy=lazy))
    assert row["found"] == pytest.approx(2.0 / lazy)
    assert row["met"] is met


def test_the_worst_setting_is_judged() -> None:
    wide: Results = [{**row, "width": 1 << 16} for row in run_with(lazy=4.0)]
    assert goals.GOALS[0].row(run_with(lazy=2.0) + wide)["met"] is False


def test_a_goal_that_was_not_measured_is_neither_met_nor_missed() -> None:
    assert {goal.row([])["met"] for goal in goals.GOALS} == {None}


def test_more_instructions_than_on_record_are_reported() -> None:
    recorded = json.loads(instructions.RECORD.read_text())
    assert set(recorded) == set(instructions.KERNELS)
    assert instructions.compare(recorded) == []
    slower = {**recorded, "release": recorded["release"] * (1 + 2 * instructions.TOLERANCE)}
    (report_of_it,) = instructions.compare(slower)
    assert report_of_it.startswith("release:")


def test_every_contender_runs_once_per_round() -> None:
    runs: list[str] = []
    contenders = [
        measuring.Contender(name=name, events=10, run=partial(runs.append, name)) for name in "ab"
    ]
    results = measuring.medians("group", contenders, rounds=3)
    assert runs == ["a", "b"] * 4  # including one warm-up round
    assert [row["name"] for row in results] == ["a", "b"]
    assert all(row["ns"] >= 0 for row in results)


def measured(**cpu_ns: float) -> Results:
    return [{"group": "input types", "name": name, "cpu_ns": ns} for name, ns in cpu_ns.items()]


@pytest.mark.parametrize(("cost", "over"), [(10.0, 1.0), (21.0, 2.1), (5.0, 0.5)])
def test_a_case_is_compared_with_its_baseline_and_a_call(cost: float, over: float) -> None:
    """Batches of 16: 4 ns per event in the baseline, and 96 ns per call shared by 16 events."""
    few = input_types.Case(
        name="few", run=list, events=160, calls=10, baseline="all", unavoidable="empty"
    )
    cases = [
        input_types.Case(name="all", run=list, events=1000),
        input_types.Case(name="empty", run=list, events=50, calls=50),
        few,
    ]
    rows = input_types.relative(cases, measured(all=4.0, empty=96.0, few=cost))
    assert [row["call_ns"] for row in rows] == [4000.0, 96.0, 16 * cost]
    assert [row.get("over") for row in rows] == [None, None, pytest.approx(over)]
    (goal,) = (goal for goal in goals.GOALS if "input type" in goal.text)
    assert goal.row(rows)["met"] is (over <= goal.limit)


def test_every_case_has_its_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round of a short stream: names fit together, and each event is counted as one."""
    pytest.importorskip("pyarrow", reason="input types include Arrow data")
    monkeypatch.setattr(input_types, "EVENTS", 8192)
    monkeypatch.setattr(input_types, "LIST", 4096)
    rows = input_types.input_types(rounds=1)
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names)
    judged = {row["name"]: row["over"] for row in rows if "over" in row}
    assert {"list of str", "int64 in batches of 1", "int64 with int32 weights"} <= set(judged)
    assert all(over > 0 for over in judged.values())
    text = "\n".join(report.table(rows))
    assert "| list of int in batches of 16 |" in text
    assert "None" not in text


def test_a_case_counts_its_events() -> None:
    seen: list[list[int]] = []
    kind = input_types.InputType(
        name="list", method=seen.append, items=list(range(5000)), sizes={4096: 2, 16: 30, 1: 7}
    )
    cases = list(kind.cases())
    assert [one.calls for one in cases] == [1, 30, 2, 30, 7]
    for one in cases:
        seen.clear()
        one.run()
        brought = sum(map(len, seen))
        assert len(seen) == one.calls
        assert brought == (0 if "nothing" in one.name else one.events)


def test_parts_have_the_size_that_is_asked_for() -> None:
    parts = input_types.parts_of(list(range(10)), 4, 5)
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]


def test_the_release_of_a_long_stream_is_judged_by_that_of_a_short_one() -> None:
    (goal,) = (goal for goal in goals.GOALS if "after 2^20 pushes" in goal.text)
    name = "release after {} pushes of every cell, per cell"
    for long, met in ((240.0, True), (260.0, False)):
        rows: list[measuring.Row] = [
            {"group": "reads", "name": name.format(1 << 10), "cpu_ns": 100.0},
            {"group": "reads", "name": name.format(1 << 20), "cpu_ns": long},
        ]
        assert goal.row(rows)["met"] is met


def test_a_record_holds_results_goals_and_machine(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib (`make bench`)")
    report.write(tmp_path, "day", {"cores": 2}, run_with(lazy=2.5))
    record = json.loads((tmp_path / "day.json").read_text())
    assert record["machine"] == {"cores": 2}
    assert len(record["goals"]) == len(goals.GOALS)
    text = (tmp_path / "day.md").read_text()
    assert "| speed of LazyCountMin, round robin, over that of CountMin | 0.9 | 0.8 | NO |" in text
    assert (tmp_path / "day.png").stat().st_size > 0


def test_streams_are_the_same_each_time_and_skewed() -> None:
    one, other = (measuring.integers(10_000, skew=1.3) for _ in range(2))
    assert (one == other).all()
    assert {len(text) for text in measuring.texts(one)} == {12}
    assert (one == 0).mean() > 0.2  # the share of rank 1 is 0.26


def of_service(*, logged: float, unlogged: float) -> Results:
    rows: Results = []
    for name, ns in ((service.SERVICE, logged), (service.UNLOGGED, unlogged)):
        for kind, batch, many in service.LOADS:
            facts: Row = {"items": kind, "batch": batch, "senders": many}
            rows.append({"group": "service", "name": name, "cpu_ns": ns, **facts})
    return rows


@pytest.mark.parametrize(
    ("logged", "unlogged", "lost"), [(100.0, 80.0, 0.2), (100.0, 60.0, 0.4), (50.0, 50.0, 0.0)]
)
def test_what_the_service_loses_to_its_log_is_a_part_of_its_throughput(
    logged: float, unlogged: float, lost: float
) -> None:
    results = of_service(logged=logged, unlogged=unlogged)
    found = {goal.text: goal.row(results) for goal in goals.GOALS if "service" in goal.text}
    (durable,) = (row for text, row in found.items() if "log" in text)
    assert durable["found"] == pytest.approx(lost)
    assert durable["met"] is (lost <= 0.25)
    speeds = [row["found"] for text, row in found.items() if "million" in text]
    assert speeds == [pytest.approx(1e3 / logged)] * 3


def test_senders_send_the_next_batch_after_an_answer() -> None:
    """A server that answers each request gets them whole, in the order of their sequences."""
    load = senders.Load(
        path="/", media_type="text/plain", bodies=[b"x" * 300_000, b"y"], senders=2, name="n"
    )
    requests: list[bytes] = []

    def answer(listening: socket.socket) -> None:
        with contextlib.ExitStack() as closing:
            both = [closing.enter_context(listening.accept()[0]) for _ in range(2)]
            for connection in both * 2:
                read = b""
                while not read.endswith((b"x" * 300_000, b"\r\n\r\ny")):
                    part = connection.recv(1 << 20)
                    assert part, "the connection ended before a whole request"
                    read += part
                requests.append(read)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60.0)  # a sender that fails does not connect
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        with contextlib.suppress(ConnectionError):  # the server ends before the time does
            senders.send(listening.getsockname()[1], load, seconds=60.0)
        thread.join()
    keys = [re.search(rb"Idempotency-Key: n ([01]):([0-9])", one) for one in requests]
    assert [one and one.groups() for one in keys] == [
        (b"0", b"1"), (b"1", b"1"), (b"0", b"2"), (b"1", b"2")
    ]  # fmt: skip
