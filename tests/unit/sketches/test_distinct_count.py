"""Counts of distinct items: one state for every way of counting, errors, files."""

from __future__ import annotations

import copy
import pickle
from datetime import date
from pathlib import Path

import numpy as np
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
from lazysketch.testing import seeded_key

OPTIONS = {"epsilon": 1.0, "delta": 1e-6}
ITEMS = [f"person {number % 700}" for number in range(5_000)]


def count(**options: object) -> ls.DistinctCount:
    """Equal counts have equal noise."""
    return ls.DistinctCount(
        **{**OPTIONS, "bits": 1024, "levels": 4, "key": seeded_key(1), **options}
    )  # type: ignore[arg-type]


def of(items: object, **options: object) -> ls.DistinctRelease:
    with count(**options) as counted:
        counted.update_many(items)
        return counted.release()


def test_repetitions_change_nothing_but_the_step() -> None:
    """The table of 5,000 events of 700 people is that of their first events, and empty steps."""
    whole = of(ITEMS)
    with count() as first_events:
        first_events.update_many(ITEMS[:700])
        first_events.tick(len(ITEMS) - 700)
        assert first_events.release().to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("schedule", [None, ls.RoundRobin(horizon=5_000), ls.Geometric()])
def test_every_way_of_counting_gives_one_release(schedule: ls.RoundRobin | None) -> None:
    many = of(ITEMS, schedule=schedule).to_bytes()
    with count(schedule=schedule) as one_by_one:
        for item in ITEMS:
            one_by_one.update(item)
        assert one_by_one.release().to_bytes() == many
    with count(schedule=schedule) as rows:
        rows.update_rows(ITEMS[:2_000], empty_rows=[])
        rows.update_rows(ITEMS[2_000:], empty_rows=[])
        assert rows.release().to_bytes() == many
    assert of(np.array(ITEMS), schedule=schedule).to_bytes() == many


def test_a_batch_is_one_step() -> None:
    with count(schedule=ls.Batch(horizon=10)) as batches:
        batches.update_batch(ITEMS)
        batches.update_batch([])
        assert batches.steps == 2
        found = batches.interval()
        assert found.low <= 700 <= found.high


def test_two_streams_into_one_count_give_their_union() -> None:
    """The release is that of one stream of the union, whatever came from which and how often."""
    hours = [(range(300), range(200, 500)), (range(100, 350), range(450, 600))]

    def fed(*parts: list[int]) -> bytes:
        with count(schedule=ls.Batch(horizon=10)) as either:
            for part in parts:
                either.update_batch(part)
            return either.release().to_bytes()

    union = fed(*(sorted({*site, *app}) for site, app in hours))
    assert fed(*([*site, *app] for site, app in hours)) == union
    assert fed(*([*app, *site, *app] for site, app in hours)) == union
    assert fed(*(list(site) for site, _ in hours)) != union


def test_noise_is_that_of_the_mechanism() -> None:
    """The table is 16 times the number of set bits plus noise; another key has other noise."""
    exact = ls.DistinctCount(
        epsilon=15.0, delta=1e-3, relation="zero-out", bits=2**12, levels=2, horizon=400
    )
    exact.update_many(range(300))
    release = exact.release()
    assert release.table.shape == (1, 2)
    assert release.estimate() == pytest.approx(300, abs=60)
    assert of(range(300)).table.tolist() != of(range(300), key=None).table.tolist()


def test_items_of_any_type() -> None:
    """Values that look alike are different items, as in the sketches."""
    with count() as mixed:
        for item in ("1", b"1", 1, np.int64(1), date(2026, 1, 1)):
            mixed.update(item)
        found = mixed.release().table.tolist()
    assert found == of(["1", b"1", 1, 1, date(2026, 1, 1)]).table.tolist()
    assert found != of(["1", "1", "1", "1", date(2026, 1, 1)]).table.tolist()


def test_estimates_follow_the_number() -> None:
    with ls.DistinctCount(
        epsilon=1.0, delta=1e-6, relation="zero-out", key=seeded_key(3)
    ) as people:
        for size in (1_000, 10_000, 100_000, 1_000_000):
            people.update_many(np.arange(size))
            found = people.interval(confidence=0.999)
            assert found.low <= size <= found.high
            assert people.estimate() == found.estimate == people.release().estimate()
            assert people.release().standard_error < 0.05 * size


