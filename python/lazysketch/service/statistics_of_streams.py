"""The kinds of streams that publish one statistic: how each is described, kept and read.

To add a kind: an entry here, its release in ``published_window``, its view in ``reading``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.ranges import Ranges
from lazysketch.sources.formats.numbers import NUMBERS
from lazysketch.specification.bins import Bins
from lazysketch.specification.distinct_spec import distinct_spec
from lazysketch.specification.distribution_spec import distribution_spec
from lazysketch.specification.ranges_spec import ranges_spec
from lazysketch.specification.schedules import Batch
from lazysketch.specification.value_tree import MOST_BINS
from lazysketch.store.store import Store
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import DEPTH, WIDTH, sums_spec

if TYPE_CHECKING:
    from lazysketch.privacy.accounting import Privacy
    from lazysketch.privacy.sums_privacy import SumsPrivacy
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store.stored_distinct import StoredDistinct
    from lazysketch.store.stored_distribution import StoredDistribution
    from lazysketch.store.stored_ranges import StoredRanges
    from lazysketch.store.stored_sums import StoredSums
    from lazysketch.sums.sums_spec import SumsSpec

    Spec: TypeAlias = TableSpec | SumsSpec
    StoredStatistic: TypeAlias = StoredDistinct | StoredDistribution | StoredRanges | StoredSums

__all__ = ["DEFAULT_BITS", "STATISTICS", "StatisticKind", "check_kind_of_settings"]

ITEMS: Final = "items"
DEFAULT_BITS: Final = 32
"""Bits of the keys of ranges, unless others are chosen: those of addresses."""
_WIDTH: Final = 4096
_BINS: Final = 1024
_FEWEST_BINS: Final = 3  # with the one below and the one above
_MOST_EDGES: Final = 255  # the description of a stream is a note of the store
_REQUIRED_OF_SUMS: Final = (
    ("value", "the field of the value"),
    ("domain", "the public list of items"),
    ("horizon", "the number of slices after which the stream ends"),
)
_MOST_EVENTS: Final = 65_535  # of a person
_SCALES: Final = ("linear", "log")
# What a statistic has no use for, unless it says so.
_OF_ITEMS: Final = (
    "domain", "levels", "span", "weight", "discovery_weight", "user", "depth", "width",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatisticKind:
    """A kind of stream that publishes one statistic.

    Attributes:
        counted: what it counts, in words for messages.
        spec: returns the description of what counts; a step is a slice of the clock.
        live: the class of what counts, without a store.
        stored: returns what counts in a store, by its name there and its description.
        settings: the settings that it has and other kinds lack.
        item_type: type of the items of its events; None for any.
    """

    counted: str
    spec: Callable[[StreamSettings], Spec]
    live: type[DistinctCount | Distribution | Ranges | Sums]
    stored: Callable[[Store, str, Any], StoredStatistic]
    settings: tuple[str, ...] = ()
    item_type: str | None = None

    def privacy(self, settings: StreamSettings) -> Privacy | SumsPrivacy:
        """Return the guarantee of a stream, before it is made.

        Args:
            settings: the stream.
        """
        live: Any = self.live  # each takes the description of its kind
        with live.from_spec(self.spec(settings)) as count:
            privacy: Privacy | SumsPrivacy = count.privacy
            return privacy


def _distinct(settings: StreamSettings) -> TableSpec:
    # The public seed is in the store, with the description that this one is compared with.
    return distinct_spec(
        epsilon=settings.epsilon,
        delta=settings.delta,
        relation=settings.relation,
        schedule=Batch(),
    )


def _values(settings: StreamSettings) -> TableSpec:
    return distribution_spec(
        bins=_bins_of(settings),
        epsilon=settings.epsilon,
        delta=settings.delta,
        relation=settings.relation,
        person_bound=_bound_of_events(settings),
        schedule=Batch(),
    )


def _ranges(settings: StreamSettings) -> TableSpec:
    if settings.weight is not None and settings.horizon is None:
        # As those of sums: weights without an end would outgrow their cells.
        raise ArgumentTypeError(
            "horizon: expected the number of slices after which the stream ends, with weight, got "
            "none"
        )
    return ranges_spec(
        bits=DEFAULT_BITS if settings.bits is None else settings.bits,
        width=_WIDTH if settings.width is None else settings.width,
        epsilon=settings.epsilon,
        delta=settings.delta,
        relation=settings.relation,
        # Without the field of a weight each key weighs 1, and needs the noise of 1.
        max_weight=1 if settings.weight is None else settings.max_weight,
        person_bound=_bound_of_events(settings),
        schedule=Batch(horizon=settings.horizon),
    )


def _sums(settings: StreamSettings) -> SumsSpec:
    for name, what in _REQUIRED_OF_SUMS:
        if getattr(settings, name) is None:
            raise ArgumentTypeError(f"{name}: expected {what}, got none")
    low, high = _bounds_of(settings)
    return sums_spec(
        low=low,
        high=high,
        step=settings.step,
        depth=DEPTH if settings.depth is None else settings.depth,
        width=WIDTH if settings.width is None else settings.width,
        epsilon=settings.epsilon,
        delta=settings.delta,
        relation=settings.relation,
        person_bound=_bound_of_cells(settings),
        # Sums without an end would outgrow their cells.
        schedule=Batch(horizon=settings.horizon),
    )


def _bound_of_events(settings: StreamSettings) -> PersonBound | None:
    """Return what counts of a person over the life of the stream, anywhere; None without people."""
    events = settings.per_person
    if settings.user is None:
        if events is not None:
            raise ArgumentTypeError("per_person: expected it with user, got it alone")
        return None
    events = 1 if events is None else checked_integer("per_person", events, most=_MOST_EVENTS)
    return PersonBound(events=events, most_people=settings.most_people)


def _bound_of_cells(settings: StreamSettings) -> PersonBound | None:
    """Return what counts of a person over the life of the stream, by items; None without people."""
    if settings.user is None:
        return None
    per_cell = checked_integer("per_cell", settings.per_cell, most=_MOST_EVENTS)
    return PersonBound(cells=settings.cells, events=per_cell, most_people=settings.most_people)


def _bounds_of(settings: StreamSettings) -> tuple[float, float]:
    """Return the bounds of values; errors name the settings."""
    for name in ("low", "high"):
        if getattr(settings, name) is None:
            other = " (or edges)" if settings.kind == "values" else ""
            raise ArgumentTypeError(
                f"{name}: expected the {name}est value to tell apart, from public knowledge and "
                f"not from the data{other}, got none"
            )
    assert settings.low is not None, "checked above"  # noqa: S101
    assert settings.high is not None, "checked above"  # noqa: S101
    return settings.low, settings.high


def _bins_of(settings: StreamSettings) -> Bins:
    """Return the public bins; errors name the settings."""
    edges = settings.edges
    if edges is not None:
        for name in ("low", "high", "bins", "scale"):
            if getattr(settings, name) is not None:
                raise ArgumentTypeError(f"{name}: expected none with edges, got both")
        bins = Bins(edges)
        if len(bins.edges) > _MOST_EDGES:
            raise ArgumentValueError(
                f"edges: expected at most {_MOST_EDGES} of them, got {len(bins.edges):,}"
            )
        return bins
    low, high = _bounds_of(settings)
    wanted = _BINS if settings.bins is None else settings.bins
    number = checked_integer("bins", wanted, least=_FEWEST_BINS, most=MOST_BINS)
    scale = "linear" if settings.scale is None else settings.scale
    if scale not in _SCALES:
        raise ArgumentValueError(f"scale: expected one of {', '.join(_SCALES)}, got {shown(scale)}")
    made = Bins.logarithmic if scale == "log" else Bins.linear
    return made(low, high, number=number - 2)


STATISTICS: Final = {
    "distinct": StatisticKind(
        counted="distinct items", spec=_distinct, live=DistinctCount, stored=Store.distinct
    ),
    "values": StatisticKind(
        counted="values",
        spec=_values,
        live=Distribution,
        stored=Store.distribution,
        settings=("low", "high", "bins", "scale", "edges", "user", "per_person"),
        item_type=NUMBERS,
    ),
    "ranges": StatisticKind(
        counted="ranges of keys",
        spec=_ranges,
        live=Ranges,
        stored=Store.ranges,
        settings=("bits", "width", "weight", "horizon", "user", "per_person"),
    ),
    "sums": StatisticKind(
        counted="sums",
        spec=_sums,
        live=Sums,
        stored=Store.sums,
        settings=("value", "low", "high", "step", "horizon", "domain", "depth", "width", "user"),
    ),
}
"""The kinds by their names."""


def check_kind_of_settings(settings: StreamSettings) -> None:
    """Raise unless the kind of a stream is known, and it has no settings of another one.

    Args:
        settings: the stream.

    Raises:
        ArgumentTypeError: a setting of another kind.
        ArgumentValueError: another kind.
    """
    kinds = (ITEMS, *STATISTICS)
    if settings.kind not in kinds:
        raise ArgumentValueError(
            f"kind: expected one of {', '.join(kinds)}, got {shown(settings.kind)}"
        )
    statistic = STATISTICS.get(settings.kind)
    own = () if statistic is None else statistic.settings
    counted = "frequent items" if statistic is None else statistic.counted
    others = [*(name for one in STATISTICS.values() for name in one.settings)]
    if statistic is not None:
        others += _OF_ITEMS
    for name in others:
        # With items, width is a setting of theirs that some statistic has too.
        is_own = name in own or (statistic is None and name in _OF_ITEMS)
        if not is_own and getattr(settings, name) is not None:
            raise ArgumentTypeError(f"{name}: expected none for {counted}, got some")
