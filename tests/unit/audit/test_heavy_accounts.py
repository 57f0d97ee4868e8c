"""What the audit computes itself about discovery, windows and spending, against slower oracles."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import date, datetime
from uuid import UUID

import mpmath
import numpy as np
import pytest
from tests.oracle import discovery as oracle

import lazysketch as ls
from lazysketch import _native
from lazysketch.audit import fingerprints
from lazysketch.audit.claimed_noise import gaussian_delta
from lazysketch.audit.discovery_checks import described_items
from lazysketch.audit.discovery_draws import poisson_tail
from lazysketch.audit.discovery_oracle import Noise, Shared, counted, law_of, summary, unit_of
from lazysketch.audit.spending import Spent, spent_on_counts, spent_on_names
from lazysketch.audit.statement_checks import (
    StatementBug,
    Statements,
    statements_cover_what_was_spent,
)
from lazysketch.audit.window_system import TICK, WindowCase, WindowModel, place_of
from lazysketch.privacy.relations import Relation
from lazysketch.releases.items import Item
from lazysketch.windows.cuts import leaves_of

RELATIONS: tuple[Relation, ...] = ("substitution", "zero-out")


# --- discovery ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_probabilities_equal_those_of_the_digits_that_are_drawn(epsilon: float) -> None:
    """The oracle sums exact integers over all values of both geometric variables."""
    spec = described_items(epoch=5, capacity=2, epsilon=epsilon, delta=0.05)
    drawn = oracle.drawn(_native.discovery_facts(spec)["digits"])
    noise = Noise(epsilon)
    for x in range(-20, 21):
        assert noise.tail(x) == pytest.approx(float(drawn.tail(x)), rel=1e-9, abs=1e-18)
        assert noise.probability(x) == pytest.approx(float(drawn.at(x)), rel=1e-9)
    table = [("a", 2), ("b", 5), ("c", 5)]
    sets = oracle.published(table, drawn, threshold=4, shared=True)
    wanted = [float(sum(p for s, p in sets.items() if len(s) == n)) for n in range(4)]
    law = Shared(noise, 4)
    assert law.number_published([2, 5, 5]) == pytest.approx(wanted, rel=1e-8)
    for key, count in table[:2]:
        alone = float(sum(p for names, p in sets.items() if key in names))
        assert law.published(count) == pytest.approx(alone, rel=1e-8)
    one = oracle.published([("a", 1), ("b", 1)], drawn, threshold=4, shared=True)
    assert noise.of_single(3) == pytest.approx(float(1 - one[frozenset()]), rel=1e-8)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 0.05), (4.0, 0.3)])
def test_probabilities_of_exact_counts_are_those_of_the_core(
    relation: Relation, epsilon: float, delta: float
) -> None:
    spec = described_items(epoch=5, capacity=5, epsilon=epsilon, delta=delta, relation=relation)
    unit = unit_of(epsilon, delta, relation=relation, exact=True, group=1)
    law = law_of(unit, exact=True)
    found = [p / 2**128 for p in _native.discovery_facts(spec)["probabilities"]]
    assert [law.published(count) for count in range(len(found))] == pytest.approx(found, rel=1e-6)
    number = law.number_published([1, 3])
    one, three = found[1], found[3]
    both = [(1 - one) * (1 - three), one + three - 2 * one * three, one * three]
    assert number == pytest.approx(both, rel=1e-6)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("capacity", [5, 2])
@pytest.mark.parametrize("group", [1, 2, 3])
def test_thresholds_of_the_audit_are_those_of_the_core(
    relation: Relation, capacity: int, group: int
) -> None:
    exact = capacity == 5
    spec = described_items(
        epoch=5, capacity=capacity, epsilon=2.0, delta=1e-3, relation=relation, group=group
    )
    unit = unit_of(2.0, 1e-3, relation=relation, exact=exact, group=group)
    assert spec.facts["rates"] == pytest.approx((unit.rising, unit.falling), rel=1e-12)
    assert spec.threshold == law_of(unit, exact=exact).threshold
    # What is spent is what was asked for, in Misra-Gries up to the last step of the threshold.
    ((epsilon, delta),) = spent_on_names(spec).names
    assert epsilon == pytest.approx(2.0, rel=1e-12)
    least = 1 - 1e-9 if exact else math.exp(-2 * unit.rising)
    assert 1e-3 * least < delta <= 1e-3
    assert spent_on_names(spec, lower=1).names[0][1] > 1e-3


@pytest.mark.parametrize("counters", [1, 2, 5])
@pytest.mark.parametrize("bug", [None, "forget zeros"])
def test_tables_equal_the_algorithms(counters: int, bug: str | None) -> None:
    generator = np.random.default_rng(3)

    def order(key: Hashable) -> int:
        # Dummies between the items, as in the oracle's own tests.
        number = key.number if isinstance(key, oracle.Dummy) else int(str(key)) + 40
        return number * 7 % 101

    for _ in range(60):
        stream = (generator.zipf(1.5, 40) % 9).tolist()
        dummies = [oracle.Dummy(i) for i in range(counters)]
        mine = summary(stream, dummies=dummies, order=order, forget_zeros=bug is not None)
        theirs = oracle.misra_gries(stream, counters=counters, order=order, bug=bug)
        if bug is None:
            assert mine == theirs
        else:
            assert {row for row in mine if row[1]} == {row for row in theirs if row[1]}
        assert counted(stream) == oracle.dictionary(stream)


def test_coincidences_are_bounded() -> None:
    """Chernoff's bound is above the exact tail of a binomial variable, within a factor of 40."""
    for count in (3, 8, 20):
        p = 0.002
        exact = float(mpmath.betainc(count, 1000 - count + 1, 0, p, regularized=True))
        assert exact <= poisson_tail(count, 1000 * p) <= 40 * exact
    assert poisson_tail(1, 2.0) == 1.0


