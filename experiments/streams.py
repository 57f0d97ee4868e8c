"""Streams: Zipf laws over 2^20 items, drawn anew in every trial; real ones; any file.

A Zipf stream of 2^20 events takes a tenth of a second by inverse distribution function.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tools.accuracy.streams import stream as known_stream

from lazysketch.sources import open_source

__all__ = ["DATA", "Items", "heaviest", "named", "zipf"]

DATA = Path("../shared/data")
_KNOWN = ("scarab_recs", "gutenberg_words", "orm-busy", "zeek-dns")

Items = npt.NDArray[np.int64]


@lru_cache(maxsize=4)
def _cumulated(skew: float, items: int) -> npt.NDArray[np.float64]:
    weights = np.arange(1, items + 1, dtype=np.float64) ** -skew
    shares: npt.NDArray[np.float64] = np.cumsum(weights / weights.sum())
    return shares


def zipf(generator: np.random.Generator, *, skew: float, items: int, events: int) -> Items:
    """Return events; item number r has a probability proportional to (r + 1)^-skew.

    Args:
        generator: of the trial.
        skew: at least 0.
        items: how many there are.
        events: how many to draw.

    Returns:
        int64 array of item numbers from 0.
    """
    drawn = np.searchsorted(_cumulated(skew, items), generator.random(events))
    return np.minimum(drawn, items - 1).astype(np.int64)


def heaviest(counts: npt.NDArray[np.int64], number: int) -> Items:
    """Return the items with the largest counts, the first of equal ones first."""
    return np.argsort(-counts, kind="stable")[:number].astype(np.int64)


@lru_cache(maxsize=8)
def named(name: str, folder: Path) -> Items:
    """Return a real stream as item numbers from 0, in order of arrival.

    Args:
        name: of a known stream, or ``FILE`` or ``FILE:FIELD`` as lazysketch.sources reads it; for a
            capture the field is such as ``src``.
        folder: where the known ones lie.

    Returns:
        int64 array.

    Raises:
        SourceError: a file that cannot be read.
    """
    if name in _KNOWN:
        return known_stream(name, folder)
    path, _, field = name.partition(":")
    source = open_source(path, field=field) if field else open_source(path)
    numbers: dict[object, int] = {}
    events: list[int] = []
    for batch in source:
        events += [numbers.setdefault(item, len(numbers)) for item in batch.item_list]
    return np.array(events, dtype=np.int64)
