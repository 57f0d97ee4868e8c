"""Settings of the consumer of a stream: brokers, group, and a file with security settings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentValueError, MissingPackageError, SourceError

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["consumer_settings", "read_properties"]


def consumer_settings(settings: StreamSettings, *, state: str) -> dict[str, str]:
    """Return what the operator chose for the consumer of a stream.

    The group is that of the settings, or of their file. Otherwise its name follows from the state
    and the stream, so that each service counts all messages.

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
    found = {"group.id": f"lazysketch {state} {settings.name}"}
    if settings.kafka_settings is not None:
        found |= read_properties(settings.kafka_settings)
    found["bootstrap.servers"] = settings.kafka
    if settings.kafka_group is not None:
        found["group.id"] = settings.kafka_group
    return found


def read_properties(path: str | Path) -> dict[str, str]:
    """Return the settings of a file with a line ``NAME=VALUE`` for each.

    Empty lines and lines that begin with ``#`` are skipped. No error has a value.

    Args:
        path: the file.

    Raises:
        SourceError: a file that cannot be read.
        ArgumentValueError: another line, or a name that occurs twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{path}: expected a readable file, got {error.strerror}") from None
    except UnicodeDecodeError:
        raise SourceError(f"{path}: expected text in UTF-8, got other bytes") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        name, equals, value = content.partition("=")
        key = name.strip()
        if not equals or not key or key in found:
            got = "a name that occurs twice" if key in found else "another text"
            raise ArgumentValueError(f"{path}: expected NAME=VALUE in line {number}, got {got}")
        found[key] = value.strip()
    return found
