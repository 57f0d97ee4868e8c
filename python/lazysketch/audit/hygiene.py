"""Hygiene of draws and keys: what belongs to one (key, id, parameters, cell, node) never returns.

Draws are compared where sigma is above 10^6, so that two independent draws are equal with a
probability below 1e-6 and whatever is shared stands out. Two measures, both free of scale: equal
absolute values (their number is at most a sum of coins whose mean is computed), and the correlation
of two vectors of draws (normal, of deviation 1 / sqrt(m)).

Sees: an index packed with a loss, a working key that forgets the id or a parameter, noise that is
fresh where it must repeat, a count that overflows. Cannot see: a weakness of AES or BLAKE3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lazysketch.audit.configuration import NO_EVENT, Configuration
from lazysketch.audit.finding import ALARM, Outcome, exact
from lazysketch.audit.model import Model
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Library, Subject
from lazysketch.errors import LazySketchError
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Geometric, Punctual, RoundRobin
from lazysketch.testing import fixed_id, seeded_key

__all__ = [
    "ids_cannot_be_chosen",
    "model_equals_library",
    "no_count_overflows",
    "no_draw_twice",
    "parameters_change_all_draws",
    "replay_repeats",
]

HEAVY = 2**22  # max_weight: sigma is large, yet the numeric account stays below its 1 %
BASE = Configuration(
    "count-min",
    depth=3,
    width=4,
    schedule=RoundRobin(horizon=256),
    epsilon=0.5,
    mechanism="haar",
    max_weight=HEAVY,
)
CHANGED: dict[str, dict[str, Any]] = {
    "epsilon by one bit": {"epsilon": math.nextafter(0.5, 1.0)},
    "epsilon": {"epsilon": 0.6},
    "delta": {"delta": 2e-6},
    "relation": {"relation": "zero-out"},
    "mechanism": {"mechanism": "binary"},
    "kind": {"kind": "count-sketch"},
    "kind, the same sigma": {"kind": "count-sketch", "relation": "zero-out"},
    "depth": {"depth": 4},
    "width": {"width": 5},
    "horizon": {"schedule": RoundRobin(horizon=512)},
    "horizon, the same leaves": {"schedule": RoundRobin(horizon=255)},
    "period": {"schedule": RoundRobin(horizon=512, period=2)},
    "schedule": {"schedule": Punctual(horizon=64)},
    "geometric schedule": {"schedule": Geometric()},
    "max_weight": {"max_weight": HEAVY + 1},
    "max_events_per_user": {"max_events_per_user": 2},
}
_ONE, _OTHER = bytes(15) + b"\x01", bytes(15) + b"\x02"


def _related(one: Integers, other: Integers) -> str | None:
    """What two matrices of draws have in common, if anything.

    False alarm: below 1e-13 for the correlation at 8 deviations, below 1e-20 for more than ten
    equal values where 0.01 are expected.
    """
    x, y = one.ravel().astype(float), other.ravel().astype(float)
    if x.size == y.size:
        cosine = float(x @ y / math.sqrt((x @ x) * (y @ y)))
        if abs(cosine) * math.sqrt(x.size) > 8:
            return f"correlation {cosine:.2f}"
    shared = np.intersect1d(np.abs(one), np.abs(other)).size
    return f"{shared} equal draws" if shared > 10 else None


def no_draw_twice(subject: Subject) -> Outcome:
    """Check that no two of all (cell, node) pairs share a draw, also beyond 2^32 nodes.

    Args:
        subject: what makes the tables.

    Returns:
        Failed if more absolute values are equal than chance allows at :data:`ALARM`.
    """
    wide = replace(BASE, depth=4, width=16, schedule=RoundRobin(horizon=16 * 1024))
    deep = replace(BASE, depth=1, schedule=Punctual(horizon=2**40), max_weight=2**18)
    far = [node + high for high in (0, 2**32, 2**33, 2**36) for node in (1, 2, 3, 4, 5, 2**31)]
    samples, seen = 0, []

    def failures() -> Iterator[str]:
        nonlocal samples
        for configuration, cells, nodes in (
            (wide, 64, list(range(1, 1025))),
            (deep, 4, far),
        ):
            machine = subject.open(configuration, hash_seed=1, seed=2)
            drawn = machine.draws(list(range(cells)), nodes)
            equal = drawn.size - np.unique(np.abs(drawn)).size
            mean = math.comb(drawn.size, 2) * math.sqrt(2 / math.pi) / machine.sigma
            samples += drawn.size
            seen.append(f"{equal} equal, {mean:.1f} expected")
            if _poisson_tail(equal, mean) <= ALARM / 2:
                yield f"{equal} equal draws of {drawn.size}, {mean:.2g} expected"

    wrong = list(failures())
    return Outcome(
        claim="no two (cell, node) pairs share a draw",
        observed=wrong[0] if wrong else "; ".join(seen),
        samples=samples,
        passed=not wrong,
    )


def _poisson_tail(count: int, mean: float) -> float:
    """Chernoff's bound of P(X >= count) for a sum of independent coins with this mean.

    Draw number i equals an earlier one with a probability of at most i times the largest
    probability of a value of |z|, sqrt(2 / pi) / sigma, whatever came before; so that the number
    of such draws is at most such a sum, in distribution.
    """
    if count <= mean:
        return 1.0
    return math.exp(count - mean - count * math.log(count / mean))


def parameters_change_all_draws(subject: Subject) -> Outcome:
    """Check that another id, seed or parameter leaves nothing of the old draws.

    Args:
        subject: what makes the tables.

    Returns:
        All changes against the base and against each other.
    """
    cells, nodes = list(range(12)), list(range(1, 65))

    def drawn(configuration: Configuration, **at: Any) -> Integers:
        how = {"hash_seed": 1, "seed": 7, "sketch_id": _ONE, **at}
        return subject.open(configuration, **how).draws(cells, nodes)

    found = {"base": drawn(BASE)}
    found["sketch id"] = drawn(BASE, sketch_id=_OTHER)
    found["one high bit of the id"] = drawn(BASE, sketch_id=b"\x80" + _ONE[1:])
    found["key"] = drawn(BASE, seed=8)
    found["key, a high bit"] = drawn(BASE, seed=7 + 2**63)
    found["hash seed"] = drawn(BASE, hash_seed=2)
    found["hash seed, a high bit"] = drawn(BASE, hash_seed=1 + 2**63)
    for name, changes in CHANGED.items():
        found[name] = drawn(replace(BASE, **changes))

    def failures() -> Iterator[str]:
        if not np.array_equal(found["base"], drawn(BASE)):
            yield "the same key, id and parameters: other draws"
        names = list(found)
        for i, one in enumerate(names):
            for other in names[:i]:
                common = _related(found[one], found[other])
                if common:
                    yield f"{one} and {other}: {common}"

    pairs = len(found) * (len(found) - 1) // 2
    return exact("another id, key or parameter: all draws are others", failures(), cases=pairs + 1)


def replay_repeats(subject: Subject) -> Outcome:
    """Check that the same key, id and data give the same table, whenever and however often read.

    Args:
        subject: what makes the tables.

    Returns:
        Reads of one table between two pushes, and two tables read at different steps.
    """
    configuration = Configuration("count-sketch", 2, 4, RoundRobin(horizon=64), mechanism="haar")
    items = np.array([1, 2, NO_EVENT, 3, 1, 5, 8, 13, 2, 2, NO_EVENT, 7])

    def failures() -> Iterator[str]:
        for seed in (None, 3):
            machine = subject.open(configuration, hash_seed=1, seed=seed, sketch_id=_ONE)
            machine.feed(items)
            first = machine.read()
            if not all(np.array_equal(machine.read(), first) for _ in range(3)):
                yield "a second read of one table differs"
        one, other = (
            subject.open(configuration, hash_seed=1, seed=3, sketch_id=_ONE) for _ in range(2)
        )
        one.feed(items)
        for item in items:
            other.feed(np.array([item]))
            other.read()
        if not np.array_equal(one.read(), other.read()):
            yield "two tables of the same key, id and data differ"

    return exact("the same key, id and data: the same table", failures(), cases=3)


def ids_cannot_be_chosen() -> Outcome:
    """Check that only ``lazysketch.testing`` lets two sketches share an id, and that it is marked.

    Returns:
        The library's public faces, tried one by one.
    """

    def made(**more: Any) -> PrivateTable:
        return replace(BASE, max_weight=1).make(**more)

    def failures() -> Iterator[str]:
        key = Key.generate()
        twins = [made(key=key, hash_seed=1), made(key=Key.from_bytes(key.to_bytes()), hash_seed=1)]
        for sketch in twins:
            sketch.tick(256)
        if twins[0].sketch_id == twins[1].sketch_id:
            yield "one key, twice the same id"
        one, other = (sketch.release().table for sketch in twins)
        if np.array_equal(one, other) or (one == other).mean() > 0.5:
            yield "one key, twice the same table"
        for argument in ("sketch_id", "seed", "id", "step", "sigma"):
            try:
                made(**{argument: 1})
                yield f"a sketch takes {argument}"
            except TypeError:
                pass
        attempts: tuple[Callable[[], object], ...] = (Key, lambda: Key.__new__(Key))
        for attempt in attempts:
            try:
                attempt()
                yield "Key() makes a key"
            except LazySketchError:
                pass
        for key in (seeded_key(1), seeded_key(1, sketch_id=None), fixed_id(Key.generate(), _ONE)):
            with made(key=key) as sketch:
                if sketch.private or sketch.release().private or "NOT PRIVATE" not in repr(sketch):
                    yield "a sketch from lazysketch.testing is not marked"

    return exact("ids are fresh, except in lazysketch.testing", failures(), cases=12)


def no_count_overflows(subject: Subject) -> Outcome:
    """Check counts around 2^31 and 2^32, exactly, by the difference to a table without events.

    Args:
        subject: what makes the tables.

    Returns:
        Failed if a difference of releases is not the weight that went in.
    """
    weight = 2**30 - 1
    configuration = Configuration(
        "count-sketch", 1, 1, Punctual(horizon=16), epsilon=8.0, mechanism="haar", max_weight=2**30
    )

    def failures() -> Iterator[str]:
        full, empty = (
            subject.open(configuration, hash_seed=1, seed=1, sketch_id=_ONE) for _ in range(2)
        )
        # One item at a time: whatever its sign, the count runs one way, through 2^31 and 2^32.
        for step in range(1, 13):
            full.feed(np.array([1]), weight=weight)
            empty.feed(np.array([NO_EVENT]))
            difference = abs(int(full.read()[0, 0]) - int(empty.read()[0, 0]))
            if difference != step * weight:
                yield f"{step} events of weight 2^30 - 1 moved the count by {difference}"

    return exact("every event moves a count by its weight", failures(), cases=12)


def model_equals_library(subject: Subject | None = None) -> Outcome:
    """Check that the model of the controls is the library, bit for bit, when nothing is planted.

    Args:
        subject: what is compared with the library; the model without a bug by default.

    Returns:
        All kinds, schedules and mechanisms, at several steps of a stream.
    """
    model = Model() if subject is None else subject
    generator = np.random.default_rng(0)
    items = generator.integers(NO_EVENT, 5, 48)
    cases = [
        Configuration(kind, 1 if kind == "counters" else 2, 5, schedule, mechanism=mechanism)
        for kind in ("count-min", "count-sketch", "counters")
        for mechanism in ("tree", "haar", "binary")
        for schedule in (RoundRobin(horizon=100), Geometric(), Punctual(horizon=100))
    ]

    def failures() -> Iterator[str]:
        for configuration in cases:
            how: dict[str, Any] = {"hash_seed": 4, "seed": 3, "sketch_id": _ONE}
            one, other = Library().open(configuration, **how), model.open(configuration, **how)
            for part in np.split(items, [7, 8, 31]):
                one.feed(part)
                other.feed(part)
                if not np.array_equal(one.read(), other.read()):
                    yield str(configuration)

    return exact("releases equal those of the slow model", failures(), cases=4 * len(cases))
