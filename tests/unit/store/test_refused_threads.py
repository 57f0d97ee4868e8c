"""A number of threads that is refused leaves a stored object as it was."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.store.lives import Lives, table

from lazysketch.errors import ArgumentTypeError, ArgumentValueError


class _Failing:
    def __index__(self) -> int:
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    ("threads", "error"),
    [
        (_Failing(), ArgumentTypeError),
        (0, ArgumentValueError),
        (1.5, ArgumentTypeError),
        (True, ArgumentTypeError),
    ],
)
def test_a_refused_number_of_threads_refuses_nothing_else(
    lives: Lives, threads: Any, error: type[Exception]
) -> None:
    with lives.open() as store:
        live = store.sketch("a", table())
        with pytest.raises(error):
            live.update_many(["x"] * 5, threads=threads)
        live.update_many(["x"] * 5, threads=2**40)
        assert live.step == 5
