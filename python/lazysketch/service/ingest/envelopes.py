"""The envelope of a batch: its headers, its compression, and its size."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lazysketch.errors import SourceError
from lazysketch.service.ingest.refusals import Header, RefusedRequestError
from lazysketch.sources.io.compression import expanded

__all__ = ["MOST_BODY", "MOST_EXPANDED", "Envelope", "envelope_of", "too_large"]

MOST_BODY: Final = 1 << 24  # bytes, as they are received
MOST_EXPANDED: Final = 1 << 26  # bytes, decompressed
_MOST_RATIO: Final = 100
_FREE_EXPANSION: Final = 1 << 20  # a small body of equal events compresses better than that
_LARGEST_SEQUENCE: Final = (1 << 63) - 1


JSON_LINES: Final = "application/x-ndjson"
JSON_ARRAY: Final = "application/json"
ARROW: Final = "application/vnd.apache.arrow.stream"
LINES: Final = "text/plain"
_MEDIA_TYPES: Final = (JSON_LINES, JSON_ARRAY, ARROW, LINES)
_MAGIC: Final = {
    "gzip": (b"\x1f\x8b",),
    "zstd": (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"),  # the second begins a skippable frame
}
_KEY: Final = re.compile(r"(?P<source>[^:]{1,100}):(?P<sequence>[0-9]{1,19})")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the headers say of a batch.

    Attributes:
        media_type: how the events are written.
        coding: ``"gzip"``, ``"zstd"``, or empty.
        source: the sender within its owner and stream; empty for a batch without a key.
        sequence: place of the batch in its source; 0 without a key.
        length: bytes of the body; None if the headers do not say.
    """

    media_type: str
    coding: str = ""
    source: str = ""
    sequence: int = 0
    length: int | None = None

    def expanded(self, body: bytes) -> bytes:
        """Return the events of a body.

        Args:
            body: the bytes as they were received.

        Raises:
            RefusedRequestError: damaged, or larger than the limits.
        """
        if not self.coding:
            return body
        if not body.startswith(_MAGIC[self.coding]):
            raise _damaged(self.coding)
        most = min(MOST_EXPANDED, max(_MOST_RATIO * len(body), _FREE_EXPANSION))
        parts, size = [], 0
        try:
            for part in expanded(iter([body]), name="body")[0]:
                size += len(part)
                if size > most:
                    raise RefusedRequestError(
                        413,
                        "body",
                        f"at most {MOST_EXPANDED >> 20} MiB and {_MOST_RATIO} times the "
                        "compressed bytes",
                        "more",
                    )
                parts.append(part)
        except SourceError:
            raise _damaged(self.coding) from None
        return b"".join(parts)


def envelope_of(headers: Iterable[Header]) -> Envelope:
    """Return what the headers of a request say.

    Args:
        headers: names in lowercase, and values.

    Raises:
        RefusedRequestError: a type, a compression, a key or a size that is not accepted.
    """
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in found and name in (b"idempotency-key", b"content-encoding", b"content-type"):
            raise _refused(400, name.decode(), "one header", "several")
        found[name] = value
    # Any bytes of a header are text in Latin-1.
    media_type = found.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if media_type not in _MEDIA_TYPES:
        raise _refused(
            415,
            "Content-Type",
            f"one of {', '.join(_MEDIA_TYPES)}",
            "another" if media_type else "none",
        )
    coding = found.get(b"content-encoding", b"").decode("latin-1").strip().lower()
    if coding not in ("", "identity", *_MAGIC):
        raise _refused(415, "Content-Encoding", "gzip, zstd or none", "another")
    source, sequence = _key_of(found.get(b"idempotency-key"))
    length = found.get(b"content-length")
    if length is not None and (not _LENGTH.fullmatch(length) or int(length) > MOST_BODY):
        raise too_large()
    return Envelope(
        media_type,
        "" if coding == "identity" else coding,
        source,
        sequence,
        None if length is None else int(length),
    )


def too_large() -> RefusedRequestError:
    """Return the refusal of a body that is larger than :data:`MOST_BODY`."""
    return _refused(413, "body", f"at most {MOST_BODY >> 20} MiB", "more")


def _key_of(value: bytes | None) -> tuple[str, int]:
    if value is None:
        return "", 0
    try:
        match = _KEY.fullmatch(value.decode())
    except UnicodeDecodeError:
        match = None
    sequence = int(match["sequence"]) if match else 0
    if match is None or not match["source"].isprintable() or not 1 <= sequence <= _LARGEST_SEQUENCE:
        raise _refused(
            400,
            "Idempotency-Key",
            "SOURCE:SEQUENCE, a name of 1 to 100 printable characters without a colon and an "
            "integer from 1 that ascends",
            "another",
        )
    return match["source"], sequence


def _refused(status: int, argument: str, expected: str, got: str) -> RefusedRequestError:
    return RefusedRequestError(status, argument, expected, got, read=False)


def _damaged(coding: str) -> RefusedRequestError:
    return RefusedRequestError(400, "body", f"whole {coding} data", "other data")