def test_pending_events_widen_the_interval() -> None:
    """A round of this schedule has 4 steps; what it has not pushed could be new items."""
    schedule = ls.RoundRobin(horizon=10_000, period=500)
    with count(schedule=schedule, relation="zero-out") as lazy:
        lazy.update_many(range(1_999))
        pending = lazy.interval()
        assert pending.low <= 1_999 <= pending.high
        lazy.finish()
        assert lazy.finished
        finished = lazy.interval()
        assert finished.low <= 1_999 <= finished.high
        assert lazy.release().finished


def test_a_step_has_one_item_at_most() -> None:
    few = of(range(3))
    assert few.estimate() <= 3
    assert few.interval().high <= 3


def test_releases_survive_bytes_and_files(tmp_path: Path) -> None:
    release = of(ITEMS)
    path = tmp_path / "people.lzs"
    release.save(path)
    for again in (ls.DistinctRelease.load(path), pickle.loads(pickle.dumps(release))):
        assert again.to_bytes() == release.to_bytes()
        assert again.interval() == release.interval()
        assert (again.levels, again.bits, again.step) == (4, 1024, 5_000)
        assert again.privacy == release.privacy
        assert again.sketch_id == release.sketch_id
    other = tmp_path / "notes"
    other.write_text("mine")
    with pytest.raises(OverwriteError):
        release.save(other)
    release.save(other, overwrite=True)


def test_kinds_of_releases_are_told_apart() -> None:
    sketch = ls.LazyCountMin(depth=2, width=16, **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(ReleaseFormatError, match="expected one of distinct items"):
        ls.DistinctRelease.from_bytes(sketch.release().to_bytes())
    with pytest.raises(ReleaseFormatError, match="DistinctRelease"):
        ls.Release.from_bytes(of(ITEMS).to_bytes())
    with pytest.raises(ArgumentTypeError, match="data: expected bytes"):
        ls.DistinctRelease.from_bytes("text")  # type: ignore[arg-type]
    with pytest.raises(MergeError, match="distinct items"):
        of(ITEMS)._native.merge([of(ITEMS)._native, of(ITEMS, key=None)._native])


def test_a_file_of_another_kind_is_named_once(tmp_path: Path) -> None:
    of(ITEMS).save(tmp_path / "people.lzs")
    with pytest.raises(ReleaseFormatError) as refused:
        ls.Release.load(tmp_path / "people.lzs")
    assert str(refused.value).count("release:") == 1


def test_distinct_items_have_no_names() -> None:
    native = of(ITEMS)._native
    with pytest.raises(ReleaseFormatError, match="expected no names"):
        ls.DistinctRelease.from_bytes(native.to_bytes(["ann"]))


def test_damaged_bytes_are_refused() -> None:
    data = of(ITEMS).to_bytes()
    for at in range(0, len(data), 7):
        wrong = bytearray(data)
        wrong[at] ^= 1
        with pytest.raises(ReleaseFormatError):
            ls.DistinctRelease.from_bytes(bytes(wrong))
    for end in (0, 8, 40, len(data) - 1):
        with pytest.raises(ReleaseFormatError):
            ls.DistinctRelease.from_bytes(data[:end])


def test_errors_change_nothing() -> None:
    with count(horizon=10) as people:
        people.update_many(["a", "b"])
        before = people.release().to_bytes()
        with pytest.raises(ItemError, match="position 1"):
            people.update_many(["c", 1.5])
        with pytest.raises(ItemError):
            people.update(None)
        with pytest.raises(HorizonError):
            people.update_many(range(9))
        with pytest.raises(ArgumentValueError, match="schedule"):
            people.update_batch(["c"])
        with pytest.raises(ArgumentValueError, match="empty_rows"):
            people.update_rows(["c"], empty_rows=[5])
        assert people.release().to_bytes() == before
    with pytest.raises(ClosedError):
        people.update("a")
    assert people.closed
    assert "closed" in repr(people)


def test_live_counts_are_not_copied() -> None:
    people = count()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LiveStateError):
            attempt(people)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "epsilon: expected a finite number"),
        ({"delta": None}, "delta: expected"),
        ({"delta": 2.0}, "delta: expected"),
        ({"bits": 1000}, "bits: expected a power of two"),
        ({"bits": 32}, "bits: expected"),
        ({"bits": 2**25}, "bits: expected"),
        ({"levels": 0}, "levels: expected"),
        ({"levels": 17}, "levels: expected"),
        ({"mechanism": "binary"}, "mechanism: expected one of 'tree'"),
        ({"relation": "people"}, "relation: expected"),
        ({"horizon": 5, "schedule": ls.Punctual(horizon=5)}, "horizon: expected none"),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        count(**options)


