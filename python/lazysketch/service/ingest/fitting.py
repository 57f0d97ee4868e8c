"""Events as their stream counts them: what does not fit is malformed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lazysketch.errors import ItemError
from lazysketch.service.ingest.misfits import events_of_fitting, that_fit
from lazysketch.sources.formats.keys import keys_of

if TYPE_CHECKING:
    from lazysketch.service.ingest.events import Events
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["applied"]


def applied(
    events: Events, settings: StreamSettings, apply: Callable[[Events], bool]
) -> tuple[Events, bool]:
    """Apply events to what counts them, without those that do not fit.

    Args:
        events: the events of a batch.
        settings: their stream.
        apply: counts them, all or, with an ItemError, none; returns False if they were counted
            before.

    Returns:
        The events as they were counted, and what ``apply`` returned.
    """
    if settings.key_bits is not None:
        keys, fits = keys_of(events.items, settings.key_bits)
        events = events_of_fitting(events, fits, items=keys)
    levels = settings.hierarchy
    try:
        return events, apply(events)
    except ItemError:  # nothing was applied; without levels no item is wrong here
        if levels is None:
            raise
    events = that_fit(events, levels)
    return events, apply(events)
