"""What a release says of the run that published it."""

from __future__ import annotations

from typing import Any

import pytest

import lazysketch as ls
from lazysketch.privacy.charges import PlainPart
from lazysketch.privacy.composable import described_pair
from lazysketch.releases.run_promise import RunPromise
from lazysketch.testing import seeded_key

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}


def again(release: ls.Release) -> ls.Release:
    return ls.Release.from_bytes(release.to_bytes())


def run_of(release: ls.Release) -> RunPromise:
    (part,) = again(release).parts
    assert part.run is not None
    return part.run


def same(one: Any, other: Any) -> bool:
    """The same mechanisms, up to the rounding of sigma / l2_sensitivity."""
    known = {"noise_multiplier": pytest.approx}
    names = ("epsilon", "delta", "relation", "sigma", "l2_sensitivity", "depth", "noise_multiplier")
    if isinstance(one, PlainPart):
        return one == other
    return all(
        getattr(other, name) == known.get(name, lambda it: it)(getattr(one, name)) for name in names
    )


def test_names_are_part_of_the_promise() -> None:
    heavy = ls.HeavyHitters(share=0.05, **NOISE)
    run = run_of(heavy.release())
    assert (run.epsilon, run.delta) == (1.0, 1e-8)
    assert str(run) == str(heavy.privacy)
    assert str(run).startswith("(1, 1e-08)-DP per event")
    assert run.parts_to_compose == (heavy.privacy.sketch, PlainPart(0.25, 5e-9))
    assert again(heavy.release()).parts[0].privacy.epsilon == 0.75  # as typed


def test_levels_promise_together() -> None:
    levels = ls.HierarchicalHeavyHitters(ls.ipv4_prefixes(), share=0.05, **NOISE)
    runs = [run_of(levels.release(level)) for level in range(4)]
    assert len({run.id for run in runs}) == 1
    whole = levels.privacy
    for run in runs:
        assert (run.epsilon, run.delta) == (whole.epsilon, whole.delta)
        assert len(run.counts) == len(run.names) == 4
        assert all(map(same, run.parts_to_compose, whole.parts_to_compose))
    joint = ls.compose(*(levels.release(level) for level in range(4)))
    assert joint.epsilon_at(1e-7) == pytest.approx(ls.compose(levels).epsilon_at(1e-7), rel=1e-9)


def test_a_sketch_alone_promises_what_its_noise_does() -> None:
    sketch = ls.LazyCountMin(depth=3, width=64, **NOISE)
    listed = ls.HeavyHitters(share=0.05, domain=["a", "b"], depth=3, width=64, **NOISE)
    for release in (sketch.release(), listed.release()):
        (part,) = again(release).parts
        assert part.run is None
        assert part.promised == part.privacy
        assert release.to_bytes()[8] < 4


def test_windows_promise_one_by_one() -> None:
    windows = ls.Windows(every=50, share=0.1, hash_seed=4, **NOISE)
    windows.update_many(["a"] * 120)
    first, second = (run_of(window.release) for window in windows.windows)
    assert first.id != second.id
    assert (first.epsilon, second.epsilon) == (1.0, 1.0)


def test_a_person_in_several_runs_has_all_their_promises() -> None:
    """Each run once, however many of its releases are there; alone, or merged."""
    days = [ls.HeavyHitters(share=0.05, hash_seed=1, width=64, **NOISE) for _ in range(3)]
    releases = [again(day.release()) for day in days]
    later = []
    for day in days:
        day.tick(5)
        later.append(again(day.release()))
    merged = again(releases[0].merge(*releases[1:]))
    expected = ls.compose(*days)
    for joint in (
        ls.compose(*releases),
        ls.compose(*releases, *later),
        ls.compose(merged),
        ls.compose(merged, later[1]),
    ):
        assert (len(joint.parts), len(joint.plain)) == (3, 3)
        assert joint.epsilon_at(1e-7) == expected.epsilon_at(1e-7)
    assert described_pair(merged) == pytest.approx((3.0, 3e-8))
    assert len(ls.compose(merged, days[0]).parts) == 4  # a live object may have published more


