"""Releases of ranges: wrong ends are refused, and no message shows a key."""

from __future__ import annotations

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

SECRET = 733_137


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (-SECRET, 9, "low: expected an integer from 0 to 2^20, got one outside that range"),
        (0, 2 * SECRET, "high: expected an integer from 0 to 2^20, got one outside that range"),
        (SECRET, 7, "high: expected a key that is not below low, got a lower one"),
        (1.5, 7, "low: expected an integer from 0 to 1048576, got float"),
    ],
)
def test_wrong_ends_are_named_and_not_shown(low: int, high: int, message: str) -> None:
    with ls.Ranges(bits=20, width=64, epsilon=1.0, delta=1e-6, horizon=9) as live:
        release = live.release()
    kind = ArgumentTypeError if isinstance(low, float) else ArgumentValueError
    with pytest.raises(kind) as error:
        release.count_between(low, high)
    assert str(error.value) == message
    assert str(SECRET) not in str(error.value)
