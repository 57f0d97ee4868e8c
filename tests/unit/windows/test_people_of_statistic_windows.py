"""Windows of statistics that bound people: each counts so much of a person, whatever others had."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.streams_of_people import counted

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key
from lazysketch.windows.window_tables import core_tables

Event = tuple[int, int]
BOUND = ls.PersonBound(events=2)
BINS = ls.Bins.linear(0, 8, number=8)
KINDS = ("ranges", "distribution", "sums")
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 30, "slices": 1},
    "clock": {"every": "20s", "slices": 2},
}
RANGE: dict[str, Any] = {
    "every": "6h", "begin": "2026-01-01", "end": "2026-01-02", "slices": None,
}  # fmt: skip
BEGIN, SIX_HOURS = 1_767_225_600, 21_600  # seconds since 1970
both = pytest.mark.parametrize("cut", CUTS)
every_kind = pytest.mark.parametrize("kind", KINDS)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def windows_of(kind: str, cut: str, clock: Clock | None = None, **changes: Any) -> Any:
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "keep": 100, "key": seeded_key(7)}
    asked |= {"person_bound": BOUND, **(RANGE if cut == "range" else CUTS[cut])}
    if cut == "clock":
        asked["clock"] = clock or Clock()
    if kind == "distribution":
        return ls.DistributionWindows(bins=BINS, **{**asked, **changes})
    asked["hash_seed"] = 3
    if kind == "ranges":
        return ls.RangesWindows(bits=3, width=8, **{**asked, **changes})
    return ls.SumsWindows(low=0, high=10, step=1, width=64, **{**asked, **changes})


def columns(kind: str, numbers: Sequence[int]) -> tuple[list[Any], ...]:
    """Return a batch of events: of sums one item, so that a person has one cell in each row."""
    if kind == "sums":
        return ["x"] * len(numbers), [float(number) for number in numbers]
    return ([float(number) for number in numbers] if kind == "distribution" else list(numbers),)


def count(windows: Any, kind: str, events: Sequence[Event]) -> None:
    people = [person for person, _ in events]
    windows.update_many(*columns(kind, [number for _, number in events]), user=people)


def count_accepted(windows: Any, kind: str, events: Sequence[Event], *, in_steps: bool) -> int:
    """Count what the rule accepts of the events of one window, each by a person of its own."""
    accepted = counted(events, BOUND)
    for place, number in enumerate(accepted):
        if number is not None:
            windows.update_many(*columns(kind, [number]), user=[f"person {place}"])
        elif in_steps:
            windows.tick(1)
    return len(events) - sum(number is not None for number in accepted)


@both
@every_kind
def test_each_window_counts_by_the_rule(kind: str, cut: str) -> None:
    """All that is published is that of a stream without the events beyond the bound."""
    chance, clock = random.Random(f"{kind} {cut}"), Clock()
    windows, plain = (windows_of(kind, cut, clock) for _ in range(2))
    refused = 0
    for _ in range(4):
        events = [(chance.randrange(6), chance.randrange(8)) for _ in range(30)]
        at = chance.randrange(30)
        count(windows, kind, events[:at])
        count(windows, kind, events[at:])
        refused += count_accepted(plain, kind, events, in_steps=cut == "steps")
        clock.now += 20.0
        assert windows._live.refused == refused
    for one in (windows, plain):
        one.finish()
    assert refused > 20
    assert len(windows.windows) == len(plain.windows) >= 4
    for mine, other in zip(windows.windows, plain.windows, strict=True):
        assert mine.release.to_bytes() == other.release.to_bytes()


@every_kind
def test_a_batch_across_windows_is_split_with_its_people(kind: str) -> None:
    events = [(place % 7, place % 8) for place in range(75)]
    whole, single = (windows_of(kind, "steps") for _ in range(2))
    count(whole, kind, events)
    for person, number in events:
        single.update(*(column[0] for column in columns(kind, [number])), user=person)
    for mine, other in zip(whole.windows, single.windows, strict=True):
        assert mine.release.to_bytes() == other.release.to_bytes()
    assert whole._live.refused == single._live.refused > 0


@pytest.mark.parametrize("most_people", [None, 3])
@every_kind
def test_a_window_of_a_range_counts_by_the_rule(kind: str, most_people: int | None) -> None:
    """In any order of times: each window has what the rule accepts of its own events in theirs.

    The tables without noise are differences from windows that count nothing, under the same key.
    """
    chance = random.Random(f"{kind} {most_people}")
    bound = ls.PersonBound(events=2, most_people=most_people)
    feed: list[tuple[Event, int]] = [
        ((chance.randrange(6), chance.randrange(8)), chance.randrange(-9_000, 95_000))
        for _ in range(150)
    ]
    windows = windows_of(kind, "range", person_bound=bound)
    for start, end in ((0, 40), (40, 40), (40, 41), (41, 150)):
        part = feed[start:end]
        people = [person for (person, _), _ in part]
        events = columns(kind, [number for (_, number), _ in part])
        windows.update_many(*events, times=instants(second for _, second in part), user=people)
    expected: list[tuple[int, int]] = []
    refused = 0
    for window in range(4):
        own = [event for event, second in feed if second // SIX_HOURS == window]
        accepted = [number for number in counted(own, bound) if number is not None]
        refused += len(own) - len(accepted)
        expected += [(number, window * SIX_HOURS) for number in accepted]
    assert windows._live.refused == refused > 30
    plain = windows_of(kind, "range", person_bound=None)
    plain.update_many(
        *columns(kind, [number for number, _ in expected]),
        times=instants(second for _, second in expected),
    )
    pairs = zip(
        whole_tables(windows, windows_of(kind, "range", person_bound=bound)),
        whole_tables(plain, windows_of(kind, "range", person_bound=None)),
        strict=True,
    )
    for mine, other in pairs:
        assert all(np.array_equal(one, two) for one, two in zip(mine, other, strict=True))
        assert any(table.any() for table in mine)


def instants(seconds: Iterable[int]) -> list[int]:
    """Return times within the day of the range, in nanoseconds since 1970."""
    return [(BEGIN + second) * 10**9 for second in seconds]


def whole_tables(windows: Any, silent: Any) -> list[tuple[Any, ...]]:
    """Return the exact tables of windows: less those that have the same noise alone."""
    for one in (windows, silent):
        one.finish()
    return [
        tuple(a - b for a, b in zip(_integers(mine), _integers(noise), strict=True))
        for mine, noise in zip(
            (window.release for window in windows.windows),
            (window.release for window in silent.windows),
            strict=True,
        )
    ]


@every_kind
def test_a_refused_batch_of_a_range_leaves_no_people(kind: str) -> None:
    """Neither tables nor what is known of people change, in no window."""
    windows = windows_of(kind, "range")
    times = instants([1, 30_000, 30_001])
    for user in (["x", "y"], ["x", None, "y"], None):
        with pytest.raises(ls.LazySketchError, match="^user: expected"):
            windows.update_many(*columns(kind, [1, 2, 3]), times=times, user=user)
    with pytest.raises(ls.LazySketchError):
        windows.update_many(*columns(kind, [1, 2]), times=times, user=["x", "y", "z"])
    with pytest.raises(ArgumentTypeError, match="^times: expected the time"):
        windows.update_many(*columns(kind, [1, 2, 3]), user=["x", "y", "z"])
    for table in windows._live.tables.values():
        people = _native.People.of_table(core_tables(table)[0])
        assert people is not None
        assert people.known == 0
    for _ in range(3):
        windows.update_many(*columns(kind, [1]), times=instants([1]), user=["x"])
        windows.update_many(*columns(kind, [1]), times=instants([90_000]), user=["x"])
    assert windows._live.refused == 1


@every_kind
def test_people_are_given_where_they_are_bounded_and_only_there(kind: str) -> None:
    with pytest.raises(ArgumentValueError, match="^user: expected the person"):
        windows_of(kind, "clock").update_many(*columns(kind, [1, 2]))
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="^user: "):
        count(windows_of(kind, "clock", person_bound=None), kind, [(1, 2)])
    with pytest.raises(ArgumentValueError, match="^user: "):
        windows_of(kind, "steps").update_many(*columns(kind, [1, 2]), user=["one"])


@every_kind
def test_a_person_is_protected_within_one_window(kind: str) -> None:
    windows = (
        windows_of(kind, "steps", key=None, hash_seed=None)
        if kind != "distribution"
        else (windows_of(kind, "steps", key=None))
    )
    assert "per person within one window, of whom 2 events" in str(windows.privacy)
    assert "sent these events in one window, others there or elsewhere" in windows.privacy.sentence
    with pytest.raises(ArgumentValueError, match="^parts: expected guarantees for all that a pers"):
        ls.compose(windows)
    windows.tick(60)
    together = ls.compose(*(window.release for window in windows.windows))
    assert together.epsilon_at(1e-6) > 1.2


@pytest.mark.parametrize("cut", ["steps", "range"])
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@every_kind
def test_no_person_moves_the_tables_further_than_calibrated(
    kind: str, relation: str, cut: str
) -> None:
    """All that a person may do in one window, there or in another one: Theorem 12f.

    The tables of two windows without noise are read off windows with and without the person, under
    one key; in squares, per push, whose rows are at most those of the sensitivity.
    """
    choices = [(), (1,), (7,), (1, 1), (1, 7), (5, 5, 5)]
    largest = 0.0
    for here, there, window in itertools.product(choices, choices, (0, 1)):
        if relation == "zero-out" and there:
            continue
        tables = []
        for numbers, place in ((here, 0), (there, window)):
            live = windows_of(kind, cut, relation=relation)
            if cut == "range":
                times = instants([place * SIX_HOURS] * len(numbers))
                live.update_many(*columns(kind, numbers), times=times, user=["one"] * len(numbers))
                live.finish()
            for at in range(2 if cut == "steps" else 0):
                own = numbers if at == place else ()
                count(live, kind, [("one", number) for number in own])  # type: ignore[misc]
                live.tick(30 - len(own))
            tables.append([_integers(one.release) for one in live.windows])
            privacy = live.privacy
            sums = kind == "sums"
            parts = [privacy.counts, privacy.values] if sums else [privacy.sketch]
            mechanism = live.windows[0].release.parts[0].mechanism
        moved = [
            sum(float(((a - b) ** 2).sum()) for a, b in zip(mine, other, strict=True))
            for mine, other in zip(
                zip(*tables[0], strict=True), zip(*tables[1], strict=True), strict=True
            )
        ]
        stated = [part.l2_sensitivity**2 / mechanism.sensitivity2 for part in parts]
        largest = max(largest, *(move / most for move, most in zip(moved, stated, strict=True)))
    assert 0.2 < largest <= 1.0 + 1e-12


def _integers(release: Any) -> tuple[Any, ...]:
    """Return the published tables, of sums both."""
    if isinstance(release, ls.SumsRelease):
        return tuple(table.table.astype(np.float64) for table in release.tables)
    return (release._table.astype(np.float64),)