# --- fingerprints ---------------------------------------------------------------------


def cells(item: object, hash_seed: int) -> tuple[int, ...]:
    sketch = ls.CountMin(depth=4, width=2**16, hash_seed=hash_seed)
    sketch.update(item)
    return tuple(np.flatnonzero(sketch.table).tolist())


def test_items_that_collide_do_so_in_every_row() -> None:
    items, dated = fingerprints.colliding_items(), fingerprints.dated_items()
    for family in (items, dated):
        assert len({cells(item, fingerprints.HASH_SEED) for item in family}) == 1
        assert len({fingerprints.fingerprint(item) for item in family}) == 1
        assert len(set(family)) == len(family)
        # Under another seed they do not collide.
        assert len({cells(item, fingerprints.HASH_SEED + 1) for item in family}) == len(family)
    kinds = {type(item) for item in (*items, *dated)}
    assert kinds == {int, str, bytes, datetime, date, UUID}
    assert {len(item) for item in items if isinstance(item, str | bytes)} == {8, 16}
    integers = [item for item in items if isinstance(item, int)]
    assert [integer.bit_length() > 64 for integer in integers].count(True) == 1
    assert min(integers) < 0 < max(integers)


def test_fingerprints_decide_collisions_for_any_item() -> None:
    """Integers are chosen to have the fingerprint that the audit computes for another item."""
    items: list[Item] = ["some", "text", "longer text", b"bytes", b"sixteen bytes...", -1, 2**64]
    for hash_seed in (0, 1, 2**64 - 1):
        for item in items:
            found = fingerprints.fingerprint(item, hash_seed)
            seed = fingerprints.mix(hash_seed ^ fingerprints.mix(3))
            integer = fingerprints.unmixed(found) ^ seed
            assert cells(integer, hash_seed) == cells(item, hash_seed)


# --- windows --------------------------------------------------------------------------


