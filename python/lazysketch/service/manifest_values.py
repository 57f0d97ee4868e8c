"""Instants and items in the manifest of a publication, as values that JSON has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from lazysketch.releases.items import Item

__all__ = ["instant_read", "instant_written", "item_read", "item_written"]


def instant_written(moment: datetime | int) -> str:
    """Return an instant as text in UTC, to the microsecond.

    Args:
        moment: an aware instant; a number is the place of a window of steps, which no service has.

    Raises:
        TypeError: not an instant.

    Example:
        >>> instant_written(datetime(2026, 5, 17, tzinfo=timezone.utc))
        '2026-05-17T00:00:00.000000+00:00'
    """
    if not isinstance(moment, datetime):
        raise TypeError("windows of a service are those of a clock")
    return moment.astimezone(timezone.utc).isoformat(timespec="microseconds")


def instant_read(text: str) -> datetime:
    """Return the instant of a text.

    Args:
        text: as :func:`instant_written` returns it.

    Raises:
        ValueError: not an instant in UTC.
    """
    found = datetime.fromisoformat(text)
    if found.utcoffset() != timedelta(0):
        raise ValueError("an instant without UTC")
    return found


def item_written(item: Item) -> object:
    """Return an item of a public list.

    Args:
        item: any item.
    """
    if isinstance(item, bytes):
        return {"bytes": item.hex()}
    if isinstance(item, datetime):
        return {"datetime": instant_written(item)}
    if isinstance(item, date):
        return {"date": item.isoformat()}
    return {"uuid": str(item)} if isinstance(item, UUID) else item


def item_read(value: object) -> Item:
    """Return the item of a value.

    Args:
        value: as :func:`item_written` returns it.

    Raises:
        KeyError: another object.
        TypeError: another type.
        ValueError: a text of another form.
    """
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return _READ[kind](text)
    if not isinstance(value, (str, int)):
        raise TypeError("an item of a list")
    return value


_READ: Final[dict[str, Callable[[str], Item]]] = {
    "bytes": bytes.fromhex,
    "datetime": instant_read,
    "date": date.fromisoformat,
    "uuid": UUID,
}
