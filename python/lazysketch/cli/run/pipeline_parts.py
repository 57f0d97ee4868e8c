"""The file of the parts of a pipeline: a table for each statistic, with the options of its verb."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch import DistinctCount, Distribution, HeavyHitters, Part, Ranges, Sums
from lazysketch.arguments import checked_integer, checked_real
from lazysketch.cli.configuration import check_keys, parsed_settings, type_of
from lazysketch.cli.input_options import ITEM_TYPES, NUMBERS
from lazysketch.cli.people_options import are_bounded, bound_of_cells
from lazysketch.cli.run.shown_statistics import check_ranges
from lazysketch.cli.statistic_options import DistributionSettings
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.releases.value_rows import SHARES
from lazysketch.sources.formats.keys import key_type
from lazysketch.specification.ranges_spec import DEFAULT_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lazysketch.pipelines.part import Live
    from lazysketch.privacy.person_bound import PersonBound
    from lazysketch.specification.schedules import Schedule

__all__ = [
    "DISTINCT",
    "QUANTILES",
    "RANGES",
    "SUMS",
    "TOP",
    "DescribedPart",
    "column_of_people",
    "numbers_of",
    "read_parts",
]

TOP, DISTINCT, QUANTILES = "top", "distinct", "quantiles"
RANGES, SUMS = "ranges", "sums"
_OPTION: Final = "--parts"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_SHARE: Final = 0.01
_ROWS: Final = 20
_BINS: Final = 1024
_MOST_EVENTS: Final = 65_535

_INTEGER, _NUMBER, _TEXT, _LIST = "an integer", "a number", "a string", "an array of numbers"
_TEXTS: Final = "an array of strings"
_COMMON: Final = {"statistic": _TEXT, "by": _TEXT, "importance": _NUMBER}
_WEIGHTS: Final = {"weight": _TEXT, "max-weight": _INTEGER}
_OF_CELLS: Final = {"cells": _INTEGER, "per-cell": _INTEGER, "most-people": _INTEGER}
_OF_EVENTS: Final = {"per-person": _INTEGER, "most-people": _INTEGER}
_OPTIONS: Final[dict[str, dict[str, str]]] = {
    TOP: {
        "share": _NUMBER,
        "rows": _INTEGER,
        "width": _INTEGER,
        "depth": _INTEGER,
        "items-type": _TEXT,
        **_WEIGHTS,
        **_OF_CELLS,
    },
    DISTINCT: {"bits": _INTEGER, "levels": _INTEGER, "items-type": _TEXT},
    QUANTILES: {
        "low": _NUMBER,
        "high": _NUMBER,
        "bins": _INTEGER,
        "scale": _TEXT,
        "edges": _LIST,
        "quantiles": _LIST,
        **_OF_EVENTS,
    },
    RANGES: {
        "bits": _INTEGER,
        "width": _INTEGER,
        "ranges": _TEXTS,
        **_WEIGHTS,
        **_OF_EVENTS,
    },
    SUMS: {
        "value": _TEXT,
        "items": _TEXT,
        "low": _NUMBER,
        "high": _NUMBER,
        "step": _NUMBER,
        "rows": _INTEGER,
        "width": _INTEGER,
        "depth": _INTEGER,
        "items-type": _TEXT,
        **_OF_CELLS,
    },
}
_SCALES: Final = ("linear", "log")
_REQUIRED_OF_SUMS: Final = {
    "value": "the field of the number",
    "items": "the file of a public list",
    "low": "the smallest value that counts as it is",
    "high": "the largest value that counts as it is",
}


@dataclass(frozen=True, slots=True)
class DescribedPart:
    """A statistic of a pipeline, as its file describes it.

    Attributes:
        name: Its name.
        statistic: The verb that counts it alone.
        items_type: The type of the items.
        options: Of its table.
        field: The field that it counts; None for the default of the format.
        importance: The weight of its predicted error.
        rows: Most rows that are shown.
        quantiles: The shares that are shown of a distribution.
        ranges: The ranges of keys that are shown.
        value: The field whose numbers are added up.
        weight: The field of the weights; None if each row has weight 1.
        max_weight: What larger weights are clipped to.
        person_bound: What is counted of a person; None without people, and for distinct people.
        list_of_items: The file of the public list whose sums are shown.
        items: The items of that list, once it is read.
    """

    name: str
    statistic: str
    items_type: str
    options: Mapping[str, object]
    field: str | None = None
    importance: float = 1.0
    rows: int = _ROWS
    quantiles: tuple[float, ...] = SHARES
    ranges: tuple[str, ...] = ()
    value: str | None = None
    weight: str | None = None
    max_weight: int | None = None
    person_bound: PersonBound | None = None
    list_of_items: str = ""
    items: Sequence[str] | Sequence[int] = ()

    @property
    def column(self) -> str:
        """A name for its fields and how they are read: what two parts may share."""
        value = "" if self.value is None else f" with {self.value}"
        if self.weight is not None:
            value = f" by {self.weight} up to {self.max_weight}"
        return f"{self.items_type} {self.field or ''}{value}"

    @property
    def numbers(self) -> str | None:
        """A name for the numbers beside the items of that column; None without any."""
        has_numbers = self.value is not None or self.weight is not None
        return numbers_of(self.column) if has_numbers else None

    def part(self, schedule: Schedule | None) -> Part:
        """Return the part of a pipeline.

        Args:
            schedule: When it is published; None for the default of its class.
        """
        kind = _KINDS[self.statistic]
        options = {**self.options, **({} if schedule is None else {"schedule": schedule})}
        if self.max_weight is not None:
            options["max_weight"] = self.max_weight
        if self.person_bound is not None:
            options["person_bound"] = self.person_bound
        return Part(
            kind,
            self.column,
            value=None if self.value is None else self.numbers,
            weight=None if self.weight is None else self.numbers,
            importance=self.importance,
            **options,
        )


def column_of_people(user: str) -> str:
    """Return the column of the field of the person: that of a part that counts its items."""
    return DescribedPart(
        name="", statistic=DISTINCT, items_type=ITEM_TYPES[0], options={}, field=user
    ).column


def numbers_of(column: str) -> str:
    """Return a name for the numbers beside the items of a column."""
    return f"numbers of {column}"


def read_parts(path: str, user: str | None = None) -> list[DescribedPart]:
    """Return the parts of a file, in its order.

    Args:
        path: A TOML file with a table for each part.
        user: The field of the person; None if rows are protected.

    Raises:
        SourceError: A file that cannot be read.
        ArgumentTypeError: A value of a wrong type, or one that is missing.
        ArgumentValueError: An unknown name, a value outside its range, or no part.
    """
    tables = parsed_settings(path, option=_OPTION)
    if not tables:
        raise ArgumentValueError(
            f"{_OPTION}: expected a table for each statistic, such as [pages], got none in {path}"
        )
    return [_described(path, name, table, user) for name, table in tables.items()]


def _described(path: str, name: str, table: object, user: str | None) -> DescribedPart:
    if not isinstance(table, dict):
        raise ArgumentTypeError(f"{path}: {name}: expected a table, got {type_of(table)}")
    where = f"{path}: [{name}]"
    if not _NAME.fullmatch(name):
        raise ArgumentValueError(
            f"{where}: expected a name of letters, digits, '_', '-' and '.', which names a file "
            "too, got another"
        )
    if "statistic" not in table:
        known = ", ".join(_OPTIONS)
        raise ArgumentTypeError(f"{where} statistic: expected one of {known}, got none")
    statistic = _text(where, table, "statistic", tuple(_OPTIONS))
    types = {**_COMMON, **_OPTIONS[statistic]}
    check_keys(where, table, known=types, of=f"an option of {statistic}")
    for key, value in table.items():
        _check_type(f"{where} {key}", value, types[key])
    try:
        described = replace(
            _OF_STATISTIC[statistic](name, where, table),
            field=cast("str | None", table.get("by")),
            importance=checked_real("importance", table.get("importance", 1.0)),
            person_bound=_bound(statistic, table, user),
            **_weights(table),
        )
    except (ArgumentTypeError, ArgumentValueError) as error:
        told = str(error).removeprefix("--")
        raise type(error)(told if told.startswith(path) else f"{where} {told}") from None
    if user is not None and statistic == DISTINCT and described.column != column_of_people(user):
        raise ArgumentValueError(
            f"{where} by: expected the field of --user for distinct items, and no items-type, as a "
            "person may have any number of other items, got another"
        )
    return described


def _bound(statistic: str, table: Mapping[str, object], user: str | None) -> PersonBound | None:
    """Return what a part counts of a person; errors name the options as the verbs have them."""
    if statistic == DISTINCT:
        return None
    given = {key: cast("int | None", table.get(key)) for key in (*_OF_CELLS, *_OF_EVENTS)}
    if statistic in (TOP, SUMS):
        return bound_of_cells(
            user,
            cells=given["cells"],
            per_cell=given["per-cell"],
            most_people=given["most-people"],
            max_events_per_user=1,
        )
    bounds = {f"--{key}": given[key] for key in _OF_EVENTS}
    if not are_bounded(user, bounds, max_events_per_user=1):
        return None
    from lazysketch.privacy.person_bound import PersonBound  # late: few runs bound people

    events = given["per-person"]
    events = 1 if events is None else checked_integer("per-person", events, most=_MOST_EVENTS)
    return PersonBound(events=events, most_people=given["most-people"])


def _weights(table: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of weights of a part; both or none."""
    found = {"weight": table.get("weight"), "max_weight": table.get("max-weight")}
    if (found["weight"] is None) != (found["max_weight"] is None):
        name, other = "weight", "max-weight"
        if found["weight"] is None:
            name, other = other, name
        raise ArgumentTypeError(f"{other}: expected one with {name}, got none")
    if found["max_weight"] is not None:
        found["max_weight"] = checked_integer("max-weight", found["max_weight"])
    return found


