"""What a store, its objects and what they publish say of themselves: for every kind, in one line.

A store of several units has no sum of its guarantees, but it has words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store import kinds_of_windows as windows
from tests.unit.store import test_stored_pipelines as of_rows
from tests.unit.store import test_stored_pipelines_of_people as of_people
from tests.unit.store.lives import KINDS, Lives, table
from tests.unit.store.test_restarts import change

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.store import Store

BOUND = ls.PersonBound(cells=2, events=3)
PAIR = r"\([^()]+, [^()]+\)-DP"
IN_ONE_ERA = re.compile(rf"{PAIR} in 1 era(, for a person within one window)?")


def object_of(name: str) -> Callable[[Store], Any]:
    def opened(store: Store) -> Any:
        live = KINDS[name].open(store)
        change(KINDS[name], live, Random(name))
        return live

    return opened


def windows_of(name: str) -> Callable[[Store], Any]:
    def opened(store: Store) -> Any:
        live = windows.opened(store, name, windows.Clock())
        windows.change(name, live, Random(name))
        return live

    return opened


def pipeline(parts: Any, options: dict[str, Any]) -> Callable[[Store], Any]:
    return lambda store: store.pipeline("site", parts, **of_rows.PRIVACY, **options)


OPENED: dict[str, Callable[[Store], Any]] = {
    **{name: object_of(name) for name in KINDS},
    **{f"windows of {name}": windows_of(name) for name in windows.KINDS},
    "pipeline": pipeline(of_rows.PARTS, {}),
    "pipeline of batches": pipeline(of_rows.PARTS_IN_BATCHES, {}),
    "pipeline of people": pipeline(of_people.PARTS, of_people.PEOPLE),
    "pipeline of people in batches": pipeline(of_people.PARTS_IN_BATCHES, of_people.PEOPLE),
}


def described(live: Any, store: Store) -> Iterator[Any]:
    """Yield everything public around an object that has words."""
    yield from (store, store.spent, *store.spent.parts, live, live.privacy)
    yield from (store.spent.of(part.name) for part in store.spent.parts)
    yield from (getattr(live, name, None) for name in ("spec", "shares", "windows", "open"))
    if isinstance(live, ls.Pipeline):
        parts = [live[name] for name in live]
        yield from parts
        yield from (part.privacy for part in parts)
    if isinstance(live, ls.HierarchicalHeavyHitters):
        yield live.release(0)
        return
    if not {"windows", "slices"} & {*dir(live)}:  # those publish when they end
        published = live.release()
        yield published
        yield from published.values() if isinstance(published, dict) else ()


@pytest.mark.parametrize("name", OPENED)
def test_everything_has_words(name: str, lives: Lives) -> None:
    for _ in range(2):  # made, and opened again
        with lives.open() as store:
            live = OPENED[name](store)
            for one in described(live, store):
                assert str(one)
                assert repr(one)
            assert IN_ONE_ERA.fullmatch(str(store.spent))
            assert live.privacy.sentence
            assert f"({live.privacy.epsilon:g}, {live.privacy.delta:g})" in str(live.privacy)


def test_a_pipeline_of_people_is_charged_as_its_guarantee_says(lives: Lives) -> None:
    """Its distinct items are people: all parts have one unit, so the account has a sum."""
    for _ in range(2):
        with lives.open() as store:
            people = pipeline(of_people.PARTS, of_people.PEOPLE)(store)
            spent = store.spent
            assert spent.counts.protects_people
            assert store.spent.of("site/people").counts.person_bound == (
                people.privacy.parts[list(people).index("people")].person_bound
            )
            assert spent.mu == pytest.approx(ls.compose(*people.privacy.parts).mu, rel=1e-12)
            store.checkpoint()


def test_distinct_items_of_rows_are_not_taken_for_people(lives: Lives) -> None:
    """Beside a pipeline of people; a person may have any number of them."""
    with lives.open() as store:
        pipeline(of_people.PARTS, of_people.PEOPLE)(store)
        parts = {"people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3)}
        store.pipeline("rows", parts, epsilon=1.0, delta=1e-6)
        assert store.spent.of("site/people").counts.protects_people
        assert not store.spent.of("rows/people").counts.protects_people
        assert " per event (substitution)" in str(store.spent)


def test_units_without_a_sum_are_stated_each(tmp_path: Path) -> None:
    with Lives(tmp_path).open() as store:
        store.sketch("events", table())
        store.sketch("people", table(person_bound=BOUND, epsilon=2.0))
        store.sketch("more people", table(person_bound=BOUND, epsilon=2.0))
        store.sketch("others", table(relation="zero-out", epsilon=3.0))
        unsafe = {"calibration": "classical", "epsilon": 0.5}
        store.sketch("research", table("count-sketch", **unsafe))
        together = store.spent.of("people").parts + store.spent.of("more people").parts
        people = ls.compose(*(counts for part in together for counts in part.counts))
        assert str(store.spent) == (
            "(1, 1e-06)-DP per event (substitution) and "
            f"({people.epsilon_at(2e-6):.4g}, 2e-06)-DP per person (substitution) and "
            "(3, 1e-06)-DP per event (zero-out) and "
            "NOT PRIVATE: the paper's Count Sketch sensitivity 2 d, half of the true 4 d; "
            "noise below what epsilon and delta ask for, which have no sum, in 1 era"
        )
        assert str(store.spent.of("research")).startswith("NOT PRIVATE: the paper's")
        with pytest.raises(ArgumentValueError, match="parts: expected"):
            _ = store.spent.epsilon
