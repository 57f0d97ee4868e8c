"""Feeding the batches of a source to a sketch: one step per row, malformed rows included."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Protocol, cast

from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.sums_privacy import SumsPrivacy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lazysketch.sources.batch import Items, RowBatch


class TakesItems(Protocol):
    """Any sketch, exact or private."""

    def update_many(self, items: object, weights: object = None) -> None:
        """Count a batch of items."""


class _TakesPeople(Protocol):
    """Counts with a bound of people, which need the person of each item."""

    def update_many(self, items: object, weights: object, *, user: object) -> None: ...

    def update_rows(
        self, items: object, weights: object, *, empty_rows: object, user: object
    ) -> None: ...

    def tick(self, steps: int) -> object: ...


class _TakesTimes(Protocol):
    """Counts of time windows, which need the time of each item."""

    def update_many(self, items: object, weights: object, **given: object) -> None: ...


def feed(sketch: TakesItems, batches: Iterable[RowBatch]) -> None:
    """Feed every row as one step, until the source ends.

    Guarantee:
        A private sketch takes exactly one step per row, in order: a malformed row is a
        ``tick()``, a weight of 0 is an update that adds nothing. An exact sketch, which
        has no empty steps, skips malformed rows. Windows of a time range place each item
        by its time, if the source was opened with times. A sketch with a bound of people
        gets the person of each item; an exact sketch counts everything.

    Args:
        sketch: The sketch that counts. Its ``max_weight`` must be at least the source's, and
            it has a bound of people if and only if the source was opened with ``user``.
        batches: A source, or the batches of one.

    Raises:
        ArgumentValueError: The source may yield weights that the sketch does not accept, or
            has people of which the sketch bounds nothing.
        SourceError: As raised by iterating over the source.
        HorizonError: The source has more rows than the sketch's horizon.

    Example:
        >>> import pathlib, tempfile
        >>> from lazysketch import CountMin
        >>> from lazysketch.sources import open_source
        >>> path = pathlib.Path(tempfile.mkdtemp(), "events.txt")
        >>> _ = path.write_text("a\\nb\\n\\na\\n")
        >>> sketch = CountMin(depth=3, width=256)
        >>> feed(sketch, open_source(path, format="lines"))
        >>> sketch.estimate("a")
        2.0
    """
    check_weights(sketch, getattr(batches, "max_weight", 1))
    _check_bound(sketch, of_people=getattr(batches, "of_people", False))
    iterator = iter(batches)
    try:
        _feed(sketch, iterator)
    finally:
        # If the sketch fails, stop a source that reads ahead. An iterator that the caller made
        # is the caller's to close.
        if iterator is not batches and isinstance(iterator, Generator):
            iterator.close()


def _feed(sketch: TakesItems, batches: Iterator[RowBatch]) -> None:
    tick: Callable[[int], object] | None = getattr(sketch, "tick", None)
    update_rows: Callable[..., object] | None = None
    if _prefers_update_rows(sketch):
        update_rows = getattr(sketch, "update_rows", None)
    takes_times = getattr(sketch, "takes_times", False)
    for batch in batches:
        if takes_times:  # windows of time ignore rows without an item
            timed = cast("_TakesTimes", sketch)
            given: dict[str, object] = {"times": batch.item_times}
            if batch.users is not None:
                given["user"] = batch.users
            if update_rows is not None and batch.empty_rows:  # but a state knows how many
                update_rows(batch.items, batch.weights, empty_rows=batch.empty_rows, **given)
            else:
                timed.update_many(batch.items, batch.weights, **given)
            continue
        if batch.users is not None and tick is not None:
            people = cast("_TakesPeople", sketch)
            _feed_people(people, batch, batch.users, by_rows=update_rows is not None)
            continue
        empty_rows = batch.empty_rows
        if not empty_rows or tick is None:
            sketch.update_many(batch.items, batch.weights)
        elif update_rows is not None:
            update_rows(batch.items, batch.weights, empty_rows=empty_rows)
        else:
            for items, weights, empty_steps in batch.segments():
                if len(items):
                    sketch.update_many(items, weights)
                if empty_steps:
                    tick(empty_steps)


def _feed_people(sketch: _TakesPeople, batch: RowBatch, users: Items, *, by_rows: bool) -> None:
    empty_rows = batch.empty_rows
    if not empty_rows:
        sketch.update_many(batch.items, batch.weights, user=users)
    elif by_rows:
        sketch.update_rows(batch.items, batch.weights, empty_rows=empty_rows, user=users)
    else:
        begin = 0
        for items, weights, empty_steps in batch.segments():
            end = begin + len(items)
            if len(items):
                sketch.update_many(items, weights, user=users[begin:end])
            if empty_steps:
                sketch.tick(empty_steps)
            begin = end


def _check_bound(sketch: object, *, of_people: bool) -> None:
    """Raise ArgumentValueError if a private sketch would ignore the people of a source."""
    privacy = getattr(sketch, "privacy", None)
    bound = getattr(privacy, "person_bound", None)
    if privacy is not None and of_people and bound is None:
        raise ArgumentValueError(
            "sketch: expected a person_bound, since the source has people, got none"
        )


def check_weights(sketch: object, max_weight: int) -> None:
    """Raise ArgumentValueError if a private sketch accepts smaller weights only."""
    privacy = getattr(sketch, "privacy", None)
    if isinstance(privacy, SumsPrivacy):  # takes numbers of any size
        return
    if privacy is not None and privacy.max_weight < max_weight:
        raise ArgumentValueError(
            f"sketch: expected max_weight of at least {max_weight}, as in the source, "
            f"got {privacy.max_weight}"
        )


def _prefers_update_rows(sketch: object) -> bool:
    """Tell whether ``update_rows`` would not bypass a subclass's override of ``update_many``."""
    classes = type(sketch).__mro__
    defined = [[name in vars(one) for one in classes] for name in ("update_rows", "update_many")]
    rows, many = (found.index(True) if any(found) else len(classes) for found in defined)
    return rows <= many
