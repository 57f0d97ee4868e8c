"""Topics of Kafka among the inputs of a run: ``kafka://HOST:PORT/TOPIC``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from lazysketch.sources.io.properties import read_properties

if TYPE_CHECKING:
    from lazysketch.cli.run.state import State
    from lazysketch.cli.settings import InputSettings
    from lazysketch.sources import Source

__all__ = ["check_no_topics", "is_topic", "open_topic_inputs"]

_SCHEME: Final = "kafka://"


def is_topic(path: str) -> bool:
    """Tell whether an input is a topic."""
    return path.startswith(_SCHEME)


def check_no_topics(reading: InputSettings) -> None:
    """Raise for options that need a topic.

    Raises:
        ArgumentTypeError: One of them.
    """
    if reading.kafka_settings is not None:
        raise ArgumentTypeError(
            f"--kafka-settings: expected an input {_SCHEME}HOST:PORT/TOPIC too, got none"
        )


def open_topic_inputs(
    reading: InputSettings,
    files: tuple[str, ...],
    *,
    times: bool,
    user: str | None,
    state: State | None,
) -> Source:
    """Return topics as one source, with a state after what it has counted of them.

    Raises:
        MissingPackageError: The extra is not installed.
        SourceError: Brokers that do not answer, or messages that are not there any more.
        ArgumentTypeError: An option that topics do not have.
        ArgumentValueError: Files too, or an address of another form.
    """
    others = [path for path in files if not is_topic(path)]
    if others:
        raise ArgumentValueError(
            f"FILE: expected topics only, or files only, got both: {others[0]}"
        )
    if reading.delimiter is not None:
        raise ArgumentTypeError("--delimiter: expected none for topics, got one")
    if find_spec("confluent_kafka") is None:
        raise MissingPackageError(
            "FILE: expected the packages of pip install 'lazysketch[kafka]' for a topic, got no "
            "confluent_kafka"
        )
    from lazysketch.kafka.topic_source import open_topics  # late: needs the extra

    path = reading.kafka_settings
    source = open_topics(
        files,
        settings=None if path is None else read_properties(path),
        format=reading.format,
        field=reading.field,
        encoding=reading.encoding,
        weight=reading.weight,
        max_weight=reading.max_weight,
        item_type=reading.items_type,
        strict=reading.strict,
        times=times,
        time=reading.time,
        time_unit=reading.time_unit,
        user=user,
        follow=reading.follow,
        regex=reading.regex,
        trusted_hops=reading.trusted_hops,
        value=reading.value,
        note=None if state is None else state.store.note,
        reread=state is not None and state.rereads,
    )
    if state is not None:
        source.check_field = state.reads
    return source
