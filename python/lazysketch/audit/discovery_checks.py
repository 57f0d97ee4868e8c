"""Discovery: names are published with the stated probability, and for nothing but their own events.

Thresholds are compared with those of the definition; rates of publication, which see the noise
through the threshold, with exact probabilities, for items whose counts are known by construction;
published names with those of the model, bit for bit. Two-sided: too much noise raises an alarm too.

Detects: a threshold too low or too high; noise that is wrong by 10 %, missing, shared or repeated;
names of strangers, whatever their weights; identity by the public fingerprint. Cannot detect: a
wrong probability of less than about 1e-3, so also not a delta of 1e-8 that is exceeded by another
reason than these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.discovery_oracle import Unit, law_of, unit_of
from lazysketch.audit.discovery_system import (
    DiscoveryLibrary,
    DiscoveryModel,
    DiscoverySystem,
)
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.fingerprints import HASH_SEED, colliding_items, dated_items
from lazysketch.heavy_hitters import DiscoverySpec
from lazysketch.privacy.relations import Relation
from lazysketch.releases.items import Item
from lazysketch.sketches.exact import CountMin

__all__ = [
    "described_items",
    "discovery_equals_model",
    "names_of_strangers",
    "names_of_their_own",
    "rates_of_publication",
    "thresholds_as_defined",
]

Matrix = NDArray[np.bool_]
Run = Callable[[DiscoverySystem], Outcome]
_AT_ONCE = 2000  # epochs fed to one sketch
_EPSILON, _DELTA = 0.5, 0.05  # large, so that rates can be tested
_UNIT = Unit(_EPSILON, _EPSILON, _DELTA, steps=1, both=False)  # zero-out


def described_items(
    *,
    epoch: int,
    capacity: int,
    epsilon: float,
    delta: float,
    relation: Relation = "zero-out",
    group: int = 1,
    counted: int = 1,
) -> DiscoverySpec:
    """Return the description of discovery of single events.

    Args:
        epoch: steps of an epoch.
        capacity: slots; at least ``epoch`` for exact counting.
        epsilon: privacy parameter of discovery.
        delta: privacy parameter of discovery.
        relation: the neighbouring relation.
        group: events of a person.
        counted: largest weight that counts; with 1 events have no weights, else up to twice it.

    Returns:
        The description.
    """
    return DiscoverySpec(
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        max_events_per_user=group,
        epoch=epoch,
        capacity=capacity,
        max_item_bytes=64,
        max_weight=1 if counted == 1 else 2 * counted,
        counted_weight=counted,
    )


def thresholds_as_defined(system: DiscoverySystem) -> Outcome:
    """Compare stated noise and thresholds with the definition, for both counting methods.

    Args:
        system: the system under test.

    Returns:
        Failed if the noise is smaller than it must be, or a threshold is not the smallest that
        serves, up to the 1 % of delta that may be spent on numerics.
    """
    relations: tuple[Relation, ...] = ("substitution", "zero-out")
    asked = list(
        itertools.product(
            ((1.0, 1e-6), (4.0, 1e-3), (0.5, 0.05)), relations, (1, 2), (True, False), (1, 2)
        )
    )

    def failures() -> Iterator[str]:
        for (epsilon, delta), relation, group, exact, counted in asked:
            spec = described_items(
                epoch=50,
                capacity=50 if exact else 8,
                epsilon=epsilon,
                delta=delta,
                relation=relation,
                group=group,
                counted=counted,
            )
            live = system.open(spec)
            units = group if exact else group * counted
            unit = unit_of(epsilon, delta, relation=relation, exact=exact, group=units)
            method = "exact counting" if exact else "Misra-Gries"
            named = f"({epsilon:g}, {delta:g}), {relation}, {group} events, {method}"
            named += f", weights up to {counted}"
            if exact != live.exact:
                yield f"another counting method for {named}"
            expected = (unit.rising, unit.falling)
            if not np.allclose(live.rates, expected, rtol=1e-12, atol=0.0):
                yield f"noise at {live.rates}, expected {expected} for {named}"
            most = law_of(replace(unit, delta=unit.delta * 0.99), exact=exact).threshold
            least = law_of(replace(unit, delta=unit.delta * (1 + 1e-9)), exact=exact).threshold
            if exact:  # a sum of weights that is more than that of one unit less
                least, most = (counted * (units - 1) + 1 for units in (least, most))
            if not least <= live.threshold <= most:
                yield f"threshold {live.threshold}, expected {least} for {named}"

    return exact_outcome(
        "noise and thresholds are those of the theorems", failures(), cases=len(asked)
    )


def rates_of_publication(system: DiscoverySystem, *, exact: bool, epochs: int) -> Outcome:
    """Test how often items with known counts are published.

    Exact counting: several items per count. Misra-Gries: all slots are taken, and three strangers
    at the end of the epoch take three off every count, so that the counts are still known.

    Args:
        system: the system under test.
        exact: True for exact counting, False for Misra-Gries.
        epochs: independent repetitions.

    Returns:
        Tests of the rate of every count, of the number of names of an epoch, and of pairs of
        epochs; failed also if an item without a slot is published.
    """
    threshold = law_of(_UNIT, exact=exact).threshold
    near = (-4, -4, -4, -4, 0, 0, 4, 4, 4, 4) if exact else (-6, -4, -2, 0, 0, 2, 4, 6)
    rows = [threshold + distance for distance in near]
    strangers = 0 if exact else 3
    pattern = np.concatenate(
        [np.repeat(np.arange(len(rows)), np.array(rows) + strangers), -1 - np.arange(strangers)]
    )
    spec = described_items(
        epoch=pattern.size,
        capacity=pattern.size if exact else len(rows),
        epsilon=_EPSILON,
        delta=_DELTA,
    )
    found, lost = _published(system, spec, pattern, items=len(rows), epochs=epochs)
    claim = "an item is published with the probability that its count and the noise give"
    return statistical_outcome(
        claim,
        itertools.chain(
            [("an item without a slot", float(lost == 0))],
            _rates(found, rows, exact=exact),
        ),
        samples=found.size,
    )


def _published(
    system: DiscoverySystem,
    spec: DiscoverySpec,
    pattern: np.ndarray,
    *,
    items: int,
    epochs: int,
    weights: np.ndarray | None = None,
) -> tuple[Matrix, int]:
    """Return which items of which epoch were published, and the number of other names.

    The pattern has the number of an item for every step of an epoch, below 0 for a stranger.
    """
    found = np.zeros((epochs, items), dtype=np.bool_)
    lost, kinds = 0, items + max(0, -int(pattern.min()))
    numbers = np.where(pattern < 0, items - 1 - pattern, pattern)
    for start in range(0, epochs, _AT_ONCE):
        length = min(_AT_ONCE, epochs - start)
        live = system.open(spec)
        fed = (np.arange(length)[:, None] * kinds + numbers).ravel()
        live.feed(fed, None if weights is None else np.tile(weights, length))
        epoch, item = np.divmod(np.array(live.published(), dtype=np.int64), kinds)
        lost += int((item >= items).sum())
        found[start + epoch[item < items], item[item < items]] = True
    return found, lost


def _rates(found: Matrix, rows: Sequence[int], *, exact: bool) -> Iterator[tuple[str, float]]:
    law, counts = law_of(_UNIT, exact=exact), np.array(rows)
    for count in sorted(set(rows)):
        p = law.published(count)
        at = np.flatnonzero(counts == count)
        # Items of one epoch are independent if they share no draw.
        for columns in [at] if exact else at[:, None]:
            yield f"rate of count {count}", _of_coin(found[:, columns], p)
        if exact:
            for column in at:
                yield f"rate of item {column + 1}", _of_coin(found[:, column], p)
        pairs = found[: len(found) // 2 * 2, at[:1]].reshape(-1, 2)
        yield (
            f"pairs of epochs, count {count}",
            _of_coin(pairs[:, 0] == pairs[:, 1], p**2 + (1 - p) ** 2),
        )
    number = np.bincount(found.sum(axis=1), minlength=len(rows) + 1)
    expected = law.number_published(rows)
    yield "number of names", p_values.counts(number, expected)


def _of_coin(seen: Matrix, probability: float) -> float:
    hits = int(seen.sum())
    return p_values.counts([hits, seen.size - hits], [probability, 1 - probability])


def names_of_strangers(
    system: DiscoverySystem, *, exact: bool, relation: Relation, epochs: int, counted: int = 1
) -> Outcome:
    """Test that items of one event are published with a probability of at most delta.

    Their weights are 1 to twice what counts, unless events have none.

    Args:
        system: the system under test.
        exact: True for exact counting, False for Misra-Gries.
        relation: the neighbouring relation.
        epochs: independent repetitions of 32 different items, once each.
        counted: largest weight that counts; 1 for events without weights.

    Returns:
        A test of every position of an item, one-sided; two-sided for exact counting, whose rate is
        known.
    """
    epsilon, items = 1.0, 32
    spec = described_items(
        epoch=items,
        capacity=items if exact else 8,
        epsilon=epsilon,
        delta=_DELTA,
        relation=relation,
        counted=counted,
    )
    unit = unit_of(epsilon, _DELTA, relation=relation, exact=exact, group=1)
    weights = None if counted == 1 else 1 + np.arange(items) % spec.max_weight
    found, _ = _published(
        system, spec, np.arange(items), items=items, epochs=epochs, weights=weights
    )

    def tested() -> Iterator[tuple[str, float]]:
        for position, seen in enumerate(found.T):
            yield f"item {position + 1}", _at_most(seen, _DELTA)
        if exact:
            rate = law_of(unit, exact=True).published(1)
            yield "all items, two-sided", _of_coin(found, rate)

    claim = f"an item of one event is published with probability at most {_DELTA:g}"
    outcome = statistical_outcome(claim, tested(), samples=found.size)
    seen = f"rate {found.mean():.4f}; {outcome.observed}"
    return Outcome(claim, seen, outcome.samples, outcome.passed, outcome.figures)


def _at_most(seen: Matrix, probability: float) -> float:
    """P-value of independent coins whose probability is at most this (Chernoff, one-sided)."""
    rate = float(seen.mean())
    if rate <= probability:
        return 1.0
    return (
        p_values.counts([rate * seen.size, (1 - rate) * seen.size], [probability, 1 - probability])
        / 4
    )


def names_of_their_own(system: DiscoverySystem) -> Outcome:
    """Check that items with one public fingerprint are not taken for each other.

    For every pair of colliding items one occurs once, first or last, and the other 60 times; then
    all of them occur often. Texts, bytes, integers, wide integers, instants, dates and UUIDs, short
    and long. False alarms: the threshold is for delta = 1e-15.

    Args:
        system: the system under test.

    Returns:
        Failed if a name is published for the events of another, or not for its own.
    """
    families = (colliding_items(), dated_items())
    plans: list[tuple[list[Item], set[Item]]] = []
    for family in families:
        for one, other in itertools.permutations(family, 2):
            plans += [([other, *[one] * 60], {one}), ([*[one] * 60, other], {one})]
        plans.append((list(family) * 60, set(family)))

    def failures() -> Iterator[str]:
        for family in families:
            if len({_cells(item) for item in family}) > 1:
                yield "the items of this check do not collide"
        for (events, names), exact in itertools.product(plans, (True, False)):
            epoch = 1 + max(len(events), 61)
            spec = described_items(
                epoch=epoch, capacity=epoch if exact else 16, epsilon=8.0, delta=1e-15
            )
            live = system.open(spec)
            live.feed([*events, *[0] * (epoch - len(events))][:epoch])
            found = set(live.published()) - {0}
            if found != names or {*map(type, found)} != {*map(type, names)}:
                kinds = sorted({type(item).__name__ for item in {*events}})
                yield f"{len(found ^ names)} wrong names among {', '.join(kinds)}"

    return exact_outcome(
        "items with one fingerprint are different items", failures(), cases=2 * len(plans)
    )


def _cells(item: Item) -> tuple[int, ...]:
    sketch = CountMin(depth=4, width=2**12, hash_seed=HASH_SEED)
    sketch.update(item)
    return tuple(np.flatnonzero(sketch.table).tolist())


def discovery_equals_model(system: DiscoverySystem | None = None) -> Outcome:
    """Check that the model of the controls publishes the same names as the library.

    Args:
        system: the system to compare with the library; by default the model without a bug.

    Returns:
        Failed if the published names of a stream differ; both counting methods, many evictions.
    """
    model = DiscoveryModel() if system is None else system
    generator = np.random.default_rng(5)
    cases = list(itertools.product((1, 3, 6, 40), range(8), (1, 3)))

    def failures() -> Iterator[str]:
        for capacity, seed, counted in cases:
            # A large delta: keys at zero are published too.
            spec = described_items(
                epoch=40, capacity=capacity, epsilon=1.0, delta=0.3, counted=counted
            )
            items = generator.zipf(1.6, 400) % 30
            weights = generator.integers(spec.max_weight + 1, size=400)
            systems: tuple[DiscoverySystem, ...] = (DiscoveryLibrary(), model)
            one, other = (each.open(spec, seed=seed, sketch_id=bytes(16)) for each in systems)
            cuts = [7, 80, 333]
            for part in zip(np.split(items, cuts), np.split(weights, cuts), strict=True):
                one.feed(*part)
                other.feed(*part)
            if sorted(map(str, one.published())) != sorted(map(str, other.published())):
                yield f"capacity {capacity}, seed {seed}, weights up to {counted}"

    return exact_outcome("published names equal those of the model", failures(), cases=len(cases))
