"""The input formats: their names, fields and readers, and format detection.

To add a format, write its reader in a new module and add an entry to FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources.formats.access_log import (
    COMBINED_FIELDS,
    COMMON_FIELDS,
    LOG_PEOPLE,
    looks_combined,
    looks_common,
    read_access_log,
)
from lazysketch.sources.formats.json_lines import looks_like_json_lines, read_json_lines
from lazysketch.sources.formats.lines import looks_like_lines, read_lines
from lazysketch.sources.formats.pcap import read_capture
from lazysketch.sources.formats.selection import DELIMITERS, Head, Reader, Selection, names_of
from lazysketch.sources.formats.unread_formats import advice_on_lines
from lazysketch.sources.io.byte_stream import ByteStream

if TYPE_CHECKING:
    from lazysketch.sources.batch import RowBatch

AUTO = "auto"
ITEM_TYPES = ("str", "int")
CAPTURE_FIELDS = ("src", "dst", "sport", "dport", "proto", "flow", "size")

_CAPTURE_MAGICS = (
    b"\xd4\xc3\xb2\xa1",  # pcap, little-endian and big-endian, microseconds
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",  # pcap, nanoseconds
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",  # pcapng
)


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Args:
        name: The name of the format.
        read: Turns the bytes of an input into batches.
        fields: The fields of a row, of which the first is the default. Empty: a row is
            one item. None: each input has its own fields, and any may hold the weight.
        looks_like: Recognises the format by the head of an input.
        item_types: The possible types of items.
        integer_fields: The fields that are integers, regardless of ``item_types``.
        weights: The fields that may hold the weight.
        time: The default field of the time; "" if the format has a fixed place for it;
            None if the user must name a field (``fields`` is None) or rows have no time.
        grows: Whether an input can be read while it is being written.
        skips: Whether the reader itself leaves out ``stream.rows_skipped`` rows.
        delimiter: The delimiter of columns; "" if the user may choose it; None without one.
        people: The fields that may hold the person, if the fields are fixed.
    """

    name: str
    read: Reader
    fields: tuple[str, ...] | None
    looks_like: Callable[[Head], bool]
    item_types: tuple[str, ...] = ("str",)
    integer_fields: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    delimiter: str | None = None
    time: str | None = None
    grows: bool = True
    skips: bool = False
    people: tuple[str, ...] = ()

    def check_follow(self) -> None:
        """Raise ArgumentValueError unless an input can be followed."""
        if not self.grows:
            raise ArgumentValueError(
                f"follow: expected False for format {self.name!r}, which is unreadable until it is "
                "complete, got True"
            )

    @property
    def needs_field(self) -> bool:
        """True if the name of a field has to be given."""
        return self.fields is None

    def select(self, request: Selection) -> Selection:
        """Return the request with the defaults of the format filled in.

        Raises:
            ArgumentTypeError: The format requires a field, which the request lacks.
            ArgumentValueError: The format has no such field, weight, delimiter, type, time or
                person, or the person is the item.
        """
        format_ = f"for format {self.name!r}"
        if self.fields is not None and request.weight not in (None, *self.weights):
            known = ", ".join(self.weights) or "none"
            raise ArgumentValueError(
                f"weight: expected {known} {format_}, got {shown(request.weight)}"
            )
        if request.delimiter not in (None, self.delimiter) and self.delimiter != "":
            raise ArgumentValueError(
                f"delimiter: expected none {format_}, got {shown(request.delimiter)}"
            )
        field = self._field(request.field)
        of_integers = field in self.integer_fields
        types = ("int",) if of_integers else self.item_types
        if request.item_type not in (None, *types):
            format_ = (
                f"for field {shown(field)} of format {self.name!r}" if of_integers else format_
            )
            raise ArgumentValueError(
                f"item_type: expected {types[0]} {format_}, got {shown(request.item_type)}"
            )
        return Selection(
            field=field,
            encoding=request.encoding,
            weight=request.weight,
            max_weight=request.max_weight,
            delimiter=request.delimiter or self.delimiter or None,
            item_type=request.item_type,
            times=request.times,
            time=self._time(request),
            time_unit=request.time_unit,
            user=self._user(request.user, field),
        )

    def _user(self, user: str | None, field: str | None) -> str | None:
        if user is None:
            return None
        if self.fields is not None and user not in self.people:
            known = ", ".join(self.people)
            wanted = f"one of {known}" if known else "none, since a row has no fields,"
            raise ArgumentValueError(
                f"user: expected {wanted} for format {self.name!r}, got {shown(user)}"
            )
        if user == field:
            raise ArgumentValueError(
                f"user: expected another field than the one that is counted, got {shown(user)} "
                "for both: every person would be an item"
            )
        return user

    def _time(self, request: Selection) -> str | None:
        if not request.times:
            return None
        if self.fields is None:
            time = request.time or self.time
            if time is None:
                raise ArgumentTypeError(
                    f"time: expected the name of a field for format {self.name!r}, got none"
                )
            return time
        if request.time is not None:
            has = "no time" if self.time is None else "a fixed place for it"
            raise ArgumentValueError(
                f"time: expected none, since a row of format {self.name!r} has {has}, "
                f"got {shown(request.time)}"
            )
        if self.time is None:
            raise ArgumentValueError(
                f"time: expected a format whose rows have times, got {self.name!r}"
            )
        return None

    def _field(self, name: str | None) -> str | None:
        if self.fields is None:
            if not name:
                raise ArgumentTypeError(
                    f"field: expected the name of one for format {self.name!r}, got none"
                )
            return name
        if name is None:
            return self.fields[0] if self.fields else None
        if not self.fields:
            raise ArgumentValueError(
                f"field: expected none, since a row of format {self.name!r} is one item, "
                f"got {shown(name)}"
            )
        if name not in self.fields:
            raise ArgumentValueError(
                f"field: expected one of {', '.join(self.fields)} for format {self.name!r}, "
                f"got {shown(name)}"
            )
        return name


