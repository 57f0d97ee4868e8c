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
    lists = ShownLists()
    estimates = np.array(first)
    moved = estimates + np.array(moves[: len(first)]) * error
    shown = lists.most("top", estimates, n=n)
    lists.remember("top", shown, np.full(len(shown), error))
    again = lists.most("top", moved, n=n).tolist()
    assert set(shown) == set(again)
    assert again == sorted(again, key=lambda at: -moved[at])
    least = float(np.median(estimates))
    before = lists.above("above", estimates, least=least)
    assert set(before) == set(np.flatnonzero(estimates >= least))
    lists.remember("above", before, np.full(len(before), error))
    after = set(lists.above("above", moved, least=least))
    assert after == set(before) | set(np.flatnonzero(moved >= least))


def test_what_another_thread_showed_of_a_longer_list_is_passed_over() -> None:
    lists = ShownLists()
    lists.remember("top", np.array([5, 1, 9]), np.array([10.0, 2.0, 10.0]))
    estimates = np.array([100.0, 99.0, 99.5])
    assert lists.most("top", estimates, n=1).tolist() == [1]
    assert lists.above("top", estimates, least=100.5).tolist() == [1]


def test_a_list_without_memory_flickers() -> None:
    """What the property above would catch: two near items that change places."""
    lists = ShownLists()
    one, other = np.array([100.0, 99.0]), np.array([99.0, 100.0])

    def most(estimates: list[float]) -> list[int]:
        found = lists.most("top", np.array(estimates), n=1)
        lists.remember("top", found, np.array([10.0]))
        return found.tolist()

    def above(estimates: list[float]) -> list[int]:
        found = lists.above("above", np.array(estimates), least=100.0)
        lists.remember("above", found, np.full(len(found), 10.0))
        return found.tolist()

    assert most([100.0, 99.0]) == [0]
    assert most([99.0, 100.0]) == [0]
    assert ShownLists().most("top", other, n=1).tolist() == [1]
    assert most([99.0, 110.0]) == [1]
    assert most([119.0, 110.0, 0.0]) == [1]  # a list that has grown
    assert above(one.tolist()) == [0]
    assert above(other.tolist()) == [1, 0]
    assert above([89.0, 100.0]) == [1]


def test_lists_are_forgotten_but_the_last_ones() -> None:
    lists = ShownLists()
    for number in range(1_000):
        lists.remember(number, np.array([0]), np.array([0.0]))
    assert len(lists._shown) <= 64
