"""Public samples of a stream, from which a plan is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentTypeError

if TYPE_CHECKING:
    from lazysketch.cli.settings import InputSettings
    from lazysketch.sources import Source
    from lazysketch.sources.batch import Item

__all__ = ["PublicSample", "sample_of"]


@dataclass(frozen=True, slots=True)
class PublicSample:
    """What a file says of the stream.

    Args:
        items: The total weight of each item; with people, the item of each event.
        user: The person of each event, with people.
        weights: The weight of each event, with people and weights.
        mean_weight: The mean weight of an event, with weights.
    """

    items: Counter[Item] | list[Item] | None = None
    user: list[Item] | None = None
    weights: list[int] | None = None
    mean_weight: float | None = None


def sample_of(path: str, reading: InputSettings, *, user: str | None) -> PublicSample:
    """Return what a public file says of a stream.

    Args:
        path: The file.
        reading: How it is read.
        user: The field of the person, None without people.

    Raises:
        ArgumentTypeError: A file without an event.
        SourceError: One that cannot be read.
    """
    source = reading.open((path,), user=user)
    if user is not None:
        return _read_people(path, source, weighed=reading.weight is not None)
    counts: Counter[Item] = Counter()
    events = total = 0
    for batch in source:
        items = batch.item_list
        events += len(items)
        total += batch.total_weight
        if batch.weights is None:
            counts.update(items)
            continue
        for item, weight in zip(items, batch.weights, strict=True):
            counts[item] += int(weight)
    if not total:
        raise ArgumentTypeError(f"sample: expected at least one event, got none in {path}")
    return PublicSample(counts, mean_weight=total / events if reading.weight is not None else None)


def _read_people(path: str, source: Source, *, weighed: bool) -> PublicSample:
    items: list[Item] = []
    user: list[Item] = []
    weights: list[int] = []
    for batch in source:
        items += batch.item_list
        user += batch.user_list or []
        given = [1] * len(batch.items) if batch.weights is None else batch.weights
        weights += [int(weight) for weight in given]
    if not items:
        raise ArgumentTypeError(
            f"sample: expected at least one event with its person, got none in {path}"
        )
    return PublicSample(items, user, weights if weighed else None)
