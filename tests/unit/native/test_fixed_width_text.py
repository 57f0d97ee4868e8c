"""Arrays of text and bytes of one width count as their values do one by one, in every layout."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ItemError

PROFILE = settings(deadline=None, max_examples=150)
BLOCK = 4096  # code points that the native module converts together

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda array: array,
    "every other": lambda array: np.repeat(array, 2)[::2],
    "backwards": lambda array: array[::-1].copy()[::-1],
    "read only": lambda array: np.frombuffer(array.tobytes(), dtype=array.dtype),
    "foreign byte order": lambda array: array.astype(array.dtype.newbyteorder("S")),
    "a subclass": lambda array: array.view(np.char.chararray),
    "unaligned": lambda array: beside_a_byte(array),
}

# ASCII, its end, two to four bytes of UTF-8 and their ends, and a zero that is not at the end.
CHARACTERS = st.sampled_from(
    "abcdefgh0123\x7f\x80é\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\0"
)
WORDS = st.text(CHARACTERS, max_size=24) | st.text("ab", max_size=24)


def beside_a_byte(array: np.ndarray) -> np.ndarray:
    records = np.zeros(len(array), dtype=np.dtype([("flag", "i1"), ("item", array.dtype)]))
    records["item"] = array
    return records["item"]


def table_of(batch: object) -> np.ndarray:
    sketch = ls.CountMin(depth=3, width=4096, hash_seed=5)
    sketch.update_many(batch)
    return sketch.table


def table_of_singles(items: Sequence[object]) -> np.ndarray:
    sketch = ls.CountMin(depth=3, width=4096, hash_seed=5)
    for item in items:
        sketch.update(item)
    return sketch.table


@PROFILE
@given(
    words=st.lists(WORDS, min_size=1, max_size=12),
    width=st.integers(1, 40),
    layout=st.sampled_from(sorted(LAYOUTS)),
    repeated=st.sampled_from([1, 1, 3, 200]),
)
def test_text_equals_single_updates(
    words: list[str], width: int, layout: str, repeated: int
) -> None:
    texts = [word[:width] for word in words] * repeated
    array = LAYOUTS[layout](np.array(texts, dtype=f"U{width}"))
    assert not (layout == "foreign byte order" and array.dtype.isnative)
    np.testing.assert_array_equal(
        table_of(array), table_of_singles([text.rstrip("\0") for text in texts])
    )


@PROFILE
@given(
    words=st.lists(st.binary(max_size=24) | st.binary(max_size=3), min_size=1, max_size=12),
    width=st.integers(1, 40),
    layout=st.sampled_from(sorted(set(LAYOUTS) - {"foreign byte order"})),
)
def test_bytes_equal_single_updates(words: list[bytes], width: int, layout: str) -> None:
    values = [word[:width] for word in words]
    array = LAYOUTS[layout](np.array(values, dtype=f"S{width}"))
    np.testing.assert_array_equal(
        table_of(array), table_of_singles([value.rstrip(b"\0") for value in values])
    )


@PROFILE
@given(words=st.lists(WORDS, min_size=1, max_size=12), step=st.sampled_from([1, 2, -1]))
def test_text_of_any_length_equals_single_updates(words: list[str], step: int) -> None:
    array = np.array(words, dtype=np.dtypes.StringDType())
    np.testing.assert_array_equal(table_of(array[::step]), table_of_singles(words[::step]))


@pytest.mark.parametrize("width", [1, 12, 300, 2 * BLOCK])
def test_blocks_of_ascii_and_of_other_text(width: int) -> None:
    """One other character, at the first, a middle and the last place, in each of three blocks."""
    rows = max(BLOCK // width, 1)
    texts = [("abc" * width)[at % 3 :][:width] for at in range(2 * rows + 3)]
    for at in {0, rows - 1, rows, 2 * rows, len(texts) - 1}:
        for place in {0, width // 2, width - 1}:
            changed = list(texts)
            changed[at] = changed[at][:place] + "é" + changed[at][place + 1 :]
            np.testing.assert_array_equal(
                table_of(np.array(changed)), table_of(changed), err_msg=f"{at}, {place}"
            )


@pytest.mark.parametrize("point", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("position", [0, 340, 341, 999])
def test_what_is_no_character_is_refused_with_its_position(point: int, position: int) -> None:
    array = np.array(["123456789012"] * 1000)
    array.view(np.uint32)[12 * position + 5] = point
    for table in (
        ls.CountMin(depth=3, width=64),
        ls.HeavyHitters(epsilon=1, delta=1e-6, share=0.1),
    ):
        with pytest.raises(ItemError, match=f"lone surrogate at position {position}; nothing was"):
            table.update_many(array)
        assert table.step == 0


def test_names_of_heavy_hitters_have_the_same_values() -> None:
    texts = ["a", "ab", "é" * 12, "a\0b", "0123456789ab", "", "\U0010ffff"]
    key = ls.Key.generate()
    for array in (np.array(texts), np.array([text.encode() for text in texts])):
        events = len(array) * 4000
        tables = [
            ls.HeavyHitters(epsilon=1.0, delta=1e-6, share=0.05, discovery_epoch=events, key=key)
            for _ in range(2)
        ]
        for table, batch in zip(tables, (array.repeat(4000), array.tolist() * 4000), strict=True):
            table.update_many(np.sort(batch) if isinstance(batch, np.ndarray) else sorted(batch))
        assert tables[0].candidates == tables[1].candidates
        assert set(array.tolist()) <= set(tables[0].candidates)


@pytest.mark.parametrize("length", range(1, 16))
def test_text_of_any_length_that_is_no_utf8_is_refused(length: int) -> None:
    for place in range(length):
        array = np.array(["x" * length], dtype=np.dtypes.StringDType())
        cell = ctypes.string_at(array.ctypes.data, 16)
        first = cell.index(b"x" * length)
        ctypes.memset(array.ctypes.data + first + place, 0xFF, 1)
        with pytest.raises((UnicodeDecodeError, ItemError)):
            table_of(array)
