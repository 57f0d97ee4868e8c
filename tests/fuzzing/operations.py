"""Operations of live objects under hostile arguments, and calls that a value makes into them."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import numpy as np
from tests.fuzzing import argument_values as values
from tests.fuzzing import columns
from tests.fuzzing.scalars import Disturbance, good_item, hostile
from tests.fuzzing.verdicts import CANARY

__all__ = ["ITEM", "Box", "Call", "Inner", "Maker", "Operation", "called", "duplications", "reads"]

Maker: TypeAlias = Callable[[Random, Disturbance], Any]


@dataclass
class Box:
    """A live object with the clock that it reads."""

    live: Any
    now: list[float] = field(default_factory=lambda: [0.0])


@dataclass(frozen=True)
class Call:
    """A call that is ready to be made; ``steps`` is how many an accepted one must take."""

    make: Callable[[], object]
    steps: int | None = None


@dataclass(frozen=True)
class Operation:
    """A public operation: its name, and how to prepare a call of it."""

    name: str
    prepare: Callable[[Box, Random, Disturbance], Call]


class Inner:
    """A call that a hostile value makes into the object under test while it is converted."""

    def __init__(self, box: Box, chance: Random) -> None:
        """Choose the call."""
        self.accepted = 0
        live = box.live
        values: tuple[Any, ...] = ([2.0] * 3,) if hasattr(type(live), "grid") else ()
        choices: list[Callable[[], object]] = [
            lambda: live.update(f"{CANARY} inner", *(column[0] for column in values)),
            lambda: live.update_many([f"{CANARY} inner"] * 3, *values),
            lambda: live.tick(2) if hasattr(live, "tick") else None,
            lambda: live.release(0) if hasattr(live, "levels") else live.release(),
            lambda: repr(live),
        ]
        if chance.random() < 0.03 and hasattr(live, "close"):
            choices = [lambda: live.close()]
        self._call = chance.choice(choices)

    def __call__(self) -> object:
        """Make the call; at most three are made, so that a loop ends."""
        if self.accepted >= 3:
            return None
        found = self._call()
        self.accepted += 1
        return found


ITEM: Maker = lambda c, d: good_item(c) if c.random() < 0.5 else hostile(c, d)  # noqa: E731
MAKERS: Mapping[str, Maker] = {
    "item": ITEM,
    "items": columns.items,
    "known": columns.items,
    "weights": columns.weights,
    "empty_rows": columns.positions,
    "weight": values.integer,
    "steps": lambda c, d: c.choice([0, 1, 7, 60]) if c.random() < 0.6 else values.integer(c, d),
    "n": values.integer,
    "last": values.integer,
    "position": values.integer,
    "among": values.integer,
    "threads": values.choice_of(1, 2, 0, 64, 65, 2**32),
    "column": values.choice_of(None, "a", "b", "absent"),
    "confidence": values.real,
    "share": values.real,
    "at": values.choice_of("now", "published"),
    "estimator": values.choice_of(None, "joint", "paper", "min", "median", "mean"),
    "simultaneous": values.choice_of(True, False),
    "include_open": values.choice_of(True, False),
    "against": values.choice_of("previous", "earlier"),
    "overwrite": values.choice_of(True, False),
}


def called(name: str, *required: str, optional: tuple[str, ...] = (), **own: Maker) -> Operation:
    """Return an operation that calls a method by keyword; its makers follow the names."""
    makers = {**MAKERS, **own}

    def prepare(box: Box, chance: Random, disturbance: Disturbance) -> Call:
        chosen = [*required, *(word for word in optional if chance.random() < 0.4)]
        arguments = {word: makers[word](chance, disturbance) for word in chosen}
        items = arguments.get("items")
        sized = type(items) in (list, tuple) or (type(items) is np.ndarray and items.ndim == 1)
        steps = len(items) if name == "update_many" and sized else None
        return Call(lambda: getattr(box.live, name)(**arguments), steps)

    return Operation(name, prepare)


def reads(*names: str) -> Operation:
    """Return an operation that reads one of the properties."""

    def prepare(box: Box, chance: Random, _: Disturbance) -> Call:
        name = chance.choice(names)
        return Call(lambda: getattr(box.live, name))

    return Operation("properties", prepare)


def _duplicated(box: Box, chance: Random, _: Disturbance) -> Call:
    makers: list[Callable[[Any], object]] = [
        *(copy.copy, copy.deepcopy, pickle.dumps, repr, str, dir, hash, bool),
        *(lambda live: live == live, lambda live: live.unknown),
    ]
    make = chance.choice(makers)
    return Call(lambda: None if _expected(make, box.live) else make)


def _expected(make: Callable[[Any], object], live: object) -> bool:
    """Make a call that Python itself may refuse: its own errors are no findings."""
    with contextlib.suppress(AttributeError):
        make(live)
    return True


duplications = Operation("duplication", _duplicated)
