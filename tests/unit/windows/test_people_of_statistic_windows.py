"""Windows of statistics that bound people: each counts so much of a person, whatever others had."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.streams_of_people import counted

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

Event = tuple[int, int]
BOUND = ls.PersonBound(events=2)
BINS = ls.Bins.linear(0, 8, number=8)
KINDS = ("ranges", "distribution", "sums")
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 30, "slices": 1},
    "clock": {"every": "20s", "slices": 2},
}
both = pytest.mark.parametrize("cut", CUTS)
every_kind = pytest.mark.parametrize("kind", KINDS)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def windows_of(kind: str, cut: str, clock: Clock | None = None, **changes: Any) -> Any:
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "keep": 100, "key": seeded_key(7)}
    asked |= {"person_bound": BOUND, **CUTS[cut]}
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


@every_kind
def test_people_are_given_where_they_are_bounded_and_only_there(kind: str) -> None:
    with pytest.raises(ArgumentValueError, match="^user: expected the person"):
        windows_of(kind, "clock").update_many(*columns(kind, [1, 2]))
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="^user: "):
        count(windows_of(kind, "clock", person_bound=None), kind, [(1, 2)])
    with pytest.raises(ArgumentValueError, match="^user: "):
        windows_of(kind, "steps").update_many(*columns(kind, [1, 2]), user=["one"])
    range_of_a_day = {"every": "6h", "begin": "2026-01-01", "end": "2026-01-02", "slices": None}
    with pytest.raises(ArgumentTypeError, match="^person_bound: expected none for windows of a ra"):
        windows_of(kind, "steps", **range_of_a_day)


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


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@every_kind
def test_no_person_moves_the_tables_further_than_calibrated(kind: str, relation: str) -> None:
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
            live = windows_of(kind, "steps", relation=relation)
            for at in range(2):
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
