"""The blocks of docs/scale.md that need an engine run, and publish what one machine does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_documents_run import ENGINES, EXAMPLES
from tests.contract.test_documents_run import test_docstring_example_runs as example_runs
from tests.locations import ROOT
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

from lazysketch.sources import checked_request
from lazysketch.workers import add_results, count_task, listed_files, plan_tasks

BLOCK = re.compile(r"^```py\n# (\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_ENGINES = [name for name in EXAMPLES if name.startswith(tuple(ENGINES))]
BLOCKS = dict(BLOCK.findall((ROOT / "docs/scale.md").read_text(encoding="utf-8")))


def test_every_engine_has_a_block() -> None:
    assert set(BLOCKS) == {"multiprocessing", "Dask", "Ray", "Spark", "DataFrame", "Kafka"}


@pytest.mark.parametrize("name", sorted(OF_ENGINES))
def test_docstring_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of modules that need an engine: make test skips them, without the packages."""
    example_runs(name, tmp_path, monkeypatch)


def test_every_public_name_of_kafka_has_an_example() -> None:
    import lazysketch.kafka

    described = {name.rpartition(".")[2] for name in OF_ENGINES}
    assert set(lazysketch.kafka.__all__) <= described


@pytest.mark.parametrize("engine", ["multiprocessing", "Dask", "Ray"])
def test_engines_count_the_tasks_of_files(engine: str, lives: Lives, tmp_path: Path) -> None:
    if engine != "multiprocessing":
        pytest.importorskip(engine.lower())
    rows = [f"item {number % 13}" for number in range(5_000)]
    (tmp_path / "rows.txt").write_text("\n".join(rows))
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        local.update_batch(rows)
        tasks = plan_tasks(
            listed_files(str(tmp_path / "rows.txt")),
            checked_request(),
            live.partial_spec(),
            format="lines",
            part_bytes=10_000,
        )
        assert len(tasks) > 3
        names: dict[str, Any] = {"tasks": tasks, "count_task": count_task}
        exec(BLOCKS[engine], names)
        release = add_results(store, "days", 1, names["results"], into=live)
        assert release.to_bytes() == local.release().to_bytes()


def test_the_block_of_spark(
    session: Any, lives: Lives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.txt").write_text("a\n" * 900)
    block = BLOCKS["Spark"]
    for name in ("logs", "state", "checkpoint"):  # the JVM has its own working directory
        block = block.replace(f'"{name}"', repr(str(tmp_path / name)))
    with lives.open() as store:
        live = OPENED["count-min"](store)
        exec(block, {"spark": session, "store": store, "visits": live})
        assert (live.step, store.last_sequence("visits")) == (1, 1)


def test_the_block_of_data_frames(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ("concat('user ', id % 9) as user", "1 + id % 500 as ms")
    frame = session.range(30_000).selectExpr(*columns)
    exec(BLOCKS["DataFrame"], {"frame": frame})
    *listed, table, distinct, values, ranges, sums = capsys.readouterr().out.splitlines()
    assert len(listed) == 9
    assert all(line.startswith("user ") for line in [*listed])
    assert abs(float(table.split()[0]) - 30_000 / 9) < 500
    assert "(1, 1e-08)-DP per event" in table
    assert distinct.startswith("Interval(")
    assert values.startswith("Interval(estimate=4")  # 495
    count = float(ranges.removeprefix("Interval(estimate=").split(",")[0])
    assert abs(count - 30_000 * 99 / 500) < 2_500
    assert sums.count("Interval(estimate=") == 2


def test_the_block_of_kafka(lives: Lives) -> None:
    pytest.importorskip("confluent_kafka")
    from tests.engines.brokers import MockBroker

    broker = MockBroker()
    broker.send("visits", [b"a\nb"] * 400)
    with lives.open() as store:
        live = OPENED["count-min"](store)
        exec(BLOCKS["Kafka"], {"broker": broker.address, "store": store, "visits": live})
        assert live.step == 3
