"""What was published of a stream as one archive, which anyone can check with the public key.

It has the layout of the directory of publications, so that it can be unpacked and served by a
replica. Nothing in it is secret.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from lazysketch.service.publication_files import ServiceFacts

if TYPE_CHECKING:
    from lazysketch.service.publication import SignedPublication
    from lazysketch.service.publication_files import PublicationFiles

__all__ = ["archive_of"]

_BLOCK: Final = tarfile.BLOCKSIZE


def archive_of(
    files: PublicationFiles, facts: ServiceFacts, name: str, signed: SignedPublication
) -> Iterator[bytes]:
    """Yield the parts of a tar file with the last publication of a stream.

    Guarantee: the archive has what readers see, and nothing else; the same bytes each time.

    Args:
        files: the directory of publications.
        facts: the public key, and the clock of the stream.
        name: the stream.
        signed: its manifest and signature.

    Raises:
        OSError: a release that cannot be read, as when two more were published in the meantime.
    """
    clocks = {one: clock for one, clock in facts.clocks.items() if one == name}
    only = ServiceFacts((name,), facts.public_key, clocks)
    yield from _member("service.json", only.to_bytes())
    yield from _member(f"streams/{name}/publication", signed.to_bytes())
    for digest in dict.fromkeys(signed.releases()):
        yield from _member(f"streams/{name}/releases/{digest}", files.release(name, digest))
    yield bytes(2 * _BLOCK)


def _member(path: str, content: bytes) -> Iterator[bytes]:
    info = tarfile.TarInfo(path)
    info.size, info.mode = len(content), 0o644
    yield info.tobuf(tarfile.PAX_FORMAT)
    yield content
    yield bytes(-len(content) % _BLOCK)
