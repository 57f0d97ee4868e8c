"""``update_rows``: rows, some of them without an event, equal updates and ticks one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch import testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError, ItemError
from lazysketch.sketches.keys import Key
from lazysketch.sources import RowBatch, feed

PROMISE: dict[str, object] = {"epsilon": 1.0, "delta": 1e-6, "max_weight": 9}
TABLE: dict[str, object] = {"depth": 2, "width": 5, "hash_seed": 1}


def key() -> Key:
    return testing.seeded_key(4)


def lazy() -> ls.LazyCountMin:
    return ls.LazyCountMin(**TABLE, **PROMISE, horizon=4096, key=key())


def heavy() -> ls.HeavyHitters:
    return ls.HeavyHitters(share=0.5, discovery_epoch=16, **TABLE, **PROMISE, key=key())


def listed() -> ls.HeavyHitters:
    return ls.HeavyHitters(domain=["a", "b"], **TABLE, **PROMISE, key=key())


def levels() -> ls.HierarchicalHeavyHitters:
    of = ls.Levels(("first", "all"), lambda item: (str(item)[:1], item))
    return ls.HierarchicalHeavyHitters(
        of, share=0.5, discovery_epoch=16, **TABLE, **PROMISE, key=key()
    )


Sketch = ls.LazyCountMin | ls.HeavyHitters | ls.HierarchicalHeavyHitters
MAKERS: list[Callable[[], Sketch]] = [lazy, heavy, listed, levels]


Row = tuple[str, int] | None


def shown(sketch: Sketch) -> object:
    """Everything that is public of a sketch."""
    if isinstance(sketch, ls.HierarchicalHeavyHitters):
        return [(sketch.release(level).to_bytes(), sketch.top(5, level=level)) for level in (0, 1)]
    names = sketch.top(5) if isinstance(sketch, ls.HeavyHitters) else None
    return sketch.release().to_bytes(), names


def split(rows: list[Row]) -> tuple[list[str], list[int], list[int]]:
    found = [row for row in rows if row is not None]
    empty = [place for place, row in enumerate(rows) if row is None]
    return [item for item, _ in found], [weight for _, weight in found], empty


ROWS = st.lists(
    st.one_of(st.none(), st.tuples(st.sampled_from(["a", "ab", "b"]), st.integers(0, 9))),
    max_size=90,
)
FORMS: list[Callable[[list[str]], object]] = [list, lambda items: pa.array(items, pa.string())]


@pytest.mark.parametrize("form", FORMS, ids=["list", "Arrow"])
@pytest.mark.parametrize("make", MAKERS)
@settings(deadline=None)
@given(rows=ROWS)
def test_rows_equal_updates_and_ticks(
    make: Callable[[], Sketch], form: Callable[[list[str]], object], rows: list[Row]
) -> None:
    one_by_one, together = make(), make()
    for row in rows:
        if row is None:
            one_by_one.tick()
        else:
            one_by_one.update(*row)
    items, weights, empty = split(rows)
    together.update_rows(form(items), weights, empty_rows=np.array(empty, dtype=np.int64))
    expected = shown(one_by_one)  # read once: a list depends on the list that was shown before
    assert shown(together) == expected
    fed = make()
    feed(fed, [RowBatch(form(items), weights=weights, malformed=empty[::2], absent=empty[1::2])])
    assert shown(fed) == expected


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("items", "weights", "empty", "error"),
    [
        (["a", "b"], None, [1, 1], ArgumentValueError),
        (["a", "b"], None, [2, 1], ArgumentValueError),
        (["a", "b"], None, [3], ArgumentValueError),
        (["a", "b"], None, [-1], ArgumentValueError),
        (["a", "b"], None, [1.0], ArgumentTypeError),
        (["a", "b"], None, 1, ArgumentTypeError),
        (["a", "b"], [1], [1], ArgumentValueError),
        (["a", "b"], [1, 10], [0], ArgumentValueError),
        (["a", 1.5], None, [0], ItemError),
    ],
    ids=str,
)
def test_bad_rows_are_not_applied(
    make: Callable[[], Sketch],
    items: object,
    weights: object,
    empty: object,
    error: type[Exception],
) -> None:
    sketch, twin = make(), make()
    with pytest.raises(error):
        sketch.update_rows(items, weights, empty_rows=empty)
    assert shown(sketch) == shown(twin)


def test_rows_past_the_horizon_are_not_applied() -> None:
    sketch, twin = lazy(), lazy()
    with pytest.raises(HorizonError):
        sketch.update_rows(["a"] * 4000, empty_rows=list(range(97)))
    assert shown(sketch) == shown(twin)
    sketch.update_rows(["a"] * 4000, empty_rows=list(range(96)))
    assert sketch.step == 4096


def test_the_message_has_no_position() -> None:
    with pytest.raises(ArgumentValueError, match="empty_rows: expected rising positions"):
        lazy().update_rows([1, 2], empty_rows=[7])
