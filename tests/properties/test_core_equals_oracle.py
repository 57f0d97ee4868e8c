"""The sketches against the oracle: equal tables, pushes and estimates after every step.

The oracle takes its noise from `lazysketch.testing.draws` of the sketch under test and its hash
functions from an exact sketch of the same seed, so every comparison is exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import counters as oracle_counters
from tests.oracle.counters import FetchedNoise, mechanisms
from tests.oracle.schedules import Geometric, Punctual, RoundRobin, Schedule
from tests.oracle.sketches import HashesReadOff, LazySketch, PunctualSketch

import lazysketch
import lazysketch.testing
from lazysketch.estimation.estimators import Estimator
from lazysketch.sketches.private_table import PrivateTable

PROFILE = settings(deadline=None, max_examples=12)
MAX_WEIGHT = 5

Item = str | bytes | int
Event = tuple[Item | None, int]  # an item of None is a step without an event

# Items that a wrong conversion of batches could merge: 1 and "1", str and bytes, wide integers.
POOL: list[Item] = ["a", "1", b"a", 1, -1, 2**64, "", "\N{GREEK SMALL LETTER EPSILON}"]

EXACT: dict[str, type[lazysketch.CountMin | lazysketch.CountSketch]] = {
    "count-min": lazysketch.CountMin,
    "count-sketch": lazysketch.CountSketch,
}
LAZY: dict[str, Callable[..., PrivateTable]] = {
    "count-min": lazysketch.LazyCountMin,
    "count-sketch": lazysketch.LazyCountSketch,
}
PUNCTUAL: dict[str, Callable[..., PrivateTable]] = {
    "count-min": lazysketch.PunctualCountMin,
    "count-sketch": lazysketch.PunctualCountSketch,
}

every_kind = pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
every_mechanism = pytest.mark.parametrize("mechanism", ["binary", "haar"])
every_schedule = pytest.mark.parametrize("schedule", ["round robin", "geometric", "punctual"])


@dataclass(frozen=True)
class Setup:
    """The parameters of one pair of a sketch and its oracle."""

    kind: str
    mechanism: str
    schedule: str
    depth: int
    width: int
    horizon: int
    seed: int
    max_weight: int = MAX_WEIGHT

    def sketch(self) -> PrivateTable:
        make = (PUNCTUAL if self.schedule == "punctual" else LAZY)[self.kind]
        return make(
            depth=self.depth,
            width=self.width,
            epsilon=1.0,
            delta=1e-6,
            horizon=None if self.schedule == "geometric" else self.horizon,
            mechanism=self.mechanism,
            max_weight=self.max_weight,
            hash_seed=self.seed,
            key=lazysketch.testing.seeded_key(self.seed),
        )

    def oracle(self, sketch: PrivateTable) -> PunctualSketch | LazySketch:
        make_exact = partial(
            EXACT[self.kind], depth=self.depth, width=self.width, hash_seed=self.seed
        )
        described = described_schedule(self.schedule, width=self.width, horizon=self.horizon)
        mechanism = mechanisms(
            self.mechanism,
            leaves=described.leaves,
            noise=FetchedNoise(
                partial(lazysketch.testing.draws, sketch), cells=self.depth * self.width
            ),
        )
        common: dict[str, object] = {
            "depth": self.depth,
            "width": self.width,
            "hashes": HashesReadOff(make_exact),
            "mechanism": mechanism,
        }
        if self.schedule == "punctual":
            return PunctualSketch(self.kind, **common)
        return LazySketch(self.kind, schedule=described, **common)


def described_schedule(name: str, *, width: int, horizon: int) -> Schedule:
    if name == "geometric":
        return Geometric(width=width)
    if name == "punctual":
        return Punctual(width=width, horizon=horizon)
    return RoundRobin(width=width, horizon=horizon)


def assert_equal(
    sketch: PrivateTable, oracle: PunctualSketch | LazySketch, items: list[Item]
) -> None:
    """Compare everything that is public after a step."""
    release = sketch.release()
    assert sketch._step == release.step == oracle.step
    np.testing.assert_array_equal(release.table, np.array(oracle.table, dtype=np.int64))
    np.testing.assert_array_equal(release.pushes, np.array(oracle.pushes, dtype=np.int64))
    expected = [oracle.estimate(item) for item in items]
    paper: Estimator = "median" if release.kind == "count-sketch" else "minimum"
    assert [sketch.estimate(item, estimator=paper) for item in items] == expected
    assert [release.estimate(item, estimator=paper) for item in items] == expected
    assert sketch.estimate_many(items, estimator=paper).tolist() == expected
    assert release.estimate_many(items, estimator=paper).tolist() == expected
    # The default estimator has no such oracle, but live reads and releases are one.
    together = release.estimate_many(items).tolist()
    assert sketch.estimate_many(items).tolist() == together
    assert [release.estimate(item) for item in items] == together
    assert [sketch.estimate(item) for item in items] == together


def feed(sketch: PrivateTable, chunk: list[Event], *, single: bool) -> None:
    """Feed the chunk by `update` and `tick()`, or by `update_many` and `tick(n)`."""
    if single:
        for item, weight in chunk:
            if item is None:
                sketch.tick()
            else:
                sketch.update(item, weight)
        return
    for empty, group in groupby(chunk, key=lambda event: event[0] is None):
        events = list(group)
        if empty:
            sketch.tick(len(events))
        elif all(weight == 1 for _, weight in events):
            sketch.update_many([item for item, _ in events])
        else:
            sketch.update_many([item for item, _ in events], [weight for _, weight in events])


def streams(longest: int) -> st.SearchStrategy[list[Event]]:
    """Random streams, and adversarial ones."""
    events = st.tuples(st.none() | st.sampled_from(POOL), st.integers(0, MAX_WEIGHT))
    sizes = st.integers(1, longest)
    weights = st.integers(1, MAX_WEIGHT)
    return st.one_of(
        st.lists(events, min_size=1, max_size=longest),
        st.builds(lambda n, w: [("a", w)] * n, sizes, weights),  # one item only
        st.builds(lambda n, w: [(x, w) for x in range(n)], sizes, weights),  # all distinct
        st.builds(lambda n, w: [("a" if t % 2 else 1, w) for t in range(n)], sizes, weights),
        st.builds(lambda n: [(None, 1)] * n, sizes),
    )


Plan = list[tuple[list[Event], bool]]


@st.composite
def plans(draw: st.DrawFn, longest: int) -> Plan:
    """A stream cut into chunks, and for each chunk whether it is fed event by event."""
    stream = draw(streams(longest))
    plan: Plan = []
    while stream:
        size = draw(st.integers(1, len(stream)))
        plan.append((stream[:size], draw(st.booleans())))
        stream = stream[size:]
    return plan


def run(setup: Setup, plan: Plan, *, idle: int = 0) -> None:
    """Feed both; compare after every step, or after every chunk that is fed as a batch."""
    sketch = setup.sketch()
    oracle = setup.oracle(sketch)
    assert_equal(sketch, oracle, POOL)
    if idle:
        sketch.tick(idle)
        for _ in range(idle):
            oracle.update(None)
        assert_equal(sketch, oracle, POOL)
    for chunk, single in plan:
        steps = [[event] for event in chunk] if single else [chunk]
        for events in steps:
            feed(sketch, events, single=single)
            for item, weight in events:
                oracle.update(item, weight)
            assert_equal(sketch, oracle, POOL)


@every_schedule
@every_mechanism
@every_kind
@PROFILE
@given(
    plan=plans(longest=40),
    depth=st.integers(1, 4),
    width=st.integers(1, 5),
    spare=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_every_step(
    kind: str,
    mechanism: str,
    schedule: str,
    *,
    plan: Plan,
    depth: int,
    width: int,
    spare: int,
    seed: int,
) -> None:
    horizon = sum(len(chunk) for chunk, _ in plan) + spare
    run(Setup(kind, mechanism, schedule, depth, width, horizon, seed), plan)


@every_mechanism
@every_kind
@PROFILE
@given(plan=plans(longest=30), width=st.integers(1, 3), late=st.integers(0, 40))
def test_geometric_rounds_longer_than_the_width(
    kind: str, mechanism: str, *, plan: Plan, width: int, late: int
) -> None:
    """After step 100 w, rounds have steps without a push: the stream begins there."""
    setup = Setup(kind, mechanism, "geometric", 2, width, 0, seed=late)
    run(setup, plan, idle=100 * width + late)


@every_schedule
@every_mechanism
@every_kind
def test_long_batches(kind: str, mechanism: str, schedule: str) -> None:
    """Batches longer than any block of a kernel, up to the last step of the horizon."""
    source = random.Random(17)
    length = 400 if schedule == "punctual" else 3000
    stream: list[Event] = [
        (min(int(source.paretovariate(0.7)), 10**6), source.randint(0, MAX_WEIGHT))
        for _ in range(length)
    ]
    sizes = [1, 7, 64, 65, 1024, length]
    plan: Plan = []
    for size in sizes:
        plan.append((stream[:size], False))
        stream = stream[size:]
    plan = [(chunk, single) for chunk, single in plan if chunk]
    run(Setup(kind, mechanism, schedule, 3, 7, length, seed=3), plan)


@every_schedule
@every_mechanism
@every_kind
def test_counts_beyond_32_bits(kind: str, mechanism: str, schedule: str) -> None:
    """The cells widen and never wrap: 300 events of weight 2^24 exceed 2^32."""
    heavy = 2**24
    plan: Plan = [([("a", heavy)] * 50, False), ([("a", heavy)] * 220, False)]
    plan += [([("a", heavy)] * 15 + [(1, heavy)] * 15, True)]
    setup = Setup(kind, mechanism, schedule, 3, 2, 300, seed=8, max_weight=heavy)
    run(setup, plan)


@every_mechanism
def test_a_horizon_of_one_step(mechanism: str) -> None:
    for schedule in ("round robin", "punctual"):
        for width in (1, 4):
            setup = Setup("count-min", mechanism, schedule, 2, width, 1, seed=width)
            run(setup, [([("a", 2)], True)])


# --- ContinualCounters --------------------------------------------------------------

COUNTERS = 4
Action = tuple[str, Any]

actions = st.lists(
    st.one_of(
        st.tuples(
            st.just("update"),
            st.tuples(st.integers(0, COUNTERS - 1), st.integers(0, MAX_WEIGHT)),
        ),
        st.tuples(
            st.just("update_many"),
            st.lists(
                st.tuples(st.integers(0, COUNTERS - 1), st.integers(0, MAX_WEIGHT)),
                min_size=1,
                max_size=12,
            ),
        ),
        st.tuples(
            st.just("step"), st.lists(st.integers(0, 1), min_size=COUNTERS, max_size=COUNTERS)
        ),
        st.tuples(st.just("tick"), st.integers(1, 9)),
    ),
    max_size=15,
)


def act(
    target: lazysketch.ContinualCounters,
    oracle: oracle_counters.ContinualCounters,
    action: Action,
) -> None:
    """Apply an action to both."""
    name, argument = action
    if name == "update":
        target.update(argument[0], argument[1])
        oracle.update(*argument)
    elif name == "update_many":
        target.update_many([i for i, _ in argument], [weight for _, weight in argument])
        for index, weight in argument:
            oracle.update(index, weight)
    elif name == "step":
        target.step(np.array(argument, dtype=np.int64))
        oracle.step(argument)
    else:
        target.tick(argument)
        for _ in range(argument):
            oracle.tick()


@every_mechanism
@pytest.mark.parametrize("schedule", ["round robin", "geometric"])
@PROFILE
@given(todo=actions, seed=st.integers(0, 2**32))
def test_continual_counters(
    mechanism: str, schedule: str, *, todo: list[Action], seed: int
) -> None:
    horizon = 12 * 15  # the steps of the longest list of actions
    target = lazysketch.ContinualCounters(
        counters=COUNTERS,
        epsilon=1.0,
        delta=1e-6,
        max_changes=COUNTERS,
        horizon=None if schedule == "geometric" else horizon,
        mechanism=mechanism,
        max_weight=MAX_WEIGHT,
        key=lazysketch.testing.seeded_key(seed),
    )
    described = described_schedule(schedule, width=COUNTERS, horizon=horizon)
    noise = FetchedNoise(partial(lazysketch.testing.draws, target), cells=COUNTERS)
    oracle = oracle_counters.ContinualCounters(
        counters=COUNTERS,
        schedule=described,
        mechanism=mechanisms(mechanism, leaves=described.leaves, noise=noise),
    )
    for action in todo:
        act(target, oracle, action)
        assert target.steps == oracle.steps
        every = list(range(COUNTERS))
        assert target.estimate_many(every, estimator="minimum").tolist() == oracle.released
        assert [target.estimate(j, estimator="minimum") for j in every] == oracle.released
        assert target.release().table.reshape(-1).tolist() == oracle.released
