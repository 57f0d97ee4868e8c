"""Real streams: exact counts of all items, private estimates of the heaviest.

The data are not part of the repository; the tests are skipped if they are missing.
"""

from __future__ import annotations

import gzip
import lzma
import re
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.locations import DATA
from tests.oracle.schedules import Geometric, ceil_div

import lazysketch as ls
from lazysketch.estimation.estimators import Estimator
from lazysketch.testing import seeded_key

DEPTH, WIDTH, HASH_SEED = 3, 4096, 20_250_703
TOP = 20
# A Gaussian exceeds 6 deviations once in 5e8; 8 tests check 60 cells each.
DEVIATIONS = 6.0

pytestmark = pytest.mark.skipif(
    not (DATA / "scarab_recs").is_dir() or not (DATA / "gutenberg_words").is_dir(),
    reason="real streams missing: ../shared/data has no scarab_recs or gutenberg_words",
)
streams = pytest.mark.parametrize("stream", ["scarab_recs", "gutenberg_words"])


Events = NDArray[np.int64] | list[str]
Exact = type[ls.CountMin] | type[ls.CountSketch]
Cell = tuple[int, int]


@lru_cache(maxsize=1)
def scarab_recs() -> NDArray[np.int64]:
    with lzma.open(DATA / "scarab_recs" / "scarab-recs.trace.xz") as trace:
        return np.frombuffer(trace.read(), dtype=">i8")


