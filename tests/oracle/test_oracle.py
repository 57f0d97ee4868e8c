"""The oracle against direct definitions: small sums, lists and matrices.

The core is tested against the oracle; the oracle is tested against definitions only.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import haar
from tests.oracle.counters import ContinualCounters, FetchedNoise, Mechanism, mechanisms, no_noise
from tests.oracle.gaussian_binary_mechanism import GaussianBinaryMechanism, binary_expansion
from tests.oracle.schedules import Geometric, Punctual, RoundRobin, Schedule, last_push, pushes
from tests.oracle.sketches import (
    ExactSketch,
    HashesReadOff,
    LazySketch,
    Places,
    PunctualSketch,
    co_sketch_query,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PROFILE = settings(deadline=None, max_examples=30)

amounts = st.lists(st.integers(-5, 5), min_size=1, max_size=70)


def fenwick_nodes(push: int) -> list[int]:
    """push, push - lowbit(push), ...: the nodes whose noise the core adds."""
    nodes = []
    while push > 0:
        nodes.append(push)
        push -= push & -push
    return nodes


# --- GaussBM ------------------------------------------------------------------------


@PROFILE
@given(amounts)
@pytest.mark.parametrize("name", ["binary", "haar"])
def test_without_noise_a_mechanism_counts(name: str, stream: list[int]) -> None:
    mechanism = mechanisms(name, leaves=len(stream), noise=no_noise)(0)
    assert [mechanism.feed(x) for x in stream] == list(accumulate(stream))


def test_the_nodes_of_a_release_are_the_binary_expansion() -> None:
    """Noise 2^v on node v: the bits of the release show which nodes it added, each at most once."""
    mechanism = GaussianBinaryMechanism(lambda node: 1 << node)
    for time in range(1, 130):
        released = mechanism.feed(0)
        nodes = [v for v in range(released.bit_length()) if (released >> v) & 1]
        assert nodes == sorted(fenwick_nodes(time))
        assert len(nodes) == len(binary_expansion(time)) == time.bit_count()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 31, 32, 33, 100])
def test_a_leaf_lies_in_at_most_as_many_nodes_as_the_sensitivity(n: int) -> None:
    """Leaf l lies in l, l + lowbit(l), ...; the maximum over all leaves is floor(log2 n) + 1."""
    counts = []
    for leaf in range(1, n + 1):
        mechanism = GaussianBinaryMechanism(lambda node: 0)
        for time in range(1, n + 1):
            mechanism.feed(int(time == leaf))
        expected, node = [], leaf
        while node <= n:
            expected.append(node)
            node += node & -node
        assert [v for v, total in mechanism.closed.items() if total] == expected
        counts.append(len(expected))
    assert max(counts) == n.bit_length()


@pytest.mark.parametrize("name", ["binary", "haar"])
def test_variance_of_each_release(name: str) -> None:
    """Sample variances against the exact ones: popcount(t) sigma^2, or the row norms of L.

    5,000 runs: the relative standard deviation of a sample variance is sqrt(2/5,000) = 2 %.
    The bound of 12 % is six deviations: a false alarm has probability 2e-9 per release, and 2/3
    and 3/2 of the right variance are rejected.
    """
    sigma, runs, n = 60.0, 5_000, 8
    source = random.Random(2507)
    squares = [0] * n
    for _ in range(runs):
        z = [round(source.gauss(0.0, sigma)) for _ in range(n)]
        mechanism = mechanisms(name, leaves=n, noise=lambda _, v, z=z: z[v - 1])(0)  # type: ignore[misc]
        squares = [total + mechanism.feed(0) ** 2 for total in squares]
    norms = [float(v) for v in haar.variances(haar.decoder_matrix(n))]
    for time, total in enumerate(squares, start=1):
        exact = sigma**2 * (time.bit_count() if name == "binary" else norms[time - 1])
        ratio = total / runs / exact
        assert abs(ratio - 1) < 0.12
        assert all(abs(ratio / wrong - 1) > 0.12 for wrong in (2 / 3, 3 / 2))


# --- haar ---------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(7))
def test_haar_matrices(k: int) -> None:
    """U L = I, the squared sensitivity is 4k + 9, den divides 3 * 2^(k+1), U is integer."""
    strategy, decoder = haar.strategy_matrix(2**k), haar.decoder_matrix(2**k)
    assert haar.product(strategy, decoder) == haar.identity(2**k)
    assert haar.sensitivity2(strategy) == 4 * k + 9
    assert all(x.denominator == 1 for row in strategy for x in row)
    assert all((3 * 2 ** (k + 1)) % x.denominator == 0 for row in decoder for x in row)


@pytest.mark.parametrize("k", range(5))
def test_haar_changes_at_most_k_plus_1_nodes(k: int) -> None:
    """The number of draws that a unit change from push l on moves, used by the numeric account."""
    strategy = haar.strategy_matrix(2**k)
    moved = [sum(1 for row in strategy if sum(row[first:]) != 0) for first in range(2**k)]
    assert max(moved) == k + 1


def test_haar_variance() -> None:
    """Largest and mean variance at k = 6 per unit sensitivity, as stated in the design."""
    scaled = [(4 * 6 + 9) * v for v in haar.variances(haar.decoder_matrix(2**6))]
    assert float(max(scaled)) == pytest.approx(8.28, abs=0.005)
    assert float(sum(scaled) / len(scaled)) == pytest.approx(5.83, abs=0.005)


@PROFILE
@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_haar_bisection_equals_the_matrix(k: int, source: random.Random) -> None:
    n = 2**k
    z = [source.randint(-1000, 1000) for _ in range(n)]
    for push, row in enumerate(haar.decoder_matrix(n), start=1):
        direct = sum((x * draw for x, draw in zip(row, z, strict=True)), Fraction(0))
        assert haar.noise_at(push, n, lambda v: z[v - 1]) == direct


@PROFILE
@given(st.fractions(), st.integers(-(10**9), 10**9))
def test_rounding_commutes_with_integers(value: Fraction, count: int) -> None:
    assert haar.rounded(count + value) == count + haar.rounded(value)
    assert abs(haar.rounded(value) - value) <= Fraction(1, 2)


def test_wrong_roundings_do_not_commute() -> None:
    """Planted: half-even and half-away pass any test of the variance; they differ only at ties."""

    def half_away(value: Fraction) -> int:
        return haar.rounded(value) if value >= 0 else -haar.rounded(-value)

    tie = Fraction(1, 2)
    assert [haar.rounded(x) for x in (tie, -tie, tie - 2)] == [1, 0, -1]
    assert round(tie + 1) != round(tie) + 1
    assert half_away(tie - 1) != half_away(tie) - 1


def test_haar_uses_the_next_power_of_two() -> None:
    assert [haar.padded(n) for n in (1, 2, 3, 5, 1000, 1025)] == [1, 2, 4, 8, 1024, 2048]


# --- schedules ----------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_round_robin_intervals(width: int) -> None:
    """Push k + 1 of column j (from 1) covers the steps (kw + j - w, kw + j], without overlap."""
    schedule = RoundRobin(width=width, horizon=5 * width)
    for j in range(1, width + 1):
        at = [t for t in range(1, 5 * width + 1) if j - 1 in schedule.columns(t)]
        assert at == [k * width + j for k in range(5)]
        assert len(at) == schedule.leaves
    assert RoundRobin(width=width, horizon=5 * width + 1).leaves == 6
    assert RoundRobin(width=width, horizon=1).leaves == 1


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_geometric_rounds_push_each_column_once(width: int) -> None:
    """Each round pushes columns 0..w-1 in order, at most one per step, the last one at its end."""
    schedule, start = Geometric(width=width), 0
    for _ in range(140):
        length = max(width, -(-start // 100))
        pushed = [(t, c) for t in range(start + 1, start + length + 1) for c in schedule.columns(t)]
        assert [c for _, c in pushed] == list(range(width))
        assert len({t for t, _ in pushed}) == width
        assert pushed[-1][0] == start + length
        start += length
    assert start > 140 * width, "no round was longer than the width: the test is too weak"


@pytest.mark.parametrize(("width", "used"), [(1, 3984), (2**20, 2633)])
def test_geometric_rounds_suffice_for_any_stream(width: int, used: int) -> None:
    """The number of rounds up to step 2^63, as stated in the design: below 4096."""
    start = rounds = 0
    while start < 2**63:
        start += max(width, -(-start // 100))
        rounds += 1
    assert rounds == used < Geometric(width=width).leaves


# --- n-counters ---------------------------------------------------------------------


def schedules(width: int, horizon: int) -> list[Schedule]:
    timed = {"width": width, "horizon": horizon}
    return [RoundRobin(**timed), Geometric(width=width), Punctual(**timed)]


@PROFILE
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1)
    )
)
@pytest.mark.parametrize("name", ["binary", "haar"])
def test_lazy_counters_without_noise_are_the_sums_at_their_last_push(
    name: str, stream: list[list[int]]
) -> None:
    width, horizon = len(stream[0]), len(stream)
    for schedule in schedules(width, horizon):
        counters = ContinualCounters(
            counters=width,
            schedule=schedule,
            mechanism=mechanisms(name, leaves=schedule.leaves, noise=no_noise),
        )
        for step, vector in enumerate(stream, start=1):
            counters.step(vector)
            for j in range(width):
                seen = stream[: last_push(schedule, j, step)]
                assert counters.released[j] == sum(v[j] for v in seen)
                assert counters.pushes[j] == pushes(schedule, j, step) <= schedule.leaves


def test_counters_read_zero_until_their_first_push() -> None:
    counters = ContinualCounters(
        counters=3,
        schedule=RoundRobin(width=3, horizon=9),
        mechanism=mechanisms("binary", leaves=3, noise=lambda cell, node: 100 * cell + node),
    )
    counters.update(2, 5)
    assert counters.released == [1, 0, 0]
    counters.update(1, 7)
    assert counters.released == [1, 108, 0]
    counters.tick()
    assert counters.released == [1, 108, 206]


def test_fetched_noise_fetches_once_per_node() -> None:
    fetched: list[list[int]] = []

    def fetch(cells: list[int], nodes: list[int]) -> list[list[int]]:
        fetched.append(nodes)
        return [[10 * cell + node for node in nodes] for cell in cells]

    noise = FetchedNoise(fetch, cells=4)
    assert [noise(2, 7), noise(3, 7), noise(0, 1), noise(2, 7)] == [27, 37, 1, 27]
    assert fetched == [[7], [1]]


# --- sketches -----------------------------------------------------------------------

WIDTH, DEPTH = 3, 4
ITEMS: list[str | int] = ["a", "b", "c", 1, "1"]


def toy_hashes(kind: str, *, seed: int = 5) -> dict[str | int, Places]:
    """Random hash functions as a dict."""
    source = random.Random(seed)
    signs = [1] if kind == "count-min" else [1, -1]
    return {
        x: [(source.randrange(WIDTH), source.choice(signs)) for _ in range(DEPTH)] for x in ITEMS
    }


events = st.lists(
    st.tuples(st.one_of(st.none(), st.sampled_from(ITEMS)), st.integers(0, 4)), max_size=60
)
Stream = list[tuple[str | int | None, int]]


def counts_by_definition(hashes: dict[str | int, Places], stream: Stream) -> list[list[int]]:
    """Cell (i, j) = sum over the items x of sign_i(x) f(x) [h_i(x) = j]."""
    frequency = {x: sum(weight for item, weight in stream if item == x) for x in ITEMS}
    return [
        [
            sum(hashes[x][i][1] * frequency[x] for x in ITEMS if hashes[x][i][0] == j)
            for j in range(WIDTH)
        ]
        for i in range(DEPTH)
    ]


@PROFILE
@given(events)
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_exact_sketch(kind: str, stream: Stream) -> None:
    hashes = toy_hashes(kind)
    sketch = ExactSketch(kind, depth=DEPTH, width=WIDTH, hashes=hashes.__getitem__)
    for item, weight in stream:
        sketch.update(item, weight)
    assert sketch.table == counts_by_definition(hashes, stream)
    if kind == "count-min":
        for x in ITEMS:
            assert sketch.estimate(x) >= sum(weight for item, weight in stream if item == x)


@PROFILE
@given(events)
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("name", ["binary", "haar"])
def test_lazy_sketch_without_noise_is_the_exact_one_at_the_last_pushes(
    name: str, kind: str, stream: Stream
) -> None:
    hashes = toy_hashes(kind)
    for schedule in schedules(WIDTH, max(1, len(stream))):
        lazy = LazySketch(
            kind,
            depth=DEPTH,
            width=WIDTH,
            hashes=hashes.__getitem__,
            schedule=schedule,
            mechanism=mechanisms(name, leaves=schedule.leaves, noise=no_noise),
        )
        for item, weight in stream:
            lazy.update(item, weight)
        for j in range(WIDTH):
            seen = counts_by_definition(hashes, stream[: last_push(schedule, j, len(stream))])
            assert [row[j] for row in lazy.table] == [row[j] for row in seen]


@PROFILE
@given(events.filter(bool), st.integers(0, 2**32))
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("name", ["binary", "haar"])
def test_punctual_is_lazy_with_every_column_pushed(
    name: str, kind: str, stream: Stream, seed: int
) -> None:
    """Two implementations under the same noise; both also equal count + noise(cell, step)."""
    hashes = toy_hashes(kind)

    def noise(cell: int, node: int) -> int:
        return random.Random(f"{seed},{cell},{node}").randint(-9, 9)

    mechanism = mechanisms(name, leaves=len(stream), noise=noise)
    same: dict[str, object] = {"depth": DEPTH, "width": WIDTH, "mechanism": mechanism}
    schedule = Punctual(width=WIDTH, horizon=len(stream))
    punctual = PunctualSketch(kind, hashes=hashes.__getitem__, **same)
    lazy = LazySketch(kind, hashes=hashes.__getitem__, schedule=schedule, **same)
    for step, (item, weight) in enumerate(stream, start=1):
        punctual.update(item, weight)
        lazy.update(item, weight)
        assert punctual.table == lazy.table
        assert punctual.pushes == lazy.pushes == [step] * WIDTH
        assert all(punctual.estimate(x) == lazy.estimate(x) for x in ITEMS)
    exact = counts_by_definition(hashes, stream)
    for i in range(DEPTH):
        for j in range(WIDTH):
            added = released_noise(mechanism(i * WIDTH + j), len(stream))
            assert punctual.table[i][j] == exact[i][j] + added


def released_noise(mechanism: Mechanism, push: int) -> int:
    """The release of a mechanism at this push if it is fed zeros."""
    return [mechanism.feed(0) for _ in range(push)][-1]


def test_query_of_a_given_table() -> None:
    table = [[5, -2], [7, 1], [3, 9], [4, 4]]
    assert co_sketch_query("count-min", table[:3], [(0, 1), (1, 1), (1, 1)]) == 1.0
    assert co_sketch_query("count-min", table[:1], [(1, 1)]) == -2.0
    assert co_sketch_query("count-sketch", table[:3], [(0, 1), (0, -1), (1, 1)]) == 5.0
    assert co_sketch_query("count-sketch", table, [(0, 1), (0, -1), (1, 1), (0, 1)]) == 4.5
    with pytest.raises(ValueError, match="kind: expected"):
        co_sketch_query("bloom", table, [(0, 1)])


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_hashes_are_read_from_a_table(kind: str) -> None:
    hashes = toy_hashes(kind)
    read = HashesReadOff(
        lambda: ExactSketch(kind, depth=DEPTH, width=WIDTH, hashes=hashes.__getitem__)
    )
    assert {x: list(read(x)) for x in ITEMS} == {x: list(hashes[x]) for x in ITEMS}


def test_substitution_in_a_count_sketch_has_squared_sensitivity_4_d() -> None:
    """Two items in one bucket with opposite signs: 4 per row, not the paper's 2."""
    places: dict[str, Sequence[tuple[int, int]]] = {"x": [(0, 1)] * DEPTH, "y": [(0, -1)] * DEPTH}
    cells: list[list[int]] = []
    for item in "xy":
        sketch = ExactSketch("count-sketch", depth=DEPTH, width=WIDTH, hashes=places.__getitem__)
        sketch.update(item)
        cells.append([value for row in sketch.table for value in row])
    assert sum((a - b) ** 2 for a, b in zip(*cells, strict=True)) == 4 * DEPTH
