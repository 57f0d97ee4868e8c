"""Hygiene of draws and keys: no two (key, id, parameters, cell, node) share a draw.

Draws are compared where sigma is above 10^6, so that two independent draws are equal with a
probability below 1e-6 and shared draws are obvious. Two scale-free measures: the number of equal
absolute values (at most a sum of coins whose mean is computed), and the correlation of two vectors
of draws (normal, with deviation 1 / sqrt(m)).

Detects: indices that collide, a working key without the id or a parameter, fresh noise where it
must repeat, a count that overflows. Cannot detect: a weakness of AES or BLAKE3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case, Changes
from lazysketch.audit.finding import ALARM, Outcome, exact_outcome
from lazysketch.audit.model import Model
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Library, SystemUnderTest
from lazysketch.errors import LazySketchError
from lazysketch.privacy.relations import CountKind
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_sketches import LazyCountMin
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin
from lazysketch.testing import fixed_id, seeded_key

__all__ = [
    "counts_do_not_overflow",
    "draws_are_distinct",
    "ids_cannot_be_chosen",
    "model_equals_library",
    "parameters_change_all_draws",
    "replay_is_equal",
]

HEAVY = 2**22  # max_weight: a large sigma, with the numeric account still below its 1 %
BASE = Case.of(
    "count-min",
    depth=3,
    width=4,
    schedule=RoundRobin(horizon=256),
    epsilon=0.5,
    mechanism="haar",
    max_weight=HEAVY,
)
CHANGED: dict[str, Changes] = {
    "epsilon by one bit": {"epsilon": math.nextafter(0.5, 1.0)},
    "epsilon": {"epsilon": 0.6},
    "delta": {"delta": 2e-6},
    "relation": {"relation": "zero-out"},
    "mechanism": {"mechanism": "binary"},
    "kind": {"kind": "count-sketch"},
    "kind, same sigma": {"kind": "count-sketch", "relation": "zero-out"},
    "depth": {"depth": 4},
    "width": {"width": 5},
    "horizon": {"schedule": RoundRobin(horizon=512)},
    "horizon, same leaves": {"schedule": RoundRobin(horizon=255)},
    "period": {"schedule": RoundRobin(horizon=512, period=2)},
    "schedule": {"schedule": Punctual(horizon=64)},
    "geometric schedule": {"schedule": Geometric()},
    "max_weight": {"max_weight": HEAVY + 1},
    "max_events_per_user": {"max_events_per_user": 2},
}
_ONE, _OTHER = bytes(15) + b"\x01", bytes(15) + b"\x02"


def _related(one: Integers, other: Integers) -> str | None:
    """Describe what two matrices of draws share, or return None.

    False-alarm rate: below 1e-13 for a correlation beyond 8 deviations, below 1e-20 for more than
    ten equal values where 0.01 are expected.
    """
    x, y = one.ravel().astype(float), other.ravel().astype(float)
    if x.size == y.size:
        cosine = float(x @ y / math.sqrt((x @ x) * (y @ y)))
        if abs(cosine) * math.sqrt(x.size) > 8:
            return f"correlation {cosine:.2f}"
    shared = np.intersect1d(np.abs(one), np.abs(other)).size
    return f"{shared} equal draws" if shared > 10 else None


def draws_are_distinct(system: SystemUnderTest) -> Outcome:
    """Check that no two (cell, node) pairs share a draw, also beyond 2^32 nodes.

    Args:
        system: the system under test.

    Returns:
        Failed if more absolute values are equal than chance explains at :data:`ALARM`.
    """
    wide = BASE.changed(depth=4, width=16, schedule=RoundRobin(horizon=16 * 1024))
    deep = BASE.changed(depth=1, schedule=Punctual(horizon=2**40), max_weight=2**18)
    far = [node + high for high in (0, 2**32, 2**33, 2**36) for node in (1, 2, 3, 4, 5, 2**31)]
    samples, seen = 0, []

    def failures() -> Iterator[str]:
        nonlocal samples
        for case, cells, nodes in (
            (wide, 64, list(range(1, 1025))),
            (deep, 4, far),
        ):
            live = system.open(case, hash_seed=1, seed=2)
            drawn = live.draws(list(range(cells)), nodes)
            equal = drawn.size - np.unique(np.abs(drawn)).size
            mean = math.comb(drawn.size, 2) * math.sqrt(2 / math.pi) / live.sigma
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

    Given all earlier draws, draw number i equals one of them with a probability of at most i times
    the largest probability of a value of |z|, sqrt(2 / pi) / sigma. So the number of such draws is
    stochastically at most such a sum.
    """
    if count <= mean:
        return 1.0
    return math.exp(count - mean - count * math.log(count / mean))


def parameters_change_all_draws(system: SystemUnderTest) -> Outcome:
    """Check that a change of the id, the seed or any parameter changes all draws.

    Args:
        system: the system under test.

    Returns:
        Failed if any two of the changed tables share draws.
    """
    cells, nodes = list(range(12)), list(range(1, 65))

    def drawn(
        case: Case, *, hash_seed: int = 1, seed: int = 7, sketch_id: bytes = _ONE
    ) -> Integers:
        live = system.open(case, hash_seed=hash_seed, seed=seed, sketch_id=sketch_id)
        return live.draws(cells, nodes)

    found = {"base": drawn(BASE)}
    found["sketch id"] = drawn(BASE, sketch_id=_OTHER)
    found["one high bit of the id"] = drawn(BASE, sketch_id=b"\x80" + _ONE[1:])
    found["key"] = drawn(BASE, seed=8)
    found["key, a high bit"] = drawn(BASE, seed=7 + 2**63)
    found["hash seed"] = drawn(BASE, hash_seed=2)
    found["hash seed, a high bit"] = drawn(BASE, hash_seed=1 + 2**63)
    for name, changes in CHANGED.items():
        found[name] = drawn(BASE.changed(**changes))

    def failures() -> Iterator[str]:
        if not np.array_equal(found["base"], drawn(BASE)):
            yield "equal key, id and parameters: different draws"
        names = list(found)
        for i, one in enumerate(names):
            for other in names[:i]:
                common = _related(found[one], found[other])
                if common:
                    yield f"{one} and {other}: {common}"

    pairs = len(found) * (len(found) - 1) // 2
    claim = "another id, key or parameter changes all draws"
    return exact_outcome(claim, failures(), cases=pairs + 1)


