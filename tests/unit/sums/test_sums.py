"""Sums by item: one state for every way of counting, answers, errors, files and merging."""

from __future__ import annotations

import copy
import pickle
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    ItemError,
    LiveStateError,
    MergeError,
    OverwriteError,
    ReleaseFormatError,
)
from lazysketch.releases.sums_file import encoded_sums
from lazysketch.sums.sums_spec import SumsSpec, sums_spec
from lazysketch.testing import seeded_key

CHANCE = np.random.default_rng(6)
ITEMS = CHANCE.integers(0, 50, 2_000)
VALUES = CHANCE.normal(20.0, 40.0, 2_000)
SURE = 1 - 1e-9


def made(**options: Any) -> ls.Sums:
    """Equal sums have equal noise."""
    plain: dict[str, Any] = {"low": -10.0, "high": 90.0, "epsilon": 1.0, "delta": 1e-6}
    whole = {**plain, "horizon": 4_096, "width": 64, **options}
    key = whole.pop("key", None) or seeded_key(1)
    return ls.Sums.from_spec(spec_of(**whole), key=key)


@cache
def spec_of(**options: Any) -> SumsSpec:
    """Return a description, calibrated once."""
    return sums_spec(**options)


def of(items: object, values: object, **options: Any) -> ls.SumsRelease:
    with made(**options) as counted:
        counted.update_many(items, values)
        return counted.release()


def test_every_way_of_counting_gives_one_release() -> None:
    many = of(ITEMS, VALUES).to_bytes()
    with made() as one_by_one:
        for item, value in zip(ITEMS.tolist(), VALUES.tolist(), strict=True):
            one_by_one.update(item, value)
        assert one_by_one.steps == len(ITEMS)
        assert one_by_one.release().to_bytes() == many
    with made() as rows:
        rows.update_rows(ITEMS[:99], VALUES[:99], empty_rows=[])
        rows.update_rows(ITEMS[99:], VALUES[99:], empty_rows=np.array([], dtype=np.int64))
        assert rows.release().to_bytes() == many
    for items, values in (
        (ITEMS.tolist(), VALUES.tolist()),
        (pa.array(ITEMS), pa.array(VALUES)),
        (iter(ITEMS.tolist()), iter(VALUES.tolist())),
    ):
        assert of(items, values).to_bytes() == many


def test_values_beyond_the_bounds_count_as_the_bounds() -> None:
    wild = np.array([1e300, -1e300, np.inf, -np.inf, 90.1, -10.1, 45.0])
    tame = np.clip(wild, -10.0, 90.0)
    items = list(range(7))
    assert of(items, wild).to_bytes() == of(items, tame).to_bytes()
    assert made().grid.integers(wild).tolist() == [65536, -65536] * 3 + [6554]


def test_empty_rows_are_empty_steps() -> None:
    with made() as rows, made() as ticks:
        rows.update_rows(["a", "b"], [1.0, 2.0], empty_rows=[0, 2, 3])
        ticks.tick()
        ticks.update("a", 1.0)
        ticks.tick(2)
        ticks.update("b", 2.0)
        assert rows.steps == 5
        assert rows.release().to_bytes() == ticks.release().to_bytes()


def test_a_batch_is_one_step() -> None:
    with made(schedule=ls.Batch(horizon=10), horizon=None) as batches:
        batches.update_batch(["a"] * 5_000, [90.0] * 5_000)
        batches.update_batch([], [])
        assert batches.steps == 2
        assert 450_000 in batches.sum("a", confidence=SURE)
        assert 5_000 in batches.count("a", confidence=SURE)
        assert 90.0 in batches.mean("a", confidence=SURE)


