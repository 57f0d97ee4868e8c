"""The streams of a service as its store knows them: each life goes on with all of them."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError, StoreError
from lazysketch.service.kafka_settings import consumer_settings
from lazysketch.service.stream_settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lazysketch.store import Store

__all__ = ["check_new_stream", "check_streams", "keep_definition", "streams_to_open"]

_PREFIX: Final = "service stream "
_LONGEST: Final = 9_000
_WITHOUT_LIST: Final = {"domain": "of the configuration"}
# What counts of a person; a stream of values or ranges has `per_person` instead of the first two.
_OF_PEOPLE: Final = ("cells", "per_cell", "most_people")
_DEFAULTS: Final = {field.name: field.default for field in fields(StreamSettings)}


def check_streams(configured: Iterable[StreamSettings], *, are_new: bool = False) -> None:
    """Check all that windows check, before any state is made that a typing error would fix.

    Args:
        configured: the streams of the configuration.
        are_new: whether there is no state yet that could have them.

    Raises:
        ArgumentTypeError: a wrong type, or settings that a new stream may not have.
        ArgumentValueError: a value outside its range.
        MissingPackageError: topics without the package that reads them.
        SourceError: a file of settings of Kafka that cannot be read.
    """
    for one in configured:
        try:
            _text(one)
            if one.kafka is not None:
                consumer_settings(one, state="")
            one.privacy  # noqa: B018 -- makes windows without a store
            if are_new:
                check_new_stream(one)
        except LazySketchError as error:
            raise type(error)(f"streams.{one.name}.{error}") from None


def check_new_stream(settings: StreamSettings) -> None:
    """Check what a stream that is made may not say, though one that is stored goes on with it.

    Args:
        settings: a stream that the store does not have.

    Raises:
        ArgumentTypeError: a largest weight for events that have none, which costs noise alone; or a
            bound of people for events without the field of a person, which protects no person.
    """
    if settings.weight is None and settings.max_weight != 1:
        raise ArgumentTypeError("max_weight: expected weight too, the field of it, got none")
    chosen = [name for name in _OF_PEOPLE if getattr(settings, name) != _DEFAULTS[name]]
    if settings.user is None and chosen:
        raise ArgumentTypeError(
            f"{chosen[0]}: expected user too, the field of the person, got none"
        )
    if settings.kind in ("values", "ranges") and any(name != "most_people" for name in chosen):
        raise ArgumentTypeError(
            f"{chosen[0]}: expected none for {settings.kind}, of which per_person events of a "
            "person count, got some"
        )


def streams_to_open(
    store: Store, configured: Iterable[StreamSettings], *, otherwise: StreamSettings
) -> list[StreamSettings]:
    """Return the streams of a configuration and those that the store has without it.

    Args:
        store: the open store.
        configured: the streams of the configuration, in order.
        otherwise: the stream of a new service without a configuration.

    Raises:
        ArgumentValueError: a stream that was made with other parameters, or one whose public list
            only a configuration has.
        StoreError: a store of another program.
    """
    given = list(configured)
    names = {one.name for one in given}
    for one in given:
        _check_unchanged(store, one)
    kept = [name for name in store.names if name not in names]
    found = [*given, *(_definition(store, name) for name in kept)]
    return found or [otherwise]


def keep_definition(store: Store, settings: StreamSettings) -> None:
    """Keep the description of a stream in the store, durable with its first commit.

    Args:
        store: the open store.
        settings: the description.

    Raises:
        StoreError: a store that cannot be written.
    """
    text = _text(settings)
    if store.note(f"{_PREFIX}{settings.name}") != text:
        store.keep_note(f"{_PREFIX}{settings.name}", text)


def _check_unchanged(store: Store, settings: StreamSettings) -> None:
    if settings.name not in store.names:
        return
    values = json.loads(store.note(f"{_PREFIX}{settings.name}") or "{}")
    if values.get("domain") == _WITHOUT_LIST:
        values["domain"] = settings.domain
    earlier = StreamSettings.from_mapping(settings.name, values)
    name = settings.changed_since(earlier)
    if name is not None:
        raise ArgumentValueError(
            f"streams.{settings.name}.{name}: expected {getattr(earlier, name)!r}, with which the "
            f"stream was made, got {getattr(settings, name)!r}; give another stream a new name"
        )


def _definition(store: Store, name: str) -> StreamSettings:
    text = store.note(f"{_PREFIX}{name}")
    if not text:
        raise StoreError(f"state: expected that of a service, got one of another program: {name}")
    values = json.loads(text)
    if values.get("domain") == _WITHOUT_LIST:
        raise ArgumentValueError(
            f"streams.{name}: expected the configuration that has its list of items, got none"
        )
    return StreamSettings.from_mapping(name, values)


def _text(settings: StreamSettings) -> str:
    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    del values["name"]
    text = json.dumps(values)
    if len(text) > _LONGEST and settings.domain is not None:
        text = json.dumps({**values, "domain": _WITHOUT_LIST})
    if len(text) > _LONGEST:
        raise ArgumentValueError(
            f"settings: expected at most {_LONGEST:,} characters together, got {len(text):,}"
        )
    return text
