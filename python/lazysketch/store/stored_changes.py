"""Changes that go through the journal, and reads after a commit, for all objects of a store.

Every change goes through the journal. Every other public method and property is a read: it is made
after a commit, unless it is listed as one that does not depend on events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.store.calls import Call, plain_counts
from lazysketch.store.journal import Journal

if TYPE_CHECKING:
    from lazysketch.heavy_hitters.hierarchies import Levels
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.windows.open_windows import Progress

__all__ = ["Changes", "reads_after_commit", "unknown_change", "workers_split"]

_Stored = TypeVar("_Stored", bound="Changes")

_MOST_EVENTS: Final = 2**32  # those of a step
_MOST_NAMES: Final = 2**30

# What depends on arguments alone.
_FIXED: Final = frozenset(
    {
        "bins", "bits", "counters", "depth", "discovery_epoch", "from_spec", "grid", "hash_seed",
        "horizon", "kind", "levels", "mechanism", "memory", "not_private_because", "privacy",
        "private", "schedule", "sigma", "sketch_id", "smallest_share", "spec", "takes_times",
        "threshold", "width",
    }
)  # fmt: skip


def reads_after_commit(kind: type[_Stored]) -> type[_Stored]:
    """Return a class whose reads are made after a commit.

    Args:
        kind: the class, which is changed.
    """
    for name in dir(kind):
        if name.startswith("_") or name in _FIXED or name in kind._CHANGES:
            continue
        found = getattr(kind, name)
        if callable(found):
            setattr(kind, name, _reading(found))
        else:  # a property, of Python or of the native class
            setattr(kind, name, property(_reading(found.__get__), doc=found.__doc__))
    return kind


def _reading(found: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(found, assigned=("__name__", "__qualname__", "__doc__"))
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._pass_time()
        journal: Journal = self._journal
        return journal.read(found, self, *args, **kwargs)

    return read


class Changes:
    """The changes that all stored objects have, as calls that the journal logs."""

    _CHANGES: ClassVar[frozenset[str]] = frozenset(
        {
            "close", "end_discovery_epoch", "finish", "tick", "update", "update_batch",
            "update_many", "update_rows",
        }
    )  # fmt: skip
    _BOUNDED: ClassVar[str] = "table has"
    _STEPS_OF_PARTIALS: ClassVar[int] = 1
    _journal: Journal
    _name: str

    def _join(self, journal: Journal, name: str) -> None:
        """Log all changes from here on, under a name."""
        self._journal, self._name = journal, name

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        """Return the items as batches that are counted and logged, one per table."""
        return [_native.logged_events(items, column=column)]

    def _further_parameters(self) -> str:
        """Return what describes the object beside its tables, for the digest of its parameters."""
        return ""

    def _people(self) -> dict[int, _native.People]:
        """Return what people have contributed, by the numbers of tables; none without a bound."""
        return {}

    def _identified(self, user: object) -> _native.LoggedPeople | None:
        """Return the people of a batch as the log has them: by their secret identities alone."""
        if user is None:
            return None
        people = self._identities()
        if people is None:
            raise ArgumentTypeError(
                f"user: expected none, since the {self._BOUNDED} no person_bound, got some"
            )
        return people.identified(user)

    def _identities(self) -> _native.People | None:
        """Return by whom people are identified, or None if they are not bounded."""
        return self._people().get(0)

    def _change(
        self,
        method: str,
        events: Sequence[_native.LoggedEvents] = (),
        weights: object = None,
        *,
        user: object = None,
        empty_rows: object = None,
        steps: int = 0,
        threads: int = 1,
    ) -> None:
        call = Call(
            object=self._name,
            method=method,
            events=tuple(events),
            user=self._identified(user),
            weights=plain_counts(weights),
            empty_rows=plain_counts(empty_rows),
            steps=steps,
            threads=checked_integer("threads", threads),
        )
        self._journal.change(self, call)

    def _batch(
        self,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        column: str | None,
        times: object,
        user: object = None,
    ) -> Call:
        """Return the change that counts a batch, one step per event or empty row."""
        if times is not None:
            raise ArgumentTypeError("times: expected none, except for windows of a range, got some")
        return Call(
            object=self._name,
            method="update_many" if empty_rows is None else "update_rows",
            events=tuple(self._batches(items, column)),
            user=self._identified(user),
            weights=plain_counts(weights),
            empty_rows=plain_counts(empty_rows),
        )

    def _partial_table(self) -> _native.PrivateSketch:
        """Return the table to which partial counts are added."""
        raise ArgumentValueError(
            "into: expected a sketch, counters, distinct items, a distribution, ranges, sums, "
            "heavy hitters, a hierarchy, or windows by the clock, for partial counts, got "
            f"{type(self).__name__}"
        )

    def partial_spec(
        self, *, most_events: int | None = None, most_names: int | None = None
    ) -> bytes:
        """Return what :class:`~lazysketch.PartialCounts` of workers have to know; public.

        Args:
            most_events: of one partial. Sealed counts have 8 bytes per cell if its counts could
                reach 2^30, and 4 otherwise. By default as many as fit into 4 bytes.
            most_names: distinct items of one partial, for an object that publishes names; by
                default 2^20. All of them together have at most 256 bytes times this number.

        Returns:
            100 bytes, a few more for distinct items, an object that publishes names and sums by
            item, and 8 more for each edge between the bins of a distribution; to be used for up to
            1,024 steps from now on, or until the open window ends.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: another schedule than Batch, an object that bounds people, a number
                outside its range, or ``most_names`` where no names are published.
        """
        table = self._partial_table()
        if most_events is not None:
            most_events = checked_integer("most_events", most_events, most=_MOST_EVENTS)
        if most_names is not None:
            most_names = checked_integer("most_names", most_names, most=_MOST_NAMES)
        return self._journal.native.partial_spec(
            table,
            table._step,
            most_events,
            most_names,
            self._partial_levels(),
            self._partial_values(),
        )

    def _partial_levels(self) -> _native.Hierarchy | None:
        """Return how workers split items into names of levels; None without levels."""
        return None

    def _partial_values(self) -> tuple[_native.PrivateSketch, float, float, bool] | None:
        """Return the table of values beside that of events, and their grid; None for one table."""
        return None

    def _new_sum(self) -> _native.GatheredCounts:
        """Return an empty sum of partial counts for a step."""
        return self._journal.native.gathered(
            self._partial_table(), self._partial_levels(), self._partial_values()
        )

    def _publication(self) -> tuple[AnyRelease, ...]:
        """Return what is published after partial counts were added, one release per level."""
        return (self.release(),)  # type: ignore[attr-defined]

    def _gathered(self, call: Call) -> _native.GatheredCounts:
        """Return the counts that a call adds: those it was made of, or those of the log."""
        if call.gathered is not None:
            return call.gathered
        counts = self._new_sum()
        counts.add(call.contents[0])
        return counts

    def _carry_out(self, call: Call) -> None:
        raise NotImplementedError

    def _pass_time(self) -> None:
        """Log what the clock says, for windows of a clock, before a read or a change."""

    def _clock_said(self) -> float | None:
        """Return what the last record says that the clock of windows said."""
        return None

    def _last_published(self) -> list[bytes]:
        """Return what was published last, one release per table; none without a step."""
        release = self.release()  # type: ignore[attr-defined]
        return [release.to_bytes()] if release.step else []

    def _progress(self) -> Progress | None:
        """Return how far windows have come."""
        return None

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as the method without a store."""
        self._change("tick", steps=checked_integer("steps", steps, least=0, most=2**63 - 1))

    def finish(self) -> None:
        """Publish everything pending, as the last step, as the method without a store."""
        self._change("finish")

    def close(self) -> None:
        """Refuse: ``store.close()`` closes all objects, and keeps them."""
        raise ArgumentValueError(
            "store: expected store.close(), which keeps every object, got close() of one of them"
        )


def workers_split(levels: Levels) -> _native.Hierarchy:
    """Return how workers split items into the names of levels.

    Args:
        levels: the hierarchy.

    Raises:
        ArgumentValueError: levels that are functions of Python, which workers do not have.
    """
    if levels._hierarchy is None:
        raise ArgumentValueError(
            "levels: expected networks, paths or domains, for partial counts, got functions that "
            "workers do not have"
        )
    return levels._hierarchy


def unknown_change(call: Call) -> StoreError:
    """Return the error for a change that an object does not have.

    Args:
        call: the change.
    """
    return StoreError(f"state: expected a change of this version, got {call.method!r}")
