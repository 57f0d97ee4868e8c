"""Questions about ranges of keys as they are typed: networks, and two ends with a dash between."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from lazysketch.errors import ArgumentValueError

__all__ = ["is_question", "range_of_network", "range_of_question"]

_IPV4_BITS: Final = 32
_IPV6_BITS: Final = 64  # keys are the first half of an address
_KEY: Final = r"[0-9]{1,20}"
_ADDRESS: Final = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40}"
_TWO_KEYS: Final = re.compile(f"({_KEY})-({_KEY})", re.ASCII)
_TWO_ADDRESSES: Final = re.compile(f"({_ADDRESS})-({_ADDRESS})", re.ASCII)
_NETWORK: Final = re.compile(f"(?:{_ADDRESS})(?:/[0-9]{{1,3}})?", re.ASCII)


def is_question(text: str) -> bool:
    """Return whether a text has the form of a question for a range of keys.

    Args:
        text: as typed.

    Returns:
        True also for a network that there is not, such as "10.0.0.1/8".

    Example:
        >>> is_question("10.0.0.0/8"), is_question("0-1024"), is_question("access.log")
        (True, True, False)
    """
    return any(form.fullmatch(text) for form in (_TWO_KEYS, _TWO_ADDRESSES, _NETWORK))


def range_of_question(text: str, bits: int) -> tuple[int, int]:
    """Return the first key of a question, and the key after the last one.

    Args:
        text: a network, or two keys or addresses with a dash between them, the second one excluded.
        bits: of a key.

    Raises:
        ArgumentValueError: another text, or a network of other keys.

    Example:
        >>> range_of_question("0-1024", 16), range_of_question("0.0.1.0/24", 32)
        ((0, 1024), (256, 512))
        >>> range_of_question("0.0.1.0-0.0.1.128", 32)
        (256, 384)
    """
    if keys := _TWO_KEYS.fullmatch(text):
        return int(keys[1]), int(keys[2])
    if ends := _TWO_ADDRESSES.fullmatch(text):
        first, last = (range_of_network(f"{end}/{bits}", bits)[0] for end in ends.groups())
        return first, last
    return range_of_network(text, bits)


def range_of_network(network: str, bits: int) -> tuple[int, int]:
    """Return the first key of a network, and the key after the last one.

    Args:
        network: of IPv4 addresses for keys of 32 bits; of IPv6 addresses for keys of 64 bits, which
            are the first half of an address.
        bits: of a key.

    Raises:
        ArgumentValueError: another text, keys of other bits, or a network within one key.

    Example:
        >>> range_of_network("2001:db8::/62", 64)[1] - range_of_network("2001:db8::/62", 64)[0]
        4
    """
    if bits == _IPV4_BITS:
        return _range_of(ipaddress.IPv4Network, network, bits, such_as="10.0.0.0/8")
    if bits == _IPV6_BITS:
        return _range_of(ipaddress.IPv6Network, network, bits, such_as="2001:db8::/32")
    raise ArgumentValueError(
        f"network: expected keys of 32 bits (IPv4) or 64 (IPv6), got {bits} bits"
    )


def _range_of(
    kind: type[ipaddress.IPv4Network | ipaddress.IPv6Network],
    network: str,
    bits: int,
    *,
    such_as: str,
) -> tuple[int, int]:
    try:
        found = kind(network, strict=False)
    except ValueError:
        raise ArgumentValueError(
            f"network: expected one such as {such_as!r}, got another text"
        ) from None
    if str(found.network_address) != str(kind(network.partition("/")[0]).network_address):
        raise ArgumentValueError(
            f"network: expected an address that ends where its prefix does, as in {such_as!r}, "
            "got one with further bits"
        )
    if found.prefixlen > bits:
        raise ArgumentValueError(
            f"network: expected a prefix of at most {bits} bits, since a key is the first {bits} "
            "bits of an address, got a longer one"
        )
    first = int(found.network_address) >> (found.max_prefixlen - bits)
    return first, first + (1 << (bits - found.prefixlen))
