"""finish(): the last step publishes everything, once, with noise that no earlier push has used."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch import testing
from lazysketch.errors import ClosedError
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Schedule

PRIVACY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
SIZE: dict[str, Any] = {"depth": 2, "width": 4, "hash_seed": 5}
MAKES: dict[str, Any] = {
    "LazyCountMin": lambda key: ls.LazyCountMin(**SIZE, **PRIVACY, key=key),
    "LazyCountSketch": lambda key: ls.LazyCountSketch(**SIZE, **PRIVACY, horizon=100, key=key),
    "PunctualCountMin": lambda key: ls.PunctualCountMin(**SIZE, **PRIVACY, horizon=100, key=key),
    "PunctualCountSketch": lambda key: ls.PunctualCountSketch(
        **SIZE, **PRIVACY, horizon=100, key=key
    ),
    "batch": lambda key: ls.LazyCountMin(**SIZE, **PRIVACY, schedule=ls.Batch(horizon=50), key=key),
    "single": lambda key: ls.LazyCountMin(**SIZE, **PRIVACY, schedule=ls.Single(), key=key),
    "single with a horizon": lambda key: ls.LazyCountMin(
        **SIZE, **PRIVACY, schedule=ls.Single(horizon=100), key=key
    ),
    "HeavyHitters": lambda key: ls.HeavyHitters(share=0.1, **PRIVACY, key=key),
    "HeavyHitters of a domain": lambda key: ls.HeavyHitters(domain=[1, 2, 3], **PRIVACY, key=key),
    "ContinualCounters": lambda key: ls.ContinualCounters(counters=9, **PRIVACY, key=key),
}
made = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


def seeded() -> Any:
    return testing.seeded_key(3, sketch_id=bytes(range(16)))


@made
def test_nothing_can_be_added_and_reads_go_on(make: Any) -> None:
    live = make(None)
    live.update_many([1, 2, 1])
    assert not live.finished
    live.finish()
    assert live.finished
    first = live.release()
    assert first.finished
    calls = [
        lambda: live.update(1),
        lambda: live.update_many([1, 2]),
        lambda: live.update_rows([1], empty_rows=[0]),
        lambda: live.tick(),
    ]
    for call in calls:
        with pytest.raises(ClosedError, match=r"takes events, got one after finish\(\)$"):
            call()
    live.finish()
    again = live.release()
    assert again.to_bytes() == first.to_bytes()
    assert "finished" in repr(live)
    assert "finished" in repr(first)
    assert ls.Release.from_bytes(first.to_bytes()).finished
    live.close()
    with pytest.raises(ClosedError):
        live.finish()


@made
def test_a_finished_release_has_no_lag_and_every_event(make: Any) -> None:
    """With the noise of a table that saw no event taken away, the counts are exact."""
    full, empty = make(seeded()), make(seeded())
    full.update_many([1, 2, 1, 3, 1])
    empty.tick(5)
    for live in (full, empty):
        live.finish()
    counted, noise = full.release(), empty.release()
    assert (counted.parts[0].published_steps(counted.width) == 5).all()
    assert counted.pushes.tolist() == noise.pushes.tolist()
    difference = counted.table - noise.table
    if counted.kind != "count-sketch":
        assert difference.sum(axis=1).tolist() == [5] * counted.depth
    exact = ls.CountMin if counted.kind == "count-min" else ls.CountSketch
    if counted.kind != "counters":
        sketch = exact(depth=counted.depth, width=counted.width, hash_seed=counted.hash_seed)
        sketch.update_many([1, 2, 1, 3, 1])
        assert difference.tolist() == sketch.table.tolist()
    else:
        assert difference.tolist() == [[0, 3, 1, 1, 0, 0, 0, 0, 0]]


@made
def test_the_stated_noise_is_that_of_the_final_push(make: Any) -> None:
    live = make(None)
    live.tick(7)
    before = live.release()
    live.finish()
    release = live.release()
    part = release.parts[0]
    current = part.schedule.name in ("batch", "punctual")
    pushes = before.parts[0].pushes(release.width)
    expected = part.mechanism.final_pushes(pushes, nothing_pending=current)
    assert release.pushes.tolist() == expected.tolist()
    deviation = part.privacy.sigma * np.sqrt(part.mechanism.variances(expected))
    assert np.allclose(release.noise_deviation, deviation)


def test_now_is_published_in_a_finished_release() -> None:
    sketch = ls.LazyCountMin(**SIZE, **PRIVACY)
    sketch.update_many(["a"] * 1000 + ["b"] * 13)
    open_release = sketch.release()
    sketch.finish()
    release = sketch.release()
    assert not open_release.finished
    for at in ("published", "now"):
        assert release.interval("a", at=at).low <= release.estimate("a")
    published, now = (release.interval("a", at=at) for at in ("published", "now"))
    assert (published.low, published.high) == (now.low, now.high)
    assert release.estimate("a", at="now") == release.estimate("a")


def test_merged_releases_keep_their_ends() -> None:
    sketches = [ls.LazyCountMin(**SIZE, **PRIVACY) for _ in range(2)]
    for sketch in sketches:
        sketch.update_many([1] * 9)
    sketches[0].finish()
    mixed = sketches[0].release().merge(sketches[1].release())
    assert not mixed.finished
    assert sorted(part.finished for part in mixed.parts) == [False, True]
    sketches[1].finish()
    both = sketches[0].release().merge(sketches[1].release())
    assert both.finished
    for merged in (mixed, both):
        restored = ls.Release.from_bytes(merged.to_bytes())
        assert restored.to_bytes() == merged.to_bytes()
        assert [part.final_pushes for part in restored.parts] == [
            part.final_pushes for part in merged.parts
        ]
    variance = sum(part.noise_variance(4) for part in both.parts)
    assert np.allclose(both.noise_deviation**2, variance)


def test_an_exact_sketch_stays_finished_in_a_copy() -> None:
    sketch = ls.CountMin(depth=2, width=8)
    sketch.update_many([1, 2])
    sketch.finish()
    copied = sketch.__copy__()
    assert copied.finished
    with pytest.raises(ClosedError):
        copied.update(1)
    assert not sketch.merge(sketch.__copy__()).finished


def test_a_hierarchy_finishes_all_levels_or_none() -> None:
    """What an interrupt at any point leaves is tested in tests/faults."""
    levels = ls.ipv4_prefixes((8, 32))
    tree, refused = (
        ls.HierarchicalHeavyHitters(levels=levels, share=0.2, **PRIVACY) for _ in range(2)
    )
    for heavy in (tree, refused):
        heavy.update_many(["10.0.0.1"] * 500)
    refused._tables[1].close()
    with pytest.raises(ClosedError):
        refused.finish()
    assert not refused._tables[0].finished
    tree.finish()
    assert tree.finished
    with pytest.raises(ClosedError):
        tree.update("10.0.0.1")
    assert [tree.release(level).step for level in range(2)] == [500, 500]
    tree.finish()
    tree.end_discovery_epoch()
    assert tree.top(3)


def test_the_names_of_the_last_epoch_are_published() -> None:
    heavy = ls.HeavyHitters(share=0.1, discovery_epoch=10_000, **PRIVACY)
    heavy.update_many(["early"] * 10_000 + ["late"] * 4_000)
    assert heavy.candidates == ["early"]
    heavy.finish()
    assert heavy.candidates == ["early", "late"]
    assert [hitter.item for hitter in heavy.top(2)] == ["early", "late"]


def test_single_has_one_epoch_and_one_push_for_any_length() -> None:
    heavy = ls.HeavyHitters(share=0.1, width=1024, schedule="single", **PRIVACY)
    heavy.update_many((["a"] * 3 + ["b"]) * 2_000)
    assert heavy.candidates == []
    assert not heavy.release().table.any()
    heavy.finish()
    assert heavy.candidates == ["a", "b"]
    release = heavy.release()
    assert release.pushes.tolist() == [1] * release.width
    other = ls.HeavyHitters(share=0.1, width=1024, **PRIVACY)
    other.update_many(["a"] * 8_000)
    assert release.noise_deviation.max() < 0.6 * other.release().noise_deviation.max()


def tiny_schedules() -> list[Schedule]:
    return [
        ls.RoundRobin(horizon=3),
        ls.RoundRobin(horizon=3, period=2),
        ls.Punctual(horizon=2),
        ls.Batch(horizon=2),
        ls.Geometric(growth=(1, 2), rounds=1),
        ls.Geometric(growth=(1, 2), rounds=2),
        ls.Single(),
        ls.Single(horizon=3),
    ]


def inverse(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the exact inverse of a matrix, by Gauss and Jordan."""
    size = len(rows)
    work = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(rows)]
    for column in range(size):
        pivot = next(i for i in range(column, size) if work[i][column])
        work[column], work[pivot] = work[pivot], work[column]
        work[column] = [entry / work[column][column] for entry in work[column]]
        for i in range(size):
            if i != column and work[i][column]:
                factor = work[i][column]
                work[i] = [a - factor * b for a, b in zip(work[i], work[column], strict=True)]
    return [row[size:] for row in work]


