"""Settings of the consumer of a stream: brokers, group, and a file with security settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from lazysketch.errors import MissingPackageError
from lazysketch.sources.io.properties import read_properties

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["consumer_settings", "read_properties"]


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
