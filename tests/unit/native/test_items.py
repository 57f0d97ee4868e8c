"""Valid and invalid items, and equality of items.

An exact Count-Min sketch shows the fingerprint of an item: two items are equal if and only if
they fill the same cells. With 3 rows of 65,536 columns and one fixed seed, different items in
these tests fill different cells.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ItemError

DEPTH, WIDTH, SEED = 3, 65_536, 7
PRIVATE: dict[str, float] = {"depth": DEPTH, "width": 64, "epsilon": 1.0, "delta": 1e-6}


def sketch() -> ls.CountMin:
    return ls.CountMin(depth=DEPTH, width=WIDTH, hash_seed=SEED)


def cells(item: object) -> tuple[int, ...]:
    """The column of one item in every row."""
    single = sketch()
    single.update(item)
    assert single.table.sum() == DEPTH
    return tuple(int(row.argmax()) for row in single.table)


def batch_cells(items: object) -> tuple[int, ...]:
    """The column in every row of the only item of a batch."""
    batch = sketch()
    batch.update_many(items)
    assert batch.table.sum() == DEPTH
    return tuple(int(row.argmax()) for row in batch.table)


class Colour(enum.IntEnum):
    RED = 1


class Flags(enum.IntFlag):
    FIRST = 1


class Name(str):
    __slots__ = ()


class Blob(bytes):
    pass


class Number(int):
    pass


INTEGER_TYPES = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.intc,
    np.uintc,
    np.long,
    np.ulong,
    np.longlong,
    np.ulonglong,
    np.intp,
    np.uintp,
]
ARROW_INTEGERS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
]


def test_text_bytes_and_integers_are_different_items() -> None:
    assert len({cells("1"), cells(b"1"), cells(1)}) == 3
    assert len({cells(""), cells(b""), cells(0)}) == 3
    assert len({cells("é"), cells("é".encode()), cells("é".encode("latin-1"))}) == 3


def test_an_integer_is_not_its_own_bytes() -> None:
    for width in (1, 2, 4, 8, 9, 16):
        assert cells(1) != cells((1).to_bytes(width, "little"))
        assert cells(2**64) != cells((2**64).to_bytes(width + 8, "little"))


@pytest.mark.parametrize("scalar", INTEGER_TYPES, ids=lambda scalar: scalar.__name__)
def test_numpy_integers_equal_python_integers(scalar: type[np.integer]) -> None:
    limits = np.iinfo(scalar)
    for value in {int(limits.min), 0, 1, int(limits.max)}:
        assert cells(scalar(value)) == cells(value)
        assert batch_cells(np.array([value], dtype=scalar)) == cells(value)
        assert batch_cells([scalar(value)]) == cells(value)
    if limits.min < 0:
        assert cells(scalar(-1)) == cells(-1)


@pytest.mark.parametrize("arrow", ARROW_INTEGERS, ids=str)
def test_arrow_integers_equal_python_integers(arrow: pa.DataType) -> None:
    assert cells(pa.scalar(100, arrow)) == cells(100)


def test_signed_and_unsigned_patterns_of_64_bits_differ() -> None:
    assert cells(-1) != cells(2**64 - 1)
    assert cells(-(2**63)) != cells(2**63)
    assert cells(np.int64(-1)) != cells(np.uint64(2**64 - 1))


@pytest.mark.parametrize(
    ("variant", "plain"),
    [
        (np.str_("a"), "a"),
        (Name("a"), "a"),
        (pa.scalar("a"), "a"),
        (pa.scalar("a", pa.large_string()), "a"),
        (pa.scalar("a", pa.string_view()), "a"),
        (pa.array(["a"]).dictionary_encode()[0], "a"),
        (np.bytes_(b"a"), b"a"),
        (Blob(b"a"), b"a"),
        (pa.scalar(b"a"), b"a"),
        (pa.scalar(b"a", pa.large_binary()), b"a"),
        (pa.scalar(b"a", pa.binary_view()), b"a"),
        (pa.scalar(b"a", pa.binary(1)), b"a"),
        (Colour.RED, 1),
        (Flags.FIRST, 1),
        (Number(1), 1),
        (Number(10**30), 10**30),
        (pa.array([7]).dictionary_encode()[0], 7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_subclasses_and_scalars_equal_the_plain_item(variant: object, plain: object) -> None:
    assert cells(variant) == cells(plain)
    assert batch_cells([variant]) == cells(plain)
    counted = sketch()
    counted.update_many([plain, plain])
    assert counted.estimate(variant) == 2.0
    assert counted.estimate_many([variant, variant]).tolist() == [2.0, 2.0]


WIDE = [2**63, 2**64 - 1, 2**64, -(2**63) - 1, -(2**64), 2**127, 10**30, 10**400, -(10**400)]


def test_integers_beyond_64_bits_are_items() -> None:
    found = {cells(value) for value in WIDE}
    assert len(found) == len(WIDE)
    for value in WIDE:
        assert batch_cells([value]) == cells(value)
        assert batch_cells(np.array([value], dtype=object)) == cells(value)
        assert cells(value) == cells(value + 0)


def test_a_batch_of_narrow_and_wide_integers_equals_single_updates() -> None:
    values = [0, -1, *WIDE, 1, *WIDE]
    single, batch = sketch(), sketch()
    for value in values:
        single.update(value)
    batch.update_many(values)
    np.testing.assert_array_equal(batch.table, single.table)
    assert batch.estimate_many(WIDE).tolist() == [2.0] * len(WIDE)


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.text(), st.binary(), st.integers()), st.integers(0, 2**64 - 1))
def test_any_item_alone_and_in_a_batch(item: str | bytes | int, seed: int) -> None:
    single = ls.CountSketch(depth=3, width=64, hash_seed=seed)
    batch = ls.CountSketch(depth=3, width=64, hash_seed=seed)
    single.update(item, 5)
    batch.update_many([item], weights=[5])
    np.testing.assert_array_equal(single.table, batch.table)
    assert single.estimate(item) == 5.0


class Coloured:
    """Not an integer, although it has ``__index__``."""

    def __index__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "SECRET"


# Value, the name of its type in the message, and a text that must not be in the message.
Maker = Callable[[], ls.CountMin | ls.LazyCountMin]
NOT_ITEMS: list[tuple[object, str, str]] = [
    (True, "bool", "True"),
    (False, "bool", "False"),
    (np.True_, "bool", "True"),
    (8.125, "float", "8.125"),
    (1.0, "float", "1.0"),
    (np.float64(8.125), "float64", "8.125"),
    (np.float32(8.125), "float32", "8.125"),
    (float("nan"), "float", "nan"),
    (float("inf"), "float", "inf"),
    (8j, "complex", "8j"),
    (None, "NoneType", "None,"),
    (("secret",), "tuple", "secret"),
    (["secret"], "list", "secret"),
    ({"secret"}, "set", "secret"),
    ({"secret": 1}, "dict", "secret"),
    (bytearray(b"secret"), "bytearray", "secret"),
    (memoryview(b"secret"), "memoryview", "secret"),
    (decimal.Decimal("8.125"), "Decimal", "8.125"),
    (fractions.Fraction(8125, 7), "Fraction", "8125"),
    (datetime.datetime(1999, 12, 31), "datetime", "1999"),
    (np.datetime64("1999-12-31"), "datetime64", "1999"),
    (np.timedelta64(8125), "timedelta64", "8125"),
    (np.array([8125]), "ndarray", "8125"),
    (np.array(8125), "ndarray", "8125"),
    (np.void(b"secret"), "void", "secret"),
    (pa.scalar(8.125), "float", "8.125"),
    (pa.scalar(True), "bool", "True"),
    (pa.scalar(None), "NoneType", "None,"),
    (pa.scalar(None, pa.int64()), "NoneType", "None,"),
    (pa.scalar(datetime.datetime(1999, 12, 31)), "datetime", "1999"),
    (pa.array([8125]), "Int64Array", "8125"),
    (object(), "object", "0x"),
    (int, "type", "<class"),
    (Coloured(), "Coloured", "SECRET"),
    ("secret\ud800", "lone surrogate", "secret"),
    (Name("secret\udfff"), "lone surrogate", "secret"),
    (np.str_("secret\ud800"), "lone surrogate", "secret"),
]


def private_sketch() -> ls.LazyCountMin:
    return ls.LazyCountMin(**PRIVATE)


@pytest.mark.parametrize(("value", "named", "hidden"), NOT_ITEMS)
@pytest.mark.parametrize("make", [sketch, private_sketch], ids=["exact", "private"])
def test_invalid_items_are_refused_with_their_type_and_without_their_value(
    make: Maker, value: object, named: str, hidden: str
) -> None:
    target = make()
    for call in (target.update, target.estimate, target.release().estimate):
        with pytest.raises(ItemError, match=r"^item: expected .*, got ") as raised:
            call(value)
        assert re.search(rf"\b{named}\b", str(raised.value))
        assert hidden not in str(raised.value)
    assert target.step == 0


@pytest.mark.parametrize(("value", "named", "hidden"), NOT_ITEMS)
@pytest.mark.parametrize("make", [sketch, private_sketch], ids=["exact", "private"])
def test_in_a_batch_the_message_has_the_position(
    make: Maker, value: object, named: str, hidden: str
) -> None:
    target = make()
    before = target.release().table
    items = ["a", 1, b"a", value, value]
    for call in (target.update_many, target.estimate_many, target.release().estimate_many):
        with pytest.raises(ItemError, match=r"^items: expected .* at position 3\b") as raised:
            call(items)
        assert re.search(rf"\b{named}\b", str(raised.value))
        assert hidden not in str(raised.value)
    assert target.step == 0
    np.testing.assert_array_equal(target.release().table, before)


def test_an_item_error_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        sketch().update(None)


def test_fingerprints_depend_on_the_hash_seed() -> None:
    tables = []
    for seed in (1, 2, 2**64 - 1):
        seeded = ls.CountMin(depth=DEPTH, width=WIDTH, hash_seed=seed)
        seeded.update_many(["a", b"a", 1, 2**70])
        tables.append(seeded.table)
    assert not np.array_equal(tables[0], tables[1])
    assert not np.array_equal(tables[1], tables[2])


def test_exact_and_private_sketches_hash_alike() -> None:
    """Both use the same cells for an item, which depend on the hash seed only."""
    events = ["a"] * 100_000
    exact = ls.CountMin(depth=2, width=64, hash_seed=SEED)
    private = ls.LazyCountMin(
        depth=2, width=64, epsilon=1.0, delta=1e-6, horizon=len(events), hash_seed=SEED
    )
    exact.update_many(events)
    private.update_many(events)
    noisy = private.release().table
    # The deviation of the noise is below 500, the counts are almost 100,000.
    assert noisy[exact.table > 0].min() > 90_000
    assert noisy[exact.table == 0].max() < 10_000
