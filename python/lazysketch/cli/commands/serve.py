"""``lazysketch serve``: private statistics of live streams on a page that anyone may see."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import state_place
from lazysketch.cli.run.charging import Charging
from lazysketch.cli.run.replicas import check_publications, serve_replica
from lazysketch.cli.view.output import put, tell
from lazysketch.errors import ArgumentTypeError, MissingPackageError

if TYPE_CHECKING:
    from lazysketch.cli.settings import LedgerSettings
    from lazysketch.service.host import Host
    from lazysketch.service.service import Listening
    from lazysketch.service.settings import ServiceSettings

_PACKAGES: Final = ("cryptography", "prometheus_client", "starlette", "uvicorn")
_STORE: Final = "store"
_PUBLIC: Final = "public"
_OF_KAFKA: Final = {
    "topics": "--topic",
    "kafka_group": "--kafka-group",
    "kafka_settings": "--kafka-settings",
}


@dataclass(frozen=True, slots=True)
class _Shortcuts:
    """Options for a service of one stream, without a file of settings."""

    follow: str | None
    kafka: str | None
    topics: tuple[str, ...]
    kafka_group: str | None
    kafka_settings: str | None
    format: str | None
    field: str | None
    every: str | None
    listen: str | None


@click.command()
@click.option(
    "--state",
    metavar="DIR",
    type=click.Path(),
    help="Directory of the service: its state, and what it has published.  [default: none, it "
    "has to be given]",
)
@click.option(
    "--settings",
    metavar="FILE.toml",
    type=click.Path(),
    help="Streams, listeners and tokens (docs/service.md).  [default: one stream, events]",
)
@click.option(
    "--follow",
    metavar="FILE",
    type=click.Path(),
    help="Also count the rows of a file as it grows.  [default: events come over HTTP alone]",
)
@click.option(
    "--kafka",
    metavar="BROKERS",
    help="Also count the messages of topics: HOST:PORT, with commas between several.  [default: "
    "events come over HTTP alone]",
)
@click.option(
    "--topic",
    "topics",
    metavar="NAME",
    multiple=True,
    help="With --kafka: a topic; may be repeated.  [default: none, it has to be given]",
)
@click.option(
    "--kafka-group",
    metavar="NAME",
    help="With --kafka: the consumer group.  [default: one of this state and stream]",
)
@click.option(
    "--kafka-settings",
    metavar="FILE",
    type=click.Path(),
    help="With --kafka: further settings of librdkafka, NAME=VALUE in each line.  [default: none]",
)
@click.option(
    "--format",
    metavar="NAME",
    help="Format of the file, or of messages: jsonl, lines, arrow.  [default: recognised; jsonl "
    "of messages]",
)
@click.option(
    "--by",
    "field",
    metavar="FIELD",
    help="The field that is counted.  [default: item]",
)
@click.option("--every", metavar="TIME", help="Length of a window.  [default: 10min]")
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="Where readers connect.  [default: 127.0.0.1:8320]",
)
@click.option(
    "--replica",
    metavar="PLACE",
    help="Serve what another service has published: its address of readers, or a copy of its "
    "directory public.  [default: count events]",
)
@click.option(
    "--check",
    metavar="PLACE",
    help="Check an archive or a directory of publications, and exit.  [default: serve]",
)
@click.option(
    "--public-key",
    metavar="HEX",
    help="The key that signed the publications of --replica or --check.  [default: none, it has to "
    "be given]",
)
@state_place[0]
@state_place[1]
@click.option(
    "--new-era",
    is_flag=True,
    help="Go on in an older copy of the state, or without its anchor, with fresh noise, whose "
    "cost is added.  [default: refuse it]",
)
@ledger_options
@click.option(
    "--new-token",
    is_flag=True,
    help="Print a new token and its hash, and exit.  [default: serve]",
)
def serve(
    *,
    state: str | None,
    settings: str | None,
    follow: str | None,
    kafka: str | None,
    topics: tuple[str, ...],
    kafka_group: str | None,
    kafka_settings: str | None,
    format: str | None,  # noqa: A002 -- the name of the option
    field: str | None,
    every: str | None,
    listen: str | None,
    anchor: str | None,
    key_file: str | None,
    new_era: bool,
    new_token: bool,
    replica: str | None,
    check: str | None,
    public_key: str | None,
    charged: LedgerSettings,
) -> None:
    """Take events over HTTP, and publish what is frequent, at every tick of a public clock.

    Senders post events to one address, which only this machine can reach by default. Readers see
    a page at another: lists with intervals, courses and changes, under one guarantee. The process
    that readers reach has neither the counts nor their key. Ctrl-C or SIGTERM ends it in order.

    \b
    Examples:
      lazysketch serve --state pages.service
      lazysketch serve --state pages.service --follow access.log --format combined --by path
      lazysketch serve --state pages.service --kafka broker:9092 --topic visits --by path
      lazysketch serve --state shop.service --settings shop.toml
      lazysketch serve --new-token
      lazysketch serve --state copy --replica https://example.org --public-key HEX
    """
    _check_packages()
    if new_token:
        _print_token()
        return
    if check is not None:
        check_publications(check, public_key)
        return
    if state is None:
        raise ArgumentTypeError("--state: expected the directory of the service, got none")
    if replica is not None:
        options = (settings, follow, kafka, format, field, every, anchor, key_file)
        others = (*options, *topics, kafka_group, kafka_settings)
        if new_era or charged.ledger is not None or any(one is not None for one in others):
            raise ArgumentTypeError(
                "--replica: expected it with --state, --public-key and --listen alone, since a "
                "replica counts nothing, got another option"
            )
        serve_replica(replica, public_key, folder=state, listen=listen)
        return
    if public_key is not None:
        raise ArgumentTypeError("--public-key: expected --replica or --check too, got neither")
    charging = Charging(charged)
    charging.check()
    shortcuts = _Shortcuts(
        follow, kafka, topics, kafka_group, kafka_settings, format, field, every, listen
    )
    chosen = _settings(settings, shortcuts)
    _run(chosen, state, key_file=key_file, anchor=anchor, new_era=new_era, charging=charging)


def _run(
    settings: ServiceSettings | None,
    folder: str,
    *,
    key_file: str | None,
    anchor: str | None,
    new_era: bool,
    charging: Charging,
) -> None:
    from lazysketch.cli.run.state_keys import key_for, opened  # late, as all that only a run needs
    from lazysketch.service.definitions import check_streams, streams_to_open
    from lazysketch.service.host import Host
    from lazysketch.service.logs import log_as_json
    from lazysketch.service.service import Listening, run_service
    from lazysketch.service.settings import DEFAULT_STREAM, ServiceSettings
    from lazysketch.store.opening import is_store

    given = ServiceSettings() if settings is None else settings
    place = str(Path(folder) / _STORE)
    check_streams(given.streams, are_new=not is_store(place))
    listening = Listening.on(given)
    log_as_json()
    try:
        key, made = key_for(key_file, place)
        store = opened(place, key=key, anchor=anchor, new_era=new_era)
        if made is not None:
            tell(f"serve: the key of {folder} is in {made}; without it the state is lost")
        try:
            host = Host(store, Path(folder) / _PUBLIC, ledger=charging.ledger)
            configured = () if settings is None else settings.streams
            host.open_streams(streams_to_open(store, configured, otherwise=DEFAULT_STREAM))
        except BaseException:
            store.close()
            raise
    except BaseException:
        listening.close()
        raise
    run_service(
        listening,
        host,
        Path(place),
        started=lambda: _say(listening, host),
        ending=lambda: tell("serve: ending; requests that are under way are answered first"),
    )
    tell(f"serve: ended; what was acknowledged is durable, and the state is kept in {folder}")


def _settings(path: str | None, shortcuts: _Shortcuts) -> ServiceSettings | None:
    """Return what the operator chose; None for nothing, so that a state goes on as it is."""
    from lazysketch.service.settings import DEFAULT_STREAM, read_settings, settings_of

    changed = {
        "follow": shortcuts.follow,
        "kafka": shortcuts.kafka,
        "topics": shortcuts.topics or None,
        "kafka_group": shortcuts.kafka_group,
        "kafka_settings": shortcuts.kafka_settings,
        "format": shortcuts.format,
        "item": shortcuts.field,
        "every": shortcuts.every,
    }
    given = {name: value for name, value in changed.items() if value is not None}
    listen = {} if shortcuts.listen is None else {"read": {"listen": shortcuts.listen}}
    if path is not None:
        if given or listen:
            raise ArgumentTypeError(
                "--settings: expected it without --follow, --kafka and its options, --format, "
                "--by, --every and --listen, which the file has, got both"
            )
        return read_settings(path)
    if shortcuts.kafka is None:
        for name, option in _OF_KAFKA.items():
            if name in given:
                raise ArgumentTypeError(f"{option}: expected --kafka too, got none")
        if shortcuts.format is not None and shortcuts.follow is None:
            raise ArgumentTypeError("--format: expected --follow or --kafka too, got neither")
    elif not shortcuts.topics:
        raise ArgumentTypeError("--topic: expected at least one with --kafka, got none")
    if not given and not listen:
        return None
    stream = {"title": DEFAULT_STREAM.title, **given}
    return settings_of({"streams": {DEFAULT_STREAM.name: stream}, **listen})


def _say(listening: Listening, host: Host) -> None:
    """Say where everything is, and how to send the first event."""
    ingest = listening.address("ingest")
    first = next(iter(host.streams.values()))
    tell(f"serve: page for readers {listening.address('read')}/")
    tell(f"serve: events to {ingest}/v1/streams/{first.settings.name}/events")
    tell(f"serve: operator {listening.address('admin')}/v1/streams")
    for name, stream in host.streams.items():
        facts, span = stream.facts, stream.settings.span
        windows = f"windows of {stream.settings.every}" if span is None else f"the last {span}"
        tell(
            f"serve: {name}: {windows}, published every "
            f"{facts.every / facts.slices:g} s; {stream.counts.privacy}"
        )
    listed = first.settings.domain is not None
    if not listed and first.settings.kind == "items":
        tell(f"serve: names show when a window has ended, the first within {first.settings.every}")
    token = "" if not len(listening.settings.ingest.tokens) else "-H 'Authorization: Bearer ...' "
    tell(
        f"serve: try  printf '/a\\n/b\\n/a\\n' | curl {token}-H 'Content-Type: text/plain' "
        f"--data-binary @- {ingest}/v1/streams/{first.settings.name}/events"
    )


def _print_token() -> None:
    from lazysketch.service.tokens import new_token, token_hash

    token = new_token()
    put(f"token  {token}\nhash   {token_hash(token)}\n")
    tell("serve: give the token to the sender; put the hash into [ingest.tokens] of the settings")


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"serve: expected the packages of pip install 'lazysketch[serve]', got no {missing[0]}"
        )
    if sys.platform == "win32":
        raise MissingPackageError("serve: expected Linux or macOS, got Windows")
