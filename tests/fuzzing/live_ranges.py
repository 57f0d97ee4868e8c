"""Counts of ranges of keys: how they are made under a test key, and their operations."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.fuzzing.columns import items
from tests.fuzzing.live_arguments import number, numbers
from tests.fuzzing.numbers_of_people import of_people
from tests.fuzzing.operations import ITEM, Box, Operation, called
from tests.fuzzing.scalars import Disturbance, hostile

import lazysketch as ls
from lazysketch.testing import seeded_key

__all__ = ["OF_RANGES", "ranges"]


def ranges(chance: Random) -> Callable[[], Box]:
    """Return a maker of counts of ranges, half of which bound people."""
    schedules = [None, ls.Punctual(horizon=300), ls.Batch(horizon=90), ls.Single()]
    bits, width = chance.choice([1, 8, 32, 64]), chance.choice([2, 16, 33])
    schedule = chance.choice(schedules)
    bound = chance.choice([None, None, ls.PersonBound(events=2), ls.PersonBound(most_people=3)])
    weight = chance.choice([1, 1, 9])
    return lambda: Box(
        ls.Ranges(
            bits=bits,
            width=width,
            person_bound=bound,
            max_weight=weight,
            schedule=schedule,
            hash_seed=5,
            key=seeded_key(1),
            epsilon=1.0,
            delta=1e-6,
        )
    )


def _network(chance: Random, disturbance: Disturbance) -> Any:
    plain = ["10.0.0.0/8", "10.0.0.1", "2001:db8::/32", "0.0.0.0/0", "10.0.0.1/8", "10/8", ""]
    return chance.choice(plain) if chance.random() < 0.7 else hostile(chance, disturbance)


def _counted(name: str, *others: str) -> Operation:
    return of_people(name, *others, of="keys", few=(0, 1, 1, 200, 2**32))


OF_RANGES: Final = (
    *[called("update", "key", optional=("weight", "user"), key=number, user=ITEM)] * 3,
    *[called("update_many", "keys", "weights", optional=("user",), keys=numbers, user=items)] * 2,
    *[_counted("update_many")] * 6,
    *(_counted("update_rows", "empty_rows"), _counted("update_batch")),
    called("tick", optional=("steps",)),
    called("count_between", "low", "high", optional=("confidence",), low=number, high=number),
    called("prefix", "network", optional=("confidence",), network=_network),
    called("total", optional=("confidence",)),
    called("quantile", "share", optional=("confidence",)),
)
"""Operations of counts of ranges, but for their ends and what they show."""
