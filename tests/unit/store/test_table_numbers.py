"""Tables of windows have numbers of their own, however long a stream is."""

from __future__ import annotations

import pytest

from lazysketch.errors import HorizonError
from lazysketch.store.table_numbers import (
    LEVELS_WITHOUT_EVENTS,
    WITHOUT_EVENTS,
    number_of_table,
    number_of_window,
)

EDGES = [edge + by for edge in (0, 2**43, 2**55, 2**56) for by in (-2, -1, 0, 1)]


def test_numbers_of_different_tables_differ() -> None:
    windows = [sign * edge for edge in EDGES for sign in (-1, 1) if -(2**56) <= sign * edge < 2**56]
    tables = {(window, level) for window in windows for level in (0, 1, 63)}
    tables |= {(LEVELS_WITHOUT_EVENTS, level) for level in (0, 1, 63)}
    numbers = {number_of_table(window, level) for window, level in tables}
    assert len(numbers) == len(tables)
    assert all(0 <= number < 2**64 for number in numbers)


def test_numbers_of_different_windows_differ() -> None:
    edges = [*EDGES, 2**62 - 1, -(2**62), WITHOUT_EVENTS]
    windows = {edge for edge in edges if edge == WITHOUT_EVENTS or -(2**62) <= edge < 2**62}
    assert len({number_of_window(window) for window in windows}) == len(windows)


@pytest.mark.parametrize("window", [2**56, 2**58, 2**64, -(2**56) - 1])
def test_a_window_whose_tables_could_have_the_number_of_others_is_refused(window: int) -> None:
    """Window 2^58 had the ids, and so the noise, of window 0."""
    for level in (0, 63):
        with pytest.raises(HorizonError, match="^windows: expected numbers below 72,057,594,037,"):
            number_of_table(window, level)


@pytest.mark.parametrize("window", [2**62, WITHOUT_EVENTS - 1, WITHOUT_EVENTS + 1, -(2**62) - 1])
def test_a_window_that_could_have_the_number_of_another_is_refused(window: int) -> None:
    with pytest.raises(HorizonError, match="^windows: expected numbers below"):
        number_of_window(window)