def test_a_name_is_needed_for_each_argument() -> None:
    with pytest.raises(ArgumentTypeError, match=r"DistinctCount\(epsilon=1.0"):
        ls.DistinctCount(1.0, 1e-6)  # type: ignore[call-arg,arg-type]
    with pytest.raises(ArgumentTypeError, match="delta: expected a value, as in DistinctCount"):
        ls.DistinctCount(epsilon=1.0)  # type: ignore[call-arg]
    with pytest.raises(ArgumentTypeError, match=r"level: .*DistinctCount \(levels\?\)"):
        ls.DistinctCount(epsilon=1.0, delta=1e-6, level=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "changed",
    [
        {"max_weight": 1},
        {"max_events_per_user": 2},
        {"max_changes": 2},
        {"calibration": "classical", "epsilon": 0.5},
        {"person_bound": ls.PersonBound(cells=1)},
        {"depth": 2},
    ],
)
def test_descriptions_that_the_proof_does_not_cover(changed: dict[str, object]) -> None:
    valid = {
        "kind": "distinct",
        "depth": 1,
        "width": 4,
        "bits": 64,
        "max_weight": 16,
        "schedule": ls.Punctual(horizon=8),
        **OPTIONS,
    }
    assert ls.DistinctCount.from_spec(ls.TableSpec(**valid)).bits == 64  # type: ignore[arg-type]
    with pytest.raises((ArgumentTypeError, ArgumentValueError)):
        ls.TableSpec(**{**valid, **changed})  # type: ignore[arg-type]


def test_other_tables_have_no_bits() -> None:
    with pytest.raises(ArgumentValueError, match="bits: expected 0"):
        ls.TableSpec(
            kind="count-min", depth=2, width=8, bits=64, schedule=ls.Geometric(), **OPTIONS
        )  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="kind 'distinct'"):
        ls.DistinctCount.from_spec(count_min())
    with pytest.raises(ArgumentValueError, match="spec"):
        ls.LazyCountMin.from_spec(count().spec)


def count_min() -> ls.TableSpec:
    return ls.TableSpec(kind="count-min", depth=2, width=8, schedule=ls.Geometric(), **OPTIONS)  # type: ignore[arg-type]


def test_the_guarantee_in_words() -> None:
    people = ls.DistinctCount(**OPTIONS)  # type: ignore[arg-type]
    assert people.private
    assert str(people.privacy) == "(1, 1e-06)-DP per item, all of its events (substitution)"
    release = people.release()
    assert ls.DistinctRelease.from_bytes(release.to_bytes()).privacy == release.privacy
    assert release.privacy == people.privacy
    assert "per item, all of its events" in repr(people)
    assert "per item, all of its events" in repr(release)
    assert "any one item, with all of its events, was there, another one" in people.privacy.sentence
    assert "a person with events of several items" in people.privacy.sentence
    seeded = count()
    assert not seeded.private
    assert "public seed" in seeded.not_private_because[0]
    assert not seeded.release().private


def test_guarantees_of_items_compose_with_those_of_events() -> None:
    """All events of an item contain each one; but an item may be no person."""
    people = ls.DistinctCount(**OPTIONS)  # type: ignore[arg-type]
    sketch = ls.LazyCountMin(depth=2, width=16, **OPTIONS)  # type: ignore[arg-type]
    bounded = ls.LazyCountMin(depth=2, width=16, person_bound=ls.PersonBound(cells=1), **OPTIONS)  # type: ignore[arg-type]
    both = ls.compose(people.privacy, people.privacy)
    assert "per item, all of its events" in str(both)
    assert not both.protects_people
    events = ls.compose(people.privacy, sketch.privacy)
    assert "per event" in str(events)
    with pytest.raises(ArgumentValueError, match="parts: expected one unit"):
        ls.compose(people.privacy, bounded.privacy)


@pytest.mark.parametrize("schedule", [ls.Batch(), ls.Batch(horizon=2**27), ls.Punctual()])
def test_counts_have_a_bound_for_every_horizon(schedule: ls.Batch | ls.Punctual) -> None:
    """A level has no more set bits than bits, however many events there may be."""
    with ls.DistinctCount(schedule=schedule, **OPTIONS) as people:  # type: ignore[arg-type]
        people.tick(2)
        assert people.steps == 2


def test_zero_out_has_half_the_noise() -> None:
    deviations = [
        of([], relation=relation).noise_deviation[0] for relation in ("zero-out", "substitution")
    ]
    assert deviations[1] == pytest.approx(2 * deviations[0], rel=0.01)
