"""Parameters of addresses of streams of one statistic, checked like those of ``queries``.

Numbers have few digits, so that readers cannot ask for any number of different answers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentValueError
from lazysketch.releases.value_rows import SHARES
from lazysketch.service.reading.queries import ItemsQuery, integer_of, refuse_others, single_of
from lazysketch.service.reading.sums_view import SHOWN_SUMS
from lazysketch.service.reading.values_view import SHOWN_ROWS

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from lazysketch.releases.items import Item

__all__ = [
    "FEWEST_ROWS",
    "MOST_ASKED",
    "MOST_ROWS",
    "MOST_SUMS",
    "RANGE",
    "SHARE",
    "VALUE",
    "SumsQuery",
    "ranges_of",
    "rows_of",
    "shares_of",
    "values_of",
]

SHARE: Final = r"0\.[0-9]{1,6}"
VALUE: Final = r"-?[0-9]{1,15}(\.[0-9]{1,9})?(e-?[0-9]{1,2})?"
RANGE: Final = (
    r"([0-9]{1,20}-[0-9]{1,20}|[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2})?"
    r"|[0-9A-Fa-f:]{2,39}(/[0-9]{1,2})?)"
)
MOST_ASKED: Final = 20
FEWEST_ROWS: Final = 3
MOST_ROWS: Final = 500
MOST_SUMS: Final = 10_000
_SHARE: Final = re.compile(SHARE, re.ASCII)
_RANGE: Final = re.compile(RANGE, re.ASCII)
_VALUE: Final = re.compile(VALUE, re.ASCII)


@dataclass(frozen=True, slots=True)
class SumsQuery:
    """Which sums are asked for.

    Attributes:
        items: the items, 1 to 100; None for those of the public list with the largest sums.
        n: number of items of the list.
    """

    items: tuple[Item, ...] | None
    n: int

    @classmethod
    def of(cls, given: QueryParams) -> SumsQuery:
        """Return the parameters of an address.

        Args:
            given: the parameters.

        Raises:
            ArgumentValueError: a parameter that does not exist, or outside its range.
        """
        if "item" in given or "type" in given:
            return cls(ItemsQuery.of(given, of_windows=False).items, SHOWN_SUMS)
        refuse_others(given, ("n",))
        n = integer_of(given, "n", most=MOST_SUMS)
        return cls(None, SHOWN_SUMS if n is None else n)


def shares_of(given: QueryParams) -> tuple[float, ...]:
    """Return the shares of the quantiles that are asked for.

    Args:
        given: the parameters.

    Raises:
        ArgumentValueError: a parameter that does not exist, or others than shares.
    """
    refuse_others(given, ("q",))
    texts = _listed(given, "q")
    if texts is None:
        return SHARES
    # A text is matched before it is read: the float of a long one may be 1.
    shares = [float(text) if _SHARE.fullmatch(text) else 0.0 for text in texts]
    if not all(shares):
        raise ArgumentValueError(
            f"q: expected 1 to {MOST_ASKED} shares above 0 and below 1 with at most 6 decimals, "
            "such as 0.5,0.99, got others"
        )
    return tuple(shares)


def values_of(given: QueryParams) -> tuple[float, ...]:
    """Return the values below which shares are asked for.

    Args:
        given: the parameters.

    Raises:
        ArgumentValueError: a parameter that does not exist, or others than numbers.
    """
    refuse_others(given, ("below",))
    texts = _listed(given, "below") or [""]
    values = [float(text) if _VALUE.fullmatch(text) else math.nan for text in texts]
    if not all(map(math.isfinite, values)):
        raise ArgumentValueError(
            f"below: expected 1 to {MOST_ASKED} numbers such as 0.25,10, got others"
        )
    return tuple(values)


def ranges_of(given: QueryParams) -> tuple[str, ...]:
    """Return the ranges that are asked for, as they are written; none for equal parts of all keys.

    Args:
        given: the parameters.

    Raises:
        ArgumentValueError: a parameter that does not exist, or others than ranges.
    """
    refuse_others(given, ("range",))
    texts = _listed(given, "range")
    if texts is None:
        return ()
    if not all(map(_RANGE.fullmatch, texts)):
        raise ArgumentValueError(
            f"range: expected 1 to {MOST_ASKED} of them such as 10.0.0.0/8 or 0-1024, got others"
        )
    return tuple(texts)


def rows_of(given: QueryParams) -> int:
    """Return the number of rows of a histogram.

    Args:
        given: the parameters.

    Raises:
        ArgumentValueError: a parameter that does not exist, or outside its range.
    """
    refuse_others(given, ("rows",))
    rows = integer_of(given, "rows", least=FEWEST_ROWS, most=MOST_ROWS)
    return SHOWN_ROWS if rows is None else rows


def _listed(given: QueryParams, name: str) -> list[str] | None:
    """Return the texts between commas, one empty text where there are too many; None for none."""
    text = single_of(given, name)
    if text is None:
        return None
    texts = text.split(",")
    return texts if len(texts) <= MOST_ASKED else [""]
