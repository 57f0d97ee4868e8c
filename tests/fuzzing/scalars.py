"""Hostile single values: edges of every type, subclasses that lie, objects that raise or re-enter.

Each maker takes a random source and a *disturbance*: a call into the object under test that a value
makes while it is being converted. The same source and disturbance give the same value again.
"""

from __future__ import annotations

import array
import enum
import math
import uuid
from collections import UserList, UserString, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np
from tests.fuzzing.verdicts import CANARY, CANARY_NUMBER, Planted

__all__ = ["Disturbance", "good_item", "hostile", "hostile_integer", "hostile_real", "raised"]

Disturbance: TypeAlias = Callable[[], object]

_RAISED: Final = (
    *(Exception, ValueError, TypeError, StopIteration, OverflowError, IndexError, KeyError),
    *(AttributeError, MemoryError, RecursionError, OSError, UnicodeError, ArithmeticError),
    *(KeyboardInterrupt, SystemExit, GeneratorExit, NotImplementedError, BufferError, EOFError),
)
_PLANTED: Final[list[type[BaseException]]] = [
    type(f"Planted{kind.__name__}", (kind, Planted), {}) for kind in _RAISED
]
INTEGERS: Final[list[object]] = [
    *(0, 1, 2, 3, -1, 7, 8, 9, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**53 + 1),
    *(2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**127),
    *(2**128, 10**30, -(10**30), 10**400, 10**5000),
]
REALS: Final[list[object]] = [
    *(0.0, -0.0, 0.5, 1.0, 1.5, 0.999, -1.0, 5e-324, 1e-300, 1e-17, 1e308, 1e17, 100.0, 101.0),
    *(math.nan, math.inf, -math.inf, 1e-6, float(2**53), float(2**63)),
]
TEXTS: Final = ["", "a", "\0", "\ud800", "ä", "\U0001f600" * 3, "\u202eabc", "x" * 70_000, " "]
UTC: Final = timezone.utc


class Colour(enum.IntEnum):
    RED = 1


class Word(str, enum.Enum):
    RED = "red"


def raised(chance: Random) -> BaseException:
    """Return an error that passes for one of Python's own but is known as planted."""
    return chance.choice(_PLANTED)("planted")


def good_item(chance: Random) -> Any:
    """Return an item, nearly always one that contains the canary."""
    number = chance.randrange(12)
    makers: list[Callable[[], object]] = [
        lambda: f"{CANARY} {number}",
        lambda: f"{CANARY} {number}".encode(),
        lambda: CANARY_NUMBER * 1000 + number,
        lambda: -CANARY_NUMBER * 10**6,
        lambda: f"{CANARY}{'y' * chance.choice([10, 100, 300])}",
        lambda: uuid.UUID(int=number),
        lambda: datetime(2026, 5, 17, number, tzinfo=UTC),
        lambda: date(2026, 5, 17 + number),
        lambda: np.int64(number),
        lambda: np.uint64(2**64 - 1 - number),
        lambda: number,
    ]
    return chance.choice(makers[:3] if chance.random() < 0.6 else makers)()


def _numpy_scalar(chance: Random) -> object:
    codes = "?bBhHiIlLqQefdgFDG"
    made: list[Callable[[], object]] = [
        lambda: np.dtype(chance.choice(codes)).type(chance.choice([0, 1, 3])),
        lambda: np.datetime64("NaT"),
        lambda: np.datetime64("2026-05-17T10:00", chance.choice(["s", "us", "ns", "D", "Y"])),
        lambda: np.timedelta64(3, "s"),
        lambda: np.str_(CANARY),
        lambda: np.bytes_(CANARY),
        lambda: np.void(b"abc"),
        lambda: np.float64("nan"),
        lambda: np.array(3),
        lambda: np.array(CANARY, dtype=object),
        lambda: np.ma.masked,
    ]
    return chance.choice(made)()


def _container(chance: Random) -> object:
    loop: list[object] = []
    loop.append(loop)
    made: list[object] = [
        *([], (), {}, set(), [1], (1, "a"), {"a": 1}, {1, 2}, loop, [[1], [2]], range(3)),
        *(deque([1]), UserList([1]), UserString("a"), iter([1]), (n for n in [1]), enumerate([1])),
        *(array.array("d", [1.0]), array.array("q", [1]), memoryview(b"abc"), bytearray(b"abc")),
        *(memoryview(bytes(8)).cast("q"), {CANARY: 1}, frozenset([1]), slice(1, 2)),
    ]
    return chance.choice(made)