def strategy_of(mechanism: Mechanism) -> list[list[Fraction]]:
    """The strategy matrix with the extra row, from the definitions in docs/theory.md."""
    n = mechanism.nodes
    rows = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]
    if mechanism.name == "haar":
        rows[n - 1][n - 1] = Fraction(3)
        for p in range(1, n):
            half = p & -p
            rows[p - 1][p - 1] = Fraction(4)
            for bound in (p - half, p + half):
                if bound:
                    rows[p - 1][bound - 1] -= 2
    else:
        for v in range(1, n + 1):  # binary: the sum of the leaves in the node
            rows[v - 1][v - 1] = Fraction(1)
            if v & (v - 1):
                rows[v - 1][(v & (v - 1)) - 1] = Fraction(-1)
    entry = max(a for a in range(1, 99) if a * a <= mechanism.sensitivity2)
    rows[n][n - 1], rows[n][n] = Fraction(-entry), Fraction(entry)
    return rows


@pytest.mark.parametrize("name", ["haar", "binary"])
@pytest.mark.parametrize("schedule", tiny_schedules(), ids=repr)
def test_no_event_moves_any_transcript_further_than_claimed(schedule: Schedule, name: Any) -> None:
    """All streams of up to 3 steps over two counters, all neighbours, all times of the end.

    The transcript has every release and the final one. For each pair of neighbours there is one
    integer shift of the draws that explains it (L s is the difference of the contents at every
    push), the same for every length, and its norm is within the calibrated sensitivity.
    """
    width, longest = 2, schedule.horizon or 3
    spec = ls.TableSpec(
        kind="counters", depth=1, width=width, schedule=schedule, mechanism=name, **PRIVACY
    )
    mechanism = spec.chosen_mechanism
    strategy = strategy_of(mechanism)
    decoder = inverse(strategy)
    zero = ls.ContinualCounters.from_spec(spec, key=seeded())
    leaves = [zero_noise(spec, steps) for steps in range(longest + 1)]
    assert zero.private is False
    for steps in range(longest + 1):
        transcripts = {
            stream: contents(spec, stream, leaves) for stream in product((None, 0, 1), repeat=steps)
        }
        for stream, seen in transcripts.items():
            for at, event in product(range(steps), (None, 0, 1)):
                neighbour = (*stream[:at], event, *stream[at + 1 :])
                other = transcripts[neighbour]
                moved = Fraction(0)
                for column in range(width):
                    difference = {
                        push: content - other[cell, push]
                        for (cell, push), content in seen.items()
                        if cell == column
                    }
                    change = (stream[at] == column) - (event == column)
                    leaf = leaf_of(schedule, width, column, at + 1)
                    after = [change * (time >= leaf) for time in range(1, mechanism.nodes + 2)]
                    shift = [
                        sum(entry * value for entry, value in zip(row, after, strict=True))
                        for row in strategy
                    ]
                    for push, found in difference.items():
                        explained = sum(
                            entry * value
                            for entry, value in zip(decoder[push - 1], shift, strict=True)
                        )
                        assert explained == found, (stream, other, column, push)
                    moved += sum(value * value for value in shift)
                assert moved <= 2 * mechanism.sensitivity2


