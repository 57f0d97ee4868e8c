"""Entries of a ledger, as records of JSON in its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from lazysketch.errors import StoreError
from lazysketch.ledger.terms import Terms
from lazysketch.privacy.charges import Charge

__all__ = ["Closed", "Entry", "decoded", "encoded"]

_VERSION: Final = 1
_MAGIC: Final = "lazysketch ledger"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A run that was charged.

    Attributes:
        run: its number: 1, 2, ... in the order of charging.
        begun: when it was charged, in seconds since 1970 UTC.
        closed: when it was closed; None while it may count.
        note: what the caller said of it.
        charge: what it spends, whatever it publishes.
        state: id of the state that the run is kept in, with which it is charged once; empty
            without.
    """

    run: int
    begun: float
    note: str
    charge: Charge
    state: str = ""
    closed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Closed:
    """The end of a run.

    Attributes:
        run: its number.
        at: when it was closed, in seconds since 1970 UTC.
    """

    run: int
    at: float


def encoded(record: Terms | Entry | Closed) -> bytes:
    """Return the bytes of a record.

    Args:
        record: what a ledger begins with, or an entry.
    """
    fields: dict[str, Any]
    if isinstance(record, Terms):
        fields = {"format": _MAGIC, "version": _VERSION, **asdict(record)}
    elif isinstance(record, Entry):
        fields = {"type": "charge", **asdict(record)}
        del fields["closed"]
    else:
        fields = {"type": "close", **asdict(record)}
    return json.dumps(fields, separators=(",", ":")).encode()


def decoded(record: bytes) -> Terms | Entry | Closed:
    """Return the record of some bytes.

    Args:
        record: result of :func:`encoded`.

    Raises:
        StoreError: other bytes, such as those of a store.
    """
    try:
        fields: Mapping[str, Any] = json.loads(record)
        kind = fields.get("type")
        rest = {name: value for name, value in fields.items() if name not in _HEADS}
        if kind == "charge":
            return Entry(**rest | {"charge": Charge(**rest["charge"])})
        if kind == "close":
            return Closed(**rest)
        if fields.get("format") == _MAGIC:
            if fields["version"] != _VERSION:
                raise StoreError(
                    f"ledger: expected format version {_VERSION}, got {fields['version']}"
                )
            return Terms(**rest)
        raise ValueError("type")
    except (AttributeError, KeyError, TypeError, ValueError):
        raise StoreError("ledger: expected a ledger, got another store") from None


_HEADS: Final = ("type", "format", "version")
