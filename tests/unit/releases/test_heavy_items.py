"""Rankings by a release: `release[item]` and `top`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.testing import seeded_key

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
EVENTS = np.minimum(np.random.default_rng(3).zipf(1.5, 20_000), 500)


def fed(make: Any = ls.LazyCountMin, **changes: Any) -> ls.Release:
    sketch = make(**{"depth": 3, "width": 64, **NOISE, "hash_seed": 1, **changes})
    sketch.update_many(EVENTS)
    release: ls.Release = sketch.release()
    return release


RELEASES = {
    "count-min": fed(),
    "count-sketch": fed(ls.LazyCountSketch),
    "zero-out": fed(relation="zero-out"),
    "horizon": fed(horizon=len(EVENTS)),
    "merged": fed().merge(fed()),
}
each = pytest.mark.parametrize("name", RELEASES)


@each
def test_an_index_is_the_estimate(name: str) -> None:
    release = RELEASES[name]
    for item in (1, "a", b"a", -5, 2**70):
        assert release[item] == release.estimate(item)
    for wrong in (1.0, None, True, ("a",)):
        with pytest.raises(ItemError):
            release[wrong]


def test_a_release_is_not_iterated() -> None:
    """Every integer is an item, so the protocol of sequences would never end."""
    release: Any = RELEASES["count-min"]
    for use in (list, iter, lambda it: 1 in it, lambda it: [*it]):
        with pytest.raises(TypeError):
            use(release)


@each
@given(items=st.lists(st.integers(1, 600), max_size=60), n=st.integers(1, 70), now=st.booleans())
def test_top_is_the_head_of_all_simultaneous_intervals(
    name: str, items: list[int], n: int, now: bool
) -> None:
    release, at = RELEASES[name], "now" if now else "published"
    distinct = list(dict.fromkeys(items))
    top = release.top(items, n, at=at)
    assert len(top) == min(n, len(distinct))
    if not items:
        return
    found = release.interval_many(distinct, at=at, simultaneous=True, known=distinct)
    by_item = {item: found[i] for i, item in enumerate(distinct)}
    for hitter in top:
        interval = by_item.pop(int(hitter.item))
        assert (hitter.estimate, hitter.low, hitter.high) == (
            interval.estimate,
            interval.low,
            interval.high,
        )
        assert hitter.complete
    estimates = [hitter.estimate for hitter in top]
    assert estimates == sorted(estimates, reverse=True)
    assert all(left.estimate <= estimates[-1] for left in by_item.values())


@each
def test_shares_are_parts_of_the_stream(name: str) -> None:
    release = RELEASES[name]
    true = np.mean(EVENTS == 1)
    for at in ("now", "published"):
        (first,) = release.top([1], at=at)
        assert first.share == pytest.approx(true, rel=0.1)


def test_shares_by_weights() -> None:
    sketch = ls.LazyCountMin(depth=3, width=64, **NOISE, max_weight=10)
    sketch.update_many(["a", "b"] * 10_000, [9, 1] * 10_000)
    (first, second) = sketch.release().top(["b", "a"])
    assert first.item == "a"
    assert first.share == pytest.approx(0.9, rel=0.1)
    assert second.share == pytest.approx(0.1, rel=0.5)


def test_shares_without_a_known_total_are_nan() -> None:
    sketch = ls.LazyCountSketch(depth=3, width=64, **NOISE, max_weight=10)
    sketch.update_many(["a"] * 100, [9] * 100)
    assert math.isnan(sketch.release().top(["a"])[0].share)
    exact = ls.CountSketch(depth=3, width=64)
    exact.update("a", 5)
    assert math.isnan(exact.release().top(["a"])[0].share)
    total = ls.CountMin(depth=3, width=64)
    total.update_many(["a", "b"], [3, 1])
    assert total.release().top(["a"])[0].share == 0.75


def test_counters_are_ranked_by_index() -> None:
    counters = ls.ContinualCounters(counters=4, **NOISE)
    counters.update_many([2] * 5_000 + [1] * 1_000)
    assert [hitter.item for hitter in counters.release().top(range(4), 2)] == [2, 1]
    with pytest.raises(ItemError):
        counters.release().top([4])


@pytest.mark.parametrize(
    "items",
    [
        range(1, 30),
        (item for item in range(1, 30)),
        np.arange(1, 30),
        pa.array(range(1, 30)),
        [np.int64(item) for item in range(1, 30)],
        list(range(1, 30)) * 2,
    ],
)
def test_lists_of_all_kinds(items: Any) -> None:
    release = RELEASES["count-min"]
    top = release.top(items, 5)
    assert top == release.top(list(range(1, 30)), 5)
    assert {type(hitter.item) for hitter in top} == {int}


def test_the_confidence_widens_the_intervals() -> None:
    """Of one table: each level has a test of its own, and their ends are not nested for all."""
    release = fed(key=seeded_key(1))
    for one, other in zip(
        release.top(range(9), confidence=0.5), release.top(range(9), confidence=0.999), strict=True
    ):
        slack = 0.1 * (one.high - one.low)
        assert other.low <= one.low + slack
        assert one.high <= other.high + slack


@pytest.mark.parametrize("width", [32, 64])
def test_heavy_names_have_low_ends_at_every_level(width: int) -> None:
    """The cells of a count that is to be rejected count themselves among the rare ones.

    In tables this small they decide whether any count can be rejected at all.
    """
    counts = [8000, 4000, 2000, 1000, 500, 300, 200, 100, 50]
    for seed in range(12):
        sketch = ls.LazyCountMin(
            depth=2, width=width, epsilon=4.0, delta=1e-6, key=seeded_key(seed), hash_seed=seed
        )
        sketch.update_many(np.repeat(np.arange(9), counts))
        release = sketch.release()
        for confidence in (0.5, 0.8, 0.9, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99):
            found = release.interval_many(
                np.arange(9), at="now", confidence=confidence, known=np.arange(9)
            )
            assert found.low.any()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"items": "abc"}, ArgumentTypeError, "^items: "),
        ({"items": 5}, ArgumentTypeError, "^items: expected a list"),
        ({"items": {"a": 1}}, ArgumentTypeError, "^items: "),
        ({"items": [1, 1.5]}, ItemError, "^items: .* at position 1"),
        ({"items": [None]}, ItemError, "^items: .* at position 0"),
        ({"items": [1], "n": 0}, ArgumentValueError, "^n: "),
        ({"items": [1], "n": 1.0}, ArgumentTypeError, "^n: "),
        ({"items": [1], "confidence": 1.0}, ArgumentValueError, "^confidence: "),
        ({"items": [], "confidence": "high"}, ArgumentTypeError, "^confidence: "),
        ({"items": [], "at": "later"}, ArgumentValueError, "^at: "),
    ],
)
def test_arguments_that_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        RELEASES["count-min"].top(**arguments)


def test_a_release_is_a_table_in_a_notebook() -> None:
    table = RELEASES["count-min"]._repr_html_()
    assert "count-min 3 x 64" in table
    assert "20,000" in table
    assert str(RELEASES["count-min"].privacy) in table
    assert "2 parts" in RELEASES["merged"]._repr_html_()
    exact = ls.CountMin(depth=2, width=8).release()._repr_html_()
    assert "NOT PRIVATE" in exact
