"""Feeding a sketch from a source: one step per row, weights and malformed rows included."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

from lazysketch.errors import ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lazysketch.sources.batch import RowBatch


class TakesItems(Protocol):
    """Any sketch, exact or private."""

    def update_many(self, items: object, weights: object = None) -> None:
        """Take a batch of items."""


def feed(sketch: TakesItems, batches: Iterable[RowBatch]) -> None:
    """Feed every row as one step, until the source ends.

    Guarantee:
        A private sketch takes exactly one step per row, in order: a malformed row is a
        ``tick()``, a weight of 0 an update that adds nothing. An exact sketch, which
        has no steps without an event, leaves malformed rows out. Windows of a range take
        each row by its time, if the source was asked for times.

    Args:
        sketch: Where to count. It must have been made with at least the source's
            ``max_weight``.
        batches: A source, or the batches of one.

    Raises:
        ArgumentValueError: The source may yield weights that the sketch does not take.
        SourceError: As iterating over the source does.
        HorizonError: More rows than the sketch was made for.

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
    iterator = iter(batches)
    try:
        _feed(sketch, iterator)
    finally:
        # A source that reads ahead shall not go on behind a failure of the sketch. What was made
        # elsewhere is not ours to end.
        if iterator is not batches and isinstance(iterator, Generator):
            iterator.close()


def _feed(sketch: TakesItems, batches: Iterator[RowBatch]) -> None:
    tick: Any = getattr(sketch, "tick", None)
    update_rows: Any = getattr(sketch, "update_rows", None) if _takes_rows(sketch) else None
    takes_times = getattr(sketch, "takes_times", False)
    for batch in batches:
        if takes_times:  # windows, to which rows without an item are nothing
            timed: Any = sketch
            timed.update_many(batch.items, batch.weights, times=batch.item_times)
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


def check_weights(sketch: object, max_weight: int) -> None:
    """Raise ArgumentValueError if a private sketch takes smaller weights only."""
    privacy: Any = getattr(sketch, "privacy", None)
    if privacy is not None and privacy.max_weight < max_weight:
        raise ArgumentValueError(
            f"sketch: expected one made with max_weight={max_weight} at least, as the source, "
            f"got {privacy.max_weight}"
        )


def _takes_rows(sketch: object) -> bool:
    """Tell whether what a subclass makes of ``update_many`` would not be passed by."""
    classes = type(sketch).__mro__
    own = [[name in vars(one) for one in classes] for name in ("update_rows", "update_many")]
    rows, many = (found.index(True) if any(found) else len(classes) for found in own)
    return rows <= many
