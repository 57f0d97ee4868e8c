"""Heavy hitters of a stream: names, counts and intervals, readable after every event."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.heavy_hitters.discovery import Discovery, discovery_for
from lazysketch.heavy_hitters.promise import JointPrivacy, split_of
from lazysketch.heavy_hitters.ranking import HeavyHitter, ShownLists
from lazysketch.heavy_hitters.tables import DiscoveringTable, ListedTable
from lazysketch.keys import Key
from lazysketch.privacy.relations import Relation, checked_integer, checked_real, checked_relation
from lazysketch.release import Release
from lazysketch.schedules import Batch, Geometric, RoundRobin, Schedule
from lazysketch.sizing import LARGEST_WIDTH, SketchKind

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HeavyHitters"]

_DEPTH: Final = 4
_NARROWEST, _WIDEST = 1024, 1 << 20
_COLUMNS_PER_ITEM: Final = 8
_ROUNDS: Final = 20  # of a stream whose length is known: its lag stays below a twentieth
_CELL: Final = 8  # bytes
_MEMORY: Final = 64 << 20
_ITEM_BYTES: Final = 64
_STANDARD_ERRORS: Final = 2 * 1.959964  # in the width of an interval of 95 %

Candidates = list[tuple[str | bytes | int, bool, float]]


class HeavyHitters:
    """The items that make up much of a stream, with no list of items given.

    Guarantee: everything ever published, names and counts, at all steps together, satisfies
    (``epsilon``, ``delta``) for one event (or ``max_events_per_user`` of them). An item is
    published once its count within a window of :attr:`window` steps, plus noise, reaches a
    threshold; an item of one event is published with probability at most ``discovery_delta``.

    Args:
        k: find items above 1/k of the stream; or ``share``, or ``domain``.
        share: the same as a share, above 0 and at most 1.
        epsilon: privacy parameter of everything, above 0 and at most 100.
        delta: privacy parameter of everything, above 0 and below 1.
        domain: a public list of items; nothing is discovered then, and all privacy goes to the
            counts. A list taken from the stream voids the guarantee.
        window: steps after which names are published; by default the fewest in which an item of
            the share is found with 95 % probability.
        memory: bytes for both tables together, 64 MiB by default; taken at construction.
        horizon: number of steps, or None for streams without end.
        schedule: when counts are published; by default geometric, or round robin with a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_weight: largest weight of one event. Discovery counts events, not weights.
        max_events_per_user: events of one person that are protected together.
        max_item_bytes: bytes kept of an item, 16 to 65536; longer ones are published cut.
        discovery_epsilon: part of ``epsilon`` for the names; a quarter when None.
        discovery_delta: part of ``delta`` for the names; half when None.
        kind: ``"count-min"`` or ``"count-sketch"``.
        depth: rows of the sketch.
        width: columns; by default eight per item of the share, within memory and horizon.
        hash_seed: public seed; random when None.
        key: master key; fresh when None.

    Raises:
        ArgumentTypeError: a wrong type, or none or several of k, share and domain.
        ArgumentValueError: a value outside its range.

    Source: DESIGN of discovery in docs/theory.md, Theorems 9 to 11.

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
        memory: int = _MEMORY,
        horizon: int | None = None,
        schedule: Schedule | None = None,
        relation: Relation = "substitution",
        max_weight: int = 1,
        max_events_per_user: int = 1,
        max_item_bytes: int = _ITEM_BYTES,
        discovery_epsilon: float | None = None,
        discovery_delta: float | None = None,
        kind: SketchKind = "count-min",
        depth: int = _DEPTH,
        width: int | None = None,
        hash_seed: int | None = None,
        key: Key | None = None,
    ) -> None:
        """Split privacy and memory, and make the tables."""
        checked_relation(relation)
        wanted = _share(k, share, domain)
        room = checked_integer("memory", memory, least=1 << 16, most=1 << 40)
        rows = checked_integer("depth", depth, most=64)
        steps = horizon if schedule is None else schedule.horizon
        columns = _width(width, share=wanted, depth=rows, memory=room // 2, horizon=steps)
        self._share, self._lists = wanted, ShownLists()
        self._listed: list[str | bytes | int] | None = None
        self._discovery: Discovery | None = None
        table: dict[str, Any] = {
            "kind": kind,
            "depth": rows,
            "width": columns,
            "schedule": _schedule(horizon, schedule),
            "relation": relation,
            "mechanism": "tree",
            "calibration": "analytic",
            "max_weight": max_weight,
            "max_events_per_user": max_events_per_user,
            "max_changes": 1,
            "hash_seed": hash_seed,
            "key": key,
        }
        self._table: ListedTable | DiscoveringTable
        if domain is not None:
            _refuse_settings(window, discovery_epsilon, discovery_delta)
            self._listed = list(dict.fromkeys(domain))
            self._table = ListedTable(epsilon=epsilon, delta=delta, **table)
            return
        split = split_of(
            epsilon, delta, discovery_epsilon=discovery_epsilon, discovery_delta=discovery_delta
        )
        self._discovery = discovery_for(
            wanted,
            memory=room - _CELL * rows * columns,
            horizon=steps,
            window=None if window is None else checked_integer("window", window, most=2**40),
            epsilon=split.discovery_epsilon,
            delta=split.discovery_delta,
            relation=relation,
            max_events_per_user=max_events_per_user,
            max_item_bytes=max_item_bytes,
            batches=isinstance(schedule, Batch),
        )
        self._table = DiscoveringTable(
            discovery=self._discovery,
            epsilon=split.sketch_epsilon,
            delta=split.sketch_delta,
            **table,
        )

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

    def top(self, n: int, *, confidence: float = 0.95) -> list[HeavyHitter]:
        """Return the n heaviest of the known items, by falling estimate.

        Guarantee: post-processing of published names and counts. An item that the last call
        returned stays until another is heavier by more than a standard error.

        Args:
            n: how many, 1 or more.
            confidence: of each interval, above 0 and below 1.

        Returns:
            At most n; fewer while fewer names are published.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        most = checked_integer("n", n)
        known = self._known(checked_confidence(confidence))
        keys = [_identity(hitter) for hitter in known]
        estimates, errors = _estimates(known)
        found = self._lists.most(("top", most), keys, estimates, errors, n=most)
        return [known[i] for i in found]

    def above(self, share: float | None = None, *, confidence: float = 0.95) -> list[HeavyHitter]:
        """Return the known items above a share of the stream, by falling estimate.

        Guarantee: as :meth:`top`; an item that the last call returned stays until it is below the
        share by more than a standard error.

        Args:
            share: above 0 and at most 1; by default that of the construction.
            confidence: of each interval, above 0 and below 1.

        Returns:
            The items.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        least = self._share if share is None else _checked_share("share", share)
        known = self._known(checked_confidence(confidence))
        keys = [_identity(hitter) for hitter in known]
        estimates, errors = _estimates(known)
        shares = np.array([hitter.share for hitter in known])
        size = np.divide(estimates, shares, out=np.ones_like(shares), where=shares != 0.0)
        reached = self._lists.above(
            ("above", least), keys, shares, errors / np.maximum(size, 1.0), least=least
        )
        return [known[i] for i in reached]

    def release(self) -> Release:
        """Return the public table of counts at this step.

        Guarantee: reading it costs nothing beyond :attr:`privacy`. It holds no names.

        Returns:
            A release that holds no secret and outlives this object.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        return self._table.release()

    @property
    def candidates(self) -> list[str | bytes | int]:
        """The published names, or the domain: a public set that only grows, in order."""
        return [item for item, _, _ in self._candidates()]

    @property
    def window(self) -> int | None:
        """Steps after which names are published; None for a public domain."""
        return None if self._discovery is None else self._discovery.window

    @property
    def smallest_share(self) -> float:
        """Share of the stream that one window finds with 95 % probability; 0 for a domain."""
        return 0.0 if self._discovery is None else self._discovery.smallest_share

    @property
    def memory(self) -> int:
        """Bytes of both tables while counters have 32 bits."""
        names = 0 if self._discovery is None else self._discovery.memory
        return names + _CELL * self._table.depth * self._table.width

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._table.step

    @property
    def privacy(self) -> JointPrivacy:
        """What everything published promises."""
        sketch = self._table.privacy
        names = self._discovery
        if names is None:
            return JointPrivacy(sketch.epsilon, sketch.delta, sketch, 0.0, 0.0)
        return JointPrivacy(
            epsilon=sketch.epsilon + names.epsilon,
            delta=sketch.delta + names.delta,
            sketch=sketch,
            discovery_epsilon=names.epsilon,
            discovery_delta=names.delta,
        )

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return self._table.private

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons, empty for a private object."""
        return self._table.not_private_because

    def close(self) -> None:
        """Destroy key, counts and the open window; nothing can be read any more."""
        self._table.close()

    def _candidates(self) -> Candidates:
        if isinstance(self._table, DiscoveringTable):
            found = self._table._candidates()
            return [(item, complete, estimate) for item, complete, _, estimate in found]
        return [(item, True, math.nan) for item in self._listed or []]

    def _known(self, confidence: float) -> list[HeavyHitter]:
        candidates = self._candidates()
        whole = [item for item, complete, _ in candidates if complete]
        release = self.release()
        size = max(self._size(release), 1.0)
        found = release.interval_many(whole, confidence=confidence, at="now")
        known = [
            HeavyHitter(item, answer.estimate, answer.low, answer.high, answer.estimate / size)
            for item, answer in zip(whole, found, strict=True)
        ]
        # Of a name that was cut only the core knows the cells; it answers with an estimate.
        known += [
            HeavyHitter(item, estimate, 0.0, math.inf, estimate / size, complete=False)
            for item, complete, estimate in candidates
            if not complete
        ]
        return known

    def _size(self, release: Release) -> float:
        """Return what shares are shares of: steps, or the noisy total where those say less."""
        sketch = self._table.privacy
        plain = sketch.relation == "substitution" and sketch.max_weight == 1
        if (plain and self._table.schedule != "batch") or release.kind != "count-min":
            return float(release.step)
        return float(release.table.sum(axis=1).mean())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        inner = repr(self._table).split(" ", 1)[1]
        names = "public domain" if self._discovery is None else f"window={self.window}"
        whole = self.privacy
        promise = f"epsilon={whole.epsilon:g}, delta={whole.delta:g} in all"
        return f"<HeavyHitters share={self._share:g}, {names}, {promise}; counts: {inner}"


def _share(k: object, share: object, domain: object) -> float:
    given = [name for name, value in (("k", k), ("share", share)) if value is not None]
    if len(given) > 1 or not (given or domain is not None):
        got = "both" if given else "none"
        raise ArgumentTypeError(f"k, share: expected one of these, or domain, got {got}")
    if isinstance(domain, str | bytes):
        got = type(domain).__name__
        raise ArgumentTypeError(f"domain: expected a list of items, got {got}")
    if k is not None:
        return 1.0 / checked_integer("k", k, most=1 << 24)
    return _checked_share("share", share) if share is not None else 0.001


def _checked_share(name: str, share: object) -> float:
    value = checked_real(name, share)
    if value > 1.0:
        raise ArgumentValueError(f"{name}: expected a number above 0, at most 1, got {value:g}")
    return value


def _width(
    width: int | None, *, share: float, depth: int, memory: int, horizon: int | None
) -> int:
    """Return the columns: enough for the share, few enough for memory and for a short lag."""
    if width is not None:
        return checked_integer("width", width, most=LARGEST_WIDTH)
    columns = min(max(_power_of_two(_COLUMNS_PER_ITEM / share), _NARROWEST), _WIDEST)
    while columns > 1 and _CELL * depth * columns > memory:
        columns //= 2
    while columns > 1 and horizon is not None and columns * _ROUNDS > horizon:
        columns //= 2
    return columns


def _power_of_two(least: float) -> int:
    return 1 << max(math.ceil(math.log2(least)), 0)


def _schedule(horizon: int | None, schedule: Schedule | None) -> Schedule:
    if schedule is None:
        return Geometric() if horizon is None else RoundRobin(horizon=horizon)
    if horizon is not None:
        raise ArgumentTypeError("horizon: expected none beside schedule, got both")
    return schedule


def _refuse_settings(*settings: object) -> None:
    if any(value is not None for value in settings):
        raise ArgumentTypeError(
            "domain: expected no window, discovery_epsilon or discovery_delta beside it, as "
            "nothing is discovered"
        )


def _identity(hitter: HeavyHitter) -> tuple[Any, ...]:
    return (type(hitter.item), hitter.item, hitter.complete)


def _estimates(known: Sequence[HeavyHitter]) -> tuple[Any, Any]:
    estimates = np.array([hitter.estimate for hitter in known], dtype=np.float64)
    widths = np.array([hitter.high - hitter.low for hitter in known], dtype=np.float64)
    return estimates, np.where(np.isfinite(widths), widths, 0.0) / _STANDARD_ERRORS