def _special(chance: Random) -> object:
    released = memoryview(b"abc")
    released.release()
    made: list[object] = [
        *(None, True, False, Ellipsis, NotImplemented, object(), object, int, len, math, released),
        *(Decimal("NaN"), Decimal("1"), Decimal("1e400"), Fraction(1, 2), Fraction(3), 3j, 0j),
        *(Colour.RED, Word.RED, datetime(2026, 5, 17), datetime.max, time(1), timedelta(1)),
        *(datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))), date.min, date.max),
        *(datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), ValueError("a"), lambda: 1),
        *(uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), datetime(2026, 5, 17, tzinfo=UTC)),
    ]
    return chance.choice(made)


def _subclass(chance: Random, disturbance: Disturbance) -> object:
    """Return an int, str, bytes, ... whose methods are not those of its base."""
    base, value = chance.choice(
        [
            (int, 3),
            (int, CANARY_NUMBER),
            (str, CANARY),
            (bytes, CANARY.encode()),
            (float, 0.5),
            (list, [1, 2]),
            (tuple, (1, 2)),
            (dict, {"a": 1}),
            (date, (2026, 5, 17)),
        ]
    )
    methods = {name: _method(chance, disturbance) for name in _some_names(chance)}
    made = type("Sub", (base,), methods)
    try:
        return made(2026, 5, 17) if base is date else made(value)
    except BaseException:  # a method that its own construction needs
        return chance.choice([3, CANARY])


_NAMES: Final = (
    *("__index__", "__int__", "__float__", "__len__", "__iter__", "__next__", "__getitem__"),
    *("__str__", "__repr__", "__hash__", "__eq__", "__lt__", "__le__", "__gt__", "__bool__"),
    *("__bytes__", "__fspath__", "__array__", "__arrow_c_array__", "__arrow_c_stream__"),
    *("__length_hint__", "__contains__", "__call__", "__add__", "__trunc__", "__format__"),
    *("to_pylist", "tolist", "to_list", "to_arrow", "to_numpy", "take", "utcoffset", "__ge__"),
    *("__array_interface__", "__arrow_c_schema__", "items", "keys", "isoformat", "encode"),
)


def _some_names(chance: Random) -> list[str]:
    return chance.sample(_NAMES, chance.choice([1, 1, 1, 2, 4, 10]))


def _method(chance: Random, disturbance: Disturbance) -> Callable[..., object]:
    """Return a method that raises, lies or calls into the object under test."""
    does, error = chance.randrange(4), raised(chance)
    answer = chance.choice(
        [None, True, 0, 1, 3, -1, 2**62, 2**70, "3", b"3", 1.5, math.nan, [], [1], (), {}, object()]
    )

    def call(*_: object, **__: object) -> object:
        if does == 0:
            raise error
        if does == 1:
            disturbance()
        return iter([1, "a"]) if does == 3 else answer

    return call


def _object(chance: Random, disturbance: Disturbance) -> object:
    methods = {name: _method(chance, disturbance) for name in _some_names(chance)}
    if chance.random() < 0.2:
        methods["__getattr__"] = _method(chance, disturbance)
    return type("Odd", (), methods)()


def hostile(chance: Random, disturbance: Disturbance) -> Any:
    """Return any hostile single value; an item among them contains the canary."""
    makers: list[Callable[[], object]] = [
        lambda: chance.choice(INTEGERS),
        lambda: chance.choice(REALS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TEXTS).encode("utf-8", "surrogatepass"),
        lambda: good_item(chance),
        lambda: _numpy_scalar(chance),
        lambda: _container(chance),
        lambda: _special(chance),
        lambda: _subclass(chance, disturbance),
        lambda: _object(chance, disturbance),
        lambda: _object(chance, disturbance),
    ]
    return chance.choice(makers)()


def hostile_integer(chance: Random, disturbance: Disturbance) -> Any:
    """Return an integer, mostly near a limit; sometimes something else."""
    if chance.random() < 0.25:
        return hostile(chance, disturbance)
    value = chance.choice(INTEGERS)
    return chance.choice([value, value, np.int64(3), Colour.RED, _numpy_scalar(chance)])


def hostile_real(chance: Random, disturbance: Disturbance) -> Any:
    """Return a real number, mostly near a limit; sometimes something else."""
    if chance.random() < 0.25:
        return hostile(chance, disturbance)
    return chance.choice([chance.choice(REALS), chance.choice(INTEGERS), _numpy_scalar(chance)])