def _top(name: str, where: str, table: Mapping[str, object]) -> DescribedPart:
    given = {key: table[key] for key in ("width", "depth") if key in table}
    return DescribedPart(
        name=name,
        statistic=TOP,
        items_type=_text(where, table, "items-type", ITEM_TYPES),
        options={"share": table.get("share", _SHARE), **given},
        rows=_rows(table),
    )


def _distinct(name: str, where: str, table: Mapping[str, object]) -> DescribedPart:
    return DescribedPart(
        name=name,
        statistic=DISTINCT,
        items_type=_text(where, table, "items-type", ITEM_TYPES),
        options={key: table[key] for key in ("bits", "levels") if key in table},
    )


def _quantiles(name: str, where: str, table: Mapping[str, object]) -> DescribedPart:
    edges = cast("list[float] | None", table.get("edges"))
    settings = DistributionSettings(
        epsilon=1.0,
        delta=1e-8,
        relation="substitution",
        horizon=None,
        low=cast("float | None", table.get("low")),
        high=cast("float | None", table.get("high")),
        bins=cast("int", table.get("bins", _BINS)),
        scale=_text(where, table, "scale", _SCALES),
        edges=None if edges is None else ",".join(repr(float(edge)) for edge in edges),
        max_events_per_user=1,
    )
    shares = tuple(cast("list[float]", table.get("quantiles", SHARES)))
    if not shares or not all(0.0 < share < 1.0 for share in shares):
        raise ArgumentValueError("quantiles: expected shares above 0 and below 1, got others")
    return DescribedPart(
        name=name,
        statistic=QUANTILES,
        items_type=NUMBERS,
        options={"bins": settings.public_bins},
        quantiles=shares,
    )


