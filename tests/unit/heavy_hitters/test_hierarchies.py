"""Names of items at the levels of a hierarchy, and the way back to parents."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

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
