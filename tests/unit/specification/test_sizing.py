"""Sizes from errors: the theorems in exact arithmetic, the limits, every refusal."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.specification.sizing import LARGEST_CELLS, LARGEST_DEPTH, LARGEST_WIDTH, size_of

ERRORS = [0.5, 0.3, 0.1, 0.05, 0.01, 0.003]
FAILURES = [0.9, 0.5, 0.25, 0.1, 0.05, 0.01, 1e-3, 1e-6, 1e-12]


def collision(width: int) -> Fraction:
    """Return the exact largest share of 2^32 hash values that fall into one bucket."""
    loads = {((bucket + 1) * 2**32 + width - 1) // width for bucket in (0, width - 1)}
    assert max(loads) >= 2**32 // width
    return Fraction(-(-(2**32) // width), 2**32)


def majority_fails(depth: int, row: Fraction) -> Fraction:
    """Return the probability that more than half the rows fail, by recursion over rows."""
    chances = [Fraction(1)]
    for _ in range(depth):
        chances = [
            (chances[k] * (1 - row) if k < len(chances) else Fraction(0))
            + (chances[k - 1] * row if k else Fraction(0))
            for k in range(len(chances) + 1)
        ]
    return sum(chances[(depth + 1) // 2 :], Fraction(0))


@pytest.mark.parametrize(("error", "failure"), list(itertools.product(ERRORS, FAILURES)))
def test_count_min_theorem(error: float, failure: float) -> None:
    depth, width = size_of("count-min", relative_error=error, failure_probability=failure)
    assert width == math.ceil(math.e / error)
    row = collision(width) / Fraction(error)  # Markov
    assert row**depth <= Fraction(failure)
    assert depth == 1 or row ** (depth - 1) > Fraction(failure)
    assert depth <= max(1, math.ceil(math.log(1 / failure)))


@pytest.mark.parametrize(("error", "failure"), list(itertools.product(ERRORS, FAILURES)))
def test_count_sketch_theorem(error: float, failure: float) -> None:
    depth, width = size_of("count-sketch", relative_error=error, failure_probability=failure)
    assert depth % 2 == 1
    factor = 4 if failure >= 1e-5 else 8
    assert width == math.ceil(factor / Fraction(error) ** 2)
    row = collision(width) / Fraction(error) ** 2  # Chebyshev
    assert majority_fails(depth, row) <= Fraction(failure)
    if depth > 1:  # minimal, up to the 2^-64 to which a row's probability is rounded
        assert majority_fails(depth - 2, row + Fraction(1, 2**63)) > Fraction(failure)


def test_collision_probability_is_that_of_32_bits() -> None:
    # Small model of the same map, bucket = hash * width >> bits, enumerated.
    bits = 8
    for width in range(1, 2**bits):
        loads = [0] * width
        for value in range(2**bits):
            loads[value * width >> bits] += 1
        both = Fraction(sum(load * load for load in loads), 4**bits)
        bound = Fraction(-(-(2**bits) // width), 2**bits)
        assert both <= bound <= Fraction(1, width) * (1 + Fraction(width, 2**bits))


def test_wide_tables_pay_for_uneven_buckets() -> None:
    # At 2^24 buckets p is up to 0.4 % above 1/width: the textbook depth would not do.
    error = math.e / (2**24 - 3.3)
    depth, width = size_of("count-min", relative_error=error, failure_probability=math.exp(-4))
    assert width <= LARGEST_WIDTH
    row = collision(width) / Fraction(error)
    assert row > Fraction(math.exp(-1))
    assert row**depth <= Fraction(math.exp(-4))
    assert depth == 5


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 0.99), st.floats(1e-25, 0.999))
def test_count_min_theorem_holds_everywhere(error: float, failure: float) -> None:
    depth, width = size_of("count-min", relative_error=error, failure_probability=failure)
    with mpmath.workdps(60):
        assert width >= mpmath.e / mpmath.mpf(error) > width - 1
    assert (collision(width) / Fraction(error)) ** depth <= Fraction(failure)


@settings(max_examples=60, deadline=None)
@given(st.floats(2e-3, 0.99), st.floats(1e-20, 0.999))
def test_count_sketch_theorem_holds_everywhere(error: float, failure: float) -> None:
    depth, width = size_of("count-sketch", relative_error=error, failure_probability=failure)
    assert majority_fails(depth, collision(width) / Fraction(error) ** 2) <= Fraction(failure)


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_derived_sizes_keep_their_promise_on_random_hashes(kind: Any) -> None:
    # 4,000 sketches with ideal hashing of one hard stream. The theorem allows a rate of
    # 0.05; a normal upper limit of 5 standard deviations has a false alarm rate of 3e-7.
    error, failure, trials = 0.1, 0.05, 4000
    depth, width = size_of(kind, relative_error=error, failure_probability=failure)
    counts = np.array([30, 20, 10] + [1] * 200, dtype=np.int64)
    random = np.random.default_rng(20240703)
    buckets = random.integers(0, width, size=(trials, depth, counts.size + 1))
    together = buckets[:, :, 1:] == buckets[:, :, :1]  # the item asked for has count 0
    if kind == "count-min":
        off = (together * counts).sum(axis=2).min(axis=1) > error * counts.sum()
    else:
        signs = random.choice([-1, 1], size=(trials, depth, counts.size))
        rows = (together * counts * signs).sum(axis=2)
        off = np.abs(np.median(rows, axis=1)) > error * math.sqrt(float((counts**2).sum()))
    assert off.mean() <= failure + 5 * math.sqrt(failure / trials)


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("size", [(1, 1), (64, 1), (3, 1000), (16, 2**24), (64, 2**22)])
def test_given_sizes_come_back(kind: Any, size: tuple[int, int]) -> None:
    assert size_of(kind, depth=size[0], width=size[1]) == size
    found = size_of(kind, depth=np.int64(size[0]), width=np.uint32(size[1]))
    assert found == size
    assert [type(number) for number in found] == [int, int]


def shown(value: object) -> str:
    """Name a parameter; Python refuses to print the hugest ones."""
    return "huge" if isinstance(value, int) and value > 2**64 else str(value)


@pytest.mark.parametrize(
    ("depth", "width", "name"),
    [
        (0, 8, "depth"),
        (-1, 8, "depth"),
        (65, 8, "depth"),
        (2**70, 8, "depth"),
        (3, 0, "width"),
        (3, -5, "width"),
        (3, 2**24 + 1, "width"),
        (1, 2**40, "width"),
        (1, 10**5000, "width"),
        (17, 2**24, "width"),
        (64, 2**22 + 1, "width"),
    ],
    ids=shown,
)
def test_sizes_outside_the_limits(depth: int, width: int, name: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: expected .*, got "):
        size_of("count-min", depth=depth, width=width)


def test_huge_sizes_are_refused_without_allocation() -> None:
    tracemalloc.start()
    try:
        for width in (2**40, 2**62, 10**100):
            with pytest.raises(ArgumentValueError, match="^width: "):
                size_of("count-min", depth=3, width=width)
        for error in (1e-9, 1e-300, 5e-324):
            for kind in ("count-min", "count-sketch"):
                with pytest.raises(ArgumentValueError, match="^relative_error: .*16777216"):
                    size_of(kind, relative_error=error, failure_probability=0.1)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_both_sides_of_the_limits_of_derived_sizes() -> None:
    edge = math.e / LARGEST_WIDTH
    assert size_of("count-min", relative_error=edge * (1 + 1e-9), failure_probability=0.5)[1] == (
        LARGEST_WIDTH
    )
    with pytest.raises(ArgumentValueError, match="^relative_error: "):
        size_of("count-min", relative_error=edge * (1 - 1e-6), failure_probability=0.5)
    assert size_of("count-sketch", relative_error=2.0**-11, failure_probability=0.5)[1] == 2**24
    with pytest.raises(ArgumentValueError, match="^relative_error: "):
        size_of("count-sketch", relative_error=2.0**-11 * (1 - 1e-9), failure_probability=0.5)
    deep = size_of("count-min", relative_error=0.1, failure_probability=1e-27)[0]
    assert deep <= LARGEST_DEPTH
    for kind in ("count-min", "count-sketch"):
        with pytest.raises(ArgumentValueError) as raised:
            size_of(kind, relative_error=0.1, failure_probability=1e-40)
        assert str(raised.value) == (
            "failure_probability: expected one that a depth of at most 64 reaches, "
            "got a smaller one; give a larger one, or depth and width"
        )
    with pytest.raises(ArgumentValueError, match=f"^width: .*{LARGEST_CELLS} cells"):
        size_of("count-min", relative_error=2e-7, failure_probability=1e-12)


def test_a_depth_of_one_row_too_many_is_refused_for_its_cause() -> None:
    """A row fails with a probability of about 1/e, so one more row changes it by that factor."""
    edge = math.exp(-LARGEST_DEPTH)
    assert size_of("count-min", relative_error=1e-4, failure_probability=2 * edge)[0] == 64
    with pytest.raises(ArgumentValueError, match="^failure_probability: "):
        size_of("count-min", relative_error=1e-4, failure_probability=edge / 2)


@pytest.mark.parametrize(
    ("error", "shown"),
    [(math.e / (3 * 2**24), "[0-9]{8}"), (math.e / 3 * 2.0**-198, "about 2\\^200")],
)
def test_a_width_beyond_the_limit_is_shown(error: float, shown: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"got one that needs {shown}$"):
        size_of("count-min", relative_error=error, failure_probability=0.5)


MIXES: list[tuple[dict[str, Any], str]] = [
    ({}, "depth, width: expected both.*got neither"),
    ({"depth": 3}, "width: expected a value together with depth, got None"),
    ({"width": 3}, "depth: expected a value together with width, got None"),
    ({"relative_error": 0.1}, "failure_probability: .* together with relative_error, got None"),
    (
        {"failure_probability": 0.1},
        "relative_error: .* with failure_probability, got None",
    ),
    ({"depth": 3, "relative_error": 0.1}, "got a mix: depth, relative_error"),
    ({"width": 3, "failure_probability": 0.1}, "got a mix: width, failure_probability"),
    (
        {"depth": 3, "width": 5, "relative_error": 0.1},
        "got a mix: depth, width, relative_error",
    ),
    (
        {"depth": 3, "width": 5, "relative_error": 0.1, "failure_probability": 0.1},
        "got a mix: depth, width, relative_error, failure_probability",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), MIXES)
def test_mixes_and_halves_say_which(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        size_of("count-min", **arguments)
    assert issubclass(ArgumentTypeError, TypeError)


@pytest.mark.parametrize("name", ["depth", "width"])
@pytest.mark.parametrize(
    "bad", [3.0, math.nan, True, np.bool_(True), "3", b"3", [3], np.float64(3)]
)
def test_sizes_of_the_wrong_type(name: str, bad: object) -> None:
    arguments: dict[str, Any] = {"depth": 3, "width": 5, name: bad}
    with pytest.raises(ArgumentTypeError, match=f"^{name}: expected an integer .*, got "):
        size_of("count-min", **arguments)


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("name", ["relative_error", "failure_probability"])
@pytest.mark.parametrize(
    "bad", [0, 0.0, 1, 1.0, 2.5, -0.1, math.nan, math.inf, True, False, "0.1", [0.1], 1j, 1e300]
)
def test_bad_errors(kind: Any, name: str, bad: object) -> None:
    arguments: dict[str, Any] = {"relative_error": 0.1, "failure_probability": 0.1, name: bad}
    with pytest.raises(LazySketchError, match=f"^{name}: expected .*, got "):
        size_of(kind, **arguments)


def test_bad_kinds() -> None:
    with pytest.raises(ArgumentValueError, match="^kind: "):
        size_of("counters", depth=1, width=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^kind: "):
        size_of(None, depth=1, width=5)  # type: ignore[arg-type]
