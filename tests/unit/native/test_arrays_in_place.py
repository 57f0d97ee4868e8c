"""Arrays of objects, of text of any length and of fixed width are read in place, as lists are."""

from __future__ import annotations

import datetime
import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

import lazysketch as ls
from lazysketch.errors import ItemError

# Inline in a cell, in the array's arena with a short and a long length, and empty.
TEXTS = ["a", "é" * 7, "b" * 15, "c" * 16, "d" * 255, "e" * 256, "", "f\0", "\U0010ffff"]


def exact() -> ls.CountMin:
    return ls.CountMin(depth=3, width=4096, hash_seed=5)


def assert_counted_as(batch: object, items: Sequence[object]) -> None:
    """Check the counts of a sketch and the names of heavy hitters against single updates."""
    batched, single = exact(), exact()
    batched.update_many(batch)
    for item in items:
        single.update(item)
    np.testing.assert_array_equal(batched.table, single.table)
    assert batched.step == len(items)
    key = ls.Key.generate()
    epoch = len(items) * 4000
    tables = [
        ls.HeavyHitters(epsilon=1.0, delta=1e-6, share=0.05, discovery_epoch=epoch, key=key)
        for _ in range(2)
    ]
    for _ in range(4000):
        tables[0].update_many(batch)
    tables[1].update_many(list(items) * 4000)
    assert tables[0].candidates == tables[1].candidates


def packed(texts: Sequence[str]) -> np.ndarray:
    return np.array(texts, dtype=np.dtypes.StringDType())


def test_texts_of_any_length_are_counted_as_a_list() -> None:
    assert_counted_as(packed(TEXTS), TEXTS)


def test_strides_slices_and_rewritten_texts() -> None:
    array = packed(TEXTS)
    for part in (slice(None, None, -1), slice(1, None, 3), slice(2, 2), slice(5, 0, -2)):
        sketch, expected = exact(), exact()
        sketch.update_many(array[part])
        expected.update_many(TEXTS[part])
        np.testing.assert_array_equal(sketch.table, expected.table)
    texts = list(TEXTS)
    texts[0] = array[0] = "now longer than its cell " * 20  # on the heap, outside the arena
    sketch, expected = exact(), exact()
    sketch.update_many(array)
    expected.update_many(texts)
    np.testing.assert_array_equal(sketch.table, expected.table)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_texts_are_refused_with_their_position(missing: object) -> None:
    array = np.array(["a", "b", missing], dtype=np.dtypes.StringDType(na_object=missing))
    for table in (exact(), ls.HeavyHitters(epsilon=1.0, delta=1e-6, share=0.1)):
        with pytest.raises(ItemError, match=r"at position 2; nothing was applied"):
            table.update_many(array)
        assert table.step == 0


def test_a_missing_text_that_stands_for_a_text_is_that_text() -> None:
    array = np.array(["a", "b", "none"], dtype=np.dtypes.StringDType(na_object="none"))
    sketch, expected = exact(), exact()
    sketch.update_many(array)
    expected.update_many(array.tolist())
    np.testing.assert_array_equal(sketch.table, expected.table)


def test_texts_are_not_indices() -> None:
    counters = ls.ContinualCounters(counters=8, epsilon=1.0, delta=1e-6, horizon=10)
    with pytest.raises(ItemError, match="integer from 0 to 7, got str at position 0"):
        counters.update_many(packed(["1"]))


