"""The formats of inputs: what each is called, which fields it has, who reads it.

To add a format, write its reader and what it looks like in a module of its own, and
give it a line in FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources.access_log import (
    COMBINED_FIELDS,
    COMMON_FIELDS,
    looks_combined,
    looks_common,
    read_access_log,
)
from lazysketch.sources.lines import looks_like_lines, read_lines
from lazysketch.sources.opening import ByteStream
from lazysketch.sources.reader import Head, Reader

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Args:
        name: What the user calls it.
        read: Turns the bytes of an input into batches.
        fields: The fields that a row has, the first being the one taken if none is
            asked for. Empty: a row is one item.
        looks_like: Tells by the head of an input whether it is of this format.
    """

    name: str
    read: Reader
    fields: tuple[str, ...]
    looks_like: Callable[[Head], bool]

    def field(self, asked: str | None) -> str | None:
        """Return the field to take.

        Raises:
            ArgumentValueError: The format has no field of that name, or none at all.
        """
        if asked is None:
            return self.fields[0] if self.fields else None
        if not self.fields:
            raise ArgumentValueError(
                f"field: expected none, since a row of format {self.name!r} is one item, "
                f"got {asked!r}"
            )
        if asked not in self.fields:
            raise ArgumentValueError(
                f"field: expected one of {', '.join(self.fields)} for format {self.name!r}, "
                f"got {asked!r}"
            )
        return asked


# In the order in which they are tried on an input whose format is not given.
FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        Format("combined", read_access_log, COMBINED_FIELDS, looks_combined),
        Format("common", read_access_log, COMMON_FIELDS, looks_common),
        Format("lines", read_lines, (), looks_like_lines),
    )
}


def check_format(name: str, *, field: str | None) -> None:
    """Raise ArgumentValueError unless the format is known and can have the field."""
    if name == AUTO:
        known = sorted({field for form in FORMATS.values() for field in form.fields})
        if field is not None and field not in known:
            raise ArgumentValueError(f"field: expected one of {', '.join(known)}, got {field!r}")
        return
    if name not in FORMATS:
        raise ArgumentValueError(
            f"format: expected one of {', '.join([AUTO, *FORMATS])}, got {name!r}"
        )
    FORMATS[name].field(field)


def find_format(name: str, *, field: str | None, stream: ByteStream) -> Format:
    """Return the format of that name; for "auto", the first that the head looks like.

    Guarantee:
        A guess depends on the first rows of the input, so it is outside the privacy
        guarantee, as is everything that the operator alone sees. Naming the format
        leaves nothing to guess.

    Raises:
        SourceError: A field was asked for, but the input looks like plain lines.
    """
    if name != AUTO:
        return FORMATS[name]
    head = Head.of(stream)
    guess = next(form for form in FORMATS.values() if form.looks_like(head))
    if field is not None and not guess.fields:
        raise SourceError(
            f"{stream.name}: expected an access log for field {field!r}, got lines of text; "
            "if it is one, name its format"
        )
    return guess
