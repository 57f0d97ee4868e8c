"""Names in releases: origin, encoding and merging."""

from __future__ import annotations

import pickle
import struct
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.releases.test_release_bytes import assert_refused, sealed, small

import lazysketch as ls
from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.items import Item

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ITEMS = st.one_of(
    st.text(max_size=20),
    st.binary(max_size=20),
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.uuids(),
    st.sampled_from([sign * 2**bits for bits in range(130) for sign in (1, -1)]),
)
NAMES = st.lists(ITEMS, max_size=20, unique_by=lambda item: (type(item), item))
PLAIN = ls.Release.from_bytes(small())


def named(names: list[Item]) -> ls.Release:
    return ls.Release(PLAIN._native, names)


def section(*names: tuple[int, bytes], number: int | None = None) -> bytes:
    """Return names encoded as docs/release-format.md describes."""
    count = len(names) if number is None else number
    content = b"".join(struct.pack("<BI", tag, len(data)) + data for tag, data in names)
    return struct.pack("<I", count) + content


def with_section(data: bytes) -> bytes:
    body = bytearray(small()[:-32])
    body[8] = 2
    return sealed(bytes(body) + data)


def encoded(item: Item) -> tuple[int, bytes]:
    if isinstance(item, str):
        return 1, item.encode()
    if isinstance(item, bytes):
        return 2, item
    if isinstance(item, datetime):
        return 4, struct.pack("<q", (item - EPOCH) // timedelta(microseconds=1))
    if isinstance(item, date):
        return 5, struct.pack("<i", (item - EPOCH.date()).days)
    if isinstance(item, UUID):
        return 6, item.bytes
    return 3, item.to_bytes(item.bit_length() // 8 + 1, "little", signed=True)


@given(NAMES)
def test_names_come_back_in_order_with_their_types(names: list[Item]) -> None:
    release = named(names)
    data = release.to_bytes()
    for loaded in (ls.Release.from_bytes(data), pickle.loads(pickle.dumps(release))):
        assert [(type(name), name) for name in loaded.names] == [(type(n), n) for n in names]
        assert loaded.to_bytes() == data
        assert loaded.table.tolist() == PLAIN.table.tolist()
    assert data[8] == (2 if names else 1)
    if not names:
        assert data == PLAIN.to_bytes()


@given(NAMES.filter(bool))
def test_the_bytes_are_those_of_the_document(names: list[Item]) -> None:
    plain, data = PLAIN.to_bytes(), named(names).to_bytes()
    wanted = plain[:8] + b"\2\0" + plain[10:-32] + section(*map(encoded, names))
    assert data[:-32] == wanted


@given(NAMES.filter(bool), st.data())
def test_damage_of_any_kind_is_refused(names: list[Item], data: st.DataObject) -> None:
    changed = bytearray(named(names).to_bytes())
    position = data.draw(st.integers(0, len(changed) - 1))
    assert_refused(bytes(changed[:position]))
    changed[position] ^= data.draw(st.integers(1, 255))
    assert_refused(bytes(changed))


@given(NAMES.filter(bool), st.data())
def test_damage_with_a_valid_checksum_is_refused_or_read_as_itself(
    names: list[Item], data: st.DataObject
) -> None:
    changed = bytearray(section(*map(encoded, names)))[:400]
    position = data.draw(st.integers(0, len(changed) - 1))
    changed[position] ^= data.draw(st.integers(1, 255))
    hostile = with_section(bytes(changed))
    try:
        release = ls.Release.from_bytes(hostile)
    except ReleaseFormatError:
        return
    assert release.to_bytes() == hostile
    assert len(release.top(n=3)) <= 3


@pytest.mark.parametrize(
    "data",
    [
        b"",
        section(),
        section((1, b"a"), number=0),
        section((1, b"a"), number=2),
        section((1, b"a"), number=2**32 - 1),
        section((1, b"a"), (1, b"b"), number=1),
        section((1, b"a"), (1, b"a")),
        section((0, b"a")),
        section((4, b"a")),
        section((255, b"a")),
        section((1, b"\xff")),
        section((1, b"\xed\xa0\x80")),  # a surrogate
        section((3, b"")),
        section((3, b"\5\0")),
        section((3, b"\xfe\xff")),
        section((3, b"\x80")),  # -128 has 8 bits and takes two bytes
        section((1, b"a")) + b"\0",
        section((1, b"a"))[:-1],
        struct.pack("<IBI", 1, 1, 2**32 - 1) + b"a",
    ],
)
def test_sections_that_are_refused(data: bytes) -> None:
    assert_refused(with_section(data))


def test_versions_are_refused_if_they_contradict_the_names() -> None:
    data = section((1, b"a"))
    ls.Release.from_bytes(with_section(data))
    assert_refused(sealed(small()[:-32] + data))  # version 1 with names
    counters = ls.ContinualCounters(counters=4, epsilon=1.0, delta=1e-6, horizon=10)
    body = bytearray(counters.release().to_bytes()[:-32])
    body[8] = 2
    assert_refused(sealed(bytes(body) + section((3, b"\1"))))


def test_heavy_hitters_release_the_names_that_they_published(tmp_path: Path) -> None:
    heavy = ls.HeavyHitters(
        share=0.1, epsilon=4.0, delta=1e-6, discovery_epoch=2_000, max_item_bytes=16
    )
    assert heavy.release().names == ()
    assert heavy.release().to_bytes()[8] == 6  # a large table, with the promise of its run
    heavy.update_many(["a", b"a", 1, "longer than sixteen bytes"] * 500)
    release = heavy.release()
    assert set(release.names) == {"a", b"a", 1}
    complete = [hitter.item for hitter in heavy.top(9) if hitter.complete]
    assert len(heavy.candidates) == len(complete) + 1 == 4
    assert [name for name in heavy.candidates if name in release.names] == list(release.names)
    release.save(tmp_path / "a.lzs")
    loaded = ls.Release.load(tmp_path / "a.lzs")
    assert loaded.names == release.names
    assert [hitter.item for hitter in loaded.top()] == complete
    assert "3 names" in repr(loaded)


def test_a_public_domain_is_the_names() -> None:
    heavy = ls.HeavyHitters(domain=["b", "a", b"b"], epsilon=1.0, delta=1e-6, share=0.1)
    heavy.update_many(["a", "c"] * 5_000)
    assert heavy.release().names == ("b", "a", b"b")
    assert [hitter.item for hitter in heavy.release().top(n=1)] == ["a"]
    top, known = heavy.release().top(), heavy.top(10)
    assert sorted(top, key=repr) == sorted(known, key=repr)


def test_sketches_have_no_names() -> None:
    sketch = ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6)
    sketch.update_many(["a"] * 9)
    assert sketch.release().names == ()
    assert sketch.release().top() == []
    assert "names" not in repr(sketch.release())


def test_levels_and_windows_release_their_names() -> None:
    levels = ls.ipv4_prefixes((8, 32))
    networks = ls.HierarchicalHeavyHitters(
        levels, share=0.1, epsilon=8.0, delta=1e-6, discovery_epoch=2_000
    )
    networks.update_many(["10.0.0.1"] * 4_000)
    assert networks.release(0).names == ("10.0.0.0/8",)
    assert networks.release(1).names == tuple(networks.level(1).candidates)
    windows = ls.Windows(every=2_000, share=0.2, epsilon=8.0, delta=1e-6)
    windows.update_many(["a"] * 2_000 + ["b"] * 2_000)
    assert windows.release().names == ("b",)
    assert windows.release(2).names == ("a", "b")


def test_merged_names_are_the_union_in_order() -> None:
    seeds = {"depth": 2, "width": 8, "epsilon": 1.0, "delta": 1e-6, "hash_seed": 1}
    tables = [ls.LazyCountMin(**seeds).release()._native for _ in range(3)]
    first, second, third = (
        ls.Release(table, names)
        for table, names in zip(tables, [("a", 1), (), (b"a", "a", "b")], strict=True)
    )
    assert first.merge(second, third).names == ("a", 1, b"a", "b")
    assert third.merge(first).names == (b"a", "a", "b", 1)
    assert second.merge().names == ()
    merged = first.merge(second, third)
    assert ls.Release.from_bytes(merged.to_bytes()).names == merged.names