def _ranges(name: str, where: str, table: Mapping[str, object]) -> DescribedPart:
    del where
    bits = cast("int", table.get("bits", DEFAULT_BITS))
    asked = tuple(cast("list[str]", table.get("ranges", [])))
    items_type = key_type(checked_integer("bits", bits, most=64))
    check_ranges(asked, bits, name="ranges")
    return DescribedPart(
        name=name,
        statistic=RANGES,
        items_type=items_type,
        options={"bits": bits, **{key: table[key] for key in ("width",) if key in table}},
        ranges=asked,
    )


def _sums(name: str, where: str, table: Mapping[str, object]) -> DescribedPart:
    for key, what in _REQUIRED_OF_SUMS.items():
        if key not in table:
            raise ArgumentTypeError(f"{key}: expected {what}, got none")
    given = ("low", "high", "step", "width", "depth")
    return DescribedPart(
        name=name,
        statistic=SUMS,
        items_type=_text(where, table, "items-type", ITEM_TYPES),
        options={key: table[key] for key in given if key in table},
        rows=_rows(table),
        value=cast("str", table["value"]),
        list_of_items=cast("str", table["items"]),
    )


def _rows(table: Mapping[str, object]) -> int:
    rows = cast("int", table.get("rows", _ROWS))
    if rows < 1:
        raise ArgumentValueError(f"rows: expected an integer of at least 1, got {rows}")
    return rows


_KINDS: Final[dict[str, type[Live]]] = {
    TOP: HeavyHitters,
    DISTINCT: DistinctCount,
    QUANTILES: Distribution,
    RANGES: Ranges,
    SUMS: Sums,
}
_OF_STATISTIC: Final[dict[str, Callable[[str, str, Mapping[str, object]], DescribedPart]]] = {
    TOP: _top,
    DISTINCT: _distinct,
    QUANTILES: _quantiles,
    RANGES: _ranges,
    SUMS: _sums,
}


def _check_type(where: str, value: object, wanted: str) -> None:
    found = type_of(value)
    if isinstance(value, list):
        if all(_is_number(one) for one in value) and wanted == _LIST:
            found = _LIST
        elif all(isinstance(one, str) for one in value) and wanted == _TEXTS:
            found = _TEXTS
    if found != wanted and (wanted, found) != (_NUMBER, _INTEGER):
        raise ArgumentTypeError(f"{where}: expected {wanted}, got {found}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(where: str, table: Mapping[str, object], key: str, known: tuple[str, ...]) -> str:
    """Return a word among some; the first by default."""
    found = table.get(key, known[0])
    if found not in known:
        raise ArgumentValueError(f"{where} {key}: expected one of {', '.join(known)}, got another")
    return str(found)
