"""Items of the standard library's types: instants, dates and UUIDs.

As in ``test_items``, items are equal if and only if they fill the same cells of an exact sketch.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone, tzinfo
from uuid import UUID, SafeUUID, uuid4
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.native.test_items import batch_cells, cells, sketch

import lazysketch as ls
from lazysketch.errors import ItemError
from lazysketch.releases.items import Item, distinct_items

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 1, 15, 12, 0, 0, 250_000, tzinfo=UTC)
DAY = date(2026, 1, 15)
IDENTIFIER = UUID("12345678-1234-5678-1234-567812345678")
PARIS = ZoneInfo("Europe/Paris")

ZONES = st.one_of(
    st.just(UTC),
    st.sampled_from([PARIS, ZoneInfo("America/St_Johns"), ZoneInfo("Pacific/Apia")]),
    st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
)
# A zone may move the first and the last day into other years.
INSTANTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=ZONES)


def microseconds(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(microseconds=1)


@given(INSTANTS, ZONES)
def test_an_instant_is_one_item_in_every_zone(instant: datetime, zone: tzinfo) -> None:
    elsewhere = instant.astimezone(zone)
    column = pa.array([microseconds(instant)]).cast(pa.timestamp("us", tz="UTC"))
    assert cells(instant) == cells(elsewhere) == batch_cells([elsewhere]) == batch_cells(column)


@given(INSTANTS, INSTANTS)
def test_instants_are_one_item_only_if_they_are_equal(one: datetime, other: datetime) -> None:
    assert (cells(one) == cells(other)) == (microseconds(one) == microseconds(other))
    assert cells(one) != cells(one + timedelta(microseconds=1))


def test_both_hours_at_the_end_of_summer_time_are_items() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=PARIS)
    second = first.replace(fold=1)
    assert cells(first) == cells(datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    assert cells(second) == cells(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))


@given(st.dates())
def test_a_date_is_one_item_in_every_form(day: date) -> None:
    column = pa.array([day], pa.date32())
    assert cells(day) == batch_cells([day]) == batch_cells(column)
    assert cells(day) == batch_cells(column.cast(pa.date64()))
    assert cells(day) == batch_cells(pl.Series([day])) == cells(column[0])


@given(st.uuids())
def test_a_uuid_is_one_item_in_every_form(identifier: UUID) -> None:
    column = pa.array([identifier.bytes], pa.uuid())
    assert cells(identifier) == batch_cells([identifier]) == batch_cells(column)
    assert cells(identifier) == batch_cells(pa.table({"id": column}))
    assert cells(identifier) == batch_cells(pa.chunked_array([column])) == cells(column[0])
    assert cells(identifier) == cells(UUID(int=identifier.int, is_safe=SafeUUID.safe))


def test_types_are_never_confused() -> None:
    midnight = datetime(2026, 1, 15, tzinfo=UTC)
    since = microseconds(midnight)
    days = (DAY - EPOCH.date()).days
    items = [midnight, since, DAY, days, IDENTIFIER, IDENTIFIER.bytes, str(IDENTIFIER)]
    items += [IDENTIFIER.int, midnight.isoformat(), DAY.isoformat()]
    items += [EPOCH, EPOCH.date(), 0, UUID(int=0), bytes(16)]
    # An instant with the number of a date, and a date with that of an instant.
    items += [EPOCH + timedelta(microseconds=days), EPOCH.date() + timedelta(days=1), 1]
    assert len({cells(item) for item in items}) == len(items)
    stored = pa.array([IDENTIFIER.bytes], pa.binary(16))
    assert batch_cells(stored) == cells(IDENTIFIER.bytes)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_columns_of_every_unit_are_the_same_instants(unit: str) -> None:
    instant = NOON.replace(microsecond=0)
    column = pa.array([instant], pa.timestamp(unit, tz="Europe/Paris"))
    assert batch_cells(column) == cells(instant)
    assert batch_cells(column.dictionary_encode()) == cells(instant)
    assert cells(column[0]) == cells(instant)
    frame = pd.DataFrame({"at": pd.Series([instant]).dt.as_unit(unit)})
    assert batch_cells(frame) == cells(instant)
    if unit != "s":
        series = pl.Series([instant], dtype=pl.Datetime(unit, "Europe/Paris"))
        assert batch_cells(series) == cells(instant)


def test_timestamps_of_pandas_are_instants() -> None:
    stamp = pd.Timestamp(NOON).tz_convert("Asia/Tokyo")
    assert cells(stamp) == cells(NOON)
    assert batch_cells(np.array([stamp, NOON], dtype=object)[:1]) == cells(NOON)
    with pytest.raises(ItemError, match="a fraction of a microsecond"):
        cells(stamp + pd.Timedelta(nanoseconds=1))
    with pytest.raises(ItemError, match="got NaT"):
        cells(pd.NaT)


def test_batches_of_all_types_equal_single_updates() -> None:
    items: list[Item] = [NOON, DAY, IDENTIFIER, "a", b"a", 1, 2**70, NOON, IDENTIFIER, uuid4()]
    single, batch = sketch(), sketch()
    for item in items:
        single.update(item)
    batch.update_many(items)
    np.testing.assert_array_equal(batch.table, single.table)
    assert batch.estimate_many([NOON, DAY, IDENTIFIER]).tolist() == [2.0, 1.0, 2.0]


class LateZone(tzinfo):
    """A zone that cannot be asked."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        raise RuntimeError("SECRET")

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str:
        return "late"


