"""Names of items at the levels of a hierarchy, and the way back to parents."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError

V4, V6, PATHS, NAMES = ls.ipv4_prefixes(), ls.ipv6_prefixes(), ls.url_paths(), ls.dns_names()
HIERARCHIES = {"IPv4": V4, "IPv6": V6, "paths": PATHS, "names": NAMES}


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(1, 32), min_size=1))
@settings(max_examples=300)
def test_ipv4_is_the_standard_library_s(number: int, lengths: set[int]) -> None:
    address = ipaddress.IPv4Address(number)
    levels = ls.ipv4_prefixes(sorted(lengths))
    expected = [
        str(ipaddress.ip_network((address, size), strict=False)) for size in sorted(lengths)
    ]
    plain = tuple(name.removesuffix("/32") for name in expected)
    assert levels.of(str(address)) == levels.of(number) == plain


@given(st.integers(0, 2**128 - 1), st.sets(st.integers(1, 128), min_size=1, max_size=6))
@settings(max_examples=300)
def test_ipv6_is_the_standard_library_s(number: int, lengths: set[int]) -> None:
    address = ipaddress.IPv6Address(number)
    levels = ls.ipv6_prefixes(sorted(lengths))
    expected = [
        str(ipaddress.ip_network((address, size), strict=False)) for size in sorted(lengths)
    ]
    plain = tuple(name.removesuffix("/128") for name in expected)
    assert levels.of(address.exploded) == levels.of(number) == plain


LABELS = st.text("abcXYZ_-", min_size=1, max_size=5)
ITEMS = {
    "IPv4": st.ip_addresses(v=4).map(str),
    "IPv6": st.ip_addresses(v=6).map(str),
    "paths": st.lists(st.text("ab/.", max_size=4), max_size=7).map(lambda p: "/" + "/".join(p)),
    "names": st.lists(LABELS, min_size=1, max_size=7).map(".".join) | st.just("."),
}


@pytest.mark.parametrize("kind", HIERARCHIES)
@given(data=st.data())
def test_a_name_determines_all_above_it(kind: str, data: Any) -> None:
    """A name of a level has the same ancestors as the item, which the tree relies on."""
    levels = HIERARCHIES[kind]
    names = levels.of(data.draw(ITEMS[kind]))
    assert len(names) == len(levels.names)
    for level in range(len(names) - 1, 0, -1):
        assert levels.above(names[level], level) == names[level - 1]


@pytest.mark.parametrize(
    ("levels", "item", "names"),
    [
        (PATHS, "/a/b/c/d/e?x=/y#z", ("/a/", "/a/b/", "/a/b/c/", "/a/b/c/d/e")),
        (PATHS, "/a/b", ("/a/", "/a/b", "/a/b", "/a/b")),
        (PATHS, "/a/", ("/a/", "/a/", "/a/", "/a/")),
        (PATHS, "/", ("/", "/", "/", "/")),
        (PATHS, "//", ("//", "//", "//", "//")),
        (PATHS, "https://host:80/a/b", ("/a/", "/a/b", "/a/b", "/a/b")),
        (PATHS, "https://host", ("/", "/", "/", "/")),
        (PATHS, "/to/http://host/b", ("/to/", "/to/http:/", "/to/http://", "/to/http://host/b")),
        (NAMES, "A.b.C.d.", ("d", "c.d", "b.c.d", "a.b.c.d")),
        (NAMES, "b.c", ("c", "b.c", "b.c", "b.c")),
        (NAMES, ".", (".", ".", ".", ".")),
        (V4, "10.1.2.3", ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3")),
        (V6, "::1", ("::/32", "::/48", "::/64", "::1")),
        (V6, "fe80::1%eth0", ("fe80::/32", "fe80::/48", "fe80::/64", "fe80::1")),
    ],
)
def test_names_of_items(levels: ls.Levels, item: str, names: tuple[str, ...]) -> None:
    assert levels.of(item) == names


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ls.Levels("ab", len), ArgumentTypeError),
        (lambda: ls.Levels((), len), ArgumentValueError),
        (lambda: ls.Levels(("a", "a"), len), ArgumentValueError),
        (lambda: ls.Levels(("a",), "len"), ArgumentTypeError),
        (lambda: ls.Levels(("a",), len, "len"), ArgumentTypeError),
        (lambda: ls.ipv4_prefixes(()), ArgumentValueError),
        (lambda: ls.ipv4_prefixes((8, 8)), ArgumentValueError),
        (lambda: ls.ipv4_prefixes((16, 8)), ArgumentValueError),
        (lambda: ls.ipv4_prefixes((8, 33)), ArgumentValueError),
        (lambda: ls.ipv4_prefixes((0, 8)), ArgumentValueError),
        (lambda: ls.ipv4_prefixes("8"), ArgumentTypeError),
        (lambda: ls.ipv6_prefixes((129,)), ArgumentValueError),
        (lambda: ls.url_paths(0), ArgumentValueError),
        (lambda: ls.dns_names(33), ArgumentValueError),
        (lambda: V4.above("10.0.0.0/8", 0), ArgumentValueError),
        (lambda: ls.Levels(("a", "b"), lambda item: (item,)).above("x", 1), ArgumentValueError),
    ],
)
def test_levels_that_are_none(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("bad", [(1.5,), ("8",), (0,), (33,)])
def test_bad_lengths_are_named(bad: Any) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="^lengths: expected"):
        ls.ipv4_prefixes(bad)


# The oracle of paths and domains: the same names by operations on whole texts.


def directories(text: str, depth: int) -> tuple[str, ...] | None:
    path = text.partition("#")[0].partition("?")[0]
    scheme, mark, rest = path.partition("://")
    if mark and "/" not in scheme:
        path = "/" + rest.partition("/")[2]
    if not path.startswith("/"):
        return None
    parts = path.split("/")[1:]
    shorter = ["/" + "/".join(parts[:n]) + "/" for n in range(1, min(depth, len(parts) - 1) + 1)]
    return (*shorter, *[path] * (depth + 1 - len(shorter)))


def domains(text: str, depth: int) -> tuple[str, ...] | None:
    name = text.lower()
    if name == ".":
        return (".",) * (depth + 1)
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(labels):
        return None
    return (*(".".join(labels[-n:]) for n in range(1, depth + 1)), name)


def networks(text: str, lengths: tuple[int, ...], *, bits: int) -> tuple[str, ...] | None:
    kind = ipaddress.IPv4Address if bits == 32 else ipaddress.IPv6Address
    try:
        number = int(kind(text))
    except ValueError:
        return None
    first = [number >> (bits - size) << (bits - size) for size in lengths]
    return tuple(
        f"{address_text(start, bits=bits)}{'' if size == bits else f'/{size}'}"
        for start, size in zip(first, lengths, strict=True)
    )


def address_text(number: int, *, bits: int) -> str:
    """Return the text of an address; that of IPv6 is hexadecimal in every version of Python."""
    if bits == 32:
        return str(ipaddress.IPv4Address(number))
    if number >> 32 == 0xFFFF:
        return f"::ffff:{number >> 16 & 0xFFFF:x}:{number & 0xFFFF:x}"
    return str(ipaddress.IPv6Address(number))


ANY_TEXT = st.text(max_size=12) | st.text("aB.:/?#0é%İΣ", max_size=14)
NEAR_ADDRESSES = st.ip_addresses().map(str) | st.text("0123456789abcf:.%/ ", max_size=20)
ORACLES: dict[str, tuple[ls.Levels, Any, Callable[[str], tuple[str, ...] | None]]] = {
    "IPv4": (V4, NEAR_ADDRESSES, lambda text: networks(text, (8, 16, 24, 32), bits=32)),
    "IPv6": (
        V6,
        NEAR_ADDRESSES
        | st.integers(0, 2**32 - 1).map(lambda n: f"::ffff:{n >> 16:x}:{n % 2**16:x}"),
        lambda text: networks(text, (32, 48, 64, 128), bits=128),
    ),
    "paths": (PATHS, ANY_TEXT, lambda text: directories(text, 3)),
    "names": (NAMES, ANY_TEXT, lambda text: domains(text, 3)),
}


@pytest.mark.parametrize("kind", ORACLES)
@given(data=st.data())
@settings(max_examples=300)
def test_names_are_those_of_the_oracle(kind: str, data: Any) -> None:
    levels, texts, oracle = ORACLES[kind]
    items = data.draw(st.lists(texts, max_size=8))
    expected = [oracle(item) for item in items]
    for item, names in zip(items, expected, strict=True):
        if names is None:
            with pytest.raises(ItemError, match=r"expected items that fit the levels, got "):
                levels.of(item)
        else:
            assert levels.of(item) == names
    fit = [item for item, names in zip(items, expected, strict=True) if names is not None]
    columns = [[names[at] for names in expected if names is not None] for at in range(4)]
    assert levels.columns(fit) == levels.columns(pa.array(fit, pa.string())) == columns
    bad = next((at for at, names in enumerate(expected) if names is None), None)
    if bad is not None:
        with pytest.raises(ItemError, match=f"at position {bad}; nothing was applied"):
            levels.columns(items)


@pytest.mark.parametrize("many", [1, 70, 9_000])
def test_repeated_items_have_their_names_in_their_rows(many: int) -> None:
    """A batch keeps recent items, so that their names are made once."""
    numbers = np.random.default_rng(5).zipf(1.2, many) % 2**32
    addresses = [str(ipaddress.IPv4Address(int(number))) for number in numbers]
    columns = V4.columns(addresses)
    known = {address: V4.of(address) for address in addresses}
    assert list(zip(*columns, strict=True)) == [known[address] for address in addresses]
    assert V4.columns(numbers.astype(np.uint32)) == columns
    assert V4.columns(pa.array(addresses).dictionary_encode()) == columns
    mixed = [int(number) if at % 2 else addresses[at] for at, number in enumerate(numbers)]
    assert V4.columns(mixed) == columns


@pytest.mark.parametrize("levels", [V4, V6, PATHS, NAMES], ids=list(HIERARCHIES))
@pytest.mark.parametrize("bad", [b"10.0.0.1", -1, 2**128, 1.5, None])
def test_other_items_are_refused(levels: ls.Levels, bad: Any) -> None:
    with pytest.raises(ItemError, match="^items: expected"):
        levels.of(bad)
    with pytest.raises(ItemError, match="^items: expected .* at position 0"):
        levels.columns([bad])


def test_functions_of_users_are_called_once_per_item() -> None:
    asked: list[object] = []

    def split(item: object) -> tuple[Any, ...]:
        asked.append(item)
        return (str(item)[:1], item)

    levels = ls.Levels(("first", "item"), split)
    items = ["ab", 7, "ac", "ab", 7]
    assert levels.columns(items) == [["a", "7", "a", "a", "7"], items]
    assert asked == ["ab", 7, "ac"]
