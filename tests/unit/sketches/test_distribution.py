"""Distributions of values: one state for every way of counting, errors, files, merging."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    LiveStateError,
    MergeError,
    OverwriteError,
    ReleaseFormatError,
)
from lazysketch.releases.any_release import any_release
from lazysketch.specification.value_tree import ValueTree
from lazysketch.testing import seeded_key

BINS = ls.Bins.linear(0, 10, number=40)
VALUES = np.random.default_rng(4).normal(5.0, 2.0, 3_000)


def made(**options: Any) -> ls.Distribution:
    """Equal distributions have equal noise."""
    plain = {"bins": BINS, "epsilon": 1.0, "delta": 1e-6, "key": seeded_key(1)}
    return ls.Distribution(**{**plain, **options})


def of(values: object, **options: Any) -> ls.DistributionRelease:
    with made(**options) as counted:
        counted.update_many(values)
        return counted.release()


def test_every_way_of_counting_gives_one_release() -> None:
    many = of(VALUES).to_bytes()
    with made() as one_by_one:
        for value in VALUES:
            one_by_one.update(value)
        assert one_by_one.release().to_bytes() == many
    with made() as rows:
        rows.update_rows(VALUES[:1_000], empty_rows=[])
        rows.update_rows(list(VALUES[1_000:]), empty_rows=[])
        assert rows.release().to_bytes() == many
    for values in (VALUES.tolist(), pa.array(VALUES), pa.table({"v": VALUES})["v"]):
        assert of(values).to_bytes() == many


def test_empty_rows_are_empty_steps() -> None:
    with made() as rows, made() as ticks:
        rows.update_rows([1.0, 2.0], empty_rows=[0, 2, 3])
        ticks.tick()
        ticks.update(1.0)
        ticks.tick(2)
        ticks.update(2.0)
        assert rows.steps == 5
        assert rows.release().to_bytes() == ticks.release().to_bytes()


def test_a_batch_is_one_step() -> None:
    with made(schedule=ls.Batch(horizon=10)) as batches:
        batches.update_batch(VALUES)
        batches.update_batch([])
        assert batches.steps == 2
        found = batches.release().total(confidence=0.999)
        assert found.low <= 3_000 <= found.high


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("schedule", [None, ls.Batch(horizon=4), ls.Single()])
def test_answers_cover_the_truth(relation: str, schedule: Any) -> None:
    with made(relation=relation, schedule=schedule, key=None) as counted:
        if isinstance(schedule, ls.Batch):
            counted.update_batch(VALUES)
        else:
            counted.update_many(VALUES)
        counted.finish()
        release, sure = counted.release(), 1 - 1e-9
    for share in (0.1, 0.5, 0.99):
        true = np.sort(VALUES)[math.ceil(share * len(VALUES)) - 1]
        found = release.quantile(share, confidence=sure)
        assert found.low <= true <= found.high
        assert found.low <= found.estimate <= found.high
    found = release.count_between(2, 7.5, confidence=sure)
    assert found.low <= ((VALUES >= 2) & (VALUES < 7.5)).sum() <= found.high
    found = release.cdf(5.0, confidence=sure)
    assert found.low <= (VALUES < 5.0).mean() <= found.high
    bins = release.histogram(confidence=sure, simultaneous=True)
    known = np.histogram(VALUES, bins=(-np.inf, *BINS.edges, np.inf))[0]
    assert ((bins.low <= known) & (known <= bins.high)).all()
    assert bins.simultaneous
    assert len(bins) == BINS.number


def test_shares_of_arrow_data_are_checked_before_they_are_read() -> None:
    """Pyarrow would read where a broken offset points, outside of its memory."""
    release = of(VALUES)
    for shares in (pa.array([0.5, 0.9]), pa.chunked_array([[0.5], [0.9]])):
        assert release.quantiles(shares) == release.quantiles([0.5, 0.9])
    offsets = pa.py_buffer(np.array([0, 2**30, 1], dtype=np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"x")])
    for wrong in (broken, pa.table({"a": [0.5]}), pa.array(["x"]), "0.5", 0.5):
        with pytest.raises(ArgumentTypeError, match="shares?: expected"):
            release.quantiles(wrong)  # type: ignore[arg-type]


def test_live_answers_are_those_of_the_release() -> None:
    with made() as counted:
        counted.update_many(VALUES)
        release = counted.release()
        assert counted.quantile(0.5) == release.quantile(0.5)
        assert counted.cdf(3.0) == release.cdf(3.0)
        assert counted.count_between(1, 2) == release.count_between(1, 2)
        assert counted.total() == release.total()
        assert counted.quantiles([0.5, 0.9]) == release.quantiles([0.5, 0.9])
        ours, theirs = counted.histogram(simultaneous=True), release.histogram(simultaneous=True)
        assert ours.to_dict() == theirs.to_dict()
        assert ours.simultaneous
        assert release.quantiles([0.5, 0.9]) == (release.quantile(0.5), release.quantile(0.9))
        assert release.quantiles([]) == ()
        assert release.bins == counted.bins == BINS


def test_more_confidence_is_wider() -> None:
    release = of(VALUES)
    for ask in (
        lambda level: release.quantile(0.5, confidence=level),
        lambda level: release.cdf(4.1, confidence=level),
        lambda level: release.count_between(1.1, 4.3, confidence=level),
        lambda level: release.total(confidence=level),
    ):
        narrow, wide = ask(0.5), ask(0.999)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
        assert wide.width > narrow.width


def test_a_single_push_publishes_nothing_before_the_end() -> None:
    with made(schedule=ls.Single()) as single:
        single.update_many(VALUES)
        before = single.release()
        assert not before.table.any()
        assert math.isnan(before.quantile(0.5).estimate)
        single.finish()
        assert single.finished
        assert single.release().table.all()


@pytest.mark.parametrize(
    ("relation", "epsilon", "rows", "mechanism"),
    [
        ("substitution", 1.0, "tree", "tree"),
        ("zero-out", 1.0, "tree", "tree"),
        ("substitution", 0.1, "haar", "tree"),
    ],
)
def test_rows_are_chosen_by_what_fits(
    relation: Any, epsilon: float, rows: str, mechanism: str
) -> None:
    """Optimised rows need so much noise at a small epsilon that floats would take 1 % of it."""
    bins = ls.Bins.linear(0, 1)
    spec = made(bins=bins, relation=relation, epsilon=epsilon, horizon=512).spec
    assert (spec.chosen_value_rows, spec.chosen_mechanism.name) == (rows, mechanism)
    assert spec.noise.epsilon_numeric < 0.01 * epsilon
    haar = made(bins=bins, relation=relation, epsilon=epsilon, horizon=512, value_rows="haar")
    assert haar.spec.chosen_value_rows == "haar"
    many = made(bins=ls.Bins.linear(0, 1, number=16_000), relation=relation, epsilon=epsilon)
    assert many.spec.width == 2**14


def test_noise_of_prefixes_and_ranges() -> None:
    """At (1, 1e-6), 1,024 bins and 512 pushes: 58 and 82 were asked."""
    spec = made(bins=ls.Bins.linear(0, 1), schedule=ls.Batch(horizon=512)).spec
    assert spec.chosen_value_rows is not None
    tree = ValueTree(spec.chosen_value_rows, spec.width)
    of_time = spec.chosen_mechanism.variances(range(1, 513))
    lows, highs = np.triu_indices(1025, 1)
    of_values = tree.variances(lows, highs)
    prefix = of_values[lows == 0].max()
    assert spec.sigma * math.sqrt(of_time.max() * prefix) < 55.5
    assert spec.sigma * math.sqrt(of_time.max() * of_values.max()) < 77.5
    assert spec.sigma * math.sqrt(of_time.mean() * of_values.mean()) < 68.0


def test_merged_releases_add_up() -> None:
    one, other = of(VALUES), of(VALUES + 1.0, key=None)
    merged = one.merge(other)
    assert (merged.table == one.table + other.table).all()
    assert merged.step == 6_000
    both = np.concatenate((VALUES, VALUES + 1.0))
    found = merged.count_between(2, 5, confidence=1 - 1e-6)
    assert found.low <= ((both >= 2) & (both < 5)).sum() <= found.high
    # Not of the total: its interval ends at the number of events, so its width depends on noise.
    assert merged.count_between(2, 5).width > one.count_between(2, 5).width
    assert "2 parts merged" in repr(merged)
    with pytest.raises(MergeError, match="one sketch id twice"):
        one.merge(one)
    with pytest.raises(MergeError):
        one.merge(of(VALUES, bins=ls.Bins.linear(0, 11, number=40), key=None))
    with pytest.raises(ArgumentTypeError, match="others: expected releases of values"):
        one.merge(ls.LazyCountMin(depth=1, width=4, epsilon=1, delta=1e-6).release())  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="privacy: expected a release of one"):
        _ = merged.privacy
    with pytest.raises(ArgumentValueError, match="sketch_id: expected a release of one"):
        _ = merged.sketch_id


def test_releases_are_kept_in_files(tmp_path: Path) -> None:
    release, path = of(VALUES), tmp_path / "values.lzs"
    release.save(path)
    release.save(path)
    for again in (
        ls.DistributionRelease.load(path),
        ls.DistributionRelease.from_bytes(release.to_bytes()),
        pickle.loads(pickle.dumps(release)),
        any_release(release.to_bytes()),
    ):
        assert isinstance(again, ls.DistributionRelease)
        assert again.to_bytes() == release.to_bytes()
        assert again.privacy == release.privacy
        assert again.bins == BINS
        assert again.quantile(0.3) == release.quantile(0.3)
    other = tmp_path / "other"
    other.write_text("text")
    with pytest.raises(OverwriteError):
        release.save(other)


def test_kinds_of_releases_are_apart() -> None:
    values = of(VALUES).to_bytes()
    with pytest.raises(ReleaseFormatError, match="got one of values; use DistributionRelease"):
        ls.Release.from_bytes(values)
    with pytest.raises(ReleaseFormatError, match="expected one of distinct items"):
        ls.DistinctRelease.from_bytes(values)
    sketch = ls.LazyCountMin(depth=1, width=4, epsilon=1, delta=1e-6)
    with pytest.raises(ReleaseFormatError, match="expected one of values"):
        ls.DistributionRelease.from_bytes(sketch.release().to_bytes())


def test_items_are_not_read() -> None:
    """The table of a distribution answers no query of items, in the core too."""
    spec = made().spec
    table = _native.PrivateSketch(spec, key=seeded_key(1))
    table.update(3)
    for read in (lambda: table.estimate(3), lambda: table.estimate_many([3])):
        with pytest.raises(ArgumentValueError, match="a table of items"):
            read()


def test_an_event_past_the_horizon_is_refused() -> None:
    with made(horizon=4) as counted:
        with pytest.raises(HorizonError):
            counted.update_many([1.0] * 5)
        assert counted.steps == 0
        counted.update_many([1.0] * 4)
        with pytest.raises(HorizonError):
            counted.tick()


def test_a_refused_batch_changes_nothing() -> None:
    with made() as counted:
        before = counted.release().to_bytes()
        for wrong in ([1.0, math.nan], [1.0, "2"], np.array(["x"]), pa.array([1.0, None])):
            with pytest.raises((ArgumentTypeError, ArgumentValueError)):
                counted.update_many(wrong)
        assert counted.release().to_bytes() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bins": [1.0]}, "bins: expected Bins, got list"),
        ({"horizon": 5, "schedule": ls.Single()}, "horizon: expected none with a schedule"),
        ({"schedule": ls.Geometric()}, "schedule: expected Punctual, Batch or Single for values"),
        ({"value_rows": "trees"}, "value_rows: expected"),
        ({"max_events_per_user": 0}, "max_events_per_user: expected an integer from 1"),
        ({"width": 5}, "width: expected an argument of Distribution"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as refused:
        made(**wrong)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda one: one.quantile(0), "share: expected a number above 0 and below 1, got 0"),
        (lambda one: one.quantile(1.0), "share: expected a number above 0 and below 1, got 1"),
        (lambda one: one.quantile(math.nan), "share: expected a number above 0"),
        (lambda one: one.quantile("0.5"), "share: expected a number above 0 and below 1, got str"),
        (lambda one: one.quantile(0.5, confidence=1), "confidence: expected"),
        (lambda one: one.quantiles(0.5), "shares: expected a sequence of numbers, got float"),
        (lambda one: one.quantiles("12"), "shares: expected a sequence of numbers, got str"),
        (lambda one: one.cdf(math.nan), "value: expected a number, got NaN"),
        (lambda one: one.cdf(None), "value: expected a number, got NoneType"),
        (lambda one: one.count_between(2, 1), "high: expected a number from low on, got 1"),
        (lambda one: one.count_between(math.nan, 1), "low: expected a number, got NaN"),
        (lambda one: one.histogram(simultaneous=1), "simultaneous: expected a bool, got int"),
    ],
)
def test_wrong_questions_are_named(ask: Any, message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as refused:
        ask(of([1.0]))
    assert str(refused.value).startswith(message)


def test_lives_end_and_are_not_copied() -> None:
    counted = made()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LiveStateError):
            attempt(counted)
    counted.update(1.0)
    release = counted.release()
    counted.close()
    assert counted.closed
    for use in (lambda: counted.update(1.0), counted.release, lambda: counted.quantile(0.5)):
        with pytest.raises(ClosedError):
            use()
    assert release.step == 1
    assert "closed" in repr(counted)


def test_public_facts() -> None:
    counted = ls.Distribution(bins=BINS, epsilon=1.0, delta=1e-6, max_events_per_user=3)
    counted.update_many([1.0, 2.0])
    assert counted.private
    assert counted.not_private_because == ()
    assert counted.privacy.max_events_per_user == 3
    assert counted.release().privacy == counted.privacy
    # Of few bins the noise is that of a replaced value, which does not serve for one that moves.
    few = ls.Distribution(bins=ls.Bins([1.0, 2.0, 3.0]), epsilon=1.0, delta=1e-6)
    assert few.release().privacy == few.privacy
    assert counted.horizon is None
    assert counted.schedule.name == "punctual"
    assert counted.spec.kind == "values"
    assert repr(counted).startswith("<Distribution bins=42, (1, 1e-06)-DP")
    assert "steps used=2" in repr(counted)
    assert not made().private
    assert "NOT PRIVATE" in repr(made().release())
    again = ls.Distribution.from_spec(counted.spec)
    assert again.spec == counted.spec
    with pytest.raises(ArgumentTypeError, match="spec: expected a TableSpec"):
        ls.Distribution.from_spec("values")  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="spec: expected kind 'values'"):
        ls.Distribution.from_spec(ls.DistinctCount(epsilon=1, delta=1e-6).spec)