def test_other_threads_may_write_texts_meanwhile() -> None:
    array = packed(["x" * 20] * 20_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            array[::2] = "y" * 300
            array[::2] = "x" * 20

    thread = threading.Thread(target=write)
    thread.start()
    try:
        sketch = exact()
        for _ in range(50):
            sketch.update_many(array)
    finally:
        stop.set()
        thread.join()
    both = sketch.estimate("x" * 20) + sketch.estimate("y" * 300)
    assert both == sketch.step == 50 * 20_000


def while_counted(array: np.ndarray, look: Callable[[], bool]) -> bool:
    """Whether a look was true in one of twenty counts of an array by another thread."""
    for _ in range(20):
        reader = threading.Thread(target=exact().update_many, args=(array,))
        reader.start()
        seen = False
        while reader.is_alive() and not seen:
            seen = look()
        reader.join()
        if seen:
            return True
    return False


def test_no_thread_resizes_texts_that_are_read() -> None:
    array = packed(["a text that is not in its cell"] * 400_000)

    def refused() -> bool:
        try:
            array.resize(len(array) - 1, refcheck=False)
        except ValueError:
            return True
        return False

    assert while_counted(array, refused)
    array.resize(1, refcheck=False)  # nothing is kept afterwards
    assert list(array) == ["a text that is not in its cell"]


def test_the_owner_of_texts_is_kept_from_resizing_while_a_view_is_read() -> None:
    owner = packed(["a text that is not in its cell"] * 400_000)
    assert while_counted(owner[::2], lambda: weakref.getweakrefcount(owner) > 0)
    assert weakref.getweakrefcount(owner) == 0


def test_objects_of_all_types_and_strides() -> None:
    items = ["a", 1, b"c", 2**70, -5, np.int8(3), datetime.date(2020, 1, 2)]
    array = np.array(items, dtype=object)
    assert_counted_as(array, items)
    sketch, expected = exact(), exact()
    sketch.update_many(array[::-2])
    expected.update_many(items[::-2])
    np.testing.assert_array_equal(sketch.table, expected.table)


def test_objects_that_were_never_set_are_none() -> None:
    with pytest.raises(ItemError, match="got NoneType at position 0"):
        exact().update_many(np.ndarray((3,), dtype=object))


def test_unaligned_objects() -> None:
    records = np.zeros(4, dtype=np.dtype([("flag", "i1"), ("item", "O")]))
    records["item"] = ["a", "b", 3, "a"]
    assert not records["item"].flags.aligned
    assert_counted_as(records["item"], ["a", "b", 3, "a"])


def test_an_array_that_changes_while_it_is_read() -> None:
    class Zone(datetime.tzinfo):
        def utcoffset(self, _: datetime.datetime | None) -> datetime.timedelta:
            array.resize(2, refcheck=False)
            return datetime.timedelta()

        def dst(self, _: datetime.datetime | None) -> None:
            return None

        def tzname(self, _: datetime.datetime | None) -> str:
            return "changing"

    stamp = datetime.datetime(2020, 1, 1, tzinfo=Zone())
    array = np.empty(1000, dtype=object)
    array[:] = "a"
    array[1] = stamp
    sketch = exact()
    sketch.update_many(array)
    assert sketch.step == 2  # what was removed is skipped, as of a list


def test_a_series_of_objects_is_counted_as_a_list() -> None:
    mixed = ["a", 1, b"c", "a"]
    assert_counted_as(pd.Series(mixed, dtype=object), mixed)
    assert_counted_as(pd.Series(TEXTS, dtype=object)[::-1], TEXTS[::-1])
    for missing in (None, float("nan"), pd.NA):
        with pytest.raises(ItemError, match="at position 1; nothing was applied"):
            exact().update_many(pd.Series(["a", missing], dtype=object))


def test_blocks_of_fixed_width_text() -> None:
    generator = np.random.default_rng(3)
    for width in (1, 7, 8, 9, 40, 3000):
        texts = ["x" * int(length) for length in generator.integers(0, width + 1, 700)]
        for other in ("é", "\0a", "\U0001f600"):
            texts[int(generator.integers(700))] = other[:width]
        sketch, expected = exact(), exact()
        sketch.update_many(np.array(texts, dtype=f"U{width}"))
        expected.update_many([text.rstrip("\0") for text in texts])
        np.testing.assert_array_equal(sketch.table, expected.table)


def test_a_lone_surrogate_after_whole_blocks_has_its_position() -> None:
    texts = np.array(["abc"] * 5000, dtype="U3")
    texts[4321] = "b\ud800"
    with pytest.raises(ItemError, match="surrogate at position 4321; nothing was"):
        exact().update_many(texts)