def replay_is_equal(system: SystemUnderTest) -> Outcome:
    """Check that equal key, id and data give equal tables, however often they are read.

    Args:
        system: the system under test.

    Returns:
        Failed if two reads between two pushes differ, or two tables read at different steps.
    """
    case = Case.of("count-sketch", 2, 4, RoundRobin(horizon=64), mechanism="haar")
    items = np.array([1, 2, NO_EVENT, 3, 1, 5, 8, 13, 2, 2, NO_EVENT, 7])

    def failures() -> Iterator[str]:
        for seed in (None, 3):
            live = system.open(case, hash_seed=1, seed=seed, sketch_id=_ONE)
            live.feed(items)
            first = live.read()
            if not all(np.array_equal(live.read(), first) for _ in range(3)):
                yield "two reads of one table differ"
        one, other = (system.open(case, hash_seed=1, seed=3, sketch_id=_ONE) for _ in range(2))
        one.feed(items)
        for item in items:
            other.feed(np.array([item]))
            other.read()
        if not np.array_equal(one.read(), other.read()):
            yield "two tables of equal key, id and data differ"

    return exact_outcome("equal key, id and data give equal tables", failures(), cases=3)


def ids_cannot_be_chosen() -> Outcome:
    """Check that only ``lazysketch.testing`` can make two sketches share an id, and marks them.

    Returns:
        Failed if a public constructor or key accepts an id, or a mark is missing.
    """
    plain = BASE.changed(max_weight=1)
    constructor: Callable[..., object] = partial(
        LazyCountMin, depth=3, width=4, epsilon=0.5, delta=1e-6, horizon=256
    )

    def failures() -> Iterator[str]:
        key = Key.generate()
        copied = Key.from_bytes(key.to_bytes())
        twins = [plain.make(key=one, hash_seed=1) for one in (key, copied)]
        for sketch in twins:
            sketch.tick(256)
        if twins[0].sketch_id == twins[1].sketch_id:
            yield "two sketches under one key have one id"
        one, other = (sketch.release().table for sketch in twins)
        if np.array_equal(one, other) or (one == other).mean() > 0.5:
            yield "two sketches under one key have one table"
        for argument in ("sketch_id", "seed", "id", "step", "sigma"):
            try:
                constructor(**{argument: 1})
                yield f"a sketch accepts {argument}"
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
            with plain.make(key=key) as sketch:
                if sketch.private or sketch.release().private or "NOT PRIVATE" not in repr(sketch):
                    yield "a sketch from lazysketch.testing is not marked"

    return exact_outcome("ids are always fresh, except in lazysketch.testing", failures(), cases=12)


def counts_do_not_overflow(system: SystemUnderTest) -> Outcome:
    """Check counts around 2^31 and 2^32 exactly, by the difference to a table without events.

    Args:
        system: the system under test.

    Returns:
        Failed if a difference of releases is not the total weight of the events.
    """
    weight = 2**30 - 1
    case = Case.of(
        "count-sketch", 1, 1, Punctual(horizon=16), epsilon=8.0, mechanism="haar", max_weight=2**30
    )

    def failures() -> Iterator[str]:
        full, empty = (system.open(case, hash_seed=1, seed=1, sketch_id=_ONE) for _ in range(2))
        # One item only, so that the count passes 2^31 and 2^32 in one direction, with either sign.
        for step in range(1, 13):
            full.feed(np.array([1]), weight=weight)
            empty.feed(np.array([NO_EVENT]))
            difference = abs(int(full.read()[0, 0]) - int(empty.read()[0, 0]))
            if difference != step * weight:
                yield f"{step} events of weight 2^30 - 1 changed the count by {difference}"

    return exact_outcome("every event changes a count by its weight", failures(), cases=12)


def model_equals_library(system: SystemUnderTest | None = None) -> Outcome:
    """Check that the model of the controls equals the library bit for bit without a bug.

    Args:
        system: the system to compare with the library; by default the model without a bug.

    Returns:
        Failed if a release differs; all kinds, schedules and mechanisms, with and without a
        horizon, at several steps.
    """
    model = Model() if system is None else system
    generator = np.random.default_rng(0)
    items = generator.integers(NO_EVENT, 5, 48)
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch", "counters")
    cases = [
        Case.of(kind, 1 if kind == "counters" else 2, 5, schedule, mechanism=mechanism)
        for kind in kinds
        for mechanism in ("tree", "haar", "binary")
        for schedule in (RoundRobin(horizon=100), Geometric(), Punctual(horizon=100))
    ]
    cases += [Case.of("count-sketch", 2, 5, schedule) for schedule in (Punctual(), Batch())]

    def failures() -> Iterator[str]:
        for case in cases:
            systems: tuple[SystemUnderTest, ...] = (Library(), model)
            one, other = (each.open(case, hash_seed=4, seed=3, sketch_id=_ONE) for each in systems)
            for part in np.split(items, [7, 8, 31]):
                one.feed(part)
                other.feed(part)
                if not np.array_equal(one.read(), other.read()):
                    yield str(case)

    return exact_outcome("releases equal those of the model", failures(), cases=4 * len(cases))
