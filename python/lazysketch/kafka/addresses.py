"""Addresses of topics: ``kafka://BROKER[,BROKER]/TOPIC``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from lazysketch.arguments import check_texts, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["TopicAddresses", "checked_addresses", "checked_topic"]

SCHEME: Final = "kafka://"
_BROKERS: Final = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}"
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_ADDRESS: Final = re.compile(rf"kafka://({_BROKERS}(?:,{_BROKERS})*)/([^/]+)")


class TopicAddresses(NamedTuple):
    """Topics of one cluster.

    Attributes:
        brokers: HOST:PORT of brokers to begin with, with commas between several.
        topics: names of topics, each once.
    """

    brokers: str
    topics: tuple[str, ...]


def checked_addresses(addresses: str | Iterable[str]) -> TopicAddresses:
    """Return what addresses of topics name.

    Args:
        addresses: one or several, of the same brokers.

    Raises:
        ArgumentTypeError: no address, or something that is not text.
        ArgumentValueError: an address of another form, of other brokers, or given twice.

    Example:
        >>> checked_addresses("kafka://one:9092,two:9092/visits")
        TopicAddresses(brokers='one:9092,two:9092', topics=('visits',))
    """
    given = [addresses] if isinstance(addresses, str) else list(addresses)
    if not given:
        raise ArgumentTypeError("addresses: expected at least one topic, got none")
    found: list[tuple[str, str]] = []
    for address in given:
        check_texts(address=address)
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise ArgumentValueError(
                f"address: expected kafka://HOST:PORT[,HOST:PORT]/TOPIC, got {shown(address)}"
            )
        found.append((match[1], checked_topic(match[2])))
    brokers = {one for one, _ in found}
    topics = tuple(topic for _, topic in found)
    if len(brokers) > 1:
        raise ArgumentValueError(
            f"addresses: expected topics of the same brokers, got {len(brokers)} lists of brokers"
        )
    if len(set(topics)) < len(topics):
        raise ArgumentValueError("addresses: expected each topic once, got one twice")
    return TopicAddresses(found[0][0], topics)


def checked_topic(topic: str) -> str:
    """Return a name that a topic can have.

    Args:
        topic: 1 to 249 letters, digits, full stops, hyphens and underscores.

    Raises:
        ArgumentValueError: another text.

    Example:
        >>> checked_topic("visits.v2")
        'visits.v2'
    """
    if _TOPIC.fullmatch(topic) is None:
        raise ArgumentValueError(
            "topic: expected 1 to 249 letters, digits, full stops, hyphens and underscores, got "
            f"{shown(topic)}"
        )
    return topic
