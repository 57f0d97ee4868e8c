"""What every consumer of the package needs: its settings, and which errors pass."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from lazysketch.errors import ArgumentValueError, SourceError

__all__ = [
    "check_transient",
    "checked_settings",
    "is_incremental",
    "opened_consumer",
    "silent_logger",
]

_OURS: Final[dict[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    # A place that the broker no longer has is an error: skipped messages would never be counted.
    "auto.offset.reset": "error",
}
_TRANSIENT: Final = (
    KafkaError._PARTITION_EOF,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._MAX_POLL_EXCEEDED,
)


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a consumer, with those that the guarantee needs.

    Args:
        settings: of librdkafka, with at least ``bootstrap.servers`` and ``group.id``.

    Raises:
        ArgumentValueError: one that would break the guarantee, or one that is missing.
    """
    for name, value in _OURS.items():
        if str(settings.get(name, value)).lower() != str(value).lower():
            raise ArgumentValueError(
                f"settings: expected {name} = {str(value).lower()}, which the guarantee needs, "
                "got another"
            )
    for name in ("bootstrap.servers", "group.id"):
        if name not in settings:
            raise ArgumentValueError(f"settings: expected {name}, got none")
    return {**settings, **_OURS}


def silent_logger() -> logging.Logger:
    """Return a logger for clients that drops everything."""
    silent = logging.Logger("librdkafka")
    silent.addHandler(logging.NullHandler())
    return silent


def opened_consumer(
    settings: Mapping[str, Any], *, failed: Callable[[Any], object], **callbacks: Any
) -> Any:
    """Return a consumer that logs nothing: what librdkafka logs may quote settings.

    Args:
        settings: those of :func:`checked_settings`.
        failed: called with each error of the client.
        callbacks: further ones, such as ``stats_cb``.

    Raises:
        ArgumentValueError: a setting that librdkafka refuses; its name, not its value.
    """
    try:
        return Consumer({**settings, "error_cb": failed, **callbacks}, logger=silent_logger())
    except (KafkaException, TypeError, ValueError) as error:
        names = [name for name in settings if f'"{name}"' in str(error)]
        raise ArgumentValueError(
            "settings: expected settings of librdkafka, got one that it refuses"
            f"{': ' + ', '.join(names) if names else ''}"
        ) from None


def is_incremental(settings: Mapping[str, Any]) -> bool:
    """Return whether a group gives and takes single partitions, instead of all of them.

    Args:
        settings: of librdkafka.
    """
    strategy = str(settings.get("partition.assignment.strategy", ""))
    return "cooperative" in strategy or str(settings.get("group.protocol", "")) == "consumer"


def check_transient(error: Any) -> None:
    """Raise unless reading goes on after an error without a loss.

    Args:
        error: that of a message.

    Raises:
        SourceError: an error that does not pass.
    """
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise SourceError(
            "topic: expected the messages from the offset on that was counted last, got a broker "
            "that no longer has them; they were deleted before they were counted"
        )
    if error.fatal() or not (error.retriable() or error.code() in _TRANSIENT):
        raise SourceError(f"topic: expected messages, got the error {error.name()} of the broker")
