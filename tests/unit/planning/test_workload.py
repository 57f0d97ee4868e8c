"""The collision model compared with a table into which a stream was hashed item by item."""

from __future__ import annotations

import numpy as np
import pytest

from lazysketch.planning.workload import Workload


def hashed(counts: np.ndarray, *, width: int, tables: int) -> tuple[np.ndarray, np.ndarray]:
    """Slow oracle: hash every item into its bucket of every table, with a random sign."""
    generator = np.random.default_rng(8)
    plain, signed = [], []
    for _ in range(tables):
        buckets = generator.integers(0, width, len(counts))
        signs = generator.integers(0, 2, len(counts)) * 2 - 1
        plain.append(np.bincount(buckets, counts, width))
        signed.append(np.bincount(buckets, counts * signs, width))
    return np.concatenate(plain) / counts.sum(), np.concatenate(signed) / counts.sum()


def stream(skew: float, *, events: int = 300_000, distinct: int = 100_000) -> np.ndarray:
    shares = np.arange(1, distinct + 1) ** -skew
    drawn = np.random.default_rng(9).multinomial(events, shares / shares.sum())
    return drawn[drawn > 0]


def distance(found: np.ndarray, true: np.ndarray, *, slack: float) -> float:
    """Return the largest difference of distribution functions, up to a shift (Lévy's distance)."""
    found, true = np.sort(found), np.sort(true)
    at = np.quantile(np.concatenate([found, true]), np.linspace(0.0, 1.0, 2_001))

    def part(sample: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.searchsorted(sample, points, side="right") / len(sample)

    below = part(found, at - slack) - part(true, at)
    above = part(true, at) - part(found, at + slack)
    return float(max(below.max(), above.max()))


@pytest.mark.parametrize("skew", [0.0, 0.7, 1.1, 1.5])
@pytest.mark.parametrize("width", [16, 300, 4_000, 60_000])
@pytest.mark.parametrize("source", ["sample", "zipf"])
def test_cells_follow_the_oracle(skew: float, width: int, source: str) -> None:
    """Both sides are seeded. 16384 cells scatter by 0.012; the slack is two events."""
    counts = stream(skew)
    if source == "sample":
        workload = Workload.sample(counts, events=float(counts.sum()))
    else:
        workload = Workload.zipf(skew, distinct=100_000, events=300_000.0)
    columns = min(width, 1 << 14)
    rows = (1 << 14) // columns
    found = workload.cells(width, rows=rows, columns=columns)
    true = hashed(counts, width=width, tables=max(1, 16_000 // width))
    for mine, oracle in zip(found, true, strict=True):
        assert mine.shape == (rows, columns)
        assert distance(mine.ravel(), oracle, slack=2 / counts.sum()) < 0.03
    if rows > 1:  # otherwise few of the heaviest items lie in the simulated columns
        assert found[0].mean() == pytest.approx(1 / width, rel=0.05)


@pytest.mark.parametrize(("skew", "width"), [(0.7, 300), (1.1, 300), (1.1, 4_000)])
def test_another_width_is_detected(skew: float, width: int) -> None:
    counts = stream(skew)
    workload = Workload.sample(counts, events=float(counts.sum()))
    wrong, _ = workload.cells(width * 5 // 4, rows=(1 << 14) // width, columns=width)
    true, _ = hashed(counts, width=width, tables=16_000 // width)
    assert distance(wrong.ravel(), true, slack=2 / counts.sum()) > 0.06


@pytest.mark.parametrize("part", [0.05, 0.3, 1.0])
def test_a_part_of_the_stream_gives_unbiased_moments(part: float) -> None:
    """Sum and sum of squares are those of the stream, for every size of the sample."""
    counts = stream(0.8)
    events = int(counts.sum())
    expected = float(np.sum((counts / events) ** 2))
    generator = np.random.default_rng(2)
    squares = []
    for _ in range(20):
        drawn = generator.multivariate_hypergeometric(counts, int(part * events))
        workload = Workload.sample(drawn, events=float(events))
        mass = workload.heavy.sum() + np.sum(workload.shares * workload.numbers)
        assert mass == pytest.approx(1.0)
        heavy = np.sum(workload.heavy**2)
        squares.append(heavy + np.sum(workload.shares**2 * workload.numbers))
    # Twenty draws of 5 % scatter by 1 %; scaling counts up would be off by 6 % (below).
    assert np.mean(squares) == pytest.approx(expected, rel=0.03)


def test_scaling_a_sample_up_would_be_caught() -> None:
    counts = stream(0.8)
    generator = np.random.default_rng(2)
    draws = (generator.multivariate_hypergeometric(counts, 15_000) for _ in range(20))
    naive = np.mean([np.sum((drawn / drawn.sum()) ** 2) for drawn in draws])
    assert naive > 1.05 * np.sum((counts / counts.sum()) ** 2)


def test_equal_arguments_give_equal_cells() -> None:
    workload = Workload.zipf(1.0, distinct=10_000, events=1e6)
    first, again = (workload.cells(64, rows=2, columns=64)[0] for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, workload.cells(64, rows=2, columns=64, seed=1)[0])


def test_a_single_item_and_a_sample_of_rare_items() -> None:
    single = Workload.zipf(1.0, distinct=1, events=1e6)
    assert set(np.unique(single.cells(8, rows=4, columns=8)[0])) == {0.0, 1.0}
    rare = Workload.sample({"a": 1, "b": 1}, events=1e6)
    plain, _ = rare.cells(100, rows=10, columns=100)
    assert plain.mean() == pytest.approx(0.01, rel=0.01)
    assert plain.std() < 0.001  # items seen once represent many items that occur once


def test_items_that_are_taken_out_and_the_others_are_the_workload() -> None:
    """Shares add up to those of the stream, heavy ones first, also where items are in groups."""
    counts = np.array([5000, 300, 300, 40, 40, 40, 7, 7, 3, 1, 1, 1])
    whole = Workload.sample(counts, events=float(counts.sum()))
    for names in (1, 2, 5, 8, 12, 100):
        shares, rest = whole.without(names)
        left = rest.heavy.sum() + (rest.shares * rest.numbers).sum()
        assert shares.sum() + left == pytest.approx(1.0)
        assert len(shares) <= names
        assert np.allclose(shares, np.sort(counts)[::-1][: len(shares)] / counts.sum())
        assert (rest.numbers >= 0).all()
    assert len(whole.without(8)[0]) == 8
