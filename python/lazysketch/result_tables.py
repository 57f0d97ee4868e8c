"""Results as tables: HTML for notebooks, plain columns, and Arrow for data frames.

The Arrow PyCapsule interface needs pyarrow, which is imported when a data frame asks for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Reversible, Sequence
from dataclasses import fields
from datetime import date, datetime
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar, overload

from lazysketch.errors import MissingPackageError

if TYPE_CHECKING:
    from typing_extensions import Self

    _Sequence = Sequence
else:

    class _Sequence(Reversible, Collection):
        """The methods of a sequence, without being one for ``isinstance``.

        Polars reads an instance of Sequence row by row, which fails for items of several types,
        and everything else that has them through the Arrow PyCapsule interface.
        """

        __slots__ = ()

        __iter__ = Sequence.__iter__
        __reversed__ = Sequence.__reversed__
        __contains__ = Sequence.__contains__


__all__ = [
    "MOST_ROWS",
    "Columns",
    "Rows",
    "arrow_stream",
    "html_table",
    "number_text",
    "plain_text",
]

Columns: TypeAlias = Mapping[str, Sequence[object]]
Row = TypeVar("Row", covariant=True)

MOST_ROWS: Final = 50  # of an HTML table; notebooks keep every table they show
MOST_CHARACTERS: Final = 200  # of an item in one
_LONGEST_INTEGER: Final = 8192  # bits; CPython limits the decimal digits of longer integers


class Rows(_Sequence[Row]):
    """A frozen sequence of results; compares equal to a list of the same rows.

    Guarantee: post-processing of public tables.

    Polars and pyarrow take it as it is; pandas takes :meth:`to_dict`.
    """

    __slots__ = ("_rows",)

    _row: ClassVar[type]  # the dataclass of the rows
    _left_out: ClassVar[frozenset[str]] = frozenset()  # fields that are no columns

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Keep the rows, in order."""
        self._rows = tuple(rows)

    def count(self, value: object) -> int:
        """Return how often a row occurs."""
        return self._rows.count(value)

    def index(self, value: object, start: int = 0, stop: int = sys.maxsize) -> int:
        """Return the position of the first row that equals a value; ValueError if none does."""
        return self._rows.index(value, start, stop)

    def to_dict(self) -> dict[str, list[object]]:
        """Return the rows as columns.

        Returns:
            A list per field, items as they are; ``pandas.DataFrame`` takes it.
        """
        return {name: [getattr(row, name) for row in self._rows] for name in self._names()}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows through the Arrow PyCapsule interface.

        Items are one column of text, of bytes or of 64-bit integers if all of them are. Otherwise
        ``item`` is text for people to read, and ``item_type`` has the names of their types.

        Args:
            requested_schema: a schema that the reader prefers.

        Returns:
            A capsule of an Arrow stream.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        types = {field.name: str(field.type) for field in fields(self._row)}
        return arrow_stream(self.to_dict(), types, requested_schema)

    @overload
    def __getitem__(self, position: int) -> Row: ...
    @overload
    def __getitem__(self, position: slice) -> Self: ...
    def __getitem__(self, position: int | slice) -> Row | Self:
        """Return a row, or a sequence of the same kind with some of the rows."""
        if isinstance(position, slice):
            return type(self)(self._rows[position])
        return self._rows[position]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows | list):
            return list(self) == list(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._rows)!r})"

    def _repr_html_(self) -> str:
        columns = {name: column[:MOST_ROWS] for name, column in self.to_dict().items()}
        return html_table(columns, rows=len(self))

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls._row) if field.name not in cls._left_out]


def plain_text(value: object) -> str:
    """Return a value as text for people to read.

    Args:
        value: an item, or anything else.

    Returns:
        Text as it is, bytes as UTF-8 with ``\\xNN`` for what is not, integers in decimal (very long
        ones in hexadecimal), everything else by ``str``.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return hex(value)
    return str(value)


def number_text(value: float) -> str:
    """Return a count as text for people to read.

    Args:
        value: a count, which may be infinite or unknown (NaN).

    Returns:
        For example ``"1,234"``.
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0.0 else "-∞"
    return f"{round(value):,}"


def html_table(columns: Columns, *, rows: int | None = None, caption: str = "") -> str:
    """Return columns as an HTML table; everything in them is escaped.

    Args:
        columns: by name, of one length.
        rows: how many rows there are, if more than the columns have.
        caption: above the table; escaped too.

    Returns:
        HTML without scripts or styles beyond the alignment of text.
    """
    from html import escape  # late: only notebooks show HTML

    shown = len(next(iter(columns.values()), ()))
    cells: dict[str, Sequence[object]] = {}
    for name, column in columns.items():
        cells[name] = column
        if len({type(value) for value in column}) > 1:  # "1", b"1" and 1 would look the same
            cells[f"{name}_type"] = [type(value).__name__ for value in column]
    head = "".join(f"<th>{escape(name)}</th>" for name in cells)
    body = "".join(
        f"<tr>{''.join(_cell(name, column[at]) for name, column in cells.items())}</tr>"
        for at in range(shown)
    )
    more = (shown if rows is None else rows) - shown
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    rest = f"<p>{more:,} more rows</p>" if more else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, float):
        percent = name.endswith("share") and math.isfinite(value)
        return f"<td>{f'{value:.2%}' if percent else number_text(value)}</td>"
    from html import escape

    text = plain_text(value)
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    return f'<td style="text-align: left">{escape(cut)}</td>'


def arrow_stream(
    columns: Columns, types: Mapping[str, str], requested_schema: object = None
) -> object:
    """Return columns as a capsule of an Arrow stream.

    Args:
        columns: by name, of one length.
        types: ``"float"``, ``"int"``, ``"str"`` or ``"bool"`` per column; the values of others are
            items, whose type follows from all of them together.
        requested_schema: a schema that the reader prefers.

    Returns:
        The capsule.

    Raises:
        MissingPackageError: pyarrow is not installed.

    Source: the Arrow PyCapsule interface.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingPackageError(
            "__arrow_c_stream__: expected pyarrow (pip install pyarrow), got none; to_dict() "
            "needs no package"
        ) from None
    plain = {"float": pa.float64(), "int": pa.int64(), "str": pa.string(), "bool": pa.bool_()}
    arrays = {}
    for name, column in columns.items():
        known = plain.get(types[name])
        if known is not None:
            arrays[name] = pa.array(column, known)
            continue
        kind = _type_of_items(column)
        if kind == "timestamp":
            arrays[name] = pa.array(column, pa.timestamp("us", tz="UTC"))
        elif kind:
            arrays[name] = pa.array(column, getattr(pa, kind)())
        else:
            arrays[name] = pa.array([plain_text(item) for item in column], pa.string())
            arrays[f"{name}_type"] = pa.array([type(item).__name__ for item in column], pa.string())
    capsule: object = pa.table(arrays).__arrow_c_stream__(requested_schema)
    return capsule


_ARROW_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    bytes: "binary",
    datetime: "timestamp",
    date: "date32",
}


def _type_of_items(items: Sequence[object]) -> str:
    """Return the name of the Arrow type that holds all items as they are; empty if none does."""
    kinds = {type(item) for item in items}
    if not kinds:
        return "string"
    if len(kinds) == 1 and (found := _ARROW_TYPES.get(next(iter(kinds)))):
        return found
    integers = [item for item in items if type(item) is int]
    if len(integers) < len(items):
        return ""
    least, most = min(integers), max(integers)
    if least >= -(2**63) and most < 2**63:
        return "int64"
    return "uint64" if least >= 0 and most < 2**64 else ""