def _by_pyarrow(module: str, function: str, *, name: str) -> Reader:
    """Return a reader whose module, which needs pyarrow, is imported on first use."""

    def read(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
        try:
            reader: Reader = getattr(import_module(f"{__package__}.{module}"), function)
        except ModuleNotFoundError as missing:
            if missing.name != "pyarrow":
                raise
            raise SourceError(
                f"{stream.name}: expected pyarrow for format {name!r} "
                "(pip install 'lazysketch[cli]'), got none"
            ) from None
        return reader(stream, selection)

    return read


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
_ZEEK = _by_pyarrow("zeek", "read_zeek", name="zeek")
_TSV = _by_pyarrow("delimited", "read_delimited", name="tsv")
_CSV = _by_pyarrow("delimited", "read_delimited", name="csv")

# In the order in which detection tries them.
FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        Format("parquet", _PARQUET, None, _looks_like_parquet, item_types=ITEM_TYPES, grows=False),
        Format("arrow", _ARROW, None, _looks_like_arrow, item_types=ITEM_TYPES, grows=False),
        Format(
            "pcap",
            read_capture,
            CAPTURE_FIELDS,
            _looks_like_capture,
            integer_fields=("sport", "dport", "size"),
            weights=("size",),
            time="",
            people=("src", "dst"),
        ),
        Format("zeek", _ZEEK, None, _looks_like_zeek, time="ts"),
        Format(
            "jsonl", read_json_lines, None, looks_like_json_lines, item_types=ITEM_TYPES, skips=True
        ),
        Format(
            "combined",
            read_access_log,
            COMBINED_FIELDS,
            looks_combined,
            time="",
            skips=True,
            people=LOG_PEOPLE,
        ),
        Format(
            "common",
            read_access_log,
            COMMON_FIELDS,
            looks_common,
            time="",
            skips=True,
            people=LOG_PEOPLE,
        ),
        Format("tsv", _TSV, None, _looks_like_tsv, delimiter="\t"),
        Format("csv", _CSV, None, _looks_like_csv, delimiter=""),
        Format("lines", read_lines, (), looks_like_lines, skips=True),
    )
}


def check_format(name: str, selection: Selection, *, follow: bool) -> None:
    """Raise an error unless the format is known and supports the selection."""
    if selection.item_type not in (None, *ITEM_TYPES):
        raise ArgumentValueError(
            f"item_type: expected one of {', '.join(ITEM_TYPES)}, got {shown(selection.item_type)}"
        )
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
        SourceError: A field was requested, but the input looks like plain lines.
    """
    if name != AUTO:
        return FORMATS[name]
    head = Head.of(stream, field=selection.field, delimiter=selection.delimiter)
    guess = next(form for form in FORMATS.values() if form.looks_like(head))
    if selection.field is not None and guess.fields == ():
        advice = advice_on_lines(head)
        looks = f"lines of text; {advice}" if advice else "lines of text"
        raise SourceError(
            f"{stream.name}: expected rows with a field {shown(selection.field)}, got {looks}; "
            "name the format (--format) if they have the field"
        )
    return guess
