"""One input format: what may be selected of its rows, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazysketch._native import pattern_groups
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources.formats.keys import key_bits
from lazysketch.sources.formats.numbers import NUMBERS
from lazysketch.sources.formats.selection import Head, Reader, Selection
from lazysketch.sources.formats.typed_items import typed_items

if TYPE_CHECKING:
    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.io.byte_stream import ByteStream

__all__ = ["ITEM_TYPES", "REGEX", "Format"]

ITEM_TYPES = ("str", "int")
REGEX = "regex"


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
        time_unit: The unit of numeric times, if the format defines it; else as requested.
        default_field: The field that is counted if none is named and ``fields`` is None.
        grows: Whether an input can be read while it is being written.
        skips: Whether the reader itself leaves out ``stream.rows_skipped`` rows.
        delimiter: The delimiter of columns; "" if the user may choose it; None without one.
        people: The fields that may hold the person, if the fields are fixed.
        has_hops: Whether a field is the address before the trusted proxies.
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
    time_unit: str | None = None
    default_field: str | None = None
    has_hops: bool = False

    def check_follow(self) -> None:
        """Raise ArgumentValueError unless an input can be followed."""
        if not self.grows:
            raise ArgumentValueError(
                f"follow: expected False for format {self.name!r}, which is unreadable until it is "
                "complete, got True"
            )

    def batches(self, stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
        """Yield the rows of an input, with items of the type that is selected.

        Args:
            stream: The bytes of the input, from their beginning.
            selection: The result of :meth:`select`.
        """
        wanted, typed = typed_items(selection)
        return map(typed, self.read(stream, wanted))

    @property
    def needs_field(self) -> bool:
        """True if the name of a field has to be given."""
        return self.fields is None and self.default_field is None and self.name != REGEX

    def select(self, request: Selection) -> Selection:
        """Return the request with the defaults of the format filled in.

        Raises:
            ArgumentTypeError: The format requires a field, which the request lacks.
            ArgumentValueError: The format has no such field, weight, value, delimiter, type, time
                or person, or the person is the item.
        """
        format_ = f"for format {self.name!r}"
        if self.fields is not None and request.weight not in (None, *self.weights):
            known = ", ".join(self.weights) or "none"
            raise ArgumentValueError(
                f"weight: expected {known} {format_}, got {shown(request.weight)}"
            )
        if self.fields is not None and request.value not in (None, *self.weights):
            known = ", ".join(self.weights) or "none"
            raise ArgumentValueError(
                f"value: expected {known} {format_}, got {shown(request.value)}"
            )
        if request.delimiter not in (None, self.delimiter) and self.delimiter != "":
            raise ArgumentValueError(
                f"delimiter: expected none {format_}, got {shown(request.delimiter)}"
            )
        if request.trusted_hops is not None and not self.has_hops:
            raise ArgumentValueError(
                f"trusted_hops: expected none {format_}, got {request.trusted_hops}"
            )
        field = self._field(request)
        of_integers = field in self.integer_fields
        types = ("int",) if of_integers else self.item_types
        if request.item_type not in (None, *types, NUMBERS) and not key_bits(request.item_type):
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
            time_unit=self.time_unit or request.time_unit,
            user=self._user(request.user, None if request.people_alone else field),
            regex=request.regex,
            trusted_hops=request.trusted_hops,
            value=request.value,
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

    def _field(self, request: Selection) -> str | None:
        name = request.field
        if self.name == REGEX:
            return _checked_group(request)
        if self.fields is None:
            name = name or self.default_field
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


def _checked_group(request: Selection) -> str:
    """Return the group of the item: the named one, else the first."""
    if request.regex is None:
        raise ArgumentTypeError(f"regex: expected an expression for format {REGEX!r}, got none")
    groups = pattern_groups(request.regex)
    if not groups:
        raise ArgumentValueError("regex: expected a named group, such as (?<item>[^ ]+), got none")
    for of, name in request.columns():
        if name not in groups:
            raise ArgumentValueError(
                f"{of}: expected one of the groups {', '.join(groups)}, got {shown(name)}"
            )
    return request.field or groups[0]
