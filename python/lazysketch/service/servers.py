"""Listening sockets, and what all HTTP servers of the service have in common."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import TYPE_CHECKING, Final

import uvicorn

from lazysketch.errors import ArgumentValueError
from lazysketch.service.http_protocol import BoundedProtocol, WholeAnswersProtocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lazysketch.service.settings import Listener

__all__ = ["address_of", "config_of", "listening_socket"]

_BACKLOG: Final = 2048
_GRACE: Final = 10  # seconds for requests that are under way at the end
_MOST_CONNECTIONS: Final = 4096


def listening_socket(face: str, listener: Listener) -> socket.socket:
    """Return an open socket of a listener.

    Args:
        face: its name in the configuration, for errors.
        listener: where it listens.

    Raises:
        ArgumentValueError: an address that cannot be used, or files of TLS that cannot.
    """
    _check_certificate(face, listener)
    try:
        family = socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((listener.host, listener.port))
        found.listen(_BACKLOG)
    except OSError as error:
        raise ArgumentValueError(
            f"{face}.listen: expected an address that is free, got {error.strerror or error}: "
            f"{listener.host}:{listener.port}{_hint(face, error)}"
        ) from None
    found.set_inheritable(True)
    return found


def _check_certificate(face: str, listener: Listener) -> None:
    """Raise unless the server will be able to load the files of TLS, of which it says less."""
    certificate, private_key = listener.certificate, listener.private_key
    if certificate is None or private_key is None:
        return
    for name, path in (("certificate", certificate), ("private_key", private_key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise ArgumentValueError(
                f"{face}.{name}: expected a file that can be read, got {error.strerror}: {path}"
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, private_key, password=lambda: b"")
    except ssl.SSLError as error:
        raise ArgumentValueError(
            f"{face}.certificate: expected a certificate and its private key without a passphrase, "
            f"both in PEM, got {error.reason or 'others'}"
        ) from None


def _hint(face: str, error: OSError) -> str:
    """Return what to do where the address is in use."""
    if error.errno != errno.EADDRINUSE:
        return ""
    options = "--listen, or listen in [read]" if face == "read" else f"listen in [{face}]"
    return (
        f"; a service that runs there has its state in use as well: end it first, or choose "
        f"another address with {options} of the settings and another --state"
    )


def address_of(listener: Listener, bound: socket.socket) -> str:
    """Return the address of an open listener for people.

    Args:
        listener: its settings.
        bound: its socket.
    """
    port = bound.getsockname()[1]
    scheme = "http" if listener.certificate is None else "https"
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{scheme}://{host}:{port}"


def config_of(
    application: ASGIApp,
    *,
    certificate: str | None,
    private_key: str | None,
    whole_answers: bool = False,
) -> uvicorn.Config:
    """Return how an application is served: no access log, no name of the server.

    Args:
        application: what answers.
        certificate: file of the TLS certificate chain; None for plain HTTP.
        private_key: file of its private key.
        whole_answers: True if the application sends head and body of each answer together.
    """
    return uvicorn.Config(
        application,
        http=WholeAnswersProtocol if whole_answers else BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=_MOST_CONNECTIONS,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )
