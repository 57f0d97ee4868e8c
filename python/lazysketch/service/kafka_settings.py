"""Topics of a stream: what is checked, and the settings of their consumer."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from lazysketch.sources.io.properties import read_properties

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["TOPICS", "check_text", "check_topics", "consumer_settings", "read_properties"]

TOPICS: Final = ("kafka", "topics", "kafka_group", "kafka_settings")
"""Settings that say where messages come from."""
_MESSAGE_FORMATS: Final = ("jsonl", "lines", "arrow")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def consumer_settings(settings: StreamSettings, *, state: str) -> dict[str, str]:
    """Return what the operator chose for the consumer of a stream.

    The group is that of the settings, or of their file. Otherwise its name follows from the state
    and the stream, so that each service counts all messages. The service is a static member of its
    group, whose name follows from both too: after a kill it takes its own place, and need not wait
    until the broker takes the old consumer for lost.

    Args:
        settings: the stream, which has topics.
        state: id of the state.

    Raises:
        MissingPackageError: the package ``confluent_kafka`` is not installed.
        SourceError: a file that cannot be read.
        ArgumentValueError: a file with other lines than ``NAME=VALUE``.
    """
    if find_spec("confluent_kafka") is None:
        raise MissingPackageError(
            "kafka: expected the packages of pip install 'lazysketch[kafka]', got no "
            "confluent_kafka"
        )
    assert settings.kafka is not None, "callers check"  # noqa: S101
    found = {
        "group.id": f"lazysketch {state} {settings.name}",
        "group.instance.id": f"lazysketch-{state}-{settings.name}",
    }
    if settings.kafka_settings is not None:
        found |= read_properties(settings.kafka_settings)
    found["bootstrap.servers"] = settings.kafka
    if settings.kafka_group is not None:
        found["group.id"] = settings.kafka_group
    return found


def check_text(name: str, value: object) -> None:
    """Raise for what is no text.

    Args:
        name: of the setting.
        value: what was given.

    Raises:
        ArgumentTypeError: something else.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}: expected a text, got {type(value).__name__}")


def check_topics(settings: StreamSettings) -> None:
    """Check what says where messages are read, and how.

    Args:
        settings: the stream.

    Raises:
        ArgumentTypeError: a wrong type, or settings that exclude each other.
        ArgumentValueError: a value outside its range.
    """
    if not isinstance(settings.topics, tuple):
        raise ArgumentTypeError(
            f"topics: expected a list of texts, got {type(settings.topics).__name__}"
        )
    for topic in settings.topics:
        check_text("topics", topic)
        if not _TOPIC.fullmatch(topic):
            raise ArgumentValueError(
                "topics: expected names of 1 to 249 letters, digits, full stops, hyphens and "
                f"underscores, got {shown(topic)}"
            )
    if settings.kafka is None:
        for name in TOPICS[1:]:
            if getattr(settings, name):
                raise ArgumentTypeError(f"{name}: expected it with kafka, got it alone")
        return
    if not settings.topics:
        raise ArgumentTypeError("topics: expected at least one with kafka, got none")
    if settings.follow is not None:
        raise ArgumentTypeError("follow: expected none with kafka, got both")
    if settings.format not in (None, *_MESSAGE_FORMATS):
        raise ArgumentValueError(
            f"format: expected one of {', '.join(_MESSAGE_FORMATS)} with kafka, got "
            f"{shown(settings.format)}"
        )
    if settings.format == "lines" and (settings.weight or settings.user or settings.value):
        raise ArgumentTypeError(
            "format: expected jsonl or arrow, since events have more than an item, got 'lines'"
        )
