"""What the first rows of an input say to the operator about how it is read.

A hint changes neither what is counted nor when, and contains no data.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError
from lazysketch.sources.formats.arrow_messages import (
    FILE_MAGIC,
    CheckedMessages,
)
from lazysketch.sources.formats.column_names import names_in
from lazysketch.sources.formats.json_lines import holds_integers
from lazysketch.sources.formats.selection import (
    Head,
    columns_shown,
    delimiter_of,
    names_of,
    names_shown,
)
from lazysketch.sources.formats.unread_formats import advice_on_lines
from lazysketch.sources.limits import LONGEST_ITEM

if TYPE_CHECKING:
    from lazysketch.sources.formats.format import Format
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream


def hint_on(form: Format, selection: Selection, *, stream: ByteStream, guessed: bool) -> str:
    """Return a hint on the input, "" for none.

    Args:
        form: How it is read.
        selection: The fields that are read.
        stream: The input, of which nothing is consumed.
        guessed: Whether the format was detected.
    """
    if form.name == "lines" and guessed:
        return advice_on_lines(Head.of(stream))
    takes_text = form.name == "jsonl" and selection.item_type == "str"
    if takes_text and holds_integers(Head.of(stream), selection):
        return (
            f"expected text in field {shown(selection.field)}, got integers in most of the first "
            "rows; for integers write --items-type int (in Python item_type='int')"
        )
    return ""


def guess_shown(form: Format, selection: Selection) -> str:
    """Return how an input is read whose format was detected, and what changes it.

    Args:
        form: The detected format.
        selection: The fields that are read.
    """
    if selection.field is None:
        return f"read as {form.name}, each line one item; --format NAME changes it"
    others = [name for name in form.fields or () if name != selection.field]
    also = f" (--by also takes {', '.join(others)})" if others else ""
    return f"read as {form.name}, counting {selection.field}{also}; --format NAME changes it"


def what_to_check(formats: list[str], *, hints: list[str]) -> str:
    """Return how an input of malformed rows was read, and what may be wrong, unless a hint says it.

    Args:
        formats: As of the tally.
        hints: Likewise.
    """
    read_as = f"read as {'; '.join(formats)}"
    if hints:
        return read_as
    if all(form.startswith(("parquet", "arrow")) for form in formats):
        # Their first bytes name the format, so it is the items that are malformed.
        longest = LONGEST_ITEM >> 10
        return f"{read_as}; an item that is null, or longer than {longest} KiB, is malformed"
    return f"{read_as}; check --format"


def missing_field(form: Format, *, stream: ByteStream | None) -> ArgumentTypeError:
    """Return the error that a format needs a field and none was named.

    The message lists the columns of a schema, and of a text what is certainly a name. The first
    row of a table may be data: then only the number of its columns is given.

    Args:
        form: The format.
        stream: The input, of which nothing is consumed; None if it cannot be previewed.
    """
    columns = "" if stream is None else _columns(form, stream)
    wanted = "key" if form.name in ("jsonl", "logfmt") else "column"
    return ArgumentTypeError(
        f"field: expected the name of a {wanted} for format {form.name!r} (--by NAME), got none"
        + columns
    )


def _columns(form: Format, stream: ByteStream) -> str:
    try:
        if form.name == "parquet" and stream.path is not None:
            from pyarrow import parquet

            return f"; its columns are {names_shown(parquet.read_schema(stream.path).names)}"
        if form.name == "arrow":
            return f"; its columns are {names_shown(_arrow_names(stream.head()))}"
    except MemoryError:
        raise
    except Exception:
        # Errors of pyarrow have many classes. Reading reports what is wrong with the input.
        return ""
    head = Head.of(stream)
    names, rows = names_in(form, head), head.rows
    if names:
        found = "keys" if form.name in ("jsonl", "logfmt") else "columns"
        return f"; its {found} are {names_shown(names)}"
    if form.name in ("csv", "tsv") and rows:
        delimiter = form.delimiter or delimiter_of(rows[0], field=None)
        found = columns_shown(len(names_of(rows[0], delimiter=delimiter)))
        return f"; its first line has {found}"
    return ""


def _arrow_names(data: bytes) -> list[str]:
    import pyarrow as pa

    messages = CheckedMessages(io.BytesIO(data.removeprefix(FILE_MAGIC)).read, name="")
    with pa.ipc.open_stream(pa.PythonFile(messages, "r")) as reader:
        names: list[str] = reader.schema.names
        return names
