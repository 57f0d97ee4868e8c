"""Numbers with units on the command line: 1e8 steps, 5000/s, 30d, 500ms, 64KB, 0.1%.

The library checks their range; this module only parses them.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import click

from lazysketch.arguments import shown

if TYPE_CHECKING:
    _ParamType = click.ParamType[float | int]
else:
    _ParamType = click.ParamType  # not generic before click 8.4

__all__ = ["BYTES", "DURATION", "RATE", "SHARE", "STEPS"]

# Two digits of exponent suffice: no size, time or rate has more.
_NUMBER: Final = r"\s*((?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?)\s*"
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_TIMES: Final = {"": Fraction(1), **{unit: Fraction(time) for unit, time in _SECONDS.items()}}
_RATES: Final = {"": Fraction(1), **{f"/{unit}": 1 / time for unit, time in _TIMES.items() if unit}}
_SIZES: Final = {
    unit + end: Fraction(1024**power)
    for power, unit in enumerate(("", "k", "m", "g"))
    for end in ("", "b", "ib")
    if unit or end != "ib"
}


class _Quantity(_ParamType):
    """A number with a unit; a number from a settings file is taken unchanged."""

    def __init__(
        self, name: str, units: dict[str, Fraction], *, integer: bool, wanted: str
    ) -> None:
        self.name = name
        self._units = units
        self._integer = integer
        self._wanted = wanted

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        """Return the number in steps, seconds, bytes, events per second, or as a fraction."""
        if isinstance(value, int | float):
            number = float(value)
            return int(number) if self._integer and number.is_integer() else number
        match = re.fullmatch(_NUMBER + r"([a-zA-Z/%]*)\s*", str(value))
        unit = match[2].lower() if match else ""
        scale = self._units.get(unit) if match else None
        # Exact until the end: 0.1% is the double nearest to 1 / 1000.
        found = None if match is None or scale is None else Fraction(match[1]) * scale
        # 5 may mean 5 %: it is refused, with the form of both.
        unclear = found is not None and found > 1 and not unit and "%" in self._units
        if found is None or unclear or (self._integer and found.denominator > 1):
            self.fail(f"expected {self._wanted}, got {shown(str(value))}", param, ctx)
        return int(found) if self._integer else float(found)


STEPS: Final = _Quantity(
    "integer", {"": Fraction(1)}, integer=True, wanted="a whole number such as 1e8"
)
BYTES: Final = _Quantity("text", _SIZES, integer=True, wanted="a size such as 64KB or 16MB")
SHARE: Final = _Quantity(
    "float",
    {"": Fraction(1), "%": Fraction(1, 100)},
    integer=False,
    wanted="a fraction such as 0.001 or 0.1%",
)
DURATION: Final = _Quantity(
    "text",
    {**_TIMES, "ms": Fraction(1, 1000), "min": Fraction(60)},
    integer=False,
    wanted="a time such as 500ms, 90s, 15m, 12h, 30d or 2w",
)
RATE: Final = _Quantity("text", _RATES, integer=False, wanted="a rate such as 5000/s or 2e6/d")
