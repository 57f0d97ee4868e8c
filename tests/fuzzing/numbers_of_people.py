"""Operations on numbers, with the people whose they are."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.fuzzing.columns import items
from tests.fuzzing.live_arguments import numbers
from tests.fuzzing.operations import Box, Call, Operation, called
from tests.fuzzing.scalars import Disturbance, hostile

__all__ = ["of_people"]


def of_people(name: str, *others: str) -> Operation:
    """Return an operation on values with their people: as many as values, or something else."""
    plain = called(name, "values", *others, optional=("user",), values=numbers, user=items)

    def prepare(box: Box, chance: Random, disturbance: Disturbance) -> Call:
        if chance.random() < 0.4:
            return plain.prepare(box, chance, disturbance)
        size = chance.choice([0, 1, 5, 40])
        values = [chance.choice([0.0, -7.5, 2.0, 6.5]) for _ in range(size)]
        user: list[Any] = [chance.choice([1, "x", b"y", "z" * 99]) for _ in range(size)]
        if size and chance.random() < 0.3:
            user[chance.randrange(size)] = hostile(chance, disturbance)
        empty = {word: [0, 2][:size] for word in others}
        return Call(lambda: getattr(box.live, name)(values=values, user=user, **empty))

    return Operation(name, prepare)
