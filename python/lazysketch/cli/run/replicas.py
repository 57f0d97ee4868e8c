"""Publications of a service elsewhere: serving them, and checking a copy of them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

from lazysketch.cli.view.output import put, tell
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError

__all__ = ["check_publications", "serve_replica"]

_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")


def serve_replica(place: str, public_key: str | None, *, folder: str, listen: str | None) -> None:
    """Serve what another service has published until a signal ends it.

    Args:
        place: its address of readers, or a copy of its directory of publications.
        public_key: its key in hexadecimal digits.
        folder: where publications are kept.
        listen: where readers connect; None for the default.

    Raises:
        ArgumentTypeError: no key.
        ArgumentValueError: not a key, or an address that cannot be used.
        SourceError: an archive that cannot be read.
    """
    from lazysketch.service.logs import log_as_json
    from lazysketch.service.origins import origin_of
    from lazysketch.service.publication_files import PublicationFiles
    from lazysketch.service.replica import Replica
    from lazysketch.service.service import run_replica
    from lazysketch.service.settings import settings_of

    key = _checked(public_key)
    listener = settings_of({} if listen is None else {"read": {"listen": listen}}).read
    public = Path(folder) / "public"
    replica = Replica(origin_of(place), key, PublicationFiles(public))
    log_as_json()
    run_replica(
        listener,
        replica,
        public,
        started=lambda address: tell(f"serve: replica of {place} for readers {address}/"),
    )
    tell(f"serve: ended; what was taken is kept in {folder}")


def check_publications(place: str, public_key: str | None) -> None:
    """Check publications, and print what they are.

    Args:
        place: an archive, a directory of publications, or an address of readers.
        public_key: the key that signed them, in hexadecimal digits.

    Raises:
        ArgumentTypeError: no key.
        ArgumentValueError: not a key.
        SourceError: they cannot be read, or there are none.
        ReleaseFormatError: another signature, or damaged data.
    """
    from lazysketch.service.origins import origin_of
    from lazysketch.service.publication_files import PublicationFiles
    from lazysketch.service.replica import Replica

    key = _checked(public_key)
    with tempfile.TemporaryDirectory() as folder:
        files = PublicationFiles(Path(folder))
        if not Replica(origin_of(place), key, files).look():
            raise SourceError(f"{place}: expected publications, got none")
        facts = files.facts()
        for name in () if facts is None else facts.streams:
            signed = files.read_signed(name)
            if signed is not None:
                found = files.read(signed, name)
                put(
                    f"{name}: publication {found.number} of {found.at.isoformat()}, "
                    f"{len(found.windows)} windows, signed by this key\n{found.facts.guarantee}\n"
                )


def _checked(public_key: str | None) -> bytes:
    if public_key is None:
        raise ArgumentTypeError(
            "--public-key: expected the key of the service, as /v1/streams shows it, got none"
        )
    if not _KEY.fullmatch(public_key):
        raise ArgumentValueError("--public-key: expected 64 hexadecimal digits, got something else")
    return bytes.fromhex(public_key)
