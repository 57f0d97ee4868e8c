"""Ends: the final push of a table has every event, noise of its own, and no second one.

Small tables under a known key are read at every step and finished at several. Each public value
less the noise of its push, by definition, is the content that the push published.

Detects: a final push on a leaf that another content has used, a second one after more events, a
table without pending events, a push before the end of a single schedule. Cannot detect: a leaf with
more noise than necessary (residuals of finished releases do).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.audit.system_under_test import LiveTable, SystemUnderTest, Table
from lazysketch.errors import ClosedError
from lazysketch.privacy.relations import CountKind
from lazysketch.specification.schedules import (
    Batch,
    Geometric,
    Punctual,
    RoundRobin,
    Schedule,
    Single,
)

__all__ = ["ends_have_noise_of_their_own"]

_ID = bytes(range(16))
_HASH_SEED = 4
_STEPS = (0, 1, 7, 8, 12)
_SCHEDULES: tuple[Schedule, ...] = (
    RoundRobin(horizon=12),  # four leaves, all of which are used at the last step
    RoundRobin(horizon=12, period=2),
    Geometric(growth=(1, 2), rounds=2),
    Punctual(horizon=12),
    Batch(horizon=12),
    Single(),
    Single(horizon=12),
)


def ends_have_noise_of_their_own(system: SystemUnderTest) -> Outcome:
    """Check the final push of small tables of every schedule, after several numbers of steps.

    Args:
        system: the system under test.

    Returns:
        Failed if a push has two contents, if a finished table lacks an event, or if events that
        come after the end change it.
    """
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    cases = [
        Case.of(kind, 2, 3, schedule, mechanism=mechanism)
        for kind in kinds
        for mechanism in ("tree", "haar", "binary")
        for schedule in _SCHEDULES
    ]
    items = np.random.default_rng(3).integers(0, 5, max(_STEPS))

    def failures() -> Iterator[str]:
        for case in cases:
            for steps in _STEPS:
                live = system.open(case, hash_seed=_HASH_SEED, seed=3, sketch_id=_ID)
                if not _is_sound(live, case, items[:steps]):
                    yield f"{case}, after {steps} steps"

    claim = "a final push has every event, and noise of its own"
    return exact_outcome(claim, failures(), cases=len(cases) * len(_STEPS))


def _is_sound(live: LiveTable, case: Case, items: Integers) -> bool:
    """Feed, read, finish and read a table, then try to add an event and finish it again."""
    matrices = strategy(live.mechanism, case.leaves)
    for step in range(items.size + 1):
        if step:
            live.feed(items[step - 1 : step])
        pushes, _ = case.progress(step)
        truth = case.published(items, hash_seed=_HASH_SEED, step=step)
        if not np.array_equal(live.read(), _released(truth, pushes, live, matrices)):
            return False
    live.finish()
    last = np.full(case.spec.width, items.size)
    everything = case.published(items, hash_seed=_HASH_SEED, step=items.size, last=last)
    pushes, _ = case.finished(items.size, live.mechanism)
    expected = _released(everything, pushes, live, matrices)
    if not np.array_equal(live.read(), expected):
        return False
    with suppress(ClosedError):
        live.feed(np.array([1], dtype=np.int64))
    live.finish()
    return np.array_equal(live.read(), expected)


def _released(truth: Integers, pushes: Integers, live: LiveTable, matrices: Strategy) -> Table:
    """Return the table of these contents and pushes: content + floor(noise + 1/2)."""
    table = np.zeros_like(truth)
    depth, width = truth.shape
    for column, push in enumerate(pushes.tolist()):
        if push:
            weights, den = matrices.weights(push), matrices.denominator(push)
            cells = [row * width + column for row in range(depth)]
            drawn = live.draws(cells, list(weights)).astype(object)
            total = drawn @ np.array([int(weight * den) for weight in weights.values()], object)
            noise = (2 * total + den) // (2 * den)
            table[:, column] = truth[:, column] + noise.astype(np.int64)
    return table
