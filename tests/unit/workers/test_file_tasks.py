"""Tasks over files count each row once, whatever divides them, and end as one step of a store."""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.store.lives import CANARY, Lives
from tests.unit.store.partials import OPENED, leveled

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import checked_request
from lazysketch.workers import (
    TaskResult,
    add_results,
    count_task,
    keep_spec,
    kept_spec,
    listed_files,
    plan_tasks,
    positions_of,
)

LINES = checked_request()


def write(folder: Path, chance: Random, files: int) -> list[str]:
    """Write files of lines; return all rows."""
    folder.mkdir(exist_ok=True)
    rows: list[str] = []
    for number in range(files):
        own = [f"item {chance.randrange(9)}" for _ in range(chance.randrange(200))]
        (folder / f"{number}.txt").write_text("".join(f"{row}\n" for row in own))
        rows += own
    return rows


@pytest.mark.parametrize("kind", ["count-min", "names"])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_publish_what_one_machine_does(
    seed: int, kind: str, lives: Lives, tmp_path: Path
) -> None:
    """However the files are divided; and again, divided otherwise, with the same release."""
    chance = Random(seed)
    rows = write(tmp_path / "rows", chance, files=chance.randrange(1, 6))
    with lives.open() as store:
        OPENED[kind](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED[kind](local_store), OPENED[kind](store)
        local.update_batch(rows)
        for part_bytes, most_tasks in [(40, 7), (1 << 20, 2), (1, None)]:
            tasks = plan_tasks(
                listed_files(str(tmp_path / "rows")),
                LINES,
                live.partial_spec(),
                format="lines",
                part_bytes=part_bytes,
                most_tasks=most_tasks,
            )
            assert len(tasks) <= (most_tasks or 256)
            results = [count_task(pickle.loads(pickle.dumps(task))) for task in tasks]
            chance.shuffle(results)
            release = add_results(store, "days", 1, results, into=live)
            assert release.to_bytes() == local.release().to_bytes()
            assert (live.step, store.note("days")) == (1, positions_of(0, results[0].input))


def test_tasks_have_about_the_same_to_read(lives: Lives, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text("a\n" * (1 + number * 30))
    with lives.open() as store:
        spec = OPENED["count-min"](store).partial_spec()
    tasks = plan_tasks(
        listed_files(str(tmp_path / "*.txt")),
        LINES,
        spec,
        format="lines",
        part_bytes=500,
        most_tasks=8,
    )
    loads = [sum(part.weight for part in task.parts) for task in tasks]
    assert len(tasks) == 8
    assert max(loads) - min(loads) <= 500


def test_no_file_is_one_task_without_events(lives: Lives, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    with lives.open() as store:
        live = OPENED["count-min"](store)
        (task,) = plan_tasks(listed_files(str(tmp_path / "rows")), LINES, live.partial_spec())
        assert add_results(store, "days", 1, [count_task(task)], into=live).step == 1
        assert live.step == 1


def test_results_are_one_of_each_task(lives: Lives, tmp_path: Path) -> None:
    """A second result of a task, as of a copy that an engine runs, is refused and not counted."""
    write(tmp_path / "rows", Random(1), files=3)
    with lives.open() as store:
        live = OPENED["count-min"](store)
        tasks = plan_tasks(
            listed_files(str(tmp_path / "rows")), LINES, live.partial_spec(), format="lines"
        )
        first, second, third = map(count_task, tasks)
        again = count_task(tasks[0])
        assert again.sealed != first.sealed
        other = third._replace(input="other")
        for wrong in (
            [],
            [first, second],
            [first, second, third, again],
            [first, again, third],
            [first, second, other],
        ):
            with pytest.raises(ArgumentValueError, match="results: expected"):
                add_results(store, "days", 1, wrong, into=live)
        unknown = [result._replace(tasks=0) for result in (first, second, third)]
        with pytest.raises(ArgumentValueError, match="one of each of the tasks, got 4 of 3"):
            add_results(store, "days", 1, [*unknown, again._replace(tasks=0)], into=live)
        assert live.step == 0
        assert add_results(store, "days", 1, [third, first, second], into=live).step == 1
        assert add_results(store, "days", 1, unknown, into=live).step == 1
        changed = [result._replace(input="rewritten") for result in unknown]
        with pytest.raises(ArgumentValueError, match="positions: expected those of batch 1"):
            add_results(store, "days", 1, changed, into=live)


def test_files_that_change_are_refused(lives: Lives, tmp_path: Path) -> None:
    """Before planning, between planning and counting, and after a commit with the same time."""
    write(tmp_path / "rows", Random(2), files=1)
    path = tmp_path / "rows" / "0.txt"
    with lives.open() as store:
        live = OPENED["count-min"](store)
        os.utime(path, (1e9, 1e9))  # times are coarse: what follows takes less than one of them
        files = listed_files(str(tmp_path / "rows"))
        content, status = path.read_text(), path.stat()
        path.write_text(content + "more\n")
        with pytest.raises(SourceError, match="as it was listed"):
            plan_tasks(files, LINES, live.partial_spec(), format="lines")
        path.write_text(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        (task,) = plan_tasks(files, LINES, live.partial_spec(), format="lines")
        add_results(store, "days", 1, [count_task(task)], into=live)
        # Two events for one: another item may have the same cells in tables as narrow as this.
        path.write_text(content.replace("item 1\n", "item\n1\n"))
        with pytest.raises(SourceError, match="as it was listed"):
            count_task(task)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the same size and time
        with pytest.raises(ArgumentValueError, match="sealed: expected those of batch 1"):
            add_results(store, "days", 1, [count_task(task)], into=live)
        assert live.step == 1


def test_a_result_has_no_item_in_clear(lives: Lives, tmp_path: Path) -> None:
    """Its size does not depend on the rows either."""
    sizes = set()
    with lives.open() as store:
        live = OPENED["count-min"](store)
        for rows in ("", f"{CANARY}\n" * 54_321):
            path = tmp_path / "rows.txt"
            path.write_text(rows)
            (task,) = plan_tasks(
                listed_files(str(path)), LINES, live.partial_spec(), format="lines"
            )
            result = count_task(task)
            sizes.add(len(pickle.dumps(result)))
            for secret in (CANARY.encode(), (54_321).to_bytes(4, "little")):
                assert secret not in pickle.dumps((task, result))
    assert len(sizes) == 1


def test_listing_leaves_out_what_is_not_complete(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "_temporary", ".hidden", "deep/c.txt", "deep/_d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    names = [Path(file.path).name for file in listed_files(str(tmp_path))]
    assert names == ["a.txt", "b.txt", "c.txt"]
    names = [Path(file.path).name for file in listed_files(str(tmp_path / "**" / "?.txt"))]
    assert names == ["a.txt", "b.txt", "c.txt"]
    assert listed_files(str(tmp_path / "none-*")) == []
    assert listed_files(str(tmp_path), settled=60) == []
    old = time.time() - 61
    os.utime(tmp_path / "b.txt", (old, old))
    (file,) = listed_files(str(tmp_path), settled=60)
    assert (Path(file.path).name, file.size) == ("b.txt", 2)
    with pytest.raises(SourceError):
        listed_files(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("size", "kind", "parallel", "parts"),
    [
        (1 << 20, "count-min", 4, 1),
        (6 << 20, "count-min", 4, 2),
        (100 << 20, "count-min", 4, 4),
        (100 << 20, "count-min", 1, 1),
        (1 << 30, "count-min", 4, 8),
        (1 << 30, "count-min", 3, 9),
        (1 << 30, "count-min", 100, 100),
        (1 << 30, "names", 4, 64),
    ],
)
def test_a_task_is_worth_its_start(
    size: int, kind: str, parallel: int, parts: int, lives: Lives, tmp_path: Path
) -> None:
    """Equal parts, as many for each task that runs at the same time."""
    (tmp_path / "rows.txt").write_text("a\n")
    os.truncate(tmp_path / "rows.txt", size)
    with lives.open() as store:
        spec = OPENED[kind](store).partial_spec()
    files = listed_files(str(tmp_path / "rows.txt"))
    tasks = plan_tasks(files, LINES, spec, format="lines", parallel_tasks=parallel)
    assert len(tasks) == parts
    weights = [sum(part.weight for part in task.parts) for task in tasks]
    assert max(weights) - min(weights) <= 1


def test_arguments_are_checked(lives: Lives, tmp_path: Path) -> None:
    with lives.open() as store:
        spec = OPENED["count-min"](store).partial_spec()
    for name in ("part_bytes", "most_tasks", "parallel_tasks"):
        with pytest.raises(ArgumentValueError, match=name):
            plan_tasks([], LINES, spec, **{name: 0})
    with pytest.raises(ArgumentTypeError, match="spec"):
        plan_tasks([], LINES, "no bytes")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ArgumentTypeError, match="field"):
        plan_tasks(listed_files(str(tmp_path / "rows.csv")), LINES, spec, format="csv")


def test_a_large_table_has_few_tasks(lives: Lives, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("a\n" * 400)
    files = listed_files(str(tmp_path / "rows.txt"))
    schedule = ls.Batch(horizon=9)
    with lives.open() as store:
        large = ls.TableSpec(
            kind="count-min", depth=4, width=1 << 20, schedule=schedule, epsilon=1.0, delta=1e-6
        )
        for live, most in ((OPENED["count-min"](store), 256), (store.sketch("large", large), 15)):
            tasks = plan_tasks(files, LINES, live.partial_spec(), format="lines", part_bytes=1)
            assert len(tasks) == most


def test_the_current_description_is_the_last_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="make the sink of the store"):
        kept_spec(tmp_path / "state")
    for spec in (b"first", b"second"):
        keep_spec(tmp_path / "state", spec)
        assert kept_spec(tmp_path / "state") == spec
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["partial-spec"]


def test_a_result_is_a_plain_row() -> None:
    """Engines carry it as columns, in this order."""
    assert TaskResult._fields == ("number", "tasks", "tick", "input", "sealed")


def test_tasks_of_a_hierarchy_leave_out_rows_that_do_not_fit(lives: Lives, tmp_path: Path) -> None:
    """Paths of files, divided in two ways: one release per level, without the rows of no path."""
    paths = ["/shop/shoes?q=1", "/shop/hats", "/about", "/shop/shoes"] * 40
    rows = [row for path in paths for row in (path, "no path", "none")]
    (tmp_path / "rows").mkdir()
    for number in range(3):
        text = "".join(f"{row}\n" for row in rows[number::3])
        (tmp_path / "rows" / f"{number}.txt").write_text(text)
    levels = ls.url_paths(1)
    with lives.open() as store:
        leveled(store, levels)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = leveled(local_store, levels), leveled(store, levels)
        local.update_batch([row for row in rows if row.startswith("/")])
        expected = [local.release(number).to_bytes() for number in (0, 1)]
        files = listed_files(str(tmp_path / "rows"))
        for part_bytes in (50, 1 << 20):
            tasks = plan_tasks(
                files, LINES, live.partial_spec(), format="lines", part_bytes=part_bytes
            )
            results = [count_task(pickle.loads(pickle.dumps(task))) for task in tasks]
            releases = add_results(store, "days", 1, results, into=live)
            assert [release.to_bytes() for release in releases] == expected
        assert live.step == 1


def test_addresses_are_read_as_keys_of_ranges(lives: Lives, tmp_path: Path) -> None:
    """Of text and of columns; a row without a key is malformed, the step that of one machine."""
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "a.csv").write_text("ip\n10.0.0.1\n10.0.0.2\nno\n7\n4294967296\n2001:db8::1\n")
    integers = pa.table({"ip": pa.array([9, None, -1, 1 << 32], pa.int64())})
    pq.write_table(integers, folder / "b.parquet")
    spec = ls.Ranges(width=64, schedule=ls.Batch(horizon=9), epsilon=1.0, delta=1e-6).spec
    with lives.open() as store:
        store.ranges("ip", spec)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = local_store.ranges("ip", spec), store.ranges("ip", spec)
        local.update_batch([(10 << 24) + 1, (10 << 24) + 2, 7, 9])
        request = checked_request(field="ip")
        tasks = plan_tasks(listed_files(str(folder)), request, live.partial_spec())
        release = add_results(store, "days", 1, map(count_task, tasks), into=live)
        assert release.to_bytes() == local.release().to_bytes()
        assert type(release) is ls.RangesRelease


@pytest.mark.parametrize("form", ["csv", "jsonl", "txt", "parquet"])
def test_numbers_are_read_for_a_distribution(form: str, lives: Lives, tmp_path: Path) -> None:
    """Of text too; a row without a number is malformed, and the step is that of one machine."""
    values = [0.5, 12, 7.25, 99.0, 3]
    folder = tmp_path / "rows"
    folder.mkdir()
    if form == "csv":
        (folder / "a.csv").write_text("ms,x\n" + "".join(f"{one},1\n" for one in [*values, "no"]))
    elif form == "jsonl":
        rows = [*(json.dumps({"ms": one}) for one in values), '{"ms": "no"}', '{"ms": null}']
        (folder / "a.jsonl").write_text("\n".join(rows))
    elif form == "txt":
        (folder / "a.txt").write_text("\n".join(map(str, [*values, "no", "nan"])))
    else:
        table = pa.table({"ms": pa.array([*values, None, float("nan")], pa.float64())})
        pq.write_table(table, folder / "a.parquet")
    request = checked_request(field=None if form == "txt" else "ms")
    bins = ls.Bins.linear(0, 100, number=32)
    options = {"schedule": ls.Batch(horizon=9), "epsilon": 1.0, "delta": 1e-6}
    spec = ls.Distribution(bins=bins, **options).spec
    with lives.open() as store:
        store.distribution("ms", spec)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = local_store.distribution("ms", spec), store.distribution("ms", spec)
        local.update_batch(values)
        tasks = plan_tasks(listed_files(str(folder)), request, live.partial_spec())
        release = add_results(store, "days", 1, map(count_task, tasks), into=live)
        assert release.to_bytes() == local.release().to_bytes()
