"""What the operator may choose, and what each wrong choice is answered with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.service.publications import Service, settings

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.service.definitions import streams_to_open
from lazysketch.service.settings import DEFAULT_STREAM, read_settings, settings_of
from lazysketch.service.tokens import Tokens, new_token, token_hash

HASH = token_hash("ls_test")


def test_a_file_describes_everything(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text(
        f"""
        [streams.pages]
        title = "Pages"
        every = "1h"
        item = "path"
        share = 0.02

        [streams.colours]
        domain = ["red", "green"]

        [ingest]
        listen = "0.0.0.0:9000"
        tokens = {{ shop = "{HASH}" }}

        [read]
        listen = "[::1]:80"
        """
    )
    found = read_settings(path)
    assert [stream.name for stream in found.streams] == ["pages", "colours"]
    assert (found.streams[1].domain, found.streams[1].share) == (("red", "green"), None)
    assert (found.ingest.host, found.ingest.port) == ("0.0.0.0", 9000)
    assert found.ingest.tokens.owner(b"Bearer ls_test") == "shop"
    assert (found.read.host, found.read.port, found.read.is_loopback) == ("::1", 80, True)
    assert (found.admin.host, found.admin.port) == ("127.0.0.1", 8322)


def test_defaults_need_nothing() -> None:
    found = settings_of({})
    assert found.streams == (DEFAULT_STREAM,)
    assert all(one.is_loopback for one in (found.read, found.ingest, found.admin))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"stream": {}}, "expected tables among"),
        ({"read": 7}, "read: expected a table"),
        ({"read": {"port": 7}}, "read: expected settings among"),
        ({"read": {"listen": "8320"}}, "read.listen: expected an address and a port"),
        ({"read": {"listen": "a:70000"}}, "read.listen: expected an address and a port"),
        ({"read": {"listen": 7}}, "read.listen: expected a text"),
        ({"read": {"certificate": "a.pem"}}, "read.certificate: expected it together"),
        ({"ingest": {"listen": "0.0.0.0:1"}}, "ingest.tokens: expected at least one"),
        ({"admin": {"listen": "example.org:1"}}, "admin.tokens: expected at least one"),
        ({"ingest": {"tokens": {"a": "secret"}}}, "ingest.tokens.a: expected the SHA-256"),
        ({"ingest": {"tokens": ["a"]}}, "ingest.tokens: expected a table"),
        ({"streams": {"a": {"epsilonn": 1}}}, "streams.a: expected settings among"),
        ({"streams": {"A b": {}}}, "streams.A b.name: expected 1 to 63"),
        ({"streams": {"a": 7}}, "a: expected a table"),
        ({"streams": {"a": {"title": 7}}}, "streams.a.title: expected a text"),
        (
            {"streams": {"a": {"kind": "distinct", "discovery_weight": 2}}},
            "streams.a.discovery_weight: expected none for",
        ),
        ({"streams": {"a": {"title": "x\ny"}}}, "streams.a.title: expected at most"),
        ({"streams": {"a": {"format": "lines"}}}, "streams.a.format: expected it with follow"),
        ({"streams": {"a": {"topics": ["t"]}}}, "streams.a.topics: expected it with kafka"),
        ({"streams": {"a": {"kafka_group": "g"}}}, "streams.a.kafka_group: expected it with"),
        ({"streams": {"a": {"kafka": "b:1"}}}, "streams.a.topics: expected at least one"),
        ({"streams": {"a": {"kafka": 7, "topics": ["t"]}}}, "streams.a.kafka: expected a text"),
        ({"streams": {"a": {"kafka": "b:1", "topics": "t"}}}, "streams.a.topics: expected a list"),
        ({"streams": {"a": {"kafka": "b:1", "topics": ["a/b"]}}}, "streams.a.topics: expected nam"),
        (
            {"streams": {"a": {"kafka": "b:1", "topics": ["t"], "follow": "x"}}},
            "streams.a.follow: expected none with kafka",
        ),
        (
            {"streams": {"a": {"kafka": "b:1", "topics": ["t"], "format": "combined"}}},
            "streams.a.format: expected one of jsonl, lines, arrow",
        ),
        (
            {"streams": {"a": {"kafka": "b:1", "topics": ["t"], "format": "lines", "user": "u"}}},
            "streams.a.format: expected jsonl or arrow",
        ),
        ({"streams": {"a": {"user": "item"}}}, "streams.a.user: expected another field"),
    ],
)
def test_wrong_choices_are_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message) as error:
        settings_of(content)
    assert "secret" not in str(error.value)


def test_files_that_are_no_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="expected a readable file"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_text("[")
    with pytest.raises(SourceError, match="expected TOML"):
        read_settings(tmp_path / "a.toml")


def test_tokens_are_known_by_their_hashes() -> None:
    first, second = new_token(), new_token()
    assert first != second
    tokens = Tokens({"a": token_hash(first), "b": token_hash(second)})
    assert tokens.owner(f"Bearer {first}".encode()) == "a"
    assert tokens.owner(f"bearer  {second}".encode()) == "b"
    for wrong in (None, b"", b"Bearer", b"Bearer ", first.encode(), f"Basic {first}".encode()):
        assert tokens.owner(wrong) is None
    assert tokens.owner(f"Bearer {first}x".encode()) is None
    assert Tokens({}).owner(None) == ""
    assert Tokens({"empty": token_hash("")}).owner(None) is None


def test_streams_go_on_without_their_configuration(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.host(settings(), settings(name="others", share=0.2)).close()
    host = service.host()
    found = streams_to_open(host.store, [], otherwise=DEFAULT_STREAM)
    assert found == [settings(name="others", share=0.2), settings()]  # by name
    renamed = settings(title="Another title", item="path")
    assert streams_to_open(host.store, [renamed], otherwise=DEFAULT_STREAM)[0] == renamed
    with pytest.raises(ArgumentValueError, match=r"streams\.pages\.every: expected '1min'"):
        streams_to_open(host.store, [settings(every="2min")], otherwise=DEFAULT_STREAM)
    with pytest.raises(ArgumentValueError, match=r"streams\.pages\.epsilon"):
        streams_to_open(host.store, [settings(epsilon=1.0)], otherwise=DEFAULT_STREAM)
    host.close()


def test_long_lists_stay_in_the_configuration(tmp_path: Path) -> None:
    service = Service(tmp_path)
    listed = settings(share=None, domain=tuple(f"/page/{n}" for n in range(2_000)))
    service.host(listed).close()
    host = service.host()
    with pytest.raises(ArgumentValueError, match="its list of items"):
        streams_to_open(host.store, [], otherwise=DEFAULT_STREAM)
    assert streams_to_open(host.store, [listed], otherwise=DEFAULT_STREAM) == [listed]
    host.close()


def test_a_new_service_has_the_default_stream(tmp_path: Path) -> None:
    host = Service(tmp_path).host()
    assert streams_to_open(host.store, [], otherwise=DEFAULT_STREAM) == [DEFAULT_STREAM]
    host.close()


@pytest.mark.parametrize("levels", [None, "dns"])
def test_names_by_weight_are_those_of_the_windows(levels: str | None, tmp_path: Path) -> None:
    """The description of the windows has it, and a stream that began without goes on without."""
    service = Service(tmp_path)
    weighted = settings(weight="n", max_weight=9, discovery_weight=4, levels=levels)
    assert weighted.privacy
    service.host(settings(weight="n", max_weight=9, levels=levels)).close()
    host = service.host()
    with pytest.raises(ArgumentValueError, match=r"streams\.pages\.discovery_weight"):
        streams_to_open(host.store, [weighted], otherwise=DEFAULT_STREAM)
    with pytest.raises(ArgumentValueError, match=r"^discovery_weight: expected an integer .* to 9"):
        assert settings(weight="n", max_weight=9, discovery_weight=10, levels=levels).privacy
    host.close()
