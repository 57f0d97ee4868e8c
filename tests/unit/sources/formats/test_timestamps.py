"""Instants in text or Arrow columns, against datetime and Decimal, row by row."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources import TIME_UNITS, UNKNOWN_TIME, RowBatch, open_source
from lazysketch.sources.formats.arrow_times import check_time_type, times_of_column
from lazysketch.sources.formats.timestamps import times_of_texts

LARGEST = (1 << 63) - 1
EPOCH = datetime(1970, 1, 1)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
SCALES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
ISO = re.compile(
    r"(\d{4})([-/])(\d\d)\2(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?( ?(?:[Zz]|[+-]\d\d(?::?\d\d)?))?)?",
    re.ASCII,
)
LOG = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)( [+-]\d\d:?\d\d)?", re.ASCII)
NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?", re.ASCII)


def naive(text: str, unit: str = "s") -> int:
    """Return the time of one text, part by part, with datetime and Decimal."""
    if len(text) > 48:
        return UNKNOWN_TIME
    if NUMBER.fullmatch(text):
        total = int(Decimal(text) * SCALES[unit]) if abs(Decimal(text)) < 10**30 else LARGEST + 1
        return total if abs(total) <= LARGEST else UNKNOWN_TIME
    fraction = offset = ""
    try:
        if found := ISO.fullmatch(text):
            year, _, month, day, hour, minute, second, fraction, offset = found.groups("")
            parts = (year, month, day, hour or "0", minute or "0", second or "0")
        elif found := LOG.fullmatch(text):
            day, name, year, hour, minute, second, offset = found.groups("")
            parts = (year, str(MONTHS.index(name) + 1), day, hour, minute, second)
        else:
            return UNKNOWN_TIME
        when = datetime(*map(int, parts))
        away = timedelta()
        if offset.strip() not in ("", "Z", "z"):
            digits = re.sub(r"\D", "", offset).ljust(4, "0")
            if int(digits[:2]) > 23 or int(digits[2:]) > 59:
                return UNKNOWN_TIME
            away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            away = -away if "-" in offset else away
        seconds = (when - EPOCH - away) // timedelta(seconds=1)
    except ValueError:
        return UNKNOWN_TIME
    total = seconds * 10**9 + int(fraction[:9].ljust(9, "0"))
    return total if abs(total) <= LARGEST else UNKNOWN_TIME


def read(*texts: str, unit: str = "s") -> list[int]:
    times = times_of_texts(texts, unit=unit)
    # The same from Arrow: in slices, between nulls, in every text type.
    expected = [*times.tolist(), UNKNOWN_TIME]
    column = pa.array(["before", *texts, None])[1:]
    kinds = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), "string"))
    for kind in kinds:
        assert times_of_column(column.cast(kind), unit=unit).tolist() == expected, kind
    result: list[int] = times.tolist()
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-01 00:00", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00-0500", 0),
        ("1970-01-01 01:00:00.5 +01", 5 * 10**8),
        ("2011/08/18 15:40:53.826372", 1_313_682_053_826_372_000),
        ("2011-08-18t15:40:53,826372z", 1_313_682_053_826_372_000),
        ("17/May/2015:10:05:03 +0000", 1_431_857_103 * 10**9),
        ("17/May/2015:10:05:03 +0200", 1_431_849_903 * 10**9),
        ("17/May/2015:10:05:03", 1_431_857_103 * 10**9),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-01T00:00:00.0000000019", 1),
        ("1970-01-01T00:00:00.1", 10**8),
        ("1970-01-01T00:00:00.000001", 10**3),
        ("1521911720.865716", 1_521_911_720_865_716_000),
        ("0.000000001", 1),
        ("-1.5", -15 * 10**8),
        ("1.521911720865716e+9", 1_521_911_720_865_716_000),
        ("2262-04-11T23:47:16.854775807Z", LARGEST),
        ("1677-09-21T00:12:43.145224193Z", -LARGEST),
        ("9223372036.854775807", LARGEST),
        ("-9223372036.854775807", -LARGEST),
    ],
)
def test_known_instants(text: str, expected: int) -> None:
    assert read(text) == [expected] == [naive(text)]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-", "NULL", "nan", "inf", "soon", "1e999", "0x10", "1_000", "1,5", "--1", "."),
        *("2015-02-29", "2015-02-30T00:00:00Z", "2015-13-01", "2015-00-01", "2015-01-00"),
        *("1900-02-29", "2015-1-1", "2015-01/01", "15-01-01", "2015-01-01T", "2015-01-01T24:00"),
        *("2015-01-01T23:60", "2015-06-30T23:59:60Z", "2015-01-01T00:00:00.", "2015-01-01T00:00 "),
        *("2015-01-01T00:00+24:00", "2015-01-01T00:00+01:60", "2015-01-01T00:00+1", "2015-01-01Z"),
        *("17/Mai/2015:10:05:03 +0000", "31/Jun/2015:10:05:03 +0000", "17/May/2015 10:05:03"),
        *("2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224192Z", "9999-12-31"),
        *("1677-09-21T00:12:43.145224191Z", "9223372036.854775808", "-9223372036.854775808"),
        *("99999999999999999999", "0000-01-01", "2015-01-01T00:00:00Z\n", "\uff12015-01-01"),
    ],
)
def test_text_that_is_not_an_instant_is_unknown(text: str) -> None:
    assert read(text) == [UNKNOWN_TIME] == [naive(text)]
    assert read("1", text, "2") == [10**9, UNKNOWN_TIME, 2 * 10**9]


INSTANTS = st.integers(-LARGEST, LARGEST) | st.integers(-(10**12), 10**12)
OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59)
FORMS = st.sampled_from(["iso", "slash", "log"])


def written(instant: int, *, form: str, offset: int, digits: int, mark: str) -> tuple[str, int]:
    """Return the instant as text at an offset, and its value with the given digits."""
    seconds, fraction = divmod(instant, 10**9)
    # Python's datetime has no nanoseconds, but covers the range of years.
    local = EPOCH + timedelta(seconds=seconds + offset * 60)
    sign = "-" if offset < 0 else "+"
    colon = "" if form == "log" else mark.strip()
    away = f"{sign}{abs(offset) // 60:02}{colon}{abs(offset) % 60:02}"
    if form == "log":
        day = f"{local.day:02}/{MONTHS[local.month - 1]}/{local.year:04}"
        return f"{day}:{local:%H:%M:%S} {away}", seconds * 10**9
    bar = "/" if form == "slash" else "-"
    shown = f"{fraction:09}"[:digits]
    text = f"{local.year:04}{bar}{local.month:02}{bar}{local.day:02}{mark or 'T'}{local:%H:%M:%S}"
    colon = ":" if mark == "T" else ""
    away = f"{sign}{abs(offset) // 60:02}{colon}{abs(offset) % 60:02}"
    return (
        text + (f".{shown}" if shown else "") + away,
        seconds * 10**9 + int(shown.ljust(9, "0") or 0),
    )


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(INSTANTS, FORMS, OFFSETS, st.integers(0, 9), st.sampled_from(["T", " "])),
        min_size=1,
        max_size=30,
    )
)
@example([(LARGEST, "iso", -719, 9, "T"), (-LARGEST, "iso", 719, 9, "T")])
@example(
    [(0, "log", 0, 0, "T")]  # several lengths with the total length of texts of one length
    + [(0, "iso", 0, n, " ") for n in (5, 9)]
    + [(0, "iso", 0, n, "T") for n in (3, 5, 6)]
)
def test_instants_survive_being_written(cases: list[tuple[int, str, int, int, str]]) -> None:
    pairs = [
        written(instant, form=form, offset=offset, digits=digits, mark=mark)
        for instant, form, offset, digits, mark in cases
    ]
    texts = [text for text, _ in pairs]
    # Dropping digits may leave the lower end of the 64 bits.
    expected = [time if abs(time) <= LARGEST else UNKNOWN_TIME for _, time in pairs]
    assert read(*texts) == expected == [naive(text) for text in texts]


@settings(deadline=None)
@given(
    st.lists(
        st.decimals(-(10**20), 10**20, places=6)
        | st.decimals(-(10**11), 10**11, places=9)
        | st.integers(-(1 << 70), 1 << 70),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(list(TIME_UNITS)),
)
def test_numbers_count_in_their_unit(numbers: list[Decimal | int], unit: str) -> None:
    texts = [f"{number:f}" if isinstance(number, Decimal) else str(number) for number in numbers]
    expected = [naive(text, unit) for text in texts]
    assert read(*texts, unit=unit) == expected
    assert read(*(f"{Decimal(text):e}" for text in texts), unit=unit) == expected


@settings(deadline=None)
@given(
    st.lists(
        st.text("0123456789-+:./,TZ eMay", max_size=30)
        | st.from_regex(ISO, fullmatch=True)
        | st.from_regex(LOG, fullmatch=True)
        | st.from_regex(NUMBER, fullmatch=True)
        | st.text(max_size=12),
        max_size=30,
    )
)
def test_any_texts_are_read_independently(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    assert read(*texts) == [naive(text) for text in texts]


def test_many_shapes_in_one_column() -> None:
    base = "2015-05-17T10:05:03"
    texts = [base, "1", base + ".5", "x", base + "Z", "2", base + "+01:00", base + "-01:00"] * 300
    assert read(*texts) == [naive(text) for text in texts]
    assert len({naive(text) for text in texts}) == 7


@pytest.mark.parametrize("unit", list(TIME_UNITS))
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
@settings(deadline=None)
@given(values=st.lists(st.none() | st.integers(-LARGEST, LARGEST), max_size=20))
@example(values=[None, LARGEST, -LARGEST, LARGEST // 10**9 + 1, -LARGEST // 10**9 - 1])
def test_arrow_timestamps_are_instants_in_utc(
    values: list[int | None], zone: str | None, unit: str
) -> None:
    column = pa.array(values, pa.int64()).cast(pa.timestamp(unit, zone))
    products = [None if value is None else value * SCALES[unit] for value in values]
    expected = [UNKNOWN_TIME if p is None or abs(p) > LARGEST else p for p in products]
    assert times_of_column(column, unit="s").tolist() == expected
    assert times_of_column(column[1:], unit="s").tolist() == expected[1:]
    integers = pa.array(values, pa.int64())
    assert times_of_column(integers, unit=unit).tolist() == expected


def test_other_arrow_types() -> None:
    days = [date(1970, 1, 2), None, date(1969, 12, 31), date(9999, 1, 1)]
    expected = [86_400 * 10**9, UNKNOWN_TIME, -86_400 * 10**9, UNKNOWN_TIME]
    for kind in (pa.date32(), pa.date64()):
        assert times_of_column(pa.array(days, kind), unit="s").tolist() == expected
    decimals = pa.array([Decimal("1521911720.865716"), None], pa.decimal128(20, 6))
    assert times_of_column(decimals, unit="s").tolist() == [1_521_911_720_865_716_000, UNKNOWN_TIME]
    large = pa.array([0, 1 << 63, (1 << 64) - 1, LARGEST], pa.uint64())
    assert times_of_column(large, unit="ns").tolist() == [0, UNKNOWN_TIME, UNKNOWN_TIME, LARGEST]
    small = pa.array([1, -1, None], pa.int8())
    assert times_of_column(small, unit="s").tolist() == [10**9, -(10**9), UNKNOWN_TIME]
    assert times_of_column(pa.array([], pa.string()), unit="s").tolist() == []
    stamps = pa.array([datetime(2015, 5, 17, tzinfo=timezone.utc)] * 2).dictionary_encode()
    assert times_of_column(stamps, unit="s").tolist() == [naive("2015-05-17")] * 2


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(), max_size=20), st.sampled_from(list(TIME_UNITS)))
@example([1521911720.865716, 1.521911720865716e12, 1e300, float("nan"), -0.5, None, 5.0], "s")
def test_floats_stand_for_their_shortest_decimals(values: list[float | None], unit: str) -> None:
    column = pa.array(values, pa.float64())
    expected = [UNKNOWN_TIME if value is None else naive(repr(value), unit) for value in values]
    assert times_of_column(column, unit=unit).tolist() == expected


@pytest.mark.parametrize(
    "kind", [pa.bool_(), pa.time64("us"), pa.duration("s"), pa.binary(), pa.list_(pa.int64())]
)
def test_types_that_cannot_be_times_are_refused(kind: object) -> None:
    with pytest.raises(SourceError, match="in: expected timestamps, .* in field 'when' for the"):
        check_time_type(kind, field="when", name="in")


def test_text_that_is_not_utf8_is_unknown() -> None:
    column = pa.array([b"2015-05-17", b"2015-05-1\xff", b"\xe2\x82"]).view(pa.string())
    assert times_of_column(column, unit="s").tolist() == [naive("2015-05-17")] + 2 * [UNKNOWN_TIME]


def test_unknown_units_are_refused() -> None:
    with pytest.raises(ArgumentValueError, match="time_unit: expected one of s, ms, us, ns, got"):
        open_source("-", time_unit="min")


def test_times_of_items_omit_rows_without_an_item() -> None:
    times = np.arange(6) * 10
    batch = RowBatch(["a", "b", "c"], malformed=[1, 4], absent=[2], times=times)
    assert batch.item_times is not None
    assert batch.item_times.tolist() == [0, 30, 50]
    assert batch.first(4).item_times.tolist() == [0, 30]  # type: ignore[union-attr]
    assert batch.before_malformed().item_times.tolist() == [0]  # type: ignore[union-attr]
    whole = RowBatch(["a", "b"], times=times[:2])
    assert whole.item_times is whole.times
    assert RowBatch(["a"], malformed=[1]).item_times is None
