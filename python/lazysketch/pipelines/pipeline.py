"""Several statistics of one stream: one pass counts them all, one guarantee covers them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters import HeavyHitters, HierarchicalHeavyHitters
from lazysketch.pipelines.changes import change_parts
from lazysketch.pipelines.columns import (
    Column,
    PartRows,
    column_of,
    counted,
    people_of,
    rows_of_part,
    stream_of,
    tables_of,
    without_missing,
)
from lazysketch.pipelines.part import Live, Part, checked_parts, in_part, of_people
from lazysketch.pipelines.shares import PrivacyShare, made_parts, shared_out, together
from lazysketch.privacy.composition import Composition
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation, checked_delta, checked_epsilon, checked_relation
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import ClosedByBlock, LiveState, exclusive

if TYPE_CHECKING:
    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.ranges_release import RangesRelease
    from lazysketch.releases.release import Release
    from lazysketch.releases.sums_release import SumsRelease

    AnyPart: TypeAlias = (
        Release | DistinctRelease | DistributionRelease | RangesRelease | SumsRelease
    )

__all__ = ["Pipeline"]

Converted = TypeVar("Converted")


class Pipeline(ClosedByBlock, LiveState):
    """Several statistics of one stream of rows, under one guarantee.

    Every row takes one step in each part; a missing value is a step without an event. A call counts
    its rows in all parts or, if it raises, in none. Read the parts by name: ``pipeline["pages"]``
    is a live object of its class.

    Guarantee: everything that all parts ever publish satisfies (``epsilon``, ``delta``)-DP
    together: for one row that is replaced as a whole, with all its values, or that is there or not,
    as the relation says. Rows may be chosen by what was published before. With ``user`` it holds
    for everything that one person does in any number of rows, as for a sketch with
    ``person_bound``. The shares depend on the arguments alone.

    Args:
        parts: a mapping from names to descriptions.
        epsilon: of all parts together, above 0 and at most 100.
        delta: of all parts together, above 0 and below 1.
        relation: ``"substitution"`` or ``"zero-out"``, the same for all parts.
        horizon: largest number of rows, or None; for every part that has neither a horizon nor a
            schedule of its own.
        rows: expected number of rows, by which errors are predicted; by default the horizon, else a
            million.
        shares: of the privacy, a number above 0 for each part, by its name; by default those whose
            predicted errors are least, see :attr:`shares`.
        user: name of the column of the person of each row; None to protect rows. A row without a
            person is a step without an event.
        person_bound: with ``user``, what each part counts of a person, unless it has a bound of its
            own; ``DistinctCount`` needs none, and counts the people.
        key: master key of all parts; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type, or an unknown option of a part.
        ArgumentValueError: a value outside its range, or no part.

    Source: docs/pipelines.md; docs/theory.md, Theorems 8, 18 and 29.

    Example:
        >>> import lazysketch as ls
        >>> pipeline = ls.Pipeline(
        ...     {
        ...         "pages": ls.Part(ls.HeavyHitters, "path", share=0.05),
        ...         "visitors": ls.Part(ls.DistinctCount, "client"),
        ...         "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 100)),
        ...     },
        ...     epsilon=2.0, delta=1e-6, horizon=10_000,
        ... )
        >>> pipeline.update({"path": "/", "client": "203.0.113.9", "ms": 12.5})
        >>> pipeline.update_many({"path": ["/"] * 9, "client": range(9), "ms": [3.0] * 9})
        >>> pipeline.steps, pipeline.privacy.delta_at(2.0) <= 1e-6
        (10, True)
        >>> sorted(pipeline.release())
        ['latency', 'pages', 'visitors']
    """

    def __init__(
        self,
        parts: Mapping[str, Part],
        *,
        epsilon: float,
        delta: float,
        relation: Relation = "substitution",
        horizon: int | None = None,
        rows: int | None = None,
        shares: Mapping[str, float] | None = None,
        user: str | None = None,
        person_bound: PersonBound | None = None,
        key: Key | None = None,
    ) -> None:
        """Share out the privacy, and make the parts."""
        described = of_people(checked_parts(parts), user, person_bound)
        whole = checked_epsilon(epsilon), checked_delta(delta)
        related = checked_relation(relation)
        split = shared_out(
            described,
            whole,
            relation=related,
            horizon=horizon,
            rows=rows,
            shares=shares,
            of_people=user is not None,
        )
        one = key_or_fresh(key)
        live = made_parts(described, split.pairs, relation=related, horizon=horizon, key=one)
        self._assemble(described, live, whole, split.shares, user=user)

    def _assemble(
        self,
        parts: Mapping[str, Part],
        live: Sequence[Live],
        whole: tuple[float, float],
        shares: Sequence[PrivacyShare],
        *,
        user: str | None,
    ) -> None:
        """Hold live parts."""
        self._user = user
        self._parts = dict(parts)
        self._live = dict(zip(parts, live, strict=True))
        self._shares = dict(zip(parts, shares, strict=True))
        self._whole = whole
        self._lock = _native.NestingLock()

    def update(self, row: Mapping[str, Any]) -> None:
        """Count one row; it takes one step in every part.

        Guarantee: as :meth:`update_many`.

        Args:
            row: values by column; other columns are ignored, a column that is not there or is None
                is missing.

        Raises:
            ArgumentTypeError: not a mapping, or a value of a wrong type.
            ItemError: an item that does not fit its part.
            ArgumentValueError: NaN for a distribution.
            HorizonError: past the horizon of a part.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        if not isinstance(row, Mapping):
            raise ArgumentTypeError(f"row: expected a mapping, got {type(row).__name__}")
        self.update_many({name: [row.get(name)] for name in self._names})

    def update_many(self, rows: object) -> None:
        """Count many rows, one step each, in order.

        Guarantee: everything is checked before the first row is counted. After an exception all
        parts have counted the rows, or none has; :attr:`steps` tells which.

        Args:
            rows: a mapping from names to columns, a data frame of pandas or polars, or a table of
                Arrow; other columns than those of the parts and of the people are ignored. None,
                nulls, and what pandas takes for missing are missing values.

        Raises:
            ArgumentTypeError: something else, or values of a wrong type.
            ItemError: an item that does not fit its part; the message gives its position among
                those that are not missing.
            ArgumentValueError: a column that is not there, columns of different lengths, or NaN for
                a distribution or for sums.
            HorizonError: past the horizon of a part.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        if self._user is not None:
            streams = self._converted(stream_of, rows)
            self._count(_native.update_streams, streams)
            return
        of_tables, empty = [], []
        for found, missing in self._converted(
            lambda live, of_part: (counted(live, of_part), of_part.missing), rows
        ):
            of_tables += found
            empty += [missing] * len(found)
        batches, weights = [one[0] for one in of_tables], [one[1] for one in of_tables]
        self._count(_native.update_rows_of_each, self._tables, batches, weights, empty)

    def update_batch(self, rows: object) -> None:
        """Count any number of rows in one step; for parts with the batch schedule.

        Guarantee: the number of rows is not published; nothing is counted when the call raises.

        Args:
            rows: as for :meth:`update_many`; may be empty.

        Raises:
            ArgumentTypeError: as for :meth:`update_many`.
            ItemError: as there.
            ArgumentValueError: as there, or a part with another schedule.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        if self._user is not None:
            streams = self._converted(stream_of, rows)
            in_one_step = [(*stream[:-1], None) for stream in streams]
            self._count(partial(_native.update_streams, in_one_step=True), in_one_step)
            return
        of_tables = [one for found in self._converted(counted, rows) for one in found]
        batches, weights = [one[0] for one in of_tables], [one[1] for one in of_tables]
        self._count(_native.update_batch_of_all, self._tables, batches, weights)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event in all parts, for example for malformed rows.

        Guarantee: an empty step is a neighbour of a step with any row.

        Args:
            steps: number of steps, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            HorizonError: past the horizon of a part.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count(_native.tick_all, self._tables, steps)

    def finish(self) -> None:
        """Publish everything pending in all parts, as the last step.

        No row can be counted afterwards. A second call does nothing.

        Guarantee: part of :attr:`privacy`. The decision to call this method must not depend on the
        rows, except through what was published.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._change(_native.finish_all, self._tables)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open discovery epochs of all parts now, as at the end of a file.

        Guarantee: the epochs end, so that no event is in two epochs. The time of this call must not
        depend on the rows.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        for live in self._live.values():
            if isinstance(live, HeavyHitters | HierarchicalHeavyHitters):
                live.end_discovery_epoch()

    def close(self) -> None:
        """Destroy keys, counts and what is known of people; reads raise ClosedError."""
        self._change(_native.close_all, self._tables)
        for people in map(people_of, self._live.values()):
            if people is not None:
                people.forget()

    @exclusive
    def release(self) -> dict[str, AnyPart | tuple[Release, ...]]:
        """Return the public state of all parts at one step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            The release of each part by its name; of a hierarchy one per level.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return {name: _release_of(live) for name, live in self._live.items()}

    @property
    def privacy(self) -> Composition:
        """The guarantee of all parts together, stated at :attr:`delta`."""
        joint = together(self._live.values(), of_people=self._user is not None)
        return replace(joint, stated_delta=self.delta)

    @property
    def shares(self) -> dict[str, PrivacyShare]:
        """The share of the privacy of each part, and how many times larger its error is for it."""
        return dict(self._shares)

    @property
    def user(self) -> str | None:
        """Name of the column of people; None if rows are protected."""
        return self._user

    @property
    def steps(self) -> int:
        """Steps taken: rows, or batches, and ticks."""
        return self._tables[0]._step

    @property
    def epsilon(self) -> float:
        """Epsilon of all parts together, as asked for."""
        return self._whole[0]

    @property
    def delta(self) -> float:
        """Delta of all parts together, as asked for."""
        return self._whole[1]

    @property
    def finished(self) -> bool:
        """True after :meth:`finish`."""
        return all(live.finished for live in self._live.values())

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return all(table.closed for table in self._tables)

    def __getitem__(self, name: str) -> Any:
        """Return a part, a live object of its class, for reading; count through the pipeline."""
        if name not in self._live:
            names = ", ".join(map(repr, self._live))
            raise ArgumentValueError(f"name: expected one of {names}, got {name!r}")
        return self._live[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={type(live).__name__} ({self._shares[name].share:.0%})"
            for name, live in self._live.items()
        )
        used = "closed" if self.closed else f"steps used={self.steps}"
        return f"<Pipeline {parts}; epsilon={self.epsilon:g}, delta={self.delta:g}, {used}>"

    @property
    def _tables(self) -> list[_native.PrivateSketch]:
        return [table for live in self._live.values() for table in tables_of(live)]

    @property
    def _names(self) -> list[str]:
        """Names of the columns that all parts read, and of that of the people."""
        names = dict.fromkeys(name for part in self._parts.values() for name in part.columns)
        return [*(names if self._user is None else {**names, self._user: None})]

    def _converted(
        self, convert: Callable[[Live, PartRows], Converted], rows: object
    ) -> list[Converted]:
        """Return what each part makes of the rows; errors name the part."""
        converted = []
        for name, live, of_part in self._columns(rows):
            with in_part(name):
                converted.append(convert(live, of_part))
        return converted

    def _columns(self, rows: object) -> Iterator[tuple[str, Live, PartRows]]:
        """Yield the name of each part, the part, and what it counts of the rows."""
        columns = {name: without_missing(column_of(rows, name)) for name in self._names}
        lengths = {length for _, _, length in columns.values()}
        if len(lengths) > 1:
            raise ArgumentValueError("rows: expected columns of one length, got several lengths")
        users: Column | None = None if self._user is None else columns[self._user]
        for name, part in self._parts.items():
            yield (
                name,
                self._live[name],
                rows_of_part([columns[one] for one in part.columns], users),
            )

    @exclusive
    def _count(self, change: Callable[..., None], *args: object) -> None:
        self._check_steps()
        self._change(change, *args)

    def _check_steps(self) -> None:
        if len({table._step for table in self._tables}) > 1:
            raise ArgumentValueError(
                "parts: expected all at one step, got one that counted without the pipeline"
            )

    @exclusive
    def _change(self, change: Callable[..., None], *args: object) -> None:
        """Change all parts in one call of the core, which no interrupt divides."""
        change_parts(self._live, change, *args)


def _release_of(live: Live) -> AnyPart | tuple[Release, ...]:
    if isinstance(live, HierarchicalHeavyHitters):
        return tuple(live.release(level) for level in range(len(live._tables)))
    return live.release()
