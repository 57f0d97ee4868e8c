"""What the operator chose: streams, listeners and tokens, from a TOML file or by default."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["DEFAULT_STREAM", "Listener", "ServiceSettings", "read_settings"]

DEFAULT_STREAM: Final = StreamSettings(name="events", title="Events")
_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:]+)):(?P<port>\d+)")
_MOST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Listener:
    """Where one face of the service listens, and who may use it.

    Attributes:
        host: address or name of a network interface.
        port: port; 0 for a free one.
        certificate: file of the TLS certificate chain; None for plain HTTP.
        private_key: file of its private key.
        tokens: accepted tokens; none accepts everyone.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    private_key: Path | None = None
    tokens: Tokens = field(default_factory=lambda: Tokens({}))

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def from_mapping(cls, face: str, values: Mapping[str, object], *, port: int) -> Listener:
        """Return the listener that a table of a configuration describes.

        Args:
            face: name of the table.
            values: ``listen``, ``certificate``, ``private_key``, ``tokens``.
            port: the port if the table does not name one.

        Raises:
            ArgumentTypeError: an unknown name, or a wrong type.
            ArgumentValueError: a value outside its range.
        """
        rest = dict(values)
        listen = _text(face, "listen", rest.pop("listen", f"127.0.0.1:{port}"))
        certificate, private_key = (
            None if one is None else Path(_text(face, name, one))
            for name, one in (
                ("certificate", rest.pop("certificate", None)),
                ("private_key", rest.pop("private_key", None)),
            )
        )
        hashes = rest.pop("tokens", {})
        if rest:
            raise ArgumentTypeError(
                f"{face}: expected settings among listen, certificate, private_key, tokens, got "
                f"{shown(min(rest))}"
            )
        if (certificate is None) != (private_key is None):
            raise ArgumentTypeError(
                f"{face}.certificate: expected it together with private_key, got one of them"
            )
        if not isinstance(hashes, Mapping):
            raise ArgumentTypeError(f"{face}.tokens: expected a table, got another value")
        host, number = _address(face, listen)
        return cls(host, number, certificate, private_key, _tokens(face, hashes))


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Everything that the operator chose.

    Attributes:
        streams: the streams, in the order of the page.
        read: the listener of readers, open to everyone.
        ingest: the listener of senders.
        admin: the listener of the operator.
        file: where they were read; None if they are in no file.

    Raises:
        ArgumentValueError: no stream, two of one name, or a listener for senders or operators that
            other machines can reach without a token.
    """

    streams: tuple[StreamSettings, ...] = (DEFAULT_STREAM,)
    read: Listener = Listener(port=8320)
    ingest: Listener = Listener(port=8321)
    admin: Listener = Listener(port=8322)
    file: Path | None = None

    def rotate_tokens(self) -> None:
        """Read the file again, and accept its tokens from now on, at all addresses or at none.

        Raises:
            SourceError: a file that cannot be read, or is not TOML.
            ArgumentTypeError: settings of no file, or wrong ones.
            ArgumentValueError: wrong settings, or no tokens where there were some.
        """
        if self.file is None:
            raise ArgumentTypeError(
                "settings: expected a service that was started with a file of settings, got none"
            )
        others = read_settings(self.file)
        pairs = [
            (self.ingest.tokens, others.ingest.tokens),
            (self.admin.tokens, others.admin.tokens),
        ]
        for mine, other in pairs:
            Tokens(mine.hashes).replace(other)
        for mine, other in pairs:
            mine.replace(other)

    def __post_init__(self) -> None:
        """Check what the parts mean together."""
        if not self.streams:
            raise ArgumentValueError("streams: expected at least one, got none")
        names = [stream.name for stream in self.streams]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ArgumentValueError(f"streams: expected each name once, got {twice[0]} twice")
        for face, listener in (("ingest", self.ingest), ("admin", self.admin)):
            if not listener.is_loopback and not len(listener.tokens):
                raise ArgumentValueError(
                    f"{face}.tokens: expected at least one for {listener.host}, which other "
                    "machines can reach, got none (`lazysketch serve --new-token` makes one)"
                )


def read_settings(path: str | Path) -> ServiceSettings:
    """Return the settings of a TOML file.

    Args:
        path: the file, with the tables ``streams.NAME``, ``read``, ``ingest`` and ``admin``.

    Returns:
        The settings; defaults for what the file does not have.

    Raises:
        SourceError: a file that cannot be read, or is not TOML.
        ArgumentTypeError: an unknown name, or a wrong type.
        ArgumentValueError: a value outside its range.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"{path}: expected a readable file, got {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SourceError(f"{path}: expected TOML, got another text: {error}") from None
    return replace(settings_of(content), file=Path(path))


def settings_of(content: Mapping[str, object]) -> ServiceSettings:
    """Return the settings that the tables of a configuration describe.

    Args:
        content: tables by their names.

    Raises:
        ArgumentTypeError: an unknown name, or a wrong type.
        ArgumentValueError: a value outside its range.

    Example:
        >>> found = settings_of({"streams": {"pages": {"every": "1h"}}})
        >>> found.streams[0].name, found.read.port
        ('pages', 8320)
    """
    known = ("streams", "read", "ingest", "admin")
    for name, table in content.items():
        if name not in known:
            raise ArgumentTypeError(
                f"configuration: expected tables among {', '.join(known)}, got {shown(name)}"
            )
        if not isinstance(table, Mapping):
            raise ArgumentTypeError(f"{name}: expected a table, got {type(table).__name__}")
    faces = {
        face: Listener.from_mapping(face, _table(content, face), port=port)
        for face, port in (("read", 8320), ("ingest", 8321), ("admin", 8322))
    }
    streams = tuple(
        StreamSettings.from_mapping(name, _table(_table(content, "streams"), name))
        for name in _table(content, "streams")
    )
    for one in streams:
        if one.format is not None and one.follow is None and one.kafka is None:
            raise ArgumentTypeError(
                f"streams.{one.name}.format: expected it with follow or kafka, got it alone"
            )
    return ServiceSettings(
        streams or (DEFAULT_STREAM,), faces["read"], faces["ingest"], faces["admin"]
    )


def _table(content: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = content.get(name, {})
    if not isinstance(found, Mapping):
        raise ArgumentTypeError(f"{name}: expected a table, got {type(found).__name__}")
    return found


def _text(face: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{face}.{name}: expected a text, got {type(value).__name__}")
    return value


def _tokens(face: str, hashes: Mapping[str, object]) -> Tokens:
    try:
        return Tokens({str(name): _text(face, "tokens", one) for name, one in hashes.items()})
    except ArgumentValueError as error:
        raise ArgumentValueError(f"{face}.{error}") from None


def _address(face: str, listen: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(listen)
    if match is None or int(match["port"]) > _MOST_PORT:
        raise ArgumentValueError(
            f"{face}.listen: expected an address and a port, such as 127.0.0.1:8320 or "
            f"[::1]:8320, got {shown(listen)}"
        )
    return match["six"] or match["host"], int(match["port"])
