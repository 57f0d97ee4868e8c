"""Heavy hitters at all levels of a hierarchy, such as heavy networks without a heavy address.

Each event is counted at every level, which has its own sketch and discovery; their guarantees
compose (:mod:`.levels_privacy`). An update costs one update per level. The noise is sqrt(levels)
times that of one sketch, and the discovery epochs are ``levels`` times as long. Use few levels, and
give the most weight to the level that matters most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.heavy_hitters.hitters_spec import (
    HeavyHittersSpec,
    LevelsOptions,
    ShareOptions,
)
from lazysketch.heavy_hitters.level_tables import Origins, specs_of_levels, tables_of_levels
from lazysketch.heavy_hitters.published_levels import PublishedLevels
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import ClosedByBlock, exclusive
from lazysketch.specification.schedules import Schedule, ScheduleName, schedule_for
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import NoiseOptions, TableSpec

if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import Never, ParamSpec, Unpack

    Arguments = ParamSpec("Arguments")

__all__ = ["HierarchicalHeavyHitters"]

_EXAMPLE: Final = "HierarchicalHeavyHitters(ipv4_prefixes(), share=0.01, epsilon=1.0, delta=1e-8)"


@with_options(NoiseOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class HierarchicalHeavyHitters(_native.EventsOfLevels, ClosedByBlock, PublishedLevels):
    """The names that make up much of a stream, at every level of a hierarchy.

    Guarantee: all published names and counts, at all levels and steps together, satisfy
    (``epsilon``, ``delta``)-DP for one event (or ``max_events_per_user`` of them, or with
    ``person_bound`` all events of one person). The sketches of all levels compose as one Gaussian
    mechanism; the privacy parameters of their discoveries add up.

    Args:
        levels: the hierarchy, for example the result of :func:`ipv4_prefixes`.
        level_weights: one number above 0 per level; equal when None. A level of weight w gets
            noise proportional to 1/sqrt(w), and a threshold of about 1/w.
        person_bound: what is counted of each person, who is protected then: a
            :class:`PersonBound` for all levels, or a list of one per level. An event counts at all
            levels or at none, so a coarse level, whose names gather more events, takes fewer cells
            and more events per cell. Every event needs its person.
        discovery_epoch: steps after which names are published, at all levels; by default each
            level has its own, the fewest in which a name of the share is found with 95 %
            probability. With the batch schedule a number of batches, and required.
        horizon: number of steps, or None for endless streams.
        schedule: when counts are published; by default geometric, or round robin with a horizon. A
            schedule, or the name of one, with ``horizon``.
        kind: ``"count-min"``; or ``"count-sketch"``, where the number of steps is the size of the
            stream.
        key: master key of all levels; a fresh one when None. The hash seed of level i is
            ``hash_seed + i`` modulo 2^64.

    Raises:
        ArgumentTypeError: a wrong type, an unknown argument, or no share.
        ArgumentValueError: a value outside its range.

    Source: docs/heavy-hitters.md; docs/theory.md, Theorems 9 to 11; Dong, Roth and Su 2022.

    Example:
        >>> from lazysketch.heavy_hitters import ipv4_prefixes
        >>> networks = HierarchicalHeavyHitters(
        ...     ipv4_prefixes((8, 32)), share=0.1, epsilon=4.0, delta=1e-6, discovery_epoch=4_000
        ... )
        >>> networks.update_many([f"10.0.{i % 200}.{i % 50}" for i in range(8_000)])
        >>> [root.item for root in networks.hierarchy()]
        ['10.0.0.0/8']
    """

    def __init__(
        self,
        levels: Levels | None = None,
        *positional: Never,
        level_weights: Sequence[float] | None = None,
        person_bound: PersonBound | Sequence[PersonBound] | None = None,
        discovery_epoch: int | None = None,
        horizon: int | None = None,
        schedule: Schedule | ScheduleName | None = None,
        kind: SketchKind = "count-min",
        key: Key | None = None,
        **options: Unpack[LevelsOptions],
    ) -> None:
        """Split privacy and memory among the levels, and make their tables."""
        check_keywords(type(self), positional, options, LevelsOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make(
            levels,
            lambda _: (one, None),
            schedule_for(schedule, horizon),
            kind=kind,
            level_weights=level_weights,
            person_bound=person_bound,
            discovery_epoch=discovery_epoch,
            **options,
        )

    def _make(
        self,
        levels: Levels | None,
        origin: Origins,
        schedule: Schedule,
        *,
        kind: SketchKind = "count-min",
        level_weights: Sequence[float] | None = None,
        person_bound: PersonBound | Sequence[PersonBound] | None = None,
        discovery_epoch: int | None = None,
        **options: Unpack[LevelsOptions],
    ) -> None:
        """Make the tables, each with the key and the state that its level has."""
        if not isinstance(levels, Levels):
            got = "none" if levels is None else type(levels).__name__
            raise ArgumentTypeError(f"levels: expected Levels, as in {_EXAMPLE}, got {got}")
        whole, specs = specs_of_levels(
            len(levels.names),
            schedule,
            kind=kind,
            level_weights=level_weights,
            person_bound=person_bound,
            discovery_epoch=discovery_epoch,
            **options,
        )
        tables = tables_of_levels(specs, origin)
        self._people_of_levels: _native.People | None = None
        if specs[0].table.person_bound is not None:
            self._people_of_levels = _native.People(tables, key=origin(0)[0])
        lock = _native.NestingLock()
        self._count_at(lock, tables, levels._hierarchy)
        PublishedLevels.__init__(self, levels, tables, specs, whole=whole, lock=lock)

    def _update(self, item: Item, weight: int, user: Item | None) -> None:
        """Count one event that the core leaves to Python, or say what is wrong with it."""
        hierarchy = self.levels._hierarchy
        if user is not None:
            self._count_people([[name] for name in self.levels.of(item)], [user], [weight])
        elif hierarchy is not None:
            _native.update_levels(self._lock, self._tables, hierarchy, item, weight)
        else:
            self._apply(_native.update_all, self.levels.of(item), weight)

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count many events at every level, one step each, in order.

        Guarantee: the whole batch is mapped to names and checked before the first event is applied.
        After an exception all levels counted the batch, or none did; :attr:`step` tells which.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas.
            weights: one integer per item, or None for weight 1.
            user: the person of each event, one item per item; required if the levels bound people.
                An event beyond the bound of a level is an empty step at every level.

        Raises:
            ItemError: an item that does not fit the levels; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; people where none is bounded.
            ArgumentValueError: weights outside their range, or a wrong number of weights or people;
                no people where they are bounded.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        columns = self.levels._columns(items)
        if user is None:
            self._apply(_native.update_rows_of_all, columns, weights)
        else:
            self._count_people(columns, user, weights)

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Count rows at every level, one step each, some of which have no event.

        Guarantee: the same result as ``update_many`` and ``tick`` in turn, but faster; everything
        is checked before the first step is taken.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas: the items of the rows
                with an event.
            weights: one integer per item, or None for weight 1.
            empty_rows: positions of the rows without an event, ascending, counted from 0 over all
                rows.
            user: the person of each event, one item per item; required if the levels bound people.

        Raises:
            ItemError: an item that does not fit the levels; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats.
            ArgumentValueError: weights outside their range, or a wrong number of weights; positions
                that do not ascend, or lie after the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        columns = self.levels._columns(items)
        if user is None:
            self._apply(_native.update_rows_of_all, columns, weights, empty_rows=empty_rows)
        else:
            self._count_people(columns, user, weights, empty_rows=empty_rows)

    def update_batch(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count any number of events in one step, at every level; for the batch schedule.

        Guarantee: the number of events is not published; otherwise as :meth:`update_many`.

        Args:
            items: a list, an array, or a column of Arrow, polars or pandas; may be empty.
            weights: one integer per item, or None for weight 1.
            user: the person of each event, one item per item; required if the levels bound people.

        Raises:
            ItemError: an item that does not fit the levels; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        columns = self.levels._columns(items)
        if user is None:
            self._apply(_native.update_batch_of_all, columns, [weights] * len(columns))
        else:
            self._count_people(columns, user, weights, in_one_step=True)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, for example for rows that do not fit the levels.

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
        self._apply(_native.tick_all, steps)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open discovery epochs now, as at the end of a file.

        Guarantee: the epochs end, so that no event is in two epochs. The time of this call must not
        depend on the events.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._apply(_native.end_epoch_of_all)

    def finish(self) -> None:
        """Publish everything pending, and the names of the open discovery epochs, as the last step.

        Every column of every level gets its final push, so that reads have no lag; no event can be
        counted afterwards. A second call does nothing.

        Guarantee: as :meth:`HeavyHitters.finish`.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/theory.md, "The final push".
        """
        self._apply(_native.finish_all)

    @property
    def finished(self) -> bool:
        """True after :meth:`finish`, at all levels."""
        return all(table.finished for table in self._tables)

    def close(self) -> None:
        """Destroy keys, counts and open epochs of all levels; reads raise ClosedError."""
        self._apply(_native.close_all)
        if self._people_of_levels is not None:
            self._people_of_levels.forget()

    @exclusive
    def _count_people(
        self,
        columns: Sequence[object],
        user: object,
        weights: object,
        *,
        empty_rows: object = None,
        in_one_step: bool = False,
    ) -> None:
        """Count the events that every level admits, in one call of the core."""
        if self._people_of_levels is None:
            raise ArgumentTypeError(
                "user: expected none, since the levels have no person_bound, got some"
            )
        _native.update_bounded(
            self._people_of_levels,
            self._tables,
            [_native.logged_events(column) for column in columns],
            _native.people_of_batch(user),
            weights,
            empty_rows=empty_rows,
            in_one_step=in_one_step,
        )

    @exclusive
    def _apply(
        self,
        change: Callable[Concatenate[Sequence[DiscoveringTable], Arguments], None],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> None:
        """Change all levels in one call of the core, which no interrupt divides.

        The counts of levels of different streams would form a wrong tree. The lock keeps a tree
        that another thread reads from levels of different steps.
        """
        change(self._tables, *args, **kwargs)

    def __repr__(self) -> str:
        inner = repr(self._tables[0]).split(" ", 1)[1]
        names, privacy = ", ".join(self.levels.names), self.privacy
        total = f"epsilon={privacy.epsilon:g}, delta={privacy.delta:g} in total"
        return (
            f"<HierarchicalHeavyHitters share={self._specs[0].share:g}, levels={names}, {total}; "
            f"counts of level 0: {inner}"
        )