EXTREME = timezone(timedelta(hours=23))


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (datetime(1999, 12, 31), "a datetime without a time zone (set tzinfo)"),
        (np.datetime64("1999-12-31"), "numpy datetime64, which has no time zone"),
        (pd.Timestamp(1999, 12, 31), "a datetime without a time zone (set tzinfo)"),
        (datetime(1999, 12, 31, tzinfo=LateZone()), "datetime that raises RuntimeError"),
        (datetime(1, 1, 1, tzinfo=EXTREME), "a time outside the years 1 to 9999 of UTC"),
        (pd.Timestamp(1999, 12, 31).time(), "time"),
        (timedelta(days=1999), "timedelta"),
    ],
)
def test_other_times_are_refused_without_their_value(item: object, reason: str) -> None:
    for call in (sketch().update, sketch().estimate):
        with pytest.raises(ItemError, match=rf"got {re.escape(reason)}") as raised:
            call(item)
        assert "1999" not in str(raised.value)
        assert "SECRET" not in str(raised.value)
    with pytest.raises(ItemError, match=rf"got {re.escape(reason)}.* at position 1"):
        sketch().update_many([NOON, item])
    with pytest.raises(ItemError, match=rf"^items: .*got {re.escape(reason)}.* at position 1$"):
        distinct_items("items", [NOON, item])


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([0, 1], pa.int64()).cast(pa.timestamp("us")), "without a time zone"),
        (pa.array([0, 1], pa.timestamp("ns", tz="UTC")), "a fraction of a microsecond"),
        (pa.array([0, 2**62], pa.timestamp("us", tz="UTC")), "outside the years 1 to 9999"),
        (pa.array([0, 2**62], pa.timestamp("s", tz="UTC")), "outside the years 1 to 9999"),
        (pa.array([0, -(2**31)], pa.int32()).cast(pa.date32()), "outside the years 1 to 9999"),
        (pa.array([0, None], pa.timestamp("us", tz="UTC")), "no nulls"),
        (pa.array([IDENTIFIER.bytes, None], pa.uuid()), "no nulls"),
        (pa.array([0, 1], pa.duration("s")), "Arrow type Duration"),
        (pa.array([0, 1], pa.time32("s")), "Arrow type Time32"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.type),
)
def test_columns_that_are_no_items_are_refused_whole(column: pa.Array, reason: str) -> None:
    target = ls.LazyCountMin(depth=2, width=64, epsilon=1.0, delta=1e-6)
    for call in (target.update_many, target.estimate_many, sketch().update_many):
        with pytest.raises(ItemError, match=rf"^items: .*{reason}.* at position [01]"):
            call(column)
    assert target.step == 0


def test_fractions_of_a_day_in_date64_are_refused() -> None:
    stored = pa.py_buffer(np.array([0, 86_400_000, 1], dtype=np.int64))
    column = pa.Array.from_buffers(pa.date64(), 3, [None, stored])
    with pytest.raises(ItemError, match="whole days, got a fraction of a day at position 2"):
        sketch().update_many(column)


def test_an_entry_of_a_dictionary_is_refused_only_if_it_occurs() -> None:
    nanoseconds = (microseconds(NOON) * 1_000, 1)
    entries = pa.array(nanoseconds, pa.timestamp("ns", tz="UTC"))
    unused = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), entries)
    assert batch_cells(unused) == cells(NOON)
    used = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), entries)
    with pytest.raises(ItemError, match="a fraction of a microsecond at position 1"):
        sketch().update_many(used)


@pytest.mark.parametrize("item", [NOON, DAY, IDENTIFIER], ids=lambda item: type(item).__name__)
def test_counters_have_only_indices(item: object) -> None:
    counters = ls.ContinualCounters(counters=4, epsilon=1.0, delta=1e-6, horizon=100)
    with pytest.raises(ItemError, match=rf"from 0 to 3, got {type(item).__name__}"):
        counters.update(item)


@pytest.mark.parametrize("memory", [1 << 16, 1 << 24], ids=["Misra-Gries", "exact"])
def test_names_are_discovered_with_their_types(memory: int) -> None:
    """Both counting methods, single updates and batches, lists and columns."""
    items: list[Item] = [NOON.astimezone(PARIS), DAY, IDENTIFIER]
    hitters = ls.HeavyHitters(
        width=256, depth=4, epsilon=4.0, delta=1e-4, horizon=60_000, share=0.1, memory=memory
    )
    for _ in range(5_000):
        for item in items:
            hitters.update(item)
    hitters.update_many(items * 10_000)
    hitters.update_many(pa.array([IDENTIFIER.bytes] * 5_000, pa.uuid()))
    hitters.update_many(pa.array([NOON] * 5_000, pa.timestamp("ms", tz="Asia/Tokyo")))
    hitters.update_many(pa.array([DAY] * 5_000, pa.date32()))
    rows = {(type(row.item), row.item): row.estimate for row in hitters.top(10)}
    assert set(rows) == {(datetime, NOON), (date, DAY), (UUID, IDENTIFIER)}
    assert all(abs(estimate - 20_000) < 2_000 for estimate in rows.values())
    table = pa.table(hitters.top(10))
    assert set(table["item_type"].to_pylist()) == {"datetime", "date", "UUID"}
