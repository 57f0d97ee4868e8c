"""One release of a column: its items are found, the noise is fresh, the ledger is charged."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("pyspark")

import lazysketch as ls
import lazysketch.spark as lazy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, CapError

NOISE: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6}


@pytest.fixture
def frame(session: Any) -> Any:
    """9,000 rows of three users, some rows without one, and weights of which some are too large."""
    item = "case when id % 10 = 9 then null else concat('user ', id % 3) end as user"
    return session.range(0, 10_000, 1, 3).selectExpr(item, "id % 3 + 1 as n", "id")


def test_the_heaviest_items_are_found(frame: Any) -> None:
    found = lazy.top_items(frame, "user", 2, share=0.1, **NOISE)
    assert len(found) == 2
    for hitter in found:
        assert str(hitter.item).startswith("user ")
        assert abs(hitter.estimate - 3_000) < 200
        assert abs(hitter.share - 1 / 3) < 0.15  # of a noisy total
    listed = lazy.top_items(frame, "user", domain=["user 1", "user 7"], **NOISE)
    assert [hitter.item for hitter in listed] == ["user 1", "user 7"]
    assert abs(listed[1].estimate) < 200


def test_weights_are_clipped(frame: Any) -> None:
    release = lazy.release_column(frame, "user", weight="n", max_weight=2, **NOISE)
    assert abs(release.estimate("user 0") - 3_000) < 200
    for user in ("user 1", "user 2"):
        assert abs(release.estimate(user) - 6_000) < 200
    with pytest.raises(ArgumentTypeError, match="weight: expected a column with max_weight 2"):
        lazy.release_column(frame, "user", max_weight=2, **NOISE)


def test_each_call_has_fresh_noise_and_its_own_guarantee(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = (
        lazy.release_column(frame, "user", width=64, hash_seed=1, **NOISE) for _ in range(2)
    )
    assert (one.step, one.privacy.epsilon, one.privacy.delta) == (1, 2.0, 1e-6)
    absent = [f"absent {number}" for number in range(50)]
    assert [one.estimate(item) for item in absent] != [other.estimate(item) for item in absent]
    both = ls.compose(one, other)
    assert both.epsilon > 1.2 * ls.compose(one).epsilon
    assert [*tmp_path.iterdir()] == []  # neither the store nor what opens it


def test_a_ledger_is_charged_before_the_frame_is_run(
    session: Any, frame: Any, tmp_path: Path
) -> None:
    ledger = ls.Ledger.create(
        tmp_path / "people.db",
        key=ls.Key.generate(),
        anchor=tmp_path / "anchor",
        population="users",
        unit="event",
        epsilon=3.0,
        delta=1e-5,
    )
    runs = session.sparkContext.accumulator(0)

    def counted(batches: Any) -> Any:
        runs.add(1)
        yield from batches

    watched = frame.select("user").mapInArrow(counted, "user string")
    with ledger:
        lazy.release_column(watched, "user", ledger=ledger, note="Monday", **NOISE)
        (entry,) = ledger.entries()
        assert (entry.note, entry.charge.epsilon, entry.closed is not None) == ("Monday", 2.0, True)
        before = runs.value
        assert before > 0
        with pytest.raises(CapError):
            lazy.top_items(watched, "user", share=0.1, ledger=ledger, **NOISE)
        assert (len(ledger.entries()), runs.value) == (1, before)


@pytest.mark.parametrize("rows", ["filtered", "local"])
def test_a_frame_without_rows_is_a_step(
    rows: str, session: Any, frame: Any, lives: Lives, tmp_path: Path
) -> None:
    """Whether there is a step does not depend on whether there are rows."""
    empty = (
        frame.where("false") if rows == "filtered" else session.createDataFrame([], frame.schema)
    )
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        local.update_batch([])
        counted = lazy.count_column(empty, "user", spec=live.partial_spec(), input="1")
        release = lazy.add_frame(store, "days", 1, counted, into=live)
        assert release.to_bytes() == local.release().to_bytes()
    assert len(lazy.top_items(empty, "user", share=0.1, **NOISE)) == 0


def test_more_names_than_a_partition_may_have_are_refused(frame: Any) -> None:
    ids = frame.selectExpr("cast(id as string) as item")
    with pytest.raises(Exception, match="most_names|distinct items"):
        lazy.top_items(ids, "item", share=0.1, most_names=100, **NOISE)
    with pytest.raises(ArgumentValueError, match="most_names"):
        lazy.top_items(ids, "item", share=0.1, most_names=0, **NOISE)


def test_a_bound_per_person_is_refused(frame: Any) -> None:
    """Rows of a person are in several partitions, which do not know each other."""
    bound: Any = {"person_bound": ls.PersonBound(cells=3)}
    with pytest.raises(ArgumentValueError, match="person"):
        lazy.top_items(frame, "user", share=0.1, **NOISE, **bound)


def test_statistics_are_those_of_one_machine(session: Any, lives: Lives, tmp_path: Path) -> None:
    """Distinct items, values, keys and sums, bit for bit; nulls and NaN are not counted."""
    frame = session.range(0, 10_000, 1, 3).selectExpr(
        "case when id % 10 = 9 then null else concat('user ', id % 700) end as user",
        "case when id % 10 = 9 then double('NaN') else id / 100 end as ms",
        "case when id % 10 = 9 then '::1' else concat('10.0.0.', id % 10) end as ip",
        "case when id % 10 = 9 then -1 else id end as key",
    )
    schedule = ls.Batch(horizon=1)
    visitors = ls.DistinctCount(schedule=schedule, **NOISE).spec
    times = ls.Distribution(bins=ls.Bins.linear(0, 100), schedule=schedule, **NOISE).spec
    keys = ls.Ranges(width=64, schedule=schedule, **NOISE).spec
    spent = ls.Sums(low=5, high=50, width=64, schedule=schedule, **NOISE).spec
    opened = {
        "user": lambda store: store.distinct("user", visitors),
        "ms": lambda store: store.distribution("ms", times),
        "ip": lambda store: store.ranges("ip", keys),
        "key": lambda store: store.ranges("key", keys),
        "shop": lambda store: store.sums("shop", spent),
    }
    with lives.open() as store:
        for made in opened.values():
            made(store)
    others = lives.copied_to(tmp_path / "copy")
    counted = [number for number in range(10_000) if number % 10 != 9]
    with lives.open() as local_store, others.open() as store:
        for column, values in (
            ("user", [f"user {number % 700}" for number in counted]),
            ("ms", [number / 100 for number in counted]),
            ("ip", [(10 << 24) + number % 10 for number in counted]),
            ("key", counted),
        ):
            local, live = (opened[column](one) for one in (local_store, store))
            local.update_batch(values)
            sealed = lazy.count_column(frame, column, spec=live.partial_spec(), input="1")
            release = lazy.add_frame(store, column, 1, sealed, into=live)
            assert release.to_bytes() == local.release().to_bytes()
        local, live = (opened["shop"](one) for one in (local_store, store))
        local.update_batch(counted, [number / 100 for number in counted])
        spec = live.partial_spec()
        sealed = lazy.count_column(frame, "key", value="ms", spec=spec, input="1")
        release = lazy.add_frame(store, "shop", 1, sealed, into=live)
        assert release.to_bytes() == local.release().to_bytes()
        with pytest.raises(ArgumentTypeError, match="^value: expected the field with the number"):
            lazy.count_column(frame, "key", spec=spec, input="1")


def test_a_release_of_a_statistic_is_near_the_truth(frame: Any) -> None:
    distinct = lazy.release_distinct(frame.selectExpr("id % 5000 as id"), "id", **NOISE)
    assert (distinct.step, distinct.privacy.epsilon, distinct.privacy.delta) == (1, 2.0, 1e-6)
    assert abs(distinct.estimate() - 5_000) < 500
    bins = ls.Bins.linear(0, 10_000)
    values = lazy.release_values(frame, "id", bins=bins, **NOISE)
    assert abs(values.quantile(0.9).estimate - 9_000) < 200
    ranges = lazy.release_ranges(frame, "id", bits=16, width=256, **NOISE)
    assert abs(ranges.count_between(1_000, 5_000).estimate - 4_000) < 500
    sums = lazy.release_sums(frame, "user", "n", low=0, high=3, step=1, note="n by user", **NOISE)
    assert type(sums) is ls.SumsRelease
    assert abs(sums.sum("user 2").estimate - 9_000) < 600
    assert abs(sums.count("user 2").estimate - 3_000) < 300
    for name, given in (("horizon", 5), ("schedule", ls.Punctual())):
        with pytest.raises(ArgumentTypeError, match=f"{name}: expected none for one release"):
            lazy.release_values(frame, "id", bins=bins, **{name: given}, **NOISE)