@lru_cache(maxsize=1)
def gutenberg_words() -> list[str]:
    words: list[str] = []
    for path in sorted((DATA / "gutenberg_words").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as text:
            words += re.findall(r"[a-z']+", text.read().lower())
    return words


@lru_cache(maxsize=2)
def counted(stream: str) -> tuple[Events, Counter[str | int]]:
    """The events in order, and their true counts."""
    events: Events = scarab_recs() if stream == "scarab_recs" else gutenberg_words()
    plain = events.tolist() if isinstance(events, np.ndarray) else events
    return events, Counter(plain)


def test_the_streams_have_the_documented_sizes() -> None:
    recs, words = counted("scarab_recs"), counted("gutenberg_words")
    assert (len(recs[0]), len(recs[1])) == (1_245_184, 258_368)
    assert (len(words[0]), len(words[1])) == (1_246_355, 31_292)


# Wide enough that every estimate should be exact: a Count-Min estimate is wrong if every row has
# a collision, a Count Sketch estimate if half of the rows are wrong in the same direction. With n
# distinct items, the expected number of wrong estimates is n (n / w)^d, or
# n C(d, d/2) 2 (n / 2w)^(d/2), below 0.005.
EXACT: dict[tuple[str, str], tuple[int, int]] = {
    ("scarab_recs", "count-min"): (10, 2**21),
    ("scarab_recs", "count-sketch"): (21, 2**21),
    ("gutenberg_words", "count-min"): (8, 2**19),
    ("gutenberg_words", "count-sketch"): (13, 2**19),
}
EXACT_CLASSES: dict[str, Exact] = {"count-min": ls.CountMin, "count-sketch": ls.CountSketch}


@streams
@pytest.mark.parametrize("kind", EXACT_CLASSES)
def test_exact_sketches_on_wide_tables_count_every_item(stream: str, kind: str) -> None:
    events, truth = counted(stream)
    depth, width = EXACT[stream, kind]
    sketch = EXACT_CLASSES[kind](depth=depth, width=width, hash_seed=HASH_SEED)
    sketch.update_many(events)
    assert sketch.step == truth.total()
    estimates = sketch.estimate_many(list(truth))
    np.testing.assert_array_equal(estimates, list(truth.values()))


def last_push(column: int, steps: int, horizon: int | None) -> int:
    """The last step at which the column was pushed, by the formulas of the schedules."""
    if horizon is not None:
        return steps - (steps - 1 - column) % WIDTH
    schedule = Geometric(width=WIDTH)
    start, length = schedule.round_of(steps)
    pushed = start + ceil_div((column + 1) * length, WIDTH)
    if pushed > steps:
        start, length = schedule.round_of(start)
        pushed = start + ceil_div((column + 1) * length, WIDTH)
    return pushed


def cells_of(items: list[str | int], make: Exact) -> list[list[Cell]]:
    """The cells of every item, read from exact sketches of one event."""
    found = []
    for item in items:
        single = make(depth=DEPTH, width=WIDTH, hash_seed=HASH_SEED)
        single.update(item)
        found.append(list(zip(*np.nonzero(single.table), strict=True)))
    return found


def published_counts(
    events: Events, cells: set[Cell], make: Exact, horizon: int | None
) -> tuple[dict[Cell, int], ls.CountMin | ls.CountSketch]:
    """The exact counts of some cells at their last push, and the exact sketch at the end."""
    exact = make(depth=DEPTH, width=WIDTH, hash_seed=HASH_SEED)
    published = {}
    pushes = sorted((last_push(int(cell[1]), len(events), horizon), cell) for cell in cells)
    done = 0
    for step, cell in pushes:
        exact.update_many(events[done:step])
        done = step
        published[cell] = int(exact.table[cell])
    exact.update_many(events[done:])
    return published, exact


@streams
@pytest.mark.parametrize("horizon", ["known", "unknown"])
@pytest.mark.parametrize("make", [ls.LazyCountMin, ls.LazyCountSketch])
def test_the_top_items_are_within_lag_noise_and_collisions(
    stream: str, horizon: str, make: type[ls.LazyCountMin] | type[ls.LazyCountSketch]
) -> None:
    """Minimum and median change by no more than the largest change of a row.

    So the error of an estimate is at most the lag (the largest of the item's cells) plus the
    noise (6 deviations) plus the collisions (the error of the exact sketch with equal hashes).
    """
    events, truth = counted(stream)
    steps = len(events) if horizon == "known" else None
    sketch = make(
        depth=DEPTH, width=WIDTH, epsilon=1.0, delta=1e-6, horizon=steps, hash_seed=HASH_SEED
    )
    for start in range(0, len(events), 300_007):
        sketch.update_many(events[start : start + 300_007])
    release = sketch.release()
    assert release.private

    exact_class = EXACT_CLASSES[release.kind]
    top = [item for item, _ in truth.most_common(TOP)]
    cells = cells_of(top, exact_class)
    published, exact = published_counts(events, set().union(*cells), exact_class, steps)
    full, deviation = exact.table, release.noise_deviation
    paper: Estimator = "median" if release.kind == "count-sketch" else "minimum"
    estimates = sketch.estimate_many(top, estimator=paper)
    for item, own, estimate in zip(top, cells, estimates, strict=True):
        noise = DEVIATIONS * max(deviation[column] for _, column in own)
        for cell in own:
            assert abs(int(release.table[cell]) - published[cell]) <= noise
        lag = max(abs(int(full[cell]) - published[cell]) for cell in own)
        collisions = abs(exact.estimate(item) - truth[item])
        bound = lag + noise + collisions
        assert abs(estimate - truth[item]) <= bound
        # The bound is useful: below a tenth of the count for the heaviest item.
        assert item != top[0] or bound < truth[item] / 10
        assert estimate == release.estimate(item, estimator=paper)
        assert sketch.estimate(item) == release.estimate(item)


@streams
@pytest.mark.parametrize("make", [ls.LazyCountMin, ls.LazyCountSketch])
def test_decoding_of_the_heaviest_is_better(
    stream: str, make: type[ls.LazyCountMin] | type[ls.LazyCountSketch]
) -> None:
    """Mean absolute errors of a public list; with absent names it must not be worse, either."""
    events, counts = counted(stream)
    sketch = make(depth=4, width=1024, epsilon=1.0, delta=1e-6, key=seeded_key(1), hash_seed=7)
    sketch.update_many(events)
    release = sketch.release()
    known = [item for item, _ in counts.most_common(1_000)]
    absent = [-1 - number if isinstance(known[0], int) else f"-{number}" for number in range(1_000)]
    ratios = []
    for listed in (known[:300], known, known[:100] + absent):
        true = np.array([counts[item] for item in listed])
        errors = [
            np.abs(estimates - true).mean()
            for estimates in (release.decode(listed), release.estimate_many(listed))
        ]
        ratios.append(errors[0] / errors[1])
    assert max(ratios[:2]) < 0.9
    assert ratios[2] < 1.03
