"""Arguments that fit some live classes: indices, numbers, names of levels, times."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzzing.scalars import Disturbance, hostile
from tests.fuzzing.verdicts import CANARY

__all__ = ["fitting", "fitting_many", "index", "indices", "number", "numbers", "times"]


def index(chance: Random, disturbance: Disturbance) -> Any:
    return (
        chance.choice([0, 1, 3, 4, -1]) if chance.random() < 0.6 else hostile(chance, disturbance)
    )


def number(chance: Random, disturbance: Disturbance) -> Any:
    plain = [0, 1.5, -3, 6.0, 1e300, float("inf"), float("nan"), 10**400, True]
    return chance.choice(plain) if chance.random() < 0.6 else hostile(chance, disturbance)


def numbers(chance: Random, disturbance: Disturbance) -> Any:
    import numpy as np
    import pyarrow as pa
    from tests.fuzzing.columns import items

    if chance.random() < 0.3:
        return items(chance, disturbance)
    plain = [chance.choice([0.0, -7.5, 2.0, 6.5, 1e9]) for _ in range(chance.choice([0, 1, 5, 40]))]
    kinds: list[Callable[[Any], Any]] = [list, tuple, iter, np.array, pa.array]
    return chance.choice(kinds)(plain)


def indices(chance: Random, disturbance: Disturbance) -> Any:
    import numpy as np
    import pyarrow as pa
    from tests.fuzzing.columns import items

    if chance.random() < 0.4:
        return items(chance, disturbance)
    plain = [chance.randrange(-1, 5) if chance.random() < 0.1 else 0 for _ in range(20)]
    return chance.choice([list, tuple, iter, np.array, pa.array])(plain)


def fitting(chance: Random, disturbance: Disturbance) -> Any:
    """Return an item that fits some of the hierarchies, or a hostile one."""
    number = chance.randrange(8)
    names = [f"10.0.0.{number}", f"2001:db8::{number}", f"{CANARY}{number}.example.org"]
    names.append(f"/{CANARY}/{number}/page")
    return chance.choice(names) if chance.random() < 0.8 else hostile(chance, disturbance)


def fitting_many(chance: Random, disturbance: Disturbance) -> Any:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from tests.fuzzing.columns import items

    if chance.random() < 0.4:
        return items(chance, disturbance)
    forms = ["10.0.0.{}", "2001:db8::{}", f"{CANARY}{{}}.example.org", f"/{CANARY}/{{}}/page"]
    form = chance.choice(forms)
    plain = [form.format(chance.randrange(8)) for _ in range(chance.choice([0, 1, 30, 90]))]
    kinds: list[Callable[[Any], Any]] = [
        list,
        tuple,
        iter,
        np.array,
        pa.array,
        pl.Series,
        pd.Series,
    ]
    return chance.choice(kinds)(plain)


def times(chance: Random, disturbance: Disturbance) -> Any:
    import numpy as np
    from tests.fuzzing.columns import weights

    size = chance.choice([0, 1, 3, 20, 300])
    begin = 1_778_976_000 * 10**9
    plain = [begin + chance.randrange(-(10**13), 10**14) for _ in range(size)]
    makers: list[Callable[[], Any]] = [
        lambda: plain,
        lambda: np.array(plain, dtype="M8[ns]"),
        lambda: np.array(plain, dtype="i8"),
        lambda: np.array(["NaT"] * size, dtype=chance.choice(["M8[s]", "M8[ps]", "m8[s]"])),
        lambda: weights(chance, disturbance),
        lambda: hostile(chance, disturbance),
        lambda: None,
    ]
    return chance.choice(makers)()
