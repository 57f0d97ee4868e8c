"""Frozen settings that the options of several verbs are gathered into.

The help of a verb needs their fields only: what a run needs is imported where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from lazysketch.cli.people_options import bound_of_cells
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from typing_extensions import Self

    from lazysketch import HeavyHitters, LazyCountMin, LazyCountSketch, PersonBound
    from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions
    from lazysketch.privacy.relations import Relation
    from lazysketch.sources import Source
    from lazysketch.sources.io.positions import Positions
    from lazysketch.specification.mechanisms import MechanismName
    from lazysketch.specification.schedules import Schedule
    from lazysketch.specification.sizing import SketchKind
    from lazysketch.specification.table_spec import TableOptions, TableSpec

PrivateSketch: TypeAlias = "LazyCountMin | LazyCountSketch"

DEFAULT_WIDTH: Final = 1024  # without a horizon
_SHARE: Final = 0.01  # of the items of a list
_LARGEST_SHARE: Final = 0.5  # a plan is for an item among others
_MEMORY: Final = 32 << 20
_MAX_ITEM_BYTES: Final = 256  # request paths and user agents are longer than addresses
KINDS: Final[tuple[SketchKind, ...]] = ("count-min", "count-sketch")


@dataclass(frozen=True, slots=True)
class GuaranteeSettings:
    """The requested guarantee."""

    epsilon: float
    delta: float
    relation: Relation


@dataclass(frozen=True, slots=True)
class PrivacySettings(GuaranteeSettings):
    """The requested guarantee of events."""

    max_events_per_user: int


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """Settings of discovery, without a public list.

    Args:
        share: The smallest share of the stream at which an item shall be discovered.
        discovery_epoch: Steps of an epoch; None for the fewest that suffice for the share.
        memory: Upper bound on the bytes of sketch and discovery together.
        discovery_weight: The largest weight of a row that counts for a name; None for 1.
    """

    share: float
    discovery_epoch: int | None
    memory: int
    discovery_weight: int | None = None


@dataclass(frozen=True, slots=True)
class SketchSettings(PrivacySettings):
    """The parameters of a private sketch."""

    horizon: int | None
    period: int | None
    depth: int
    width: int | None
    kind: SketchKind
    mechanism: MechanismName
    hash_seed: int | None
    user: str | None = None
    cells: int | None = None
    per_cell: int | None = None
    most_people: int | None = None
    at_end: bool = False
    chosen: Schedule | None = None

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of one person; None without people.

        Raises:
            ArgumentTypeError: an option that needs ``--user``.
            ArgumentValueError: a number outside its range, or events declared too.
        """
        return bound_of_cells(
            self.user,
            cells=self.cells,
            per_cell=self.per_cell,
            most_people=self.most_people,
            max_events_per_user=self.max_events_per_user,
        )

    def published_for(
        self,
        source: Source,
        reading: InputSettings,
        result: ResultSettings,
        *,
        ends: bool = True,
    ) -> Self:
        """Return these settings with the time of publication that fits a run.

        Regular files are published once, at the end, which has the least noise. Pipes and growing
        files are published on the way, like runs whose results are to be seen or saved before the
        end, and those with a horizon, which chooses a schedule.

        Args:
            source: The inputs.
            reading: How they are read.
            result: What shall be seen, and when.
            ends: Whether the stream ends with the run, so that nothing is counted afterwards.
        """
        from lazysketch.specification.schedules import Single

        if self.chosen is not None:
            return replace(self, at_end=isinstance(self.chosen, Single))
        waits = waits_for_end(source, reading, result, horizon=self.horizon, ends=ends)
        return replace(self, at_end=waits)

    @property
    def schedule(self) -> Schedule:
        """The publication schedule."""
        from lazysketch.specification.schedules import Geometric, RoundRobin, Single

        if self.chosen is not None:
            return self.chosen
        if self.period is not None and self.horizon is None:
            raise ArgumentTypeError("period: expected none without a horizon, got one")
        if self.at_end:
            return Single()
        if self.horizon is None:
            return Geometric()
        return RoundRobin(horizon=self.horizon, period=self.period or 1)

    def _planned(self, spec: TableSpec, *, share: float = _SHARE) -> TableSpec:
        """Return the table with the schedule of the least predicted error, if none is asked for.

        A run that publishes on the way is read at any time. The choice depends on options only.
        """
        if self.horizon is None or self.period is not None or self.at_end or self.chosen:
            return spec
        from lazysketch.planning import best_schedule  # late: few runs state a horizon

        best = best_schedule(spec, steps=self.horizon, share=min(share, _LARGEST_SHARE))
        return replace(spec, schedule=best)

    def spec(self, *, max_weight: int = 1) -> TableSpec:
        """Return the checked description of the sketch.

        The default width is that of heavy hitters; but of a stream of unknown length that is
        published on the way, it is small, so that the first rows are soon public.
        """
        from lazysketch.heavy_hitters.default_width import default_width
        from lazysketch.specification.schedules import Geometric
        from lazysketch.specification.table_spec import TableSpec

        spec = TableSpec(
            kind=self.kind,
            depth=self.depth,
            width=DEFAULT_WIDTH if self.width is None else self.width,
            schedule=self.schedule,
            hash_seed=self.hash_seed,
            **self._table_options(max_weight),
        )
        if self.width is None and not isinstance(spec.schedule, Geometric):
            spec = replace(spec, width=default_width(_SHARE, spec, memory=_MEMORY))
        return self._planned(spec)

    def create(self, *, max_weight: int = 1) -> PrivateSketch:
        """Return a fresh sketch."""
        from lazysketch import LazyCountMin, LazyCountSketch

        spec = self.spec(max_weight=max_weight)
        if self.kind == "count-min":
            return LazyCountMin.from_spec(spec)
        return LazyCountSketch.from_spec(spec)

    def hitters_options(self, discovery: DiscoverySettings, *, max_weight: int) -> HittersOptions:
        """Return the options of heavy hitters and windows, which derive their own width."""
        return {
            **self._table_options(max_weight),
            "share": discovery.share,
            "discovery_epsilon": None,
            "discovery_delta": None,
            "discovery_weight": discovery.discovery_weight,
            "memory": discovery.memory,
            "depth": self.depth,
            "width": self.width,
            "hash_seed": self.hash_seed,
            "max_item_bytes": _MAX_ITEM_BYTES,
        }

    def hitters_spec(
        self, discovery: DiscoverySettings, *, max_weight: int = 1
    ) -> HeavyHittersSpec:
        """Return the checked description of a sketch with discovery."""
        from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec

        if self.mechanism != "tree":
            raise ArgumentValueError(
                f"mechanism: expected tree without a public list (--domain), got {self.mechanism}"
            )
        options = self.hitters_options(discovery, max_weight=max_weight)
        epoch = discovery.discovery_epoch

        def described(schedule: Schedule) -> HeavyHittersSpec:
            return HeavyHittersSpec.of(
                discovery_epoch=epoch, schedule=schedule, kind=self.kind, **options
            )

        try:
            found = described(self.schedule)
            planned = self._planned(found.table, share=discovery.share).schedule
            if planned == found.table.schedule:
                return found
            options["width"] = found.table.width
            return described(planned)
        except ArgumentValueError as error:
            if not str(error).startswith("epsilon: ") or f"got {self.epsilon:g}" in str(error):
                raise
            raise ArgumentValueError(
                f"{error} (the counts get this part of --epsilon {self.epsilon:g}, discovery the "
                "rest; with --domain they get all of it)"
            ) from None

    def discover(self, discovery: DiscoverySettings, *, max_weight: int = 1) -> HeavyHitters:
        """Return a fresh sketch with discovery."""
        from lazysketch import HeavyHitters

        return HeavyHitters.from_spec(self.hitters_spec(discovery, max_weight=max_weight))

    def _table_options(self, max_weight: int) -> TableOptions:
        """Return the options of every private class."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "mechanism": self.mechanism,
            "max_weight": max_weight,
            "max_events_per_user": self.max_events_per_user,
            "person_bound": self.person_bound,
        }


@dataclass(frozen=True, slots=True)
class InputSettings:
    """Settings of reading the inputs."""

    format: str
    field: str | None
    delimiter: str | None
    encoding: str
    items_type: str | None
    strict: bool
    weight: str | None = None
    max_weight: int | None = None
    time: str | None = None
    time_unit: str = "s"
    follow: bool = False
    regex: str | None = None
    trusted_hops: int | None = None
    kafka_settings: str | None = None
    value: str | None = None

    def open(
        self,
        paths: tuple[str, ...],
        *,
        times: bool = False,
        user: str | None = None,
        positions: Positions | None = None,
        people_alone: bool = False,
    ) -> Source:
        """Return the inputs as one source, with the times of rows if requested.

        Args:
            paths: The inputs.
            times: Whether the times of rows are needed.
            user: The field of the person, None for no people.
            positions: What was counted of each file before.
            people_alone: Whether the field of the person may be that of the item.
        """
        from lazysketch.sources import open_source

        return open_source(
            paths,
            format=self.format,
            field=self.field,
            weight=self.weight,
            max_weight=self.max_weight,
            delimiter=self.delimiter,
            encoding=self.encoding,
            item_type=self.items_type,
            strict=self.strict,
            times=times,
            time=self.time,
            time_unit=self.time_unit,
            user=user,
            follow=self.follow,
            ahead=True,
            positions=positions,
            regex=self.regex,
            trusted_hops=self.trusted_hops,
            value=self.value,
            people_alone=people_alone,
        )


def waits_for_end(
    source: Source,
    reading: InputSettings,
    result: ResultSettings,
    *,
    horizon: int | None,
    ends: bool,
) -> bool:
    """Return whether a run publishes once, at its end: of regular files that nobody watches."""
    stored = ends and source.part_read is not None and not reading.follow
    return stored and not result.early and horizon is None


@dataclass(frozen=True, slots=True)
class StateSettings:
    """Where the state of a run is kept, so that the next run goes on.

    Args:
        state: The directory; None for no state.
        anchor: The file that states how far the state has come; None for the default.
        key_file: The file of the key; None for the default.
        reread: Whether a file that was rewritten or truncated is counted anew.
        finish: Whether the stream ends with this run.
        new_era: Whether a new era begins if the state may not be the newest.
    """

    state: str | None
    anchor: str | None
    key_file: str | None
    reread: bool
    finish: bool
    new_era: bool


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The ledger that a run is charged to.

    Args:
        ledger: Its directory; None for no ledger.
        population: The name in it.
        ledger_key_file: The file of its key; None for the default.
        ledger_anchor: The file that states how far it has come; None for the default.
    """

    ledger: str | None
    population: str | None
    ledger_key_file: str | None
    ledger_anchor: str | None


@dataclass(frozen=True, slots=True)
class ResultSettings:
    """Destinations of the result of a run.

    Args:
        output: The format of the result on standard output.
        save_release: Where to save the release, or None.
        save_names: Where to save the discovered items, or None.
        plot: Where to draw the top items, or None.
        json_stream: Whether standard output gets one JSON object per refresh instead.
        every: Seconds between refreshes; None for the default of the display.
        save_every: Seconds between saves of the release while the run reads; None for none.
        overwrite: Whether the release of an earlier run may be replaced.
        live: Whether a file is published while it is read, like a pipe.
        once: Whether the run ends as soon as there is something to list.
    """

    output: str
    save_release: str | None = None
    save_every: float | None = None
    overwrite: bool = False
    save_names: str | None = None
    plot: str | None = None
    json_stream: bool = False
    every: float | None = None
    live: bool = False
    once: bool = False

    @property
    def early(self) -> bool:
        """True if something of the result is wanted before the end of the input."""
        return bool(self.live or self.json_stream or self.every or self.plot or self.save_every)
