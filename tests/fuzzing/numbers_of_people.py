"""Operations on numbers, with the people whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from tests.fuzzing.columns import items, positions
from tests.fuzzing.live_arguments import number, numbers
from tests.fuzzing.operations import ITEM, Box, Call, Maker, Operation, called
from tests.fuzzing.scalars import Disturbance, hostile

__all__ = ["OF_VALUES", "of_people", "with_values"]


def of_people(name: str, *others: str, of: str = "values", few: Sequence[float]) -> Operation:
    """Return an operation on values with their people: as many as values, or something else."""
    makers: dict[str, Maker] = {of: numbers, "user": items}
    plain = called(name, of, *others, optional=("user",), **makers)

    def prepare(box: Box, chance: Random, disturbance: Disturbance) -> Call:
        if chance.random() < 0.4:
            return plain.prepare(box, chance, disturbance)
        size = chance.choice([0, 1, 5, 40])
        values = [chance.choice(few) for _ in range(size)]
        user: list[Any] = [chance.choice([1, "x", b"y", "z" * 99]) for _ in range(size)]
        if size and chance.random() < 0.3:
            user[chance.randrange(size)] = hostile(chance, disturbance)
        empty = {word: [0, 2][:size] for word in others}
        return Call(lambda: getattr(box.live, name)(**{of: values}, user=user, **empty))

    return Operation(name, prepare)


def with_values(name: str, *, rows: bool = False) -> Operation:
    """Return an operation on items with values and people, mostly as many of each."""

    def prepare(box: Box, chance: Random, disturbance: Disturbance) -> Call:
        given = items(chance, disturbance)
        values = numbers(chance, disturbance)
        more: dict[str, Any] = {"empty_rows": positions(chance, disturbance)} if rows else {}
        if type(given) in (list, tuple) and chance.random() < 0.8:
            values = [chance.choice([0.0, -7.5, 2.0, 6.5, 1e300]) for _ in given]
            if chance.random() < 0.5:
                more["user"] = [chance.choice([1, "x", b"y", "z" * 99]) for _ in given]
        elif chance.random() < 0.3:
            more["user"] = items(chance, disturbance)
        return Call(lambda: getattr(box.live, name)(given, values, **more))

    return Operation(name, prepare)


_FEW: Final = (0.0, -7.5, 2.0, 6.5)
OF_VALUES: Final = (
    *[called("update", "value", optional=("user",), value=number, user=ITEM)] * 3,
    *[of_people("update_many", few=_FEW)] * 6,
    *(of_people("update_rows", "empty_rows", few=_FEW), of_people("update_batch", few=_FEW)),
    called("tick", optional=("steps",)),
    called("quantile", "share", optional=("confidence",)),
    called("quantiles", "shares", optional=("confidence",), shares=numbers),
    called("cdf", "value", optional=("confidence",), value=number),
    called("total", optional=("confidence",)),
    called("histogram", optional=("confidence", "simultaneous")),
    called("count_between", "low", "high", optional=("confidence",), low=number, high=number),
)
"""Operations of distributions, but for their ends and what they show."""