@pytest.mark.parametrize("bounds", [(-50.0, 50.0), (0.0, 100.0), (900.0, 1_000.0), (-9.0, 0.0)])
def test_answers_are_those_of_the_stream(bounds: tuple[float, float]) -> None:
    """Of four items one in ten thousand times; noise is a few hundred events."""
    low, high = bounds
    values = {
        name: low + share * (high - low)
        for name, share in zip("abcd", (0, 0.3, 0.9, 1), strict=True)
    }
    with ls.Sums(
        low=low, high=high, epsilon=5.0, delta=1e-6, schedule=ls.Batch(horizon=2), key=seeded_key(2)
    ) as live:
        live.update_batch(list(values) * 10_000, list(values.values()) * 10_000)
        release = live.release()
    tolerance = 200 * (high - low) + 200 * abs(low + high)
    for name, value in values.items():
        total = release.sum(name, confidence=SURE)
        assert 10_000 * value in total
        assert total.estimate == pytest.approx(10_000 * value, abs=tolerance)
        assert 10_000 in release.count(name, confidence=SURE)
        mean = release.mean(name, confidence=SURE)
        assert (
            value in mean or value == pytest.approx(mean.low) or value == pytest.approx(mean.high)
        )
        assert mean.estimate == pytest.approx(value, abs=0.05 * (high - low))
        assert low <= mean.low <= mean.high <= high
    sums = [10_000 * value for value in values.values()]
    ranked = release.top(2, among=["d", "c", "b", "a"], confidence=SURE)
    largest = sorted(values, key=lambda name: -values[name])[:2]
    assert [found.item for found in ranked] == largest
    together = release.sums(list(values), confidence=SURE, simultaneous=True)
    assert ((together.low <= sums) & (sums <= together.high)).all()
    alone = release.sums(list(values), confidence=SURE)
    assert (together.high - together.low >= alone.high - alone.low).all()


@pytest.mark.parametrize(("low", "high"), [(0.0, 100.0), (5.0, 100.0), (-100.0, 0.0)])
def test_sums_of_values_of_one_sign_have_that_sign(low: float, high: float) -> None:
    """Also of items that did not occur, of which noise has either sign."""
    sign = 1.0 if low >= 0.0 else -1.0
    release = of(["a"] * 2_000, [sign * 50.0] * 2_000, low=low, high=high)
    items = ["a", *(f"b{number}" for number in range(200))]
    sums = release.sums(items)
    for ends in (sums.low, sums.estimate, sums.high):
        assert (sign * ends >= 0.0).all()
    assert (sums.low <= sums.estimate).all()
    assert (sums.estimate <= sums.high).all()
    assert (sums.estimate[1:] == 0.0).sum() > 60  # half of 200 at most, but for chance
    assert sign * 100_000 in release.sum("a", confidence=SURE)


def test_rounding_is_within_the_interval_or_the_callers() -> None:
    with made(step=1.0) as coarse, made() as fine:
        assert coarse.grid.rounding == 0.0
        assert coarse.grid.integers(np.array([0.4, 0.6])).tolist() == [-80, -78]
        assert fine.grid.rounding == pytest.approx(100 / 2**17, rel=1e-2)
        fine.update_many(["a"] * 4_000, [0.4] * 4_000)
        release = fine.release()
    tables = [table._native for table in release.tables]
    of_grid = ls.SumsRelease(tables[0], tables[1], replace(release.grid, is_exact=True))
    wide, narrow = release.sum("a"), of_grid.sum("a")
    left_out = 4_000 * release.grid.rounding
    assert wide.high - narrow.high >= left_out
    assert narrow.low - wide.low >= left_out


def test_nothing_is_known_before_the_first_step() -> None:
    with made() as live:
        assert (live.sum("a").low, live.sum("a").high) == (0.0, 0.0)
        assert (live.count("a").low, live.count("a").high) == (0.0, 0.0)
        mean = live.mean("a")
        assert np.isnan(mean.estimate)
        assert (mean.low, mean.high) == (-10.0, 90.0)


REFUSALS: list[tuple[object, object, type[Exception], str]] = [
    (["a"], [float("nan")], ArgumentValueError, "values at position 0"),
    (["a", "b"], [1.0], ArgumentValueError, "values: expected one per item"),
    (["a"], [1.0, 2.0], ArgumentValueError, "values: expected one per item"),
    (["a"], ["1"], ArgumentTypeError, "values: expected numbers, got text"),
    (["a"], [True], ArgumentTypeError, "values: expected numbers, got bool"),
    (["a"], [None], ArgumentTypeError, "values: expected"),
    (["a"], 1.0, ArgumentTypeError, "values: expected a sequence of numbers, got float"),
    (["a"], "1", ArgumentTypeError, "values: expected a sequence of numbers, got str"),
    (["a", 1.5], [1.0, 2.0], ItemError, "item"),
    ("ab", [1.0, 2.0], ArgumentTypeError, "items: expected a list"),
]


