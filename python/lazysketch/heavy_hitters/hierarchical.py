"""Heavy hitters at all levels of a hierarchy: a heavy network though no address in it is heavy.

What it computes: each event is counted at every level, in a sketch and a discovery of its own;
the promises compose (:mod:`.level_promises`). It costs as many updates as there are levels, and
sqrt(levels) times the noise of one sketch; names cost ``levels`` times their window. Take few
levels, and give the finest the most weight if it matters most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.discovery import discovery_for
from lazysketch.heavy_hitters.heavy_hitters import DEPTH, ITEM_BYTES, LEAST_MEMORY, MEMORY
from lazysketch.heavy_hitters.hierarchies import Item, Levels
from lazysketch.heavy_hitters.joint_privacy import split_of
from lazysketch.heavy_hitters.levels_privacy import checked_level_weights, splits_of_levels
from lazysketch.heavy_hitters.published_levels import PublishedLevels
from lazysketch.heavy_hitters.settings import (
    CELL_BYTES,
    checked_kind,
    checked_schedule,
    checked_window,
    share_of,
    width_of,
)
from lazysketch.heavy_hitters.tables import DiscoveringTable, described
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.relations import Relation, checked_integer, checked_relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.sizing import SketchKind

__all__ = ["HierarchicalHeavyHitters"]

_HASH_SEEDS = 2**64


class HierarchicalHeavyHitters(ClosedByBlock, PublishedLevels):
    """The names that make up much of a stream, at every level of a hierarchy.

    Guarantee: everything ever published, at all levels and steps together, satisfies (``epsilon``,
    ``delta``) for one event (or ``max_events_per_user`` of them). The sketches of all levels
    compose as one Gaussian mechanism, their discoveries by adding up.

    Args:
        levels: the hierarchy, such as :func:`ipv4_prefixes` makes.
        k: find names above 1/k of the stream, at each level; or ``share``.
        share: the same as a share, above 0 and at most 1.
        epsilon: privacy parameter of everything, above 0 and at most 100.
        delta: privacy parameter of everything, above 0 and below 1.
        level_weights: one number above 0 per level; equal when None. A level of weight w gets
            noise proportional to 1/sqrt(w), and a threshold of about 1/w.
        window: steps after which names are published, at all levels; by default each level's own,
            the fewest in which a name of the share is found with 95 % probability. With the batch
            schedule a number of batches, and required.
        memory: most bytes for all tables together, 64 MiB by default.
        horizon: number of steps, or None for streams without end.
        schedule: when counts are published; by default geometric, or round robin with a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_weight: largest weight of one event. Discovery counts events, not weights.
        max_events_per_user: events of one person that are protected together.
        max_item_bytes: bytes kept of a name, 16 to 65536; longer ones are published cut.
        discovery_epsilon: part of ``epsilon`` for the names of all levels; a quarter when None.
        discovery_delta: part of ``delta`` for the names of all levels; half when None.
        kind: ``"count-min"`` or, where steps tell the size of the stream, ``"count-sketch"``.
        depth: rows of each sketch.
        width: columns; by default eight per item of the share, within memory and horizon.
        hash_seed: public seed of level 0, random when None; level i has the i-th after it.
        key: master key of all levels; fresh when None.

    Raises:
        ArgumentTypeError: a wrong type, or both or neither of k and share.
        ArgumentValueError: a value outside its range.

    Source: docs/heavy-hitters.md; docs/theory.md, Theorems 9 to 11; Dong, Roth and Su 2022.

    Example:
        >>> from lazysketch.heavy_hitters import ipv4_prefixes
        >>> networks = HierarchicalHeavyHitters(
        ...     ipv4_prefixes((8, 32)), k=10, epsilon=4.0, delta=1e-6, window=4_000
        ... )
        >>> networks.update_many([f"10.0.{i % 200}.{i % 50}" for i in range(8_000)])
        >>> [root.item for root in networks.hierarchy()]
        ['10.0.0.0/8']
    """

    def __init__(
        self,
        levels: Levels,
        *,
        epsilon: float,
        delta: float,
        k: int | None = None,
        share: float | None = None,
        level_weights: Sequence[float] | None = None,
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
        """Split privacy and memory over the levels, and make their tables."""
        if not isinstance(levels, Levels):
            got = type(levels).__name__
            raise ArgumentTypeError(f"levels: expected Levels such as ipv4_prefixes(), got {got}")
        checked_relation(relation)
        number = len(levels.names)
        wanted = share_of(k, share, listed=False)
        chosen = checked_schedule(horizon, schedule)
        steps = checked_window(window, chosen)
        room = checked_integer("memory", memory, least=LEAST_MEMORY * number, most=1 << 40)
        room //= number
        rows = checked_integer("depth", depth, most=64)
        columns = width_of(width, share=wanted, depth=rows, memory=room // 2, schedule=chosen)
        whole = split_of(
            epsilon, delta, discovery_epsilon=discovery_epsilon, discovery_delta=discovery_delta
        )
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
        }

        def privacy_of(part_epsilon: float, part_delta: float) -> Privacy:
            return described(epsilon=part_epsilon, delta=part_delta, **table)

        parts = checked_level_weights(level_weights, levels=number)
        splits = splits_of_levels(whole, parts, privacy_of=privacy_of)
        settings = [
            discovery_for(
                wanted,
                memory=room - CELL_BYTES * rows * columns,
                window=steps,
                schedule=chosen,
                epsilon=split.discovery_epsilon,
                delta=split.discovery_delta,
                relation=relation,
                max_events_per_user=max_events_per_user,
                max_weight=max_weight,
                max_item_bytes=max_item_bytes,
            )
            for split in splits
        ]
        master = Key.generate() if key is None else key
        tables: list[DiscoveringTable] = []
        for at, (split, names) in enumerate(zip(splits, settings, strict=True)):
            if at == 1 and hash_seed is None:
                hash_seed = tables[0].hash_seed
            seed = hash_seed if not at or hash_seed is None else (hash_seed + at) % _HASH_SEEDS
            tables.append(
                DiscoveringTable(
                    discovery=names,
                    epsilon=split.sketch_epsilon,
                    delta=split.sketch_delta,
                    hash_seed=seed,
                    key=master,
                    **table,
                )
            )
        super().__init__(levels, tables, settings, share=wanted, whole=whole)

    def update(self, item: Item, weight: int = 1) -> None:
        """Count one event at every level; it takes one step.

        Guarantee: nothing is applied when the call raises.

        Args:
            item: what the levels can split.
            weight: 0 to ``max_weight``.

        Raises:
            ItemError: an item that does not fit the levels.
            ArgumentTypeError: a weight that is not an integer.
            ArgumentValueError: a weight outside its range.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        names = self.levels.of(item)
        self._apply(lambda at, table: table.update(names[at], weight))

    def update_many(self, items: Any, weights: Any = None) -> None:
        """Count many events at every level, one step each, in order.

        Guarantee: the whole batch is split and checked before the first event is applied.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas.
            weights: as many integers, or None for 1 each.

        Raises:
            ItemError: an item that does not fit the levels, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats.
            ArgumentValueError: weights outside their range or of another length.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        columns, fixed = self.levels.columns(items), _fixed(weights)
        self._apply(lambda at, table: table.update_many(columns[at], fixed))

    def update_rows(self, items: Any, weights: Any = None, *, empty_rows: Any) -> None:
        """Count rows at every level, one step each, of which some have no event.

        Guarantee: the same as ``update_many`` and ``tick`` in turn, faster; all is split and
        checked before the first step is taken.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas: the items of the rows
                that have one.
            weights: as many integers, or None for 1 each.
            empty_rows: the positions, rising and counted from 0 over all rows, of the others.

        Raises:
            ItemError: an item that does not fit the levels, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats.
            ArgumentValueError: weights outside their range or of another length; positions that
                do not rise, or lie behind the rows.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        columns, fixed = self.levels.columns(items), _fixed(weights)
        positions = _fixed(empty_rows)
        self._apply(lambda at, table: table.update_rows(columns[at], fixed, empty_rows=positions))

    def update_batch(self, items: Any, weights: Any = None) -> None:
        """Count any number of events in one step, at every level; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas; may be empty.
            weights: as many integers, or None for 1 each.

        Raises:
            ItemError: an item that does not fit the levels, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        columns, fixed = self.levels.columns(items), _fixed(weights)
        self._apply(lambda at, table: table.update_batch(columns[at], fixed))

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as for a row that does not fit the levels.

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
        self._apply(lambda _, table: table.tick(steps))

    def end_window(self) -> None:
        """Publish the names of the open windows of all levels now, as at the end of a file.

        Guarantee: the windows are consumed, so that no event is in two; when to call this must not
        depend on the events.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._apply(lambda _, table: table.end_window())

    def close(self) -> None:
        """Destroy keys, counts and open windows of all levels; nothing can be read any more."""
        with self._lock:
            for table in self._tables:
                table.close()

    def _apply(self, call: Callable[[int, DiscoveringTable], None]) -> None:
        """Do the same at every level; the first refuses whatever any of them would.

        Names were checked before, and steps, weights and horizon are the same everywhere. What
        fails later (an interrupt, no memory) leaves levels that saw different streams: each still
        keeps its promise, but their tree would be wrong, so all are closed.
        """
        with self._lock:
            call(0, self._tables[0])
            try:
                for at in range(1, len(self._tables)):
                    call(at, self._tables[at])
            except BaseException:
                self.close()
                raise

    def __repr__(self) -> str:
        inner = repr(self._tables[0]).split(" ", 1)[1]
        names, whole = ", ".join(self.levels.names), self.privacy
        promise = f"epsilon={whole.epsilon:g}, delta={whole.delta:g} in all"
        return (
            f"<HierarchicalHeavyHitters share={self._share:g}, levels={names}, {promise}; "
            f"counts of level 0: {inner}"
        )


def _fixed(weights: Any) -> Any:
    """Return weights that every level reads alike: an iterator would be empty for the second."""
    if weights is None:
        return None
    if isinstance(weights, np.ndarray):
        return weights.copy()
    if isinstance(weights, str | bytes | dict) or hasattr(weights, "__arrow_c_stream__"):
        return weights
    if hasattr(weights, "__arrow_c_array__") or not hasattr(weights, "__iter__"):
        return weights
    return list(weights)
