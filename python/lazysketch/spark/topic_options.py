"""The options of the data source ``lazysketch`` that name topics of Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Selection

__all__ = ["OF_TOPICS", "TopicOptions"]

OF_TOPICS: Final = ("kafka", "topics", "kafka_settings", "offsets")


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """Which topics are read.

    Args:
        brokers: HOST:PORT, with commas between several.
        topics: Their names.
        settings: A file with further settings of librdkafka, on every machine; None for none.
        offsets: Of a batch: topic, partition, first offset and the one after the last of each
            range; empty for all that there is.
    """

    brokers: str
    topics: tuple[str, ...]
    settings: str | None
    offsets: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> TopicOptions | None:
        """Return the options that the texts say; None without the option ``kafka``.

        Raises:
            ArgumentTypeError: No topics, or an option that needs ``kafka``.
            ArgumentValueError: An address, a name or offsets of another form.
            MissingPackageError: The extra ``kafka`` is not installed.
        """
        if "kafka" not in given:
            for name in OF_TOPICS:
                if name in given:
                    raise ArgumentTypeError(f"{name}: expected the option kafka too, got none")
            return None
        if find_spec("confluent_kafka") is None:
            raise MissingPackageError(
                "kafka: expected the packages of pip install 'lazysketch[kafka]', got no "
                "confluent_kafka"
            )
        from lazysketch.kafka.addresses import checked_addresses  # late: needs the extra

        if not given.get("topics"):
            raise ArgumentTypeError("topics: expected names with commas between them, got none")
        names = given["topics"].split(",")
        found = checked_addresses([f"kafka://{given['kafka']}/{name.strip()}" for name in names])
        return cls(
            found.brokers,
            found.topics,
            given.get("kafka_settings"),
            _ranges(given["offsets"], found.topics) if "offsets" in given else (),
        )

    def check_format(self, name: str, request: Selection) -> None:
        """Raise unless values of a format have what is requested.

        Args:
            name: One of the formats of values.
            request: What is read of each row.

        Raises:
            ArgumentTypeError: No field for a format that requires one.
            ArgumentValueError: Another format.
        """
        from lazysketch.kafka.rows import row_format  # late: needs the extra

        row_format(name, request)


def _ranges(text: str, topics: tuple[str, ...]) -> tuple[tuple[str, int, int, int], ...]:
    """Return the ranges of ``{"topic": {"0": [begin, end]}}``."""
    try:
        found = tuple(
            sorted(
                (str(topic), int(number), int(begin), int(end))
                for topic, of_topic in json.loads(text).items()
                for number, (begin, end) in of_topic.items()
            )
        )
    except (AttributeError, TypeError, ValueError):
        found = ()
    is_right = all(0 <= begin <= end and number >= 0 for _, number, begin, end in found)
    if not found or not is_right or {one[0] for one in found} != set(topics):
        raise ArgumentValueError(
            'offsets: expected {"TOPIC": {"PARTITION": [FIRST, END]}} of all topics, got another '
            "text"
        )
    return found
