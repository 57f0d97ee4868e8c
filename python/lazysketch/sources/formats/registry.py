"""The input formats: their names, fields and readers, and format detection.

To add a format, write its reader in a new module and add an entry to FORMATS.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources.formats import logs
from lazysketch.sources.formats.access_log import (
    COMBINED_FIELDS,
    COMMON_FIELDS,
    LOG_PEOPLE,
    LOG_WEIGHTS,
    looks_combined,
    looks_common,
    read_access_log,
)
from lazysketch.sources.formats.delimited import read_delimited
from lazysketch.sources.formats.described_rows import reader_of
from lazysketch.sources.formats.format import ITEM_TYPES, REGEX, Format
from lazysketch.sources.formats.json_lines import looks_like_json_lines, read_json_lines
from lazysketch.sources.formats.keys import key_bits
from lazysketch.sources.formats.lines import looks_like_lines, read_lines
from lazysketch.sources.formats.numbers import NUMBERS
from lazysketch.sources.formats.selection import DELIMITERS, Head, Reader, Selection, names_of
from lazysketch.sources.formats.unread_formats import advice_on_lines, refuse_unread
from lazysketch.sources.io.byte_stream import ByteStream

if TYPE_CHECKING:
    from lazysketch.sources.batch import RowBatch

AUTO = "auto"
CAPTURE_FIELDS = ("src", "dst", "sport", "dport", "proto", "flow", "size")

_CAPTURE_MAGICS = (
    b"\xd4\xc3\xb2\xa1",  # pcap, little-endian and big-endian, microseconds
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",  # pcap, nanoseconds
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",  # pcapng
)


def _late(module: str, function: str) -> Reader:
    """Return a reader whose module is imported on first use."""

    def read(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
        reader: Reader = getattr(import_module(f"{__package__}.{module}"), function)
        return reader(stream, selection)

    return read


def _by_pyarrow(module: str, function: str, *, name: str) -> Reader:
    """Return a reader whose module, which needs pyarrow, is imported on first use."""

    def read(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
        try:
            return _late(module, function)(stream, selection)
        except ModuleNotFoundError as missing:
            if missing.name != "pyarrow":
                raise
            raise SourceError(
                f"{stream.name}: expected pyarrow for format {name!r} "
                "(pip install 'lazysketch[arrow]'), got none"
            ) from None

    return read


def _never(head: Head) -> bool:  # noqa: ARG001 -- an expression is given, not recognised
    return False


def _looks_like_parquet(head: Head) -> bool:
    return head.data.startswith(b"PAR1")


def _looks_like_arrow(head: Head) -> bool:
    # A stream begins with a continuation marker and a length whose highest byte is 0.
    stream = head.data.startswith(b"\xff\xff\xff\xff") and head.data[7:8] == b"\0"
    return stream or head.data.startswith(b"ARROW1\0\0")


def _looks_like_capture(head: Head) -> bool:
    return head.data.startswith(_CAPTURE_MAGICS)


def _looks_like_zeek(head: Head) -> bool:
    return bool(head.rows) and head.rows[0].startswith(("#separator ", "#fields\t"))


def _looks_like_tsv(head: Head) -> bool:
    """Tell whether the name ends like TSV, or a header row with tabs contains the field."""
    if head.is_called(".tsv", ".tab"):
        return True
    return _has_field(head, "\t") and "\t" in head.rows[0]


def _looks_like_csv(head: Head) -> bool:
    """Tell whether the name ends like CSV, or a header row contains the field."""
    if head.is_called(".csv"):
        return True
    candidates = (head.delimiter,) if head.delimiter else DELIMITERS
    return any(_has_field(head, delimiter) for delimiter in candidates)


def _has_field(head: Head, delimiter: str) -> bool:
    if head.field is None or not head.rows:
        return False
    # The head is decoded as latin-1, which maps each byte to one character.
    field = head.field.encode().decode("latin-1")
    names = names_of(head.rows[0].removeprefix("\xef\xbb\xbf"), delimiter=delimiter)
    return field in names


_PARQUET = _by_pyarrow("parquet", "read_parquet", name="parquet")
_ARROW = _by_pyarrow("arrow_ipc", "read_arrow", name="arrow")

# In the order in which detection tries them.
FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        Format("parquet", _PARQUET, None, _looks_like_parquet, item_types=ITEM_TYPES, grows=False),
        Format("arrow", _ARROW, None, _looks_like_arrow, item_types=ITEM_TYPES, grows=False),
        Format(
            "pcap",
            _late("pcap", "read_capture"),
            CAPTURE_FIELDS,
            _looks_like_capture,
            integer_fields=("sport", "dport", "size"),
            weights=("size",),
            time="",
            people=("src", "dst"),
        ),
        Format("zeek", _late("zeek", "read_zeek"), None, _looks_like_zeek, time="ts"),
        Format(
            "w3c",
            reader_of("header"),
            None,
            logs.looks_w3c,
            time="date+time",
            default_field="c-ip",
        ),
        *logs.OF_OBJECTS,
        Format(
            "jsonl", read_json_lines, None, looks_like_json_lines, item_types=ITEM_TYPES, skips=True
        ),
        *logs.OF_WEB_SERVERS,
        Format(
            "combined",
            read_access_log,
            COMBINED_FIELDS,
            looks_combined,
            time="",
            skips=True,
            people=LOG_PEOPLE,
            weights=LOG_WEIGHTS,
        ),
        Format(
            "common",
            read_access_log,
            COMMON_FIELDS,
            looks_common,
            time="",
            skips=True,
            people=LOG_PEOPLE,
            weights=LOG_WEIGHTS,
        ),
        *logs.OF_SERVICES,
        Format("logfmt", reader_of("pairs"), None, logs.looks_like_pairs, skips=True),
        Format("tsv", read_delimited, None, _looks_like_tsv, delimiter="\t"),
        Format("csv", read_delimited, None, _looks_like_csv, delimiter=""),
        Format(REGEX, reader_of(REGEX), None, _never, skips=True),
        Format("lines", read_lines, (), looks_like_lines, skips=True),
    )
}


def check_format(name: str, selection: Selection, *, follow: bool) -> None:
    """Raise an error unless the format is known and supports the selection."""
    types = (*ITEM_TYPES, NUMBERS)
    if selection.item_type not in (None, *types) and not key_bits(selection.item_type):
        raise ArgumentValueError(
            f"item_type: expected one of {', '.join(types)}, got {shown(selection.item_type)}"
        )
    if selection.regex is not None and name not in (AUTO, REGEX):
        raise ArgumentTypeError(f"regex: expected none with format {shown(name)}, got one")
    name = REGEX if selection.regex is not None else name
    if name == AUTO:
        return
    if name not in FORMATS:
        raise ArgumentValueError(
            f"format: expected one of {', '.join([AUTO, *FORMATS])}, got {shown(name)}"
        )
    FORMATS[name].select(selection)
    if follow:
        FORMATS[name].check_follow()


def find_format(name: str, selection: Selection, *, stream: ByteStream) -> Format:
    """Return the named format; for "auto", the first one that the head looks like.

    Guarantee:
        A guess depends on the first rows of the input, so it is outside the privacy
        guarantee, like everything that only the operator sees. To avoid a guess, name
        the format.

    Raises:
        SourceError: A field was requested, but the input looks like plain lines; or an archive,
            text in UTF-16.
    """
    if selection.regex is not None:
        return FORMATS[REGEX]
    if name != AUTO:
        return FORMATS[name]
    head = Head.of(stream, field=selection.field, delimiter=selection.delimiter)
    refuse_unread(head)
    guess = next(form for form in FORMATS.values() if form.looks_like(head))
    if selection.field is not None and guess.fields == ():
        advice = advice_on_lines(head)
        looks = f"lines of text; {advice}" if advice else "lines of text"
        raise SourceError(
            f"{stream.name}: expected rows with a field {shown(selection.field)}, got {looks}; "
            "name the format (--format) if they have the field"
        )
    return guess
