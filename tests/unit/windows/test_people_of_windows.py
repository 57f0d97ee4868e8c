"""Windows that bound people: each counts so much of a person, whatever the others counted."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle import people as oracle
from tests.oracle.sketches import HashesReadOff
from tests.oracle.windows import DAY, Clock, at, exact, made, tables

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.windows import UNKNOWN_TIME

BOUND = ls.PersonBound(cells=2, events=2)
PLACES = HashesReadOff(lambda: ls.CountMin(depth=3, width=64, hash_seed=3))
COLUMNS: dict[Hashable, Sequence[int]] = {
    item: [column for column, _ in PLACES(item)] for item in range(50)
}
Event = tuple[int, int]
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 30},
    "clock": {"every": "20s", "slices": 4},
    "range": {"every": "6h", **DAY},
}
every_cut = pytest.mark.parametrize("cut", CUTS)


def windows_of(cut: str, **changes: Any) -> ls.Windows:
    asked: dict[str, Any] = {"person_bound": BOUND, "keep": 100, **CUTS[cut], **changes}
    if cut == "clock":
        asked.setdefault("clock", Clock(1000.0))
    return made(**asked)


def counted(events: Sequence[Event], bound: ls.PersonBound = BOUND) -> list[int]:
    """Items that one window counts, by the rule."""
    table = oracle.Table(COLUMNS.__getitem__, cells=bound.cells, events=bound.events)
    people = [person for person, _ in events]
    items = [item for _, item in events]
    accepted = oracle.counted(
        [table], people, [(item,) for item in items], most_people=bound.most_people
    )
    return [item for item, was in zip(items, accepted, strict=True) if was]


def check(windows: ls.Windows, silent: ls.Windows, events: Sequence[Sequence[Event]]) -> None:
    """Each window counts of its events what the rule says, next to the noise of a silent one."""
    expected = [counted(part) for part in events]
    refused = sum(map(len, events)) - sum(map(len, expected))
    assert windows._live.refused == refused
    for one in (windows, silent):
        one.finish()
    assert windows._live.refused == refused
    assert len(windows.windows) == len(silent.windows) == len(expected)
    for table, noise, items in zip(tables(windows), tables(silent), expected, strict=True):
        assert np.array_equal(table - noise, exact(items))


EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 49)), max_size=40)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 5), EVENTS), max_size=8), st.integers(1, 25))
@example([[(0, 7)] * 3 + [(1, 7)] * 3 + [(0, 7), (1, 8), (2, 9)]], 3)
def test_by_steps(calls: list[int | list[Event]], every: int) -> None:
    """Batches that cross any number of windows are split with their people."""
    windows, silent = (windows_of("steps", every=every, keep=1000) for _ in range(2))
    steps: list[Event | None] = []
    for call in calls:
        if isinstance(call, int):
            windows.tick(call)
            steps += [None] * call
        else:
            windows.update_many([item for _, item in call], user=[one for one, _ in call])
            steps += call
    silent.tick(len(steps))
    parts = [steps[start : start + every] for start in range(0, len(steps), every)]
    check(windows, silent, [[one for one in part if one] for part in parts])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 25), EVENTS), max_size=8), st.integers(1, 9))
@example([(0.0, [(0, 1)] * 3), (25.0, [(0, 1), (1, 1)])], 4)
def test_by_the_clock(calls: list[tuple[float, list[Event]]], slices: int) -> None:
    """Slices of a window share its contributions; the next window has its own."""
    clock = Clock(1000.0)
    windows, silent = (windows_of("clock", slices=slices, clock=clock, keep=1000) for _ in range(2))
    expected: dict[int, list[Event]] = {50: []}
    for jump, events in calls:
        clock.now += jump
        if events:
            windows.update_many([item for _, item in events], user=[one for one, _ in events])
        expected.setdefault(int(clock.now // 20), []).extend(events)
    numbers = range(50, int(clock.now // 20) + 1)
    check(windows, silent, [expected.get(number, []) for number in numbers])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(-20_000, 100_000).map(at), st.just(UNKNOWN_TIME)),
            st.integers(0, 3),
            st.integers(0, 49),
        ),
        max_size=60,
    ),
    st.integers(0, 60),
)
@example([(at(30_000), 0, 7)] * 3 + [(at(1), person, 7) for person in (1, 2, 3)], 0)
def test_by_the_time_of_events(events: list[tuple[int, int, int]], split: int) -> None:
    """In any order of their times, late ones too; events outside of the range take no place."""
    windows, silent = (windows_of("range") for _ in range(2))
    for part in (events[:split], events[split:]):
        times, people, items = (np.array([event[n] for event in part]) for n in range(3))
        if len(part):
            windows.update_many(items, times=times, user=people)
    expected = []
    for number in range(4):
        begin, end = at(number * 21_600), at((number + 1) * 21_600)
        expected.append([(person, item) for time, person, item in events if begin <= time < end])
    check(windows, silent, expected)


def batch_for(cut: str, events: Sequence[Event]) -> dict[str, Any]:
    """The times that a cut needs."""
    return {"times": [at(900 * n) for n in range(len(events))]} if cut == "range" else {}


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "numpy": np.array,
    "arrow": pa.array,
    "iterator": iter,
    "objects": lambda values: np.array(values, dtype=object),
}


@every_cut
@pytest.mark.parametrize("form", FORMS)
def test_batches_of_all_forms_are_one(cut: str, form: str) -> None:
    chosen = random.Random(4)
    events = [(chosen.randrange(3), chosen.randrange(50)) for _ in range(75)]
    items, people = [item for _, item in events], [f"p{person}" for person, _ in events]
    weights = [chosen.randrange(1, 4) for _ in events]
    given, plain, single = (windows_of(cut, max_weight=3) for _ in range(3))
    times = batch_for(cut, events)
    given.update_many(FORMS[form](items), FORMS[form](weights), user=FORMS[form](people), **times)
    plain.update_many(items, weights, user=people, **times)
    if cut != "range":
        for item, weight, person in zip(items, weights, people, strict=True):
            single.update(item, weight, user=person)
    for one in (given, plain, single):
        one.finish()
    published = [[window.release.to_bytes() for window in one.windows] for one in (given, plain)]
    assert published[0] == published[1]
    if cut != "range":
        assert [window.release.to_bytes() for window in single.windows] == published[0]


class Changing(list[Any]):
    """People who are others when they are read a second time."""

    def __init__(self, people: Sequence[Any]) -> None:
        super().__init__(people)
        self.reads = 0

    def __iter__(self) -> Any:
        self.reads += 1
        return iter([f"{one} {self.reads}" for one in list.__iter__(self)])


@every_cut
def test_people_are_read_once(cut: str) -> None:
    events = [(n % 2, n % 5) for n in range(75)]
    items, times = [item for _, item in events], batch_for(cut, events)
    given, plain = windows_of(cut), windows_of(cut)
    given.update_many(items, user=Changing([person for person, _ in events]), **times)
    plain.update_many(items, user=[f"{person} 1" for person, _ in events], **times)
    for one in (given, plain):
        one.finish()
    assert all(map(np.array_equal, tables(given), tables(plain)))


WRONG: list[tuple[list[Any], dict[str, Any], str]] = [
    ([1] * 70, {"user": ["secret"] * 69}, "user: expected one"),
    ([1] * 70, {"user": ["secret"] * 71}, "user: expected one"),
    ([1] * 70, {"user": ["secret"] * 69 + [None]}, "user: expected str, bytes, int"),
    ([1] * 70, {"user": ["secret"] * 69 + [1.5]}, "user: expected str, bytes, int"),
    ([1] * 70, {"user": "secret"}, "user: expected a list, array or column"),
    ([1] * 70, {}, "user: expected the person of each event, got none"),
    ([1] * 69 + [None], {"user": ["secret"] * 70}, "items: expected"),
    ([1] * 70, {"user": ["secret"] * 70, "weights": [1] * 69 + [9]}, "weights: expected"),
]


@every_cut
def test_a_batch_that_is_refused_changes_nothing(cut: str) -> None:
    """Neither a window nor what any window knows of its people."""
    bound = ls.PersonBound(cells=1, most_people=2)
    windows, expected = (windows_of(cut, person_bound=bound, max_weight=3) for _ in range(2))
    for items, options, message in WRONG:
        times = batch_for(cut, [(0, 0)] * len(items))
        with pytest.raises(ls.LazySketchError, match=f"^{message}") as caught:
            windows.update_many(items, **options, **times)
        assert "secret" not in str(caught.value)
    for one in (windows, expected):
        one.update_many([1, 2, 3], user=["v", "w", "v"], **batch_for(cut, [(0, 0)] * 3))
        one.finish()
    assert all(map(np.array_equal, tables(windows), tables(expected)))


@every_cut
def test_people_are_given_where_they_are_bounded_and_only_there(cut: str) -> None:
    bounded, free = windows_of(cut), windows_of(cut, person_bound=None)
    for number in (1, 70):
        times = batch_for(cut, [(0, 0)] * number)
        with pytest.raises(ArgumentValueError, match="^user: expected the person of each event"):
            bounded.update_many([1] * number, **times)
        with pytest.raises(ArgumentTypeError, match="^user: expected none, since the "):
            free.update_many([1] * number, user=["x"] * number, **times)
    outside = {"times": [UNKNOWN_TIME]} if cut == "range" else {}
    with pytest.raises(ArgumentValueError, match="^user: expected the person of each event"):
        bounded.update_many([1], **outside)


def test_a_window_that_could_not_be_counted_ahead_leaves_no_contributions() -> None:
    """The windows after the open one are counted first, and forgotten if it cannot follow."""
    windows, expected = windows_of("steps"), windows_of("steps")
    live: Any = windows._live
    opened = live._opened
    update_many = opened.update_many

    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    opened.update_many = fails
    with pytest.raises(MemoryError):
        windows.update_many([1, 2, 3] * 25, user=["x", "y", "x"] * 25)
    opened.update_many = update_many
    assert windows.step == 0
    for one in (windows, expected):
        one.update_many([1, 2, 3] * 25, user=["x", "y", "x"] * 25)
        one.finish()
    assert all(map(np.array_equal, tables(windows), tables(expected)))


def test_names_and_totals_are_those_of_what_is_counted() -> None:
    """Under substitution too: a step may have an event that is not counted."""
    windows = made(
        every=4_000, domain=..., share=0.2, key=..., hash_seed=..., epsilon=4.0,
        relation="substitution", person_bound=ls.PersonBound(cells=1),
    )  # fmt: skip
    people = [f"p{n}" for n in range(2_000)] + ["one"] * 2_000
    windows.update_many(["a"] * 2_000 + ["b"] * 2_000, user=people)
    (window,) = windows.windows
    assert window.names == ("a",)
    (hitter,) = windows.top(1)
    assert hitter.share > 0.8
    with pytest.raises(ArgumentValueError, match="^kind: expected 'count-min'"):
        ls.HeavyHitters(
            share=0.2, epsilon=1.0, delta=1e-6, horizon=100, kind="count-sketch", person_bound=BOUND
        )


def test_a_person_is_protected_within_one_window() -> None:
    windows = windows_of("steps", key=..., relation="zero-out")
    words = (
        "per person within one window, of whom 2 events in each of 2 cells"
        " of every sketch row are counted"
    )
    assert words in str(windows.privacy)
    sentence = windows.privacy.sentence
    assert "sent events in one window or none" in sentence
    assert "The person's events, all together, may be chosen by what was published" in sentence
    assert "for a person with events beyond one window, which add up" in sentence
    moved = windows_of("range", key=..., relation="substitution").privacy.sentence
    assert "sent these events in one window, others there or elsewhere, or none" in moved
    events = windows_of("steps", key=..., person_bound=None)
    assert "window" not in str(events.privacy) + events.privacy.sentence
    # The release of a window is that of one table.
    windows.tick(30)
    part = windows.release().parts[0]
    assert part.privacy.person_bound == BOUND
    assert windows.privacy.sketch.sigma == part.privacy.sigma


def test_a_person_in_many_windows_composes_by_their_number() -> None:
    """What holds within one window is no part of a composition; each window is one."""
    windows = windows_of("steps", key=...)
    windows.tick(120)
    with pytest.raises(ArgumentValueError, match="^parts: expected guarantees for all that a pers"):
        ls.compose(windows)
    parts = [part.privacy for part in windows.release(4).parts]
    together = ls.compose(*parts)
    assert together.mu == pytest.approx(2 * parts[0].mu)
    assert "per person, of whom 2 events in each of 2 cells" in str(together)
    assert ls.compose(windows_of("steps", key=..., person_bound=None)).epsilon_at(1e-6) <= 1.0


@pytest.mark.parametrize("cut", ["steps", "range"])
def test_noise_covers_a_person_who_moves_to_another_window(cut: str) -> None:
    """Removed from one window and added to another: two people, as in one window."""
    windows = windows_of(cut, key=..., relation="substitution")
    spec = windows.privacy.sketch
    items = [item // 2 for item in range(100)]
    one, other = counted([(0, item) for item in items]), counted([(1, item) for item in items[9:]])
    moved2 = sum(int((exact(part) ** 2).sum()) for part in (one, other))
    table = next(iter(windows._live.tables.values()))._table
    assert moved2 * table.mechanism.sensitivity2 <= spec.l2_sensitivity**2
    assert moved2 > 0.3 * spec.l2_sensitivity**2 / table.mechanism.sensitivity2
