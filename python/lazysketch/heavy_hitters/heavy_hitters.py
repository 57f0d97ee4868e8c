"""Heavy hitters of a stream: names, counts and intervals, readable after every event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.discovery import discovery_for
from lazysketch.heavy_hitters.joint_privacy import split_of
from lazysketch.heavy_hitters.published_hitters import PublishedHitters
from lazysketch.heavy_hitters.settings import (
    CELL_BYTES,
    checked_domain,
    checked_kind,
    checked_schedule,
    checked_window,
    share_of,
    width_of,
)
from lazysketch.heavy_hitters.tables import DiscoveringTable, ListedTable
from lazysketch.privacy.relations import Relation, checked_integer, checked_relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.sizing import SketchKind

__all__ = ["DEPTH", "ITEM_BYTES", "LEAST_MEMORY", "MEMORY", "HeavyHitters"]

DEPTH: Final = 4
ITEM_BYTES: Final = 64
MEMORY: Final = 64 << 20
LEAST_MEMORY: Final = 1 << 16


class HeavyHitters(ClosedByBlock, PublishedHitters):
    """The items that make up much of a stream, with no list of items given.

    Guarantee: everything ever published, names and counts, at all steps together, satisfies
    (``epsilon``, ``delta``) for one event (or ``max_events_per_user`` of them). An item is
    published once its count within a window of :attr:`window` steps, plus noise, reaches a
    threshold; an item of one event is published with probability at most ``discovery_delta``.

    Args:
        k: find items above 1/k of the stream, 1 to 2^24; or ``share``, or ``domain``.
        share: the same as a share, above 0 and at most 1; 0.001 with a domain alone.
        epsilon: privacy parameter of everything, above 0 and at most 100.
        delta: privacy parameter of everything, above 0 and below 1.
        domain: a public list of items; nothing is discovered then, and all privacy goes to the
            counts. A list taken from the stream voids the guarantee.
        window: steps after which names are published; by default the fewest in which an item of
            the share is found with 95 % probability. With the batch schedule a number of batches,
            and required.
        memory: most bytes for both tables together, 64 MiB by default; what is needed of them is
            taken at construction.
        horizon: number of steps, or None for streams without end.
        schedule: when counts are published; by default geometric, or round robin with a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_weight: largest weight of one event. Discovery counts events, not weights.
        max_events_per_user: events of one person that are protected together.
        max_item_bytes: bytes kept of an item, 16 to 65536; longer ones are published cut.
        discovery_epsilon: part of ``epsilon`` for the names; a quarter when None.
        discovery_delta: part of ``delta`` for the names; half when None.
        kind: ``"count-min"`` or, where steps tell the size of the stream (weights 1, no batches,
            substitution), ``"count-sketch"``.
        depth: rows of the sketch.
        width: columns; by default eight per item of the share, within memory and horizon.
        hash_seed: public seed; random when None.
        key: master key; fresh when None.

    Raises:
        ArgumentTypeError: a wrong type; both k and share, or neither and no domain.
        ArgumentValueError: a value outside its range.
        ItemError: a domain with something that cannot be an item.

    Source: docs/heavy-hitters.md; docs/theory.md, Theorems 9 to 11.

    Example:
        >>> heavy = HeavyHitters(k=20, epsilon=1.0, delta=1e-6, window=5_000)
        >>> heavy.update_many(["a", "b", "a", "c"] * 5_000)
        >>> [hitter.item for hitter in heavy.top(1)]
        ['a']
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        k: int | None = None,
        share: float | None = None,
        domain: Iterable[str | bytes | int] | None = None,
        window: int | None = None,
        memory: int = MEMORY,
        horizon: int | None = None,
        schedule: Schedule | None = None,
        relation: Relation = "substitution",
        max_weight: int = 1,
        max_events_per_user: int = 1,
        max_item_bytes: int = ITEM_BYTES,
        discovery_epsilon: float | None = None,
        discovery_delta: float | None = None,
        kind: SketchKind = "count-min",
        depth: int = DEPTH,
        width: int | None = None,
        hash_seed: int | None = None,
        key: Key | None = None,
    ) -> None:
        """Split privacy and memory, and make the tables."""
        checked_relation(relation)
        wanted = share_of(k, share, listed=domain is not None)
        chosen = checked_schedule(horizon, schedule)
        room = checked_integer("memory", memory, least=LEAST_MEMORY, most=1 << 40)
        rows = checked_integer("depth", depth, most=64)
        half = room // 2
        columns = width_of(width, share=wanted, depth=rows, memory=half, schedule=chosen)
        table: dict[str, Any] = {
            "kind": checked_kind(kind, schedule=chosen, relation=relation, max_weight=max_weight),
            "depth": rows,
            "width": columns,
            "schedule": chosen,
            "relation": relation,
            "mechanism": "tree",
            "calibration": "analytic",
            "max_weight": max_weight,
            "max_events_per_user": max_events_per_user,
            "max_changes": 1,
            "hash_seed": hash_seed,
            "key": key,
        }
        if domain is not None:
            _refuse_settings(window, discovery_epsilon, discovery_delta)
            listed = checked_domain(domain)
            counts = ListedTable(epsilon=epsilon, delta=delta, **table)
            super().__init__(counts, share=wanted, listed=listed)
            return
        split = split_of(
            epsilon, delta, discovery_epsilon=discovery_epsilon, discovery_delta=discovery_delta
        )
        names = discovery_for(
            wanted,
            memory=room - CELL_BYTES * rows * columns,
            window=checked_window(window, chosen),
            schedule=chosen,
            epsilon=split.discovery_epsilon,
            delta=split.discovery_delta,
            relation=relation,
            max_events_per_user=max_events_per_user,
            max_weight=max_weight,
            max_item_bytes=max_item_bytes,
        )
        both = DiscoveringTable(
            discovery=names, epsilon=split.sketch_epsilon, delta=split.sketch_delta, **table
        )
        super().__init__(both, share=wanted, discovery=names)

    def update(self, item: str | bytes | int, weight: int = 1) -> None:
        """Count one event; it takes one step.

        Guarantee: nothing is applied when the call raises.

        Args:
            item: str, bytes or int; ``"1"``, ``b"1"`` and ``1`` are different items.
            weight: 0 to ``max_weight``.

        Raises:
            ItemError: something that cannot be an item.
            ArgumentTypeError: a weight that is not an integer.
            ArgumentValueError: a weight outside its range.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._table.update(item, weight)

    def update_many(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count many events, one step each, in order.

        Guarantee: the whole batch is checked before the first event is applied.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            weights: as many integers, or None for 1 each.
            column: the column of a table with several.

        Raises:
            ItemError: something that cannot be an item, or a null, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats; an unnamed column.
            ArgumentValueError: weights outside their range or of another length.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._table.update_many(items, weights, column=column)

    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
    ) -> None:
        """Count rows, one step each, of which some have no event, as those that cannot be read.

        Guarantee: the same as ``update_many`` and ``tick`` in turn, faster; all is checked before
        the first step is taken.

        Args:
            items: Arrow data, a numpy array or an iterable: the items of the rows that have one.
            weights: as many integers, or None for 1 each.
            empty_rows: the positions, rising and counted from 0 over all rows, of the others.
            column: the column of a table with several.

        Raises:
            ItemError: something that cannot be an item, or a null, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats; an unnamed column.
            ArgumentValueError: weights outside their range or of another length; positions that
                do not rise, or lie behind the rows.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._table.update_rows(items, weights, empty_rows=empty_rows, column=column)

    def update_batch(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count any number of events in one step; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a numpy array or an iterable of items; may be empty.
            weights: as many integers, or None for 1 each.
            column: the column of a table with several.

        Raises:
            ItemError: something that cannot be an item, or a null, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats; an unnamed column.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._table.update_batch(items, weights, column=column)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event.

        Guarantee: an empty step is a neighbour of a step with any event.

        Args:
            steps: how many, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._table.tick(steps)

    def end_window(self) -> None:
        """Publish the names of the open window now, as at the end of a file.

        Guarantee: the window is consumed, so that no event is in two; when to call this must not
        depend on the events. Nothing happens with a public domain.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        if isinstance(self._table, DiscoveringTable):
            self._table.end_window()

    def close(self) -> None:
        """Destroy key, counts and the open window; nothing can be read any more."""
        self._table.close()

    def __repr__(self) -> str:
        inner = repr(self._table).split(" ", 1)[1]
        names = "public domain" if self._discovery is None else f"window={self.window}"
        whole = self.privacy
        promise = f"epsilon={whole.epsilon:g}, delta={whole.delta:g} in all"
        return f"<HeavyHitters share={self._share:g}, {names}, {promise}; counts: {inner}"


def _refuse_settings(*settings: object) -> None:
    if any(value is not None for value in settings):
        raise ArgumentTypeError(
            "domain: expected no window, discovery_epsilon or discovery_delta beside it, as "
            "nothing is discovered"
        )
