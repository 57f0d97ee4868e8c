"""Listeners with TLS: what a client sees, and files that are refused before anything listens."""

from __future__ import annotations

import datetime
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.service.running import served

from lazysketch.errors import ArgumentValueError
from lazysketch.service.servers import listening_socket
from lazysketch.service.settings import Listener

NAME = "localhost"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    (tmp_path / "chain.pem").write_bytes(certificate.public_bytes(form))
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return tmp_path / "chain.pem", tmp_path / "key.pem"


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for answer in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{answer}.complete"})
        return
    body = scope["scheme"].encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]}
    )
    await send({"type": "http.response.body", "body": body})


def answered(port: int, context: ssl.SSLContext | None) -> bytes:
    """Return what the server answers until it closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        secured = plain if context is None else context.wrap_socket(plain, server_hostname=NAME)
        secured.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        found = b""
        while part := secured.recv(1 << 16):
            found += part
        return found


def test_clients_that_know_the_certificate_are_served(files: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(cafile=files[0])
    with served(application, *map(str, files)) as port:
        assert answered(port, context).endswith(b"https")
        assert b"200" not in answered(port, None)
        with pytest.raises(ssl.SSLCertVerificationError):
            answered(port, ssl.create_default_context())
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert answered(port, context).endswith(b"https")


def test_files_that_are_no_certificate_are_refused(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    chain, key = files
    (tmp_path / "other.pem").write_text("nothing")
    for certificate, private_key, message in (
        (
            Path("none.pem"),
            key,
            r"^read\.certificate: expected a file .* No such file .*none\.pem$",
        ),
        (chain, Path("none.pem"), r"^read\.private_key: expected a file .* No such file"),
        (tmp_path / "other.pem", key, r"^read\.certificate: expected a certificate and its"),
        (key, key, r"^read\.certificate: expected a certificate and its"),
        (chain, chain, r"^read\.certificate: expected a certificate and its"),
    ):
        listener = Listener(
            host="127.0.0.1", port=0, certificate=certificate, private_key=private_key
        )
        with pytest.raises(ArgumentValueError, match=message):
            listening_socket("read", listener)
    listening_socket("read", Listener("127.0.0.1", 0, certificate=chain, private_key=key)).close()