def test_what_is_not_private_promises_nothing() -> None:
    heavy = ls.HeavyHitters(share=0.05, key=seeded_key(1), **NOISE)
    assert str(run_of(heavy.release())).startswith("NOT PRIVATE (noise from a public seed")


def test_people_and_events_are_different_promises() -> None:
    bound = ls.PersonBound(cells=3)
    people, more = (
        ls.LazyCountMin(depth=2, width=64, person_bound=ls.PersonBound(cells=cells), **NOISE)
        for cells in (3, 5)
    )
    events = ls.LazyCountMin(depth=2, width=64, **NOISE)
    assert people.privacy.person_bound == bound
    both = ls.compose(people, more)
    assert both.person_bound == ls.PersonBound(cells=5)
    assert "per person, of whom each part counts what its own bound allows" in str(both)
    counted = "per person, of whom 1 event in each of 5 cells of every sketch row are counted"
    assert counted in str(ls.compose(more, more))
    with pytest.raises(ls.LazySketchError, match="^parts: expected one unit, got some"):
        ls.compose(people, events)


@pytest.mark.parametrize("level", [1, 2])
def test_a_promise_is_checked_when_it_is_read(level: int) -> None:
    """No epsilon of 0, of 101, or that is no number, and no run without tables."""
    heavy = ls.HeavyHitters(share=0.05, **NOISE)._table
    good = (0.5, 4e-9, 40.0, 9.0, 0.25, 1e-9)
    heavy._release((bytes(16), 1.0, 1e-8, [(4, good)] * level))
    wrong: list[Any] = [(bytes(16), 1.0, 1e-8, []), (bytes(16), 1.0, 1e-8, [(4, good)] * 257)]
    wrong += [(bytes(16), epsilon, 1e-8, [(4, good)]) for epsilon in (0.0, 101.0, float("nan"))]
    wrong += [(bytes(16), 1.0, 1e-8, [(depth, good)]) for depth in (0, 65)]
    for place in range(6):
        for value in (-1.0, float("nan"), float("inf")):
            numbers = list(good)
            numbers[place] = value
            wrong.append((bytes(16), 1.0, 1e-8, [(4, tuple(numbers))]))
    for run in wrong:
        with pytest.raises(ls.LazySketchError):
            heavy._release(run)


def test_levels_are_counted_in_words() -> None:
    levels = ls.HierarchicalHeavyHitters(ls.ipv4_prefixes(), share=0.05, **NOISE)
    line = str(run_of(levels.release(0)))
    assert line.startswith("(1, 1e-08)-DP per event")
    assert ", 4 tables together, of which " in line


def test_parts_keep_their_own_noise() -> None:
    """Also where everything but the noise is equal."""
    sketches = [
        ls.LazyCountMin(depth=2, width=8, epsilon=epsilon, delta=1e-8, hash_seed=1)
        for epsilon in (0.5, 1, 0.5)
    ]
    first, *others = (sketch.release() for sketch in sketches)
    parts = again(first.merge(*others)).parts
    by_id = {sketch.sketch_id: sketch.privacy.sigma for sketch in sketches}
    assert {part.sketch_id: part.privacy.sigma for part in parts} == by_id


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_bounds_of_people_come_back(relation: Any) -> None:
    for bound in (ls.PersonBound(cells=3), ls.PersonBound(cells=20, events=2, most_people=9)):
        sketch = ls.LazyCountMin(depth=2, width=8, relation=relation, person_bound=bound, **NOISE)
        part = again(sketch.release()).parts[0].privacy
        for name in ("epsilon", "delta", "sigma", "l2_sensitivity", "person_bound"):
            assert getattr(part, name) == getattr(sketch.privacy, name)
