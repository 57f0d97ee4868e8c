"""Heavy hitters of a stream: names, counts and intervals, readable after every event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions, ShareOptions
from lazysketch.heavy_hitters.published_hitters import PublishedHitters
from lazysketch.heavy_hitters.tables import DiscoveringTable, HittersTable, table_for
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.specification.schedules import Schedule, ScheduleName, schedule_for
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec

if TYPE_CHECKING:
    from typing_extensions import Never, Self, Unpack

__all__ = ["HeavyHitters"]

_EXAMPLE: Final = "HeavyHitters(share=0.01, epsilon=1.0, delta=1e-8)"


@with_options(NoiseOptions, TableOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class HeavyHitters(_native.EventsOfTable, ClosedByBlock, PublishedHitters):
    """The items that make up much of a stream, without a list of items.

    Guarantee: all published names and counts, at all steps together, satisfy (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them). An item is published when its
    count within a discovery epoch of :attr:`discovery_epoch` steps, plus noise, reaches a
    threshold; an item of one event is published with probability at most ``discovery_delta``.

    Args:
        domain: a public list of items, instead of ``share``. Nothing is discovered then, and the
            counts use the whole privacy budget. A list taken from the stream voids the guarantee.
        discovery_epoch: steps after which names are published; by default the fewest in which an
            item of the share is found with 95 % probability. With the batch schedule a number of
            batches, and required.
        horizon: number of steps, or None for endless streams.
        schedule: when counts are published; by default geometric, or round robin with a horizon. A
            schedule, or the name of one, with ``horizon``.
        kind: ``"count-min"``; or ``"count-sketch"``, where the number of steps is the size of the
            stream (weights 1, no batches, substitution).
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type, an unknown argument, or neither share nor domain.
        ArgumentValueError: a value outside its range.
        ItemError: an invalid item in the domain.

    Source: docs/heavy-hitters.md; docs/theory.md, Theorems 9 to 11.

    Example:
        >>> heavy = HeavyHitters(share=0.05, epsilon=1.0, delta=1e-6, discovery_epoch=5_000)
        >>> heavy.update_many(["a", "b", "a", "c"] * 5_000)
        >>> [hitter.item for hitter in heavy.top(1)]
        ['a']
    """

    def __init__(
        self,
        *positional: Never,
        domain: Iterable[Item] | None = None,
        discovery_epoch: int | None = None,
        horizon: int | None = None,
        schedule: Schedule | ScheduleName | None = None,
        kind: SketchKind = "count-min",
        key: Key | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Make the description of the tables, and the tables."""
        check_keywords(type(self), positional, options, HittersOptions, example=_EXAMPLE)
        spec = HeavyHittersSpec.of(
            schedule=schedule_for(schedule, horizon),
            kind=kind,
            domain=domain,
            discovery_epoch=discovery_epoch,
            **options,
        )
        self._begin(table_for(spec, key=key), spec)

    @classmethod
    def from_spec(cls, spec: HeavyHittersSpec, *, key: Key | None = None) -> Self:
        """Return heavy hitters with a given description.

        Guarantee: as for the class.

        Args:
            spec: complete description.
            key: master key; a fresh one when None.

        Returns:
            Heavy hitters with empty tables.

        Raises:
            ArgumentTypeError: not a description, or not a key.
        """
        if not isinstance(spec, HeavyHittersSpec):
            raise ArgumentTypeError(f"spec: expected a HeavyHittersSpec, got {type(spec).__name__}")
        return cls._made(spec, key=key)

    @classmethod
    def _made(
        cls, spec: HeavyHittersSpec, *, key: Key | None, state: _native.SavedState | None = None
    ) -> Self:
        """Return heavy hitters with a description that go on from a state of a store."""
        self = cls.__new__(cls)
        self._begin(table_for(spec, key=key, state=state), spec)
        return self

    def _begin(self, table: HittersTable, spec: HeavyHittersSpec) -> None:
        """Read a live table of this description, and count events in it."""
        self._count_in(table)
        PublishedHitters.__init__(self, table, spec)

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
        user: object = None,
    ) -> None:
        """Count many events, one step each, in order.

        Guarantee: the whole batch is checked before the first event is applied. After an exception
        the batch is counted completely or not at all; :attr:`step` tells which.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            weights: one integer per item, or None for weight 1.
            column: the name of the column, for a table with several columns.
            threads: largest number of threads, of which at most one per processor is used. It
                does not change the result. Discovery counts whole epochs side by side, each
                thread in memory of its own while the batch lasts.
            user: the person of each event, one item per item; required if the table bounds
                people.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``.
            ArgumentValueError: weights outside their range, or a wrong number of weights.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_many(items, weights, column=column, threads=threads, user=user)

    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Count rows, one step each, some of which have no event, such as unreadable rows.

        Guarantee: the same result as ``update_many`` and ``tick`` in turn, but faster; everything
        is checked before the first step is taken.

        Args:
            items: Arrow data, a NumPy array or an iterable: the items of the rows with an event.
            weights: one integer per item, or None for weight 1.
            empty_rows: positions of the rows without an event, ascending, counted from 0 over all
                rows.
            column: the name of the column, for a table with several columns.
            user: the person of each event, one item per item; required if the table bounds
                people.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``.
            ArgumentValueError: weights outside their range, or a wrong number of weights; positions
                that do not ascend, or lie after the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_rows(items, weights, empty_rows=empty_rows, column=column, user=user)

    def update_batch(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Count any number of events in one step; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a NumPy array or an iterable of items; may be empty.
            weights: one integer per item, or None for weight 1.
            column: the name of the column, for a table with several columns.
            user: the person of each event, one item per item; required if the table bounds
                people.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_batch(items, weights, column=column, user=user)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event.

        Guarantee: an empty step is a neighbour of a step with any event.

        Args:
            steps: number of steps, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.tick(steps)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open discovery epoch now, as at the end of a file.

        Guarantee: the epoch ends, so that no event is in two epochs. The time of this call must not
        depend on the events. With a public domain the call does nothing.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        if isinstance(self._table, DiscoveringTable):
            self._table.end_discovery_epoch()

    def finish(self) -> None:
        """Publish everything pending, and the names of the open discovery epoch, as the last step.

        Every column gets its final push, so that reads have no lag; no event can be counted
        afterwards. An open batch step is closed first. A second call does nothing.

        Guarantee: part of :attr:`privacy`. The decision to call this method must not depend on the
        events, except through what was published: the end of an input or a time does not depend on
        them, a failure caused by the content of the input does.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/theory.md, "The final push".
        """
        self._table.finish()

    @property
    def finished(self) -> bool:
        """True after :meth:`finish`."""
        return self._table.finished

    def close(self) -> None:
        """Destroy the key, the counts and the open discovery epoch; reads raise ClosedError."""
        self._table.close()

    def __repr__(self) -> str:
        inner = repr(self._table).split(" ", 1)[1]
        epoch = self.discovery_epoch
        names = "public domain" if epoch is None else f"discovery_epoch={epoch}"
        privacy = self.privacy
        total = f"epsilon={privacy.epsilon:g}, delta={privacy.delta:g} in total"
        return f"<HeavyHitters share={self.spec.share:g}, {names}, {total}; counts: {inner}"
