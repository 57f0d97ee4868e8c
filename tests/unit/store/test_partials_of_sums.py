"""Partial counts of sums by item: two tables, which take a step together or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.store.lives import CANARY, Lives, sums, table
from tests.unit.store.partials import BATCHES, OPENED, sealed
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.sources import checked_request
from lazysketch.workers import add_results, count_task, listed_files, plan_tasks


def steps_of(live: Any) -> tuple[int, int]:
    """Return the steps of the table of events and of that of values."""
    counts, values = live._tables
    return counts._step, values._step


def test_a_worker_of_sums_needs_a_value_of_each_item(lives: Lives) -> None:
    """All of them before anything is counted."""
    with lives.open() as store:
        live = OPENED["sums"](store)
        worker = ls.PartialCounts(live.partial_spec())
        wrong: list[tuple[type[Exception], str, Any]] = [
            (ArgumentTypeError, "^weights: expected one value per item of sums", None),
            (ArgumentTypeError, "^values: expected", ["1", "2"]),
            (ArgumentValueError, "^values at position 1: expected a number", [1, float("nan")]),
            (ArgumentValueError, r"^values: expected one per item \(2\)", [1.0]),
            (ArgumentValueError, r"^values: expected one per item \(2\)", [1.0, 2.0, 3.0]),
        ]
        for error, match, given in wrong:
            with pytest.raises(error, match=match):
                worker.update_many([CANARY, "b"], given)
        assert repr(worker) == "<PartialCounts of sums, 2 x 8>"
        release = store.add_partials("s", 1, [worker.seal()], into=live)
        assert type(release) is ls.SumsRelease
        local = ls.Sums.from_spec(live.spec)
        local.update_batch([], [])
        assert steps_of(live) == steps_of(local) == (1, 1)


def test_values_beyond_the_bounds_count_as_the_bounds(lives: Lives) -> None:
    """Of a worker as of the sums themselves; its noise is that of the store, at the same step."""
    with lives.open() as store:
        OPENED["sums"](store)
    others = lives.copied_to(lives.folder.parent / "copy")
    with lives.open() as store, others.open() as other:
        live, local = OPENED["sums"](store), OPENED["sums"](other)
        blob = sealed(live.partial_spec(), ["x"] * 3, weights=[[float("-inf"), 4, 1e300]])
        release = store.add_partials("s", 1, [blob], into=live)
        local.update_batch(["x"] * 3, [-2, 4, 12])
        assert release.to_bytes() == local.release().to_bytes()


@pytest.mark.parametrize(
    "other", [{"low": -3.0}, {"high": 11.0}, {"step": 14.0 / 2**16}, {"step": 2.0}, {"width": 9}]
)
def test_sums_on_another_grid_are_refused(other: dict[str, Any], lives: Lives) -> None:
    """Also those that have as many steps, and cells of the same size."""
    with lives.open() as store:
        live = OPENED["sums"](store)
        stranger = store.sums("b", sums(BATCHES, **other))
        spec, given = live.partial_spec(), bytearray(stranger.partial_spec())
        given[42:58] = spec[42:58]  # as if it were for the tables of the first one
        given[100:116] = spec[100:116]
        before = seen(live)
        for described in (bytes(given), stranger.partial_spec()):
            blob = sealed(described, ["x"], weights=[[4.0]])
            with pytest.raises(ArgumentValueError, match="^sealed: expected .* of this table"):
                store.add_partials("s", 1, [blob], into=live)
        assert (seen(live), store.last_sequence("s")) == (before, 0)


def test_both_tables_take_a_step_or_none_does(lives: Lives) -> None:
    """The one of values is full: the one of events, which is asked first, counts nothing."""
    with lives.open() as store:
        live = OPENED["sums"](store)
        counts, values = live._tables
        blob = sealed(live.partial_spec(), ["x", "y"], weights=[[4.0, 7.0]])
        gathered = live._new_sum()
        gathered.add(blob)
        _native.tick_all([values], 9_000)
        before = counts._release(None).to_bytes()
        with pytest.raises(HorizonError):
            gathered.add_to_both(counts, values)
        assert steps_of(live) == (0, 9_000)
        assert counts._release(None).to_bytes() == before
        for call in (
            lambda: gathered.add_to(counts),
            lambda: gathered.add_to_both(counts, counts),
            lambda: gathered.add_to_both(values, values),
            lambda: live._journal.native.gathered(counts).add(blob),
        ):
            with pytest.raises(ArgumentValueError):
                call()
        sketch = store.sketch("b", table("count-sketch", BATCHES))
        plain = sketch._new_sum()
        with pytest.raises(ArgumentValueError, match="of events and values, got those of one"):
            plain.add_to_both(sketch, values)
        assert steps_of(live) == (0, 9_000)


def test_sums_of_people_have_no_partial_counts(lives: Lives) -> None:
    """A worker does not know what a person has contributed elsewhere."""
    with lives.open() as store:
        live = store.sums("a", sums(BATCHES, person_bound=ls.PersonBound(cells=2)))
        for call in (live.partial_spec, lambda: store.add_partials("s", 1, [], into=live)):
            with pytest.raises(ArgumentValueError, match="^person_bound: expected none"):
                call()


def test_neither_values_nor_items_are_in_what_a_store_writes(lives: Lives) -> None:
    """One item whose sum has eight telling bytes, in no sealed bytes and in no file."""
    with lives.open() as store:
        live = store.sums("a", sums(BATCHES, low=0.0, high=2.0, step=1.0, width=1))
        spec = live.partial_spec(most_events=1 << 30)
        for at in range(1, 4):
            blob = sealed(spec, [CANARY] * (10_000 * at), weights=[[2.0] * (10_000 * at)])
            store.add_partials("s", at, [blob], into=live)
            told = [
                (sign * 10_000 * at * each).to_bytes(8, "little", signed=True)
                for each in (1, 2)
                for sign in (-1, 1)
            ]
            files = [path.read_bytes() for path in lives.folder.iterdir() if path.is_file()]
            for data in (spec, blob, *files):
                assert CANARY.encode() not in data
                for bytes_ in told:
                    assert bytes_ not in data


def rows_of(form: str, folder: Path) -> None:
    """Write three rows with a value, and three without one."""
    names = ["a", "b", "a", "c", "c", "c"]
    values: list[Any] = [1.5, 12, -7, "no", None, "nan"]
    if form == "csv":
        text = "".join(f"{name},{value}\n" for name, value in zip(names, values, strict=True))
        (folder / "a.csv").write_text(f"shop,paid\n{text}")
    elif form == "jsonl":
        rows = zip(names, values, strict=True)
        lines = (json.dumps({"shop": name, "paid": value}) for name, value in rows)
        (folder / "a.jsonl").write_text("\n".join(lines))
    else:
        paid = pa.array([1.5, 12, -7, None, float("nan"), None], pa.float64())
        pq.write_table(pa.table({"shop": names, "paid": paid}), folder / "a.parquet")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_files_have_an_item_and_a_value_in_each_row(
    form: str, lives: Lives, tmp_path: Path
) -> None:
    """A row without a value is malformed, and the step is that of one machine."""
    folder = tmp_path / "rows"
    folder.mkdir()
    rows_of(form, folder)
    with lives.open() as store:
        OPENED["sums"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["sums"](local_store), OPENED["sums"](store)
        local.update_batch(["a", "b", "a"], [1.5, 12, -7])
        files, spec = listed_files(str(folder)), live.partial_spec()
        tasks = plan_tasks(files, checked_request(field="shop", value="paid"), spec)
        release = add_results(store, "days", 1, map(count_task, tasks), into=live)
        assert release.to_bytes() == local.release().to_bytes()
        with pytest.raises(ArgumentTypeError, match="^value: expected the field with the number"):
            plan_tasks(files, checked_request(field="shop"), spec)
        visits = store.sketch("b", table(schedule=BATCHES))
        with pytest.raises(ArgumentTypeError, match="^value: expected none for counts without"):
            plan_tasks(files, checked_request(field="shop", value="paid"), visits.partial_spec())