def leaf_of(schedule: Schedule, width: int, column: int, step: int) -> int:
    """The leaf of an event: the first push of its column from its step on."""
    before: int = schedule.pushes(width, step - 1)[column]
    return before + 1


def zero_noise(spec: ls.TableSpec, steps: int) -> tuple[list[Any], Any]:
    """Releases of an empty stream under the fixed key at every step, and the final one."""
    live = ls.ContinualCounters.from_spec(spec, key=seeded())
    seen = [live.release()]
    for _ in range(steps):
        live.tick()
        seen.append(live.release())
    live.finish()
    return seen, live.release()


def contents(
    spec: ls.TableSpec, stream: tuple[int | None, ...], empty: list[tuple[list[Any], Any]]
) -> dict[tuple[int, int], int]:
    """The exact content that each (column, push) of a transcript has; never two of them."""
    live = ls.ContinualCounters.from_spec(spec, key=seeded())
    before, last = empty[len(stream)]
    pairs = [(live.release(), before[0])]
    for event, noise in zip(stream, before[1:], strict=True):
        live.tick() if event is None else live.update(event)
        pairs.append((live.release(), noise))
    live.finish()
    pairs.append((live.release(), last))
    found: dict[tuple[int, int], int] = {}
    for release, noise in pairs:
        for column, push in enumerate(release.pushes.tolist()):
            if push:
                content = int(release.table[0, column] - noise.table[0, column])
                assert found.setdefault((column, push), content) == content, (column, push)
    return found
