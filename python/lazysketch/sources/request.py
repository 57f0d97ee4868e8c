"""What is read of each row, checked once for all inputs."""

from __future__ import annotations

from lazysketch._native import pattern_groups
from lazysketch.arguments import check_bools, check_texts, checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources.formats.selection import Selection, check_delimiter
from lazysketch.sources.formats.timestamps import check_time_unit
from lazysketch.sources.io.text_blocks import check_encoding

__all__ = ["checked_request"]

_LARGEST_WEIGHT = (1 << 63) - 1
_LONGEST_EXPRESSION = 10_000  # characters
_MOST_HOPS = 1_000


def checked_request(
    *,
    field: str | None = None,
    encoding: str = "utf-8",
    weight: str | None = None,
    max_weight: int | None = None,
    delimiter: str | None = None,
    item_type: str | None = None,
    times: bool = False,
    time: str | None = None,
    time_unit: str = "s",
    user: str | None = None,
    regex: str | None = None,
    trusted_hops: int | None = None,
    value: str | None = None,
) -> Selection:
    """Return the fields to take from each row, for any format.

    The arguments are those of :func:`~lazysketch.sources.open_source`.

    Raises:
        ArgumentTypeError: a wrong type, only one of ``weight`` and ``max_weight``, or a value with
            a weight.
        ArgumentValueError: an unknown encoding, delimiter or unit; no regular expression.
    """
    check_texts(field=field, encoding=encoding, weight=weight, time=time)
    check_texts(delimiter=delimiter, item_type=item_type, time_unit=time_unit, user=user)
    check_texts(regex=regex, value=value)
    if value is not None and weight is not None:
        raise ArgumentTypeError("value: expected none with weight, got one")
    check_bools(times=times)
    return Selection(
        field=field,
        encoding=check_encoding(encoding),
        weight=weight,
        max_weight=_check_max_weight(max_weight, weight=weight),
        delimiter=check_delimiter(delimiter),
        item_type=item_type,
        times=times or time is not None,
        time=time,
        time_unit=check_time_unit(time_unit),
        user=user,
        regex=_checked_expression(regex),
        trusted_hops=_checked_hops(trusted_hops),
        value=value,
    )


def _checked_expression(regex: str | None) -> str | None:
    if regex is not None:
        if len(regex) > _LONGEST_EXPRESSION or not _is_utf8(regex):
            raise ArgumentValueError(
                f"regex: expected text of at most {_LONGEST_EXPRESSION:,} characters, got another"
            )
        pattern_groups(regex)  # raises unless it is one
    return regex


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _checked_hops(hops: int | None) -> int | None:
    if hops is None:
        return None
    return checked_integer("trusted_hops", hops, least=0, most=_MOST_HOPS)


def _check_max_weight(max_weight: int | None, *, weight: str | None) -> int:
    if weight is None:
        if max_weight is not None:
            raise ArgumentTypeError(
                "max_weight: expected none without weight (it only adds noise), got one"
            )
        return 1
    if max_weight is None:
        raise ArgumentTypeError(
            "max_weight: expected with weight, since it determines the noise, got none"
        )
    return checked_integer("max_weight", max_weight, most=_LARGEST_WEIGHT)
