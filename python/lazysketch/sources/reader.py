"""What a format's reader is given, and the head by which a format is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lazysketch.sources.batch import Batch
from lazysketch.sources.opening import ByteStream

__all__ = ["Head", "Reader", "Selection"]

_ROWS = 20


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take out of each row, checked against the format.

    Args:
        field: The field, or None where a row is one item.
        encoding: How bytes become text, as ``check_encoding`` names it.
    """

    field: str | None
    encoding: str


# Takes the stream's bytes as they come, or opens ``stream.path`` where it has to seek.
Reader: TypeAlias = Callable[[ByteStream, Selection], Iterator[Batch]]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an input.

    Args:
        name: What the input is called.
        data: Its first bytes, decompressed.
        rows: Its first rows that are not empty, for formats made of text.
    """

    name: str
    data: bytes
    rows: tuple[str, ...]

    @classmethod
    def of(cls, stream: ByteStream) -> Head:
        """Look at a stream without consuming it."""
        data = stream.head()
        # Latin-1 decodes any byte, and formats are told by their ASCII skeleton.
        rows = [row.rstrip("\r") for row in data.decode("latin-1").split("\n")]
        if len(rows) > 1:
            rows.pop()  # cut off, or empty
        return cls(stream.name, data, tuple(row for row in rows if row)[:_ROWS])
