"""Releases: queries, properties against independent formulas, files and merging."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle import schedules as oracle

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ItemError,
    MergeError,
    ReleaseFormatError,
)
from lazysketch.testing import fixed_id, seeded_key

SIZE: dict[str, Any] = {"depth": 3, "width": 16}
NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
MAKERS: dict[str, Callable[..., Any]] = {
    "CountMin": lambda **more: ls.CountMin(**{**SIZE, **more}),
    "CountSketch": lambda **more: ls.CountSketch(**{**SIZE, **more}),
    "LazyCountMin": lambda **more: ls.LazyCountMin(**{**SIZE, **NOISE, "horizon": 999, **more}),
    "LazyCountSketch": lambda **more: ls.LazyCountSketch(
        **{**SIZE, **NOISE, "horizon": 999, **more}
    ),
    "unbounded LazyCountMin": lambda **more: ls.LazyCountMin(**{**SIZE, **NOISE, **more}),
    "unbounded LazyCountSketch": lambda **more: ls.LazyCountSketch(**{**SIZE, **NOISE, **more}),
    "PunctualCountMin": lambda **more: ls.PunctualCountMin(
        **{**SIZE, **NOISE, "horizon": 999, **more}
    ),
    "PunctualCountSketch": lambda **more: ls.PunctualCountSketch(
        **{**SIZE, **NOISE, "horizon": 999, **more}
    ),
    "ContinualCounters": lambda **more: ls.ContinualCounters(
        **{"counters": 16, **NOISE, "horizon": 999, **more}
    ),
    "unbounded ContinualCounters": lambda **more: ls.ContinualCounters(
        **{"counters": 16, **NOISE, **more}
    ),
}
HASHED = [name for name in MAKERS if "Counters" not in name]
PRIVATE = [name for name in MAKERS if not name.startswith("Count")]
FORMULAS: dict[str, Callable[[int], oracle.Schedule]] = {
    "Lazy": lambda width: oracle.RoundRobin(width=width, horizon=999),
    "unbounded": oracle.Geometric,
    "Punctual": lambda width: oracle.Punctual(width=width, horizon=999),
    "ContinualCounters": lambda width: oracle.RoundRobin(width=width, horizon=999),
}


def fed(name: str, steps: int = 300, **more: Any) -> Any:
    sketch = MAKERS[name](**more)
    sketch.update_many((np.arange(steps) ** 2) % 16)
    return sketch


@pytest.mark.parametrize("name", MAKERS)
def test_a_release_answers_as_the_sketch_did(name: str, tmp_path: Path) -> None:
    sketch = fed(name)
    release = sketch.release()
    items = list(range(16))
    wanted = sketch.estimate_many(items).tolist()
    sketch.update_many([3, 3])  # a release does not change
    path = tmp_path / "a.lzs"
    release.save(path)
    release.save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["a.lzs"]
    copies = [
        release,
        ls.Release.load(path),
        ls.Release.load(str(path)),
        ls.Release.from_bytes(release.to_bytes()),
        release.merge(),
    ]
    for loaded in copies:
        assert loaded.to_bytes() == release.to_bytes() == path.read_bytes()
        assert loaded.estimate_many(items).tolist() == wanted
        assert [loaded.estimate(item) for item in items] == wanted
        assert repr(loaded) == repr(release)
        assert loaded.parts == release.parts
        np.testing.assert_array_equal(loaded.table, release.table)


@pytest.mark.parametrize("name", HASHED)
def test_estimates_of_items_of_all_types(name: str) -> None:
    sketch = MAKERS[name]()
    items = ["a", b"a", 1, "", -1, 2**80, *(f"word {i}" for i in range(100))]
    sketch.update_many(items * 3)
    release = ls.Release.from_bytes(sketch.release().to_bytes())
    assert [release.estimate(item) for item in items] == [sketch.estimate(i) for i in items]
    assert release.estimate_many(items).tolist() == sketch.estimate_many(items).tolist()
    assert release.estimate_many(items).dtype == np.float64
    assert release.estimate_many([]).shape == (0,)


@pytest.mark.parametrize("name", MAKERS)
def test_properties_are_those_of_the_sketch(name: str) -> None:
    sketch = fed(name)
    release = sketch.release()
    for one in (release, ls.Release.from_bytes(release.to_bytes())):
        assert one.kind == sketch.kind
        assert (one.depth, one.width) == (sketch.depth, sketch.width)
        assert one.hash_seed == sketch.hash_seed
        assert one.step == 300
        assert len(one.parts) == 1
        assert one.parts[0].step == 300
        assert one.parts[0].sketch_id == one.sketch_id
        assert len(one.sketch_id) == 16
        assert one.table.dtype == np.int64
        assert one.table.shape == (sketch.depth, sketch.width)
        assert one.table.flags.c_contiguous
        assert one._native.row_sums == one.table.sum(axis=1).tolist()
        with pytest.raises(ValueError, match="read-only"):
            one.table[0, 0] = 1
        if name in PRIVATE:
            assert one.privacy == sketch.privacy == one.parts[0].privacy
            assert one.sketch_id == sketch.sketch_id
            assert one.private
            assert one.not_private_because == ()
        else:
            assert not one.private
            assert "exact" in one.not_private_because[0]
            assert "NOT PRIVATE" in repr(one)
            np.testing.assert_array_equal(one.table, sketch.table)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("steps", [0, 1, 15, 16, 17, 100, 999])
def test_pushes_and_noise_follow_the_formulas(name: str, steps: int) -> None:
    sketch = MAKERS[name]()
    sketch.tick(steps)
    release = sketch.release()
    schedule = next(make for start, make in FORMULAS.items() if name.startswith(start))(16)
    wanted = [0] * 16
    for step in range(1, steps + 1):
        for column in schedule.columns(step):
            wanted[column] += 1
    assert release.pushes.dtype == np.int64
    assert release.pushes.tolist() == wanted
    mechanism = sketch.mechanism
    assert mechanism.leaves == schedule.leaves
    assert release.parts[0].mechanism == mechanism
    deviation = sketch.sigma * np.sqrt(mechanism.variances(wanted))
    np.testing.assert_allclose(release.noise_deviation, deviation, rtol=1e-12)
    assert not release.table[:, np.array(wanted) == 0].any()
    assert release.noise_deviation[np.array(wanted) == 0].tolist() == [0.0] * wanted.count(0)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_the_bounds_of_events_are_those_of_the_sketch(name: str, relation: str) -> None:
    """Four events of weight 3 move a table twelve times as far as one of weight 1."""
    plain = MAKERS[name](relation=relation)
    sketch = MAKERS[name](relation=relation, max_weight=3, max_events_per_user=4)
    release = sketch.release()
    for one in (release, ls.Release.from_bytes(release.to_bytes())):
        privacy = one.privacy
        assert privacy == sketch.privacy
        assert (privacy.relation, privacy.max_weight) == (relation, 3)
        assert privacy.max_events_per_user == 4
        assert privacy.l2_sensitivity == pytest.approx(12 * plain.privacy.l2_sensitivity)
        # Floating point takes up to 1 % of the budget, and more of it where noise is larger.
        assert 12 * plain.sigma * (1 - 1e-12) <= privacy.sigma <= 12.12 * plain.sigma


@pytest.mark.parametrize("name", ["CountMin", "CountSketch"])
def test_exact_releases_have_no_noise(name: str) -> None:
    release = fed(name).release()
    assert release.noise_deviation.tolist() == [0.0] * 16
    assert release.privacy.epsilon == float("inf")
    assert release.parts[0].mechanism is None
    assert release.parts[0].schedule is None


@pytest.mark.parametrize("name", MAKERS)
def test_no_count_in_the_repr(name: str) -> None:
    first, second = fed(name, hash_seed=1) if name in HASHED else fed(name), None
    second = MAKERS[name](hash_seed=1) if name in HASHED else MAKERS[name]()
    second.update_many([7] * 300)
    assert repr(first.release()) == repr(second.release())


def test_invalid_items_of_counters() -> None:
    release = fed("ContinualCounters").release()
    for item in ("1", b"1", -1, 16, True, 1.0, None):
        with pytest.raises(ItemError):
            release.estimate(item)


@pytest.mark.parametrize("name", MAKERS)
def test_merging_adds(name: str) -> None:
    same = {"hash_seed": 5} if name in HASHED else {}
    releases = [fed(name, steps, **same).release() for steps in (10, 200, 999)]
    tables = [release.table for release in releases]
    merged = releases[0].merge(*releases[1:])
    stepwise = releases[2].merge(releases[0]).merge(releases[1])
    assert merged.to_bytes() == stepwise.to_bytes()
    for one in (merged, ls.Release.from_bytes(merged.to_bytes())):
        np.testing.assert_array_equal(one.table, sum(tables))
        assert one.step == 1209
        ids = [part.sketch_id for part in one.parts]
        assert ids == sorted(release.sketch_id for release in releases)
        assert {part.step for part in one.parts} == {10, 200, 999}
        originals = {release.sketch_id: release.parts[0] for release in releases}
        assert all(part == originals[part.sketch_id] for part in one.parts)
        assert one.private == (name in PRIVATE)
        assert one.not_private_because == releases[0].not_private_because
        squares = sum(release.noise_deviation**2 for release in releases)
        np.testing.assert_allclose(one.noise_deviation, np.sqrt(squares), rtol=1e-12)
        assert "3 parts" in repr(one)
        for single in ("privacy", "sketch_id", "pushes"):
            with pytest.raises(ArgumentValueError, match=rf"^{single}: .* \.parts"):
                getattr(one, single)
    for table, release in zip(tables, releases, strict=True):
        np.testing.assert_array_equal(release.table, table)


def test_estimates_of_a_merged_release() -> None:
    streams: list[list[Any]] = [["a", "b", "a"], ["a", "c"], [b"a", 1]]
    for make in (ls.CountMin, ls.CountSketch):
        together = make(depth=5, width=512, hash_seed=5)
        parts = []
        for stream in streams:
            sketch = make(depth=5, width=512, hash_seed=5)
            sketch.update_many(stream)
            together.update_many(stream)
            parts.append(sketch.release())
        merged = parts[0].merge(*parts[1:])
        for item in ("a", "b", "c", b"a", 1, "absent"):
            assert merged.estimate(item) == together.estimate(item)
        assert merged.estimate("a") == 3.0
        merged_sketch = make(depth=5, width=512, hash_seed=5).merge(together)
        np.testing.assert_array_equal(merged_sketch.table, merged.table)


@pytest.mark.parametrize("name", MAKERS)
def test_one_sketch_is_not_merged_twice(name: str) -> None:
    sketch = fed(name)
    early = sketch.release()
    sketch.update(3)
    late = sketch.release()
    other = fed(name, **({"hash_seed": sketch.hash_seed} if name in HASHED else {})).release()
    again = ls.Release.from_bytes(early.to_bytes())
    for twice in ((early, early), (early, again), (early, late), (other.merge(early), late)):
        with pytest.raises(MergeError, match="twice"):
            twice[0].merge(twice[1])
    with pytest.raises(MergeError, match="twice"):
        other.merge(early, late)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": 4}, r"3 x 16\b.*\b4 x 16"),
        ({"width": 17}, r"3 x 16\b.*\b3 x 17"),
        ({"hash_seed": 6}, r"hash_seed 5\b.*hash_seed 6\b"),
        ({"kind": "LazyCountSketch"}, r"count-min.*count-sketch"),
    ],
    ids=["depth", "width", "seed", "kind"],
)
def test_different_tables_are_not_merged(changed: dict[str, Any], message: str) -> None:
    release = fed("LazyCountMin", hash_seed=5).release()
    other = fed(changed.pop("kind", "LazyCountMin"), **{"hash_seed": 5, **changed}).release()
    before = release.to_bytes()
    with pytest.raises(MergeError, match=rf"^merge: expected .*{message}"):
        release.merge(other)
    assert release.to_bytes() == before


def test_counters_and_sketches_are_not_merged() -> None:
    counters = fed("ContinualCounters").release()
    sketch = fed("LazyCountMin", depth=1, hash_seed=0).release()
    with pytest.raises(MergeError, match="counters.*count-min"):
        counters.merge(sketch)


def test_not_private_is_inherited() -> None:
    private = fed("LazyCountMin", hash_seed=5).release()
    seeded = fed("LazyCountMin", hash_seed=5, key=seeded_key(1, sketch_id=None)).release()
    chosen = fed("PunctualCountMin", hash_seed=5, key=fixed_id(ls.Key.generate(), b"i" * 16))
    exact = fed("CountMin", hash_seed=5).release()
    for other in (seeded, chosen.release(), exact):
        for merged in (private.merge(other), other.merge(private), other.merge()):
            assert not merged.private
            assert merged.not_private_because == other.not_private_because
            assert "NOT PRIVATE" in repr(merged)
            assert not ls.Release.from_bytes(merged.to_bytes()).private
    every = private.merge(seeded, chosen.release(), exact)
    assert len(every.not_private_because) == 3
    assert [part.privacy.private for part in every.parts].count(True) == 1


def test_merging_exact_sketches() -> None:
    one, other = fed("CountMin", hash_seed=5), fed("CountMin", 100, hash_seed=5)
    merged = one.merge(other)
    np.testing.assert_array_equal(merged.table, one.table + other.table)
    assert type(merged) is ls.CountMin
    assert merged.step == 400
    assert (one.step, other.step) == (300, 100)
    merged.update("a")
    assert pickle.loads(pickle.dumps(merged)).step == 401
    for changed in ({"width": 17}, {"depth": 2}, {"hash_seed": 6}):
        with pytest.raises(MergeError):
            one.merge(fed("CountMin", **{"hash_seed": 5, **changed}))
    with pytest.raises(ArgumentTypeError, match="^other: "):
        one.merge(fed("CountSketch", hash_seed=5))


def test_missing_files_and_other_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ls.Release.load(tmp_path / "absent.lzs")
    (tmp_path / "text").write_text("not a release, but long enough to hold a header of one")
    for path in ("text", "empty"):
        (tmp_path / path).touch()
        with pytest.raises(ReleaseFormatError, match="^release: "):
            ls.Release.load(tmp_path / path)
    with pytest.raises(OSError, match="absent"):
        fed("CountMin").release().save(tmp_path / "absent" / "a.lzs")


def test_saving_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a.lzs"
    fed("LazyCountMin", width=999).release().save(path)
    second = fed("CountSketch").release()
    second.save(path)
    assert ls.Release.load(path).to_bytes() == second.to_bytes()
