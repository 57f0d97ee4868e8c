"""Hostile values of arguments that are not items: messages may repeat them, so none is a canary."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.fuzzing.scalars import Disturbance, hostile, hostile_integer, hostile_real
from tests.fuzzing.verdicts import CANARY, CANARY_NUMBER

__all__ = ["argument", "choice_of", "integer", "real", "text"]

_TEXTS: Final = ["", "x", "0", "1h", "a" * 5000, "\0", "\ud800", "{}", "%s", "ä", "None", "-1"]


def argument(chance: Random, disturbance: Disturbance) -> Any:
    """Return any hostile value without a canary."""
    for _ in range(20):
        value = hostile(chance, disturbance)
        if not _is_canary(value):
            return value
    return None


def _is_canary(value: object) -> bool:
    try:
        # As the base class does: a subclass may have another text.
        if isinstance(value, int):
            value = int.__index__(value)
            if value.bit_length() > 1000:
                return False  # Python refuses to write it
        elif isinstance(value, str):
            value = str.__str__(value)
        return CANARY in str(value) or str(CANARY_NUMBER) in str(value)
    except BaseException:  # a value whose text raises has no text
        return True


def integer(chance: Random, disturbance: Disturbance) -> Any:
    """Return an integer near a limit, or any hostile value."""
    value = hostile_integer(chance, disturbance)
    return 3 if _is_canary(value) else value


def real(chance: Random, disturbance: Disturbance) -> Any:
    """Return a number near a limit, or any hostile value."""
    value = hostile_real(chance, disturbance)
    return 0.5 if _is_canary(value) else value


def text(chance: Random, disturbance: Disturbance) -> Any:
    """Return an odd text, or any hostile value."""
    return chance.choice(_TEXTS) if chance.random() < 0.5 else argument(chance, disturbance)


def choice_of(*words: object) -> Any:
    """Return a maker that mostly chooses one of the words."""

    def make(chance: Random, disturbance: Disturbance) -> Any:
        return chance.choice(words) if chance.random() < 0.7 else text(chance, disturbance)

    return make