@pytest.mark.parametrize(("items", "values", "error", "text"), REFUSALS)
def test_refused_events_change_neither_table(
    items: object, values: object, error: type[Exception], text: str
) -> None:
    with made() as live:
        live.update("a", 5.0)
        before = live.release().to_bytes()
        with pytest.raises(error, match=text):
            live.update_many(items, values)
        assert live._counts._step == live._values._step == 1
        assert live.release().to_bytes() == before


def test_the_horizon_ends_both_tables() -> None:
    with made(horizon=4) as live:
        with pytest.raises(HorizonError):
            live.update_many(["a"] * 5, [1.0] * 5)
        live.update_many(["a"] * 4, [1.0] * 4)
        with pytest.raises(HorizonError):
            live.update("a", 1.0)
        assert live._counts._step == live._values._step == 4


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"high": -10.0}, ArgumentValueError, "high: expected a number above low = -10"),
        ({"low": float("-inf")}, ArgumentValueError, "low: expected a finite number"),
        ({"low": "0"}, ArgumentTypeError, "low: expected a finite number"),
        ({"step": 0}, ArgumentValueError, "step: expected a number above 0"),
        ({"step": 30.0}, ArgumentValueError, "step: expected a part of high - low"),
        ({"step": 1e-9}, ArgumentValueError, "step: expected a part of high - low"),
        ({"low": 1e15, "high": 1e15 + 1}, ArgumentValueError, "high: expected a range that floats"),
        ({"count_share": 1.0}, ArgumentValueError, "count_share: expected above 0 and below 1"),
        ({"horizon": None, "schedule": ls.RoundRobin(9)}, ArgumentValueError, "schedule: expected"),
        ({"schedule": ls.Punctual(9)}, ArgumentTypeError, "horizon: expected none"),
        ({"person_bound": 3}, ArgumentTypeError, "person_bound: expected a PersonBound"),
    ],
)
def test_refused_options(options: dict[str, Any], error: type[Exception], text: str) -> None:
    plain: dict[str, Any] = {"low": -10.0, "high": 90.0, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(error, match=text):
        ls.Sums(**{**plain, "horizon": 4_096, "width": 64, **options})


def test_live_sums_stay_in_this_process() -> None:
    with made() as live:
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(LiveStateError):
                attempt(live)
    assert live.closed
    with pytest.raises(ClosedError):
        live.update("a", 1.0)
    assert repr(live).startswith("<Sums of values from -10 to 90, NOT PRIVATE (noise from a")
    assert repr(live).endswith("closed>")


def test_finish_ends_both_tables() -> None:
    with made() as live:
        live.update("a", 1.0)
        live.finish()
        assert live.finished
        assert live.release().finished
        with pytest.raises(ClosedError):
            live.update("a", 1.0)


def test_public_facts() -> None:
    live = ls.Sums(low=0, high=10, step=0.5, epsilon=1.0, delta=1e-6, horizon=512, width=16)
    assert live.private
    assert live.privacy.epsilon == 1.0
    assert live.privacy.values.max_weight == live.grid.steps == 20
    assert live.privacy.counts.max_weight == 1
    assert 0.99 < ls.compose(live).epsilon_at(1e-6) <= 1.0
    release = live.release()
    assert release.private
    assert (release.privacy.epsilon, release.privacy.delta) == (1.0, 1e-6)
    assert ls.compose(release).epsilon_at(1e-6) == ls.compose(live).epsilon_at(1e-6)
    assert str(release.privacy) == "(1, 1e-06)-DP per event (substitution)"
    runs = [table.parts[0].run for table in release.tables]
    assert [run.id for run in runs if run] == [release.tables[0].sketch_id] * 2
    assert "everything ever published" in live.privacy.sentence
    assert repr(release).startswith("<SumsRelease of values from 0 to 10, step 0, (1, 1e-06)-DP")


def test_releases_return_from_files(tmp_path: Path) -> None:
    release = of(ITEMS, VALUES)
    path = tmp_path / "sums.bin"
    release.save(path)
    release.save(path)
    for other in (ls.SumsRelease.load(path), pickle.loads(pickle.dumps(release))):
        assert other.to_bytes() == release.to_bytes()
        assert other.sums(ITEMS[:20]).low.tolist() == release.sums(ITEMS[:20]).low.tolist()
        assert other.means(ITEMS[:20]).high.tolist() == release.means(ITEMS[:20]).high.tolist()


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    whole = of(ITEMS, VALUES).to_bytes()
    for place in (0, 8, 12, 20, 30, 45, 200, len(whole) // 2, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        with pytest.raises(ReleaseFormatError):
            ls.SumsRelease.from_bytes(bytes(changed))
    for length in (0, 7, 8, 40, 60, len(whole) - 1):
        with pytest.raises(ReleaseFormatError):
            ls.SumsRelease.from_bytes(whole[:length])
    with pytest.raises(ArgumentTypeError):
        ls.SumsRelease.from_bytes("LAZYSUMS")  # type: ignore[arg-type]
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(ReleaseFormatError, match="an empty file"):
        ls.SumsRelease.load(empty)


def test_tables_of_other_runs_are_refused() -> None:
    first, second = of(ITEMS, VALUES), of(ITEMS[:9], VALUES[:9])
    counts, values = first.tables
    for grid, one, other in (
        (first.grid, second.tables[0], values),
        (first.grid, values, counts),
        (first.grid, counts, counts),
        (ls.Sums(low=0, high=1, step=0.5, epsilon=1, delta=1e-6).grid, counts, values),
    ):
        with pytest.raises(ReleaseFormatError, match="two tables of the same sums"):
            ls.SumsRelease.from_bytes(encoded_sums(grid, one.to_bytes(), other.to_bytes()))
    assert struct.calcsize("<8sIddIBQ") == 41


def test_releases_add_up() -> None:
    key = seeded_key(1, sketch_id=bytes(15) + b"\1")
    first = of(ITEMS, VALUES, hash_seed=7)
    second = of(ITEMS, VALUES, hash_seed=7, key=key)
    merged = first.merge(second)
    assert merged.step == 4_000
    true = 2 * np.clip(VALUES[ITEMS == 3], -10, 90).sum()
    assert true in merged.sum(3, confidence=SURE)
    again = ls.SumsRelease.from_bytes(merged.to_bytes())
    assert again.sum(3) == merged.sum(3)
    with pytest.raises(MergeError):
        first.merge(first)
    with pytest.raises(MergeError, match="bounds"):
        first.merge(of(ITEMS, VALUES, hash_seed=7, high=91.0, key=key))
    with pytest.raises(ArgumentTypeError, match="releases of sums"):
        first.merge(first.tables[0])  # type: ignore[arg-type]


def test_rows_are_rounded_outwards_and_far_below_the_noise() -> None:
    release = of(ITEMS, VALUES)
    (row,) = release._rows([3], confidence=0.9)
    found = release.sum(3, confidence=0.9)
    assert list(row) == ["item", "sum", "low", "high", "count", "mean"]
    assert row["low"] <= found.low < found.high <= row["high"]
    width = found.high - found.low
    assert (row["high"] - row["low"]) - width < 0.01 * width
    assert row["sum"] == pytest.approx(found.estimate, abs=0.01 * width)
    assert release._rows([], confidence=0.9) == []
    nothing = made().release()._rows(["a"], confidence=0.9)
    assert nothing[0]["mean"] is None


def test_what_a_reader_of_any_release_is_told() -> None:
    live = ls.Sums(low=0, high=10, epsilon=1.0, delta=1e-6, horizon=512, width=16)
    release = live.release()
    assert release._shape == "sums of values from 0 to 10, count-sketch 5 x 16"
    assert release._promised(release.parts[0]) == str(live.privacy)
    assert release.noise_deviation.shape == (16,)
    with pytest.raises(ReleaseFormatError, match="one of sums of values, got one of items"):
        ls.SumsRelease.from_bytes(release.tables[0].to_bytes())
    with pytest.raises(ReleaseFormatError, match="one of one table, got one of sums"):
        ls.Release.from_bytes(release.to_bytes())


def test_a_release_of_another_kind_is_replaced_and_no_other_file(tmp_path: Path) -> None:
    release = of(ITEMS, VALUES)
    path, other = tmp_path / "release", tmp_path / "other"
    release.tables[0].save(path)
    release.save(path)
    assert ls.SumsRelease.load(path).to_bytes() == release.to_bytes()
    other.write_text("a diary")
    with pytest.raises(OverwriteError):
        release.save(other)
    assert other.read_text() == "a diary"
