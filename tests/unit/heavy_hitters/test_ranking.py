"""Lists of heavy items remember what they showed, and so do not flicker."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lazysketch.heavy_hitters.ranking import ShownLists

LISTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=12)
MOVES = st.lists(st.floats(-0.49, 0.49), min_size=12, max_size=12)


@given(first=LISTS, moves=MOVES, error=st.floats(1.0, 1e4), n=st.integers(1, 12))
def test_lists_do_not_flicker_within_a_standard_error(
    first: list[float], moves: list[float], error: float, n: int
) -> None:
    """Estimates that move by less than half a standard error never change what is shown."""
    lists, keys = ShownLists(), list(range(len(first)))
    estimates, errors = np.array(first), np.full(len(first), error)
    moved = estimates + np.array(moves[: len(first)]) * error
    shown = lists.most("top", keys, estimates, errors, n=n)
    again = lists.most("top", keys, moved, errors, n=n)
    assert set(shown) == set(again)
    assert again == sorted(again, key=lambda at: -moved[at])
    least = float(np.median(estimates))
    before = set(lists.above("above", keys, estimates, errors, least=least))
    assert before == set(np.flatnonzero(estimates >= least))
    after = set(lists.above("above", keys, moved, errors, least=least))
    assert after == before | set(np.flatnonzero(moved >= least))


def test_a_list_without_memory_flickers() -> None:
    """What the property above would catch: two near items that change places."""
    keys, errors = ["a", "b"], np.array([10.0, 10.0])
    one, other = np.array([100.0, 99.0]), np.array([99.0, 100.0])
    lists = ShownLists()
    assert lists.most("top", keys, one, errors, n=1) == [0]
    assert lists.most("top", keys, other, errors, n=1) == [0]
    assert ShownLists().most("top", keys, other, errors, n=1) == [1]
    assert lists.most("top", keys, np.array([99.0, 110.0]), errors, n=1) == [1]
    assert lists.above("above", keys, one, errors, least=100.0) == [0]
    assert lists.above("above", keys, other, errors, least=100.0) == [1, 0]
    assert lists.above("above", keys, np.array([89.0, 100.0]), errors, least=100.0) == [1]


def test_lists_are_forgotten_but_the_last_ones() -> None:
    lists = ShownLists()
    for number in range(1_000):
        lists.most(number, ["a"], np.array([1.0]), np.array([0.0]), n=1)
    assert len(lists._shown) <= 64
