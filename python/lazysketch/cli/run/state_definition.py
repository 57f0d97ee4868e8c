"""What the first run of a state defines for all later ones."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch.errors import StoreError
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Single

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from lazysketch.specification.schedules import Schedule

__all__ = [
    "DISCOVERED",
    "DISTINCT",
    "IN_WORDS",
    "LISTED",
    "OF_DISCOVERY",
    "OF_INPUT",
    "OF_SKETCH",
    "OF_WINDOWS",
    "ONLY_WITH_WINDOWS",
    "OPEN",
    "OPTIONS_OF",
    "RANGES",
    "SUMS",
    "VALUES",
    "Definition",
    "plain_option",
    "restored_option",
]

_VERSION: Final = 2
LINES: Final = "lines"  # the format whose row is one item
_SCHEDULES: Final[dict[str, Callable[..., Schedule]]] = {
    "round robin": RoundRobin,
    "geometric": lambda growth, rounds: Geometric(tuple(growth), rounds),
    "batch": Batch,
    "single": Single,
}
# What is counted of one person, by parameter; states of earlier versions know no people.
_OF_PEOPLE: Final = {
    "user": "--user",
    "cells": "--cells",
    "per_cell": "--per-cell",
    "most_people": "--most-people",
}
_OF_PEOPLE_ANYWHERE: Final = {
    "user": "--user",
    "per_person": "--per-person",
    "most_people": "--most-people",
}
# How rows are read, by parameter; states of earlier versions know none of them.
_OF_ROWS: Final = {"regex": "--regex", "trusted_hops": "--trusted-hops", "value": "--value"}
# How names are found, by parameter; states of earlier versions know none of them.
_OF_NAMES: Final = {"discovery_weight": "--names-weight"}
# How the stream is cut, by parameter; states of earlier versions have no windows.
OF_WINDOWS: Final = {
    "length": "--window",
    "span": "--span",
    "keep": "--keep",
    "begin": "--from",
    "end": "--to",
}
# Options that define what is counted, by parameter.
OF_SKETCH: Final = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "relation": "--relation",
    "max_events_per_user": "--max-events-per-user",
    "horizon": "--horizon",
    "period": "--period",
    "depth": "--depth",
    "width": "--width",
    "kind": "--kind",
    "mechanism": "--mechanism",
    "hash_seed": "--hash-seed",
    **_OF_PEOPLE,
}
OF_DISCOVERY: Final = {
    "share": "--share",
    "discovery_epoch": "--names-every",
    "memory": "--memory",
    **_OF_NAMES,
}
_OF_STATISTIC: Final = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "relation": "--relation",
    "horizon": "--horizon",
}
OF_DISTINCT: Final = {
    **_OF_STATISTIC,
    "bits": "--bits",
    "levels": "--levels",
    "hash_seed": "--hash-seed",
}
OF_VALUES: Final = {
    **_OF_STATISTIC,
    "low": "--low",
    "high": "--high",
    "bins": "--bins",
    "scale": "--scale",
    "edges": "--edges",
    "max_events_per_user": "--max-events-per-user",
    **_OF_PEOPLE_ANYWHERE,
}
OF_SUMS: Final = {
    **_OF_STATISTIC,
    "low": "--low",
    "high": "--high",
    "step": "--step",
    "depth": "--depth",
    "width": "--width",
    "max_events_per_user": "--max-events-per-user",
    "hash_seed": "--hash-seed",
    **_OF_PEOPLE,
}
OF_RANGES: Final = {
    **_OF_STATISTIC,
    "bits": "--bits",
    "width": "--width",
    "max_events_per_user": "--max-events-per-user",
    "hash_seed": "--hash-seed",
    **_OF_PEOPLE_ANYWHERE,
}
# What is counted, and the options that define it.
LISTED, DISCOVERED, DISTINCT, VALUES = "listed", "discovered", "distinct", "values"
RANGES: Final = "ranges"
SUMS: Final = "sums"
OPTIONS_OF: Final[Mapping[str, Mapping[str, str]]] = {
    LISTED: OF_SKETCH,
    DISCOVERED: {**OF_SKETCH, **OF_DISCOVERY},
    DISTINCT: OF_DISTINCT,
    VALUES: OF_VALUES,
    RANGES: OF_RANGES,
    SUMS: OF_SUMS,
}
IN_WORDS: Final[Mapping[str, str]] = {
    LISTED: "items of a list",
    DISCOVERED: "discovered items",
    DISTINCT: "a number of distinct items",
    VALUES: "a distribution of values",
    RANGES: "ranges of keys",
    SUMS: "sums of values by item",
}
OF_INPUT: Final = {
    "format": "--format",
    "field": "--field",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "weight": "--weight",
    "max_weight": "--max-weight",
    "items_type": "--items-type",
    "time": "--time",
    "time_unit": "--time-unit",
    **_OF_ROWS,
}
# Options that mean nothing without windows.
ONLY_WITH_WINDOWS: Final = frozenset({"keep", "time", "time_unit"})
# What states of earlier versions do not have: each option was not given.
_ADDED: Final = _OF_PEOPLE | _OF_PEOPLE_ANYWHERE | _OF_ROWS | _OF_NAMES | OF_WINDOWS
# Values with which the first run left a choice to each file, so that a later run may name it.
OPEN: Final[Mapping[str, object]] = {"format": "auto", "delimiter": None}


@dataclass(frozen=True)
class Definition:
    """What the first run of a state has defined for all later ones.

    Args:
        counted: What is counted, a key of ``OPTIONS_OF``.
        options: The values of the options that define what is counted, by parameter.
        schedule: The specification of the schedule.
        secret: The key of the digests of positions.
    """

    counted: str
    options: Mapping[str, object]
    schedule: tuple[object, ...]
    secret: bytes

    def to_text(self) -> str:
        """Return the definition as text."""
        fields = {"version": _VERSION, **dataclasses.asdict(self), "secret": self.secret.hex()}
        if self.counted in (LISTED, DISCOVERED):  # as earlier versions, which know no others
            fields["listed"] = fields.pop("counted") == LISTED
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the definition of a text.

        Raises:
            StoreError: Another text.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            if fields.pop("version") != _VERSION:
                raise ValueError
            if "listed" in fields:
                fields["counted"] = LISTED if fields.pop("listed") else DISCOVERED
            fields["schedule"] = tuple(fields["schedule"])
            fields["options"] = {
                **dict.fromkeys(_ADDED),
                **fields["options"],
            }
            if fields["counted"] not in OPTIONS_OF:
                raise ValueError
            return cls(**{**fields, "secret": bytes.fromhex(fields["secret"])})
        except (KeyError, TypeError, ValueError):
            raise StoreError(
                "--state: expected a state of this version of the command, got another"
            ) from None

    @property
    def length(self) -> timedelta | int | None:
        """The length of a window, in time or in steps; None for no windows."""
        return cast("timedelta | int | None", restored_option(self.options["length"], "length"))

    @property
    def knows_field(self) -> bool:
        """Whether it is known which field is counted; not before a row, without a field."""
        return self.options["field"] is not None or self.options["format"] == LINES

    def with_field(self, field: str | None) -> Self:
        """Return the definition with the field that the first input was counted by.

        Args:
            field: The field; None if a row is one item.
        """
        found: dict[str, object] = {"field": field}
        if field is None:
            found["format"] = LINES
        return dataclasses.replace(self, options={**self.options, **found})

    @property
    def chosen(self) -> Schedule:
        """The schedule."""
        name, *arguments = self.schedule
        if name == "punctual":  # its specification does not tell a horizon from none
            return Punctual(horizon=cast("int | None", self.options["horizon"]))
        return _SCHEDULES[str(name)](*arguments)


def plain_option(value: object) -> object:
    """Return the value of an option as one of JSON.

    Args:
        value: The value; a time becomes a text, such as ``"90s"``.
    """
    if not isinstance(value, timedelta):
        return value
    seconds, micro = divmod(value // timedelta(microseconds=1), 1_000_000)
    return f"{seconds}.{micro:06}".rstrip("0").rstrip(".") + "s"


def restored_option(plain: object, name: str) -> object:
    """Return the value that :func:`plain_option` described.

    Args:
        plain: Its result.
        name: The parameter of the option.
    """
    if name not in ("length", "span") or not isinstance(plain, str):
        return plain
    return timedelta(microseconds=round(float(plain.removesuffix("s")) * 1e6))
