"""What the cells of a table show: values, titles and bars, as plain text.

Items are untrusted input: unprintable characters in them never reach a terminal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.output import item_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lazysketch.cli.view.output import Row

__all__ = [
    "ABOVE_NOISE",
    "BAR_WIDTH",
    "bar",
    "can_show_blocks",
    "estimate_of",
    "is_text",
    "lower_of",
    "shown",
    "shown_keys",
    "title_of",
    "upper_of",
]

ABOVE_NOISE: Final = "above_noise"
"""The key that says whether a row is distinguishable from noise."""
BAR_WIDTH: Final = 12
"""Columns of the longest bar."""

_COMPLETE: Final = "complete"
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def shown_keys(rows: Sequence[Row], columns: Sequence[str] | None) -> list[str]:
    """Return the keys of the columns of a table; None for all."""
    keys = list(columns if columns is not None else rows[0] if rows else [])
    # Dimming and "…" show these two.
    return [key for key in keys if key not in (ABOVE_NOISE, _COMPLETE)]


def title_of(key: str) -> str:
    """Return the title of a column."""
    return _TITLES.get(key, key)


def is_text(key: str) -> bool:
    """Return whether a column is text, which begins at the left; numbers end at the right."""
    return key in _TEXTS


def shown(row: Row, key: str) -> str:
    """Return one value of a row as a table shows it."""
    return item_text(row) if key == "item" else _SHOWN.get(key, _text)(row[key])


def can_show_blocks(encoding: str) -> bool:
    """Return whether an encoding has block characters."""
    return encoding.lower().startswith("utf")


def bar(value: float, *, longest: float, blocks: bool, width: int = BAR_WIDTH) -> str:
    """Return a bar of length ``width * value / longest``.

    Example:
        >>> bar(5, longest=10, blocks=True, width=7)
        '███▌'
    """
    share = max(0.0, value / longest) if longest > 0 else 0.0
    if not blocks:
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def estimate_of(row: Row) -> float:
    """Return the estimate of a row."""
    return _number(row["estimate"])


def lower_of(row: Row) -> float:
    """Return the lower end of an interval."""
    return _number(row["low"])


def upper_of(row: Row) -> float:
    """Return the upper end of an interval, which may be unknown or not be there."""
    high = _number(row.get("high", row["estimate"]))
    return high if math.isfinite(high) else estimate_of(row)


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return value


def _count(value: object) -> str:
    return f"{_number(value):,.0f}"


def _bound(value: object) -> str:
    return _count(value) if math.isfinite(_number(value)) else "-"


def _tenths(value: object) -> str:
    return f"{_number(value):,.1f}"


def _magnitude(value: object) -> str:
    """Show six significant digits, and no exponent where all digits before the point fit."""
    number = _number(value)
    short = f"{number:,.6g}"
    return f"{number:,.0f}" if "e+" in short and abs(number) < _LONG else short


def _percent(value: object) -> str:
    return "-" if value is None else f"{_number(value):.2%}"


def _text(value: object) -> str:
    return "-" if value is None else visible(str(value))


# Left-aligned.
_TEXTS: Final = (
    *("item", "part", "sketch", "relation", "schedule"),
    *("verdict", "check", "system", "case", "observed"),
)
_TITLES: Final = {
    "at_least": "at least",
    "at_most": "at most",
    "relative_error": "error",
    "noise_deviation_max": "noise",
}
_LONG: Final = 1e12  # values from here on have an exponent
_SHORT: Final = 1_000  # sums below have digits after the point where these are known
_SHORT_ID: Final = 8  # hex digits that distinguish the parts of a release; JSON and CSV have all
_SHOWN: Final[Mapping[str, Callable[[object], str]]] = {
    "estimate": _count,
    "sum": lambda value: f"{_number(value):,g}" if abs(_number(value)) < _SHORT else _count(value),
    "low": _count,
    "high": _bound,
    "share": _percent,
    "true": _count,
    "relative_error": _percent,
    "sketch": lambda name: str(name)[:_SHORT_ID],
    "steps": _count,
    "samples": _count,
    "seconds": lambda value: f"{_number(value):.2f}",
    "epsilon": lambda value: f"{_number(value):g}",
    "noise_deviation_max": _tenths,
    "counts": _tenths,
    "quantile": lambda share: f"{_number(share):g}",
    "value": _magnitude,
    "from": _magnitude,
    "to": _magnitude,
    "below": _percent,
    "at_least": _percent,
    "at_most": _percent,
}
