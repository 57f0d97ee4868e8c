"""The tree mechanism in exact arithmetic: identities of its matrices, and the core's noise.

Nothing is left to chance. The oracle solves U N = z in fractions, from rows that it reads itself,
with the draws of the very table it is compared with.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests.oracle import haar
from tests.oracle.haar import Matrix, rounded
from tests.oracle.tree import Tree
from tools.tree_tables.layout import SHIPPED

import lazysketch
import lazysketch.testing
from lazysketch import Mechanism

SMALL = [2, 3, 4, 5]


@cache
def tree_of(k: int, suffix: str = "") -> Tree:
    return Tree.from_bytes((SHIPPED / f"tree_k{k}{suffix}.i16").read_bytes())


def matrices(name: str, k: int) -> tuple[Matrix, Matrix]:
    """U and L of one mechanism."""
    if name == "haar":
        return haar.strategy_matrix(2**k), haar.decoder_matrix(2**k)
    return tree_of(k).strategy_matrix(), tree_of(k).decoder_matrix()


exact = pytest.mark.parametrize("name", ["tree", "haar"])


@exact
@pytest.mark.parametrize("k", SMALL)
def test_strategy_and_decoder_are_inverse(name: str, k: int) -> None:
    strategy, decoder = matrices(name, k)
    one = haar.identity(2**k)
    assert haar.product(strategy, decoder) == one
    assert haar.product(decoder, strategy) == one


@exact
@pytest.mark.parametrize("k", SMALL)
def test_column_norms_of_the_query(name: str, k: int) -> None:
    """U A, by columns: the change that one unit in one cell makes from push l on."""
    strategy, decoder = matrices(name, k)
    n = 2**k
    prefix = [[Fraction(int(t <= p)) for t in range(n)] for p in range(n)]
    query = haar.product(strategy, prefix)
    assert all(entry.denominator == 1 for row in query for entry in row)
    norms = [sum(row[leaf] ** 2 for row in query) for leaf in range(n)]
    touched = [sum(row[leaf] != 0 for row in query) for leaf in range(n)]
    facts = Mechanism(name, leaves=n)
    assert max(norms) == facts.sensitivity2
    assert max(touched) == facts.nodes_per_leaf if name == "tree" else max(touched) <= k + 1
    assert facts.nodes == n
    # And back: the decoder turns the exact query into exact prefix sums.
    assert haar.product(decoder, query) == prefix


@exact
@pytest.mark.parametrize("k", SMALL)
def test_variances_are_the_row_norms_of_the_decoder(name: str, k: int) -> None:
    _, decoder = matrices(name, k)
    found = Mechanism(name, leaves=2**k).variances(np.arange(1, 2**k + 1))
    assert np.allclose(found, [float(v) for v in haar.variances(decoder)], rtol=1e-14, atol=0.0)


def test_optimised_tables_at_1024() -> None:
    """The figures that issue and design ask for, from the library alone."""
    found = {}
    for name in ("tree", "haar", "binary", "square-root"):
        mechanism = Mechanism(name, leaves=1024)
        variances = float(mechanism.sensitivity2) * mechanism.variances(np.arange(1, 1025))
        found[name] = (round(float(variances.max()), 2), round(float(variances.mean()), 2))
    assert found == {
        "tree": (9.48, 9.32),
        "haar": (17.73, 12.71),
        "binary": (110.0, 55.01),
        "square-root": (10.71, 9.67),
    }


@pytest.mark.parametrize("leaves", [1, 2, 5, 100, 1024])
def test_facts_of_the_mechanisms_for_comparison(leaves: int) -> None:
    def nodes_of(leaf: int) -> int:
        """Fenwick nodes that cover a leaf."""
        found, node = 0, leaf
        while node <= leaves:
            found, node = found + 1, node + (node & -node)
        return found

    binary = Mechanism("binary", leaves=leaves)
    most = max(nodes_of(leaf) for leaf in range(1, leaves + 1))
    assert binary.sensitivity2 == binary.nodes_per_leaf == most
    pushes = np.arange(1, leaves + 1)
    assert binary.variances(pushes).tolist() == [p.bit_count() for p in pushes.tolist()]

    root = Mechanism("square-root", leaves=leaves)
    squares = [Fraction(math.comb(2 * j, j), 4**j) ** 2 for j in range(leaves)]
    assert float(sum(squares)) <= root.sensitivity2 <= float(sum(squares)) * (1 + 1e-11)
    running = np.cumsum([float(square) for square in squares])
    assert np.allclose(root.variances(pushes), running, rtol=1e-12)


NOISES = [
    *(("tree", leaves, "") for leaves in (3, 4, 5, 16, 33, 128)),
    ("tree", 1024, ""),
    ("tree-log", 700, "_log"),
    ("tree-log", 1024, "_log"),
    *(("haar", leaves, "") for leaves in (1, 2, 7, 64, 1024)),
]


@pytest.mark.parametrize(("name", "leaves", "suffix"), NOISES)
def test_released_noise_is_the_exact_solution_at_every_push(
    name: str, leaves: int, suffix: str
) -> None:
    """Two cells, one event every third step; release = count + floor(N + 1/2), to the last bit."""
    counters = lazysketch.ContinualCounters(
        counters=2,
        epsilon=1.0,
        delta=1e-6,
        horizon=leaves,
        schedule="punctual",
        mechanism=name,
        key=lazysketch.testing.seeded_key(11),
    )
    assert counters.mechanism.name == name
    n = Mechanism(name, leaves=leaves).nodes
    tree = None if name == "haar" else tree_of(n.bit_length() - 1, suffix)
    assert tree is None or tree.n == n
    draws = lazysketch.testing.draws(counters, cells=[0, 1], nodes=np.arange(1, n + 1))
    noise = []
    for cell in (0, 1):
        z = {v: int(each) for v, each in enumerate(draws[cell], start=1)}
        if tree is None:
            noise.append({p: haar.noise_at(p, n, z.__getitem__) for p in range(1, n + 1)})
        else:
            noise.append(tree.noise(z.__getitem__))
    counts = [0, 0]
    for push in range(1, leaves + 1):
        if push % 3 == 0:
            counters.update(1)
            counts[1] += 1
        else:
            counters.tick()
        expected = [counts[cell] + rounded(noise[cell][push]) for cell in (0, 1)]
        assert counters.release().table.ravel().tolist() == expected, f"push {push}"


# Rounding.


def half_even(x: Fraction) -> int:
    return round(x)


def half_away(x: Fraction) -> int:
    return -rounded(-x) if x < 0 else rounded(x)


@pytest.mark.parametrize("planted", [half_even, half_away, math.trunc])
def test_no_other_rounding_commutes_with_the_count(planted: object) -> None:
    def commutes(rule: object) -> bool:
        return all(
            rule(Fraction(j, 12) + 1) == rule(Fraction(j, 12)) + 1  # type: ignore[operator]
            for j in range(-60, 60)
        )

    assert commutes(rounded)
    assert not commutes(planted)


def test_ties_of_the_haar_rows_and_what_half_even_would_tell() -> None:
    """At p = n / 2 the noise is a / 3 / 2 + b / 4 = (2 a + 3 b) / 12: one draw in 12 is a tie.

    All residues of wide noise are equally likely. Half-even, applied to the noise, then makes
    an even number 13 / 11 times as likely as an odd one, so that the parity of the release tells
    that of the count, whatever sigma is.
    """
    weights = haar.decoder_matrix(16)[7]
    assert {w for w in weights if w} == {Fraction(1, 6), Fraction(1, 4)}
    cycle = [Fraction(2 * a + 3 * b, 12) for a, b in product(range(24), repeat=2)]
    assert sum(x % 1 == Fraction(1, 2) for x in cycle) * 12 == len(cycle)
    even = Fraction(sum(half_even(x) % 2 == 0 for x in cycle), len(cycle))
    assert even / (1 - even) == Fraction(13, 11)
    ours = Fraction(sum(rounded(x) % 2 == 0 for x in cycle), len(cycle))
    assert ours == Fraction(1, 2)


def test_the_core_rounds_ties_up() -> None:
    """Among many cells there are ties at p = n / 2; each planted rule is wrong on some."""
    cells = 600
    counters = lazysketch.ContinualCounters(
        counters=cells,
        epsilon=1.0,
        delta=1e-6,
        horizon=4,
        schedule="punctual",
        mechanism="haar",
        key=lazysketch.testing.seeded_key(12),
    )
    draws = lazysketch.testing.draws(counters, cells=np.arange(cells), nodes=[2, 4])
    counters.tick(2)
    released = counters.release().table.ravel().tolist()
    noise = [Fraction(2 * int(a) + 3 * int(b), 12) for b, a in draws]
    assert released == [rounded(x) for x in noise]
    ties = sum(x % 1 == Fraction(1, 2) for x in noise)
    # 50 expected; a binomial of 600 and 1/12 is outside 20..90 with probability below 1e-5.
    assert 20 <= ties <= 90
    for planted in (half_even, half_away, math.trunc):
        assert released != [planted(x) for x in noise]