def test_places_are_found_by_walking() -> None:
    clock = WindowCase("clock", 7 * TICK, 3, slices=3)
    for at in range(-2, 21 * TICK + 2, TICK // 5):
        inside = 0 <= at < clock.end
        wanted = (at // clock.every, at % clock.every * 3 // clock.every) if inside else None
        assert place_of(clock, at) == wanted
    short = WindowCase("range", 10, 2, short=4)
    places = [place_of(short, short.first + after) for after in (-1, 0, 9, 10, 15, 16)]
    assert places == [None, (0, 0), (0, 0), (1, 0), (1, 0), None]


def test_the_model_has_the_leaves_of_the_theorem() -> None:
    for slices in (1, 2, 15, 16, 17, 30, 31, 32, 33, 60, 61, 64, 120, 121, 960):
        case = WindowCase("clock", 1024 * TICK, 1, slices=slices, depth=1, width=1)
        part = WindowModel().table_of(case).parts[0]
        assert part.schedule is not None
        assert part.schedule.horizon == leaves_of(slices)


# --- spending -------------------------------------------------------------------------


def on_a_grid(spent: Spent, epsilon: float, step: float) -> float:
    """Delta from the distribution of the sum of all losses, by convolution on a grid."""
    total, start = np.ones(1), 0
    for mu in spent.mus:
        reach = math.ceil((mu * mu / 2 + 9 * mu) / step)
        losses = np.arange(-reach, reach + 1) * step
        density = np.exp(-((losses - mu * mu / 2) ** 2) / (2 * mu * mu))
        total, start = np.convolve(total, density / density.sum()), start - reach
    certain = 0.0
    for e, d in spent.names:
        at = round(e / step)
        loss = np.zeros(2 * at + 1)
        loss[0], loss[-1] = (1 / (1 + math.exp(sign * e)) for sign in (1, -1))
        certain = 1 - (1 - certain) * (1 - d)
        total, start = np.convolve(total, loss), start - at
    losses = (start + np.arange(total.size)) * step
    kept = np.maximum(1 - np.exp(np.minimum(epsilon - losses, 0)), 0)
    return certain + (1 - certain) * float(total @ kept)


@pytest.mark.parametrize(
    "spent",
    [
        Spent((0.5, 0.7, 0.2), ()),
        Spent((1.0,), ((0.25, 1e-3),)),
        Spent((0.3, 0.4), ((0.25, 1e-3), (0.5, 2e-3))),
        Spent((), ((0.5, 1e-2), (0.25, 0.0))),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_what_was_spent_equals_a_convolution_of_losses(spent: Spent, epsilon: float) -> None:
    assert spent.delta_at(epsilon) == pytest.approx(
        on_a_grid(spent, epsilon, 2**-9), rel=2e-4, abs=1e-9
    )


def test_what_was_spent_on_tables_of_integers() -> None:
    """More than on real numbers, and as the library composes them."""
    specs = [
        ls.TableSpec(
            kind="count-min",
            depth=depth,
            width=8,
            schedule=ls.RoundRobin(horizon=64),
            epsilon=1.0,
            delta=1e-6,
        )
        for depth in (1, 3)
    ]
    together = ls.compose(*(spec.privacy for spec in specs))
    mus = tuple(spec.privacy.mu for spec in specs)
    for epsilon in (0.7, 1.3, 2.0):
        spent = Spent(mus, depths=(1, 3)).delta_at(epsilon)
        assert spent > Spent(mus).delta_at(epsilon)
        # The library has the smoothings that are best at delta = 1e-6 for all.
        assert spent * (1 - 1e-3) <= together.delta_at(epsilon) <= spent * 1.05


def test_what_was_spent_agrees_with_dp_accounting() -> None:
    events = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    parts = [pld.from_gaussian_mechanism(1 / mu) for mu in (0.4, 0.8)]
    parts.append(pld.from_privacy_parameters(pld.common.DifferentialPrivacyParameters(0.5, 1e-3)))
    together = parts[0].compose(parts[1]).compose(parts[2])
    spent = Spent((0.4, 0.8), ((0.5, 1e-3),))
    assert events is not None
    for epsilon in (0.5, 2.0, 4.0):
        wanted = together.get_delta_for_epsilon(epsilon)
        assert spent.delta_at(epsilon) == pytest.approx(wanted, rel=2e-3)


def test_basic_composition_is_an_upper_bound() -> None:
    spent = Spent((1 / 4.225,), ((0.25, 5e-7), (0.5, 1e-6)))
    assert spent.delta_at(1.0 + 0.25 + 0.5) < gaussian_delta(1.0, 1 / 4.225) + 1.5e-6
    assert Spent().delta_at(0.1) == 0.0


@pytest.mark.parametrize("mechanism", ["tree", "haar", "binary"])
def test_the_mu_of_a_release_is_that_of_its_guarantee(mechanism: str) -> None:
    with ls.LazyCountSketch(
        depth=3, width=4, epsilon=1.0, delta=1e-6, horizon=64, mechanism=mechanism
    ) as sketch:
        (mu,) = spent_on_counts(sketch.release()).mus
        assert mu == pytest.approx(sketch.privacy.mu, rel=1e-9)


def test_releases_state_what_their_names_cost() -> None:
    assert statements_cover_what_was_spent(Statements()).passed
    heavy = ls.HeavyHitters(share=0.1, epsilon=1.0, delta=1e-6)
    assert Statements().of_run(heavy.release()) == (1.0, 1e-6)
    without = Statements(StatementBug.WITHOUT_NAMES)
    assert without.of_run(heavy.release()) == (0.75, 5e-7)
