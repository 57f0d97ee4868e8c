"""What a format's reader is given, and the head by which a format is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lazysketch.sources.batch import Batch
from lazysketch.sources.io.byte_stream import ByteStream

__all__ = ["Head", "Reader", "Selection"]

_ROWS = 20
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take out of each row, checked against the format.

    Args:
        field: The field, or None where a row is one item.
        encoding: How bytes become text, as ``check_encoding`` names it.
        weight: The field that holds the weight, or None: each row weighs 1.
        max_weight: What larger weights are clipped to.
        delimiter: What separates columns, or None: as the header shows.
        item_type: "str" or "int" if items have to be of that type, or None.
        times: Whether to tell when each row happened.
        time: The field that holds it, or None where the format itself has the place.
        time_unit: The unit of times that are numbers.
    """

    field: str | None
    encoding: str
    weight: str | None = None
    max_weight: int = 1
    delimiter: str | None = None
    item_type: str | None = None
    times: bool = False
    time: str | None = None
    time_unit: str = "s"

    def columns(self) -> list[tuple[str, str]]:
        """Return what each of the fields is taken for, and its name."""
        asked = (("field", self.field), ("weight", self.weight), ("time", self.time))
        return [(of, name) for of, name in asked if name is not None]


# Takes the stream's bytes as they come, or opens ``stream.path`` where it has to seek.
Reader: TypeAlias = Callable[[ByteStream, Selection], Iterator[Batch]]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an input.

    Args:
        name: What the input is called.
        data: Its first bytes, decompressed.
        rows: Its first rows that are not empty, for formats made of text.
        field: The field that is asked for.
        delimiter: What separates columns, if that is given.
    """

    name: str
    data: bytes
    rows: tuple[str, ...]
    field: str | None = None
    delimiter: str | None = None

    @classmethod
    def of(
        cls, stream: ByteStream, *, field: str | None = None, delimiter: str | None = None
    ) -> Head:
        """Look at a stream without consuming it."""
        data = stream.head()
        # Latin-1 decodes any byte, and formats are told by their ASCII skeleton.
        rows = [row.rstrip("\r") for row in data.decode("latin-1").split("\n")]
        if len(rows) > 1:
            rows.pop()  # cut off, or empty
        first_rows = tuple(row for row in rows if row)[:_ROWS]
        return cls(stream.name, data, first_rows, field, delimiter)

    def is_called(self, *endings: str) -> bool:
        """Tell whether the name, without the ending of a compression, ends in one of these."""
        name = self.name.lower()
        for compressed in _COMPRESSED:
            name = name.removesuffix(compressed)
        return name.endswith(endings)
