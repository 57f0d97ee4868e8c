"""Events whose items do not fit their stream, as its levels: each is malformed alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lazysketch.errors import ItemError
from lazysketch.releases.items import plain_values

if TYPE_CHECKING:
    from lazysketch.heavy_hitters import Levels
    from lazysketch.service.ingest.events import Events
    from lazysketch.sources.batch import RowBatch

__all__ = ["events_of_fitting", "rows_that_fit", "that_fit"]


def that_fit(events: Events, levels: Levels) -> Events:
    """Return the events with those malformed whose items do not fit the levels.

    Args:
        events: the events of a batch.
        levels: the hierarchy of their stream.
    """
    fits = _fits(events.items, levels)
    return events_of_fitting(events, fits, items=_kept(events.items, fits))


def events_of_fitting(events: Events, fits: npt.NDArray[np.bool_], *, items: Any) -> Events:
    """Return the events whose items fit; the others are malformed.

    Args:
        events: the events of a batch.
        fits: which of their items fit.
        items: the items of those that do.
    """
    if fits.all():
        return dataclasses.replace(events, items=items)
    judged = events.judged
    lost = np.array([*judged.malformed, *judged.no_user, *judged.too_long], dtype=np.int64)
    places = np.delete(np.arange(judged.rows), lost)
    malformed = sorted([*judged.malformed, *places[~fits].tolist()])
    return dataclasses.replace(
        events,
        items=items,
        weights=None if events.weights is None else np.asarray(events.weights)[fits],
        users=None if events.users is None else _kept(events.users, fits),
        judged=dataclasses.replace(judged, malformed=malformed),
    )


def rows_that_fit(batch: RowBatch, levels: Levels) -> RowBatch:
    """Return the rows with those malformed whose items do not fit the levels.

    Args:
        batch: rows of a file.
        levels: the hierarchy of their stream.
    """
    fits = _fits(batch.items, levels)
    places = np.delete(np.arange(batch.rows), np.array(batch.empty_rows, dtype=np.int64))
    return dataclasses.replace(
        batch,
        items=_kept(batch.items, fits),
        weights=None if batch.weights is None else np.asarray(batch.weights)[fits],
        clipped=(),
        users=None if batch.users is None else _kept(batch.users, fits),
        malformed=sorted([*batch.malformed, *places[~fits].tolist()]),
    )


def _fits(items: object, levels: Levels) -> npt.NDArray[np.bool_]:
    known: dict[Any, bool] = {}
    values: Sequence[Any] = plain_values("items", items)
    for value in values:
        if value not in known:
            try:
                levels.of(value)
                known[value] = True
            except ItemError:
                known[value] = False
    return np.array([known[value] for value in values], dtype=bool)


def _kept(values: Any, fits: npt.NDArray[np.bool_]) -> Any:
    chosen = plain_values("items", values)
    return [value for value, keep in zip(chosen, fits.tolist(), strict=True) if keep]
