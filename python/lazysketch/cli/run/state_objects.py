"""The objects of a state: what the first run defines of them, and how a later one goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from lazysketch.cli.distinct_options import DistinctSettings
from lazysketch.cli.run.state_definition import (
    DISCOVERED,
    DISTINCT,
    LISTED,
    OF_DISCOVERY,
    OF_INPUT,
    OF_SKETCH,
    OPTIONS_OF,
    RANGES,
    SUMS,
    VALUES,
    Definition,
    plain_option,
)
from lazysketch.cli.settings import DiscoverySettings, SketchSettings
from lazysketch.cli.statistic_options import (
    DistributionSettings,
    RangesSettings,
)
from lazysketch.cli.sums_options import SumsSettings
from lazysketch.cli.view.output import tell
from lazysketch.errors import ArgumentValueError, StoreError
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.cli.run.state_counting import Kept, StoredStatistic
    from lazysketch.cli.settings import InputSettings
    from lazysketch.specification.schedules import Schedule
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import Store
    from lazysketch.store.stored_objects import StoredHitters, StoredSketch

__all__ = ["NOTE", "OBJECT", "ObjectsOfState", "counted_by", "pinned_options", "values_of"]

OBJECT: Final = "items"
NOTE: Final = "command line"

Made = TypeVar("Made")
StatisticSettings: TypeAlias = (
    "DistinctSettings | DistributionSettings | RangesSettings | SumsSettings"
)
# The settings of each statistic.
_STATISTICS: Final[Mapping[str, type[StatisticSettings]]] = {
    DISTINCT: DistinctSettings,
    VALUES: DistributionSettings,
    RANGES: RangesSettings,
    SUMS: SumsSettings,
}


class ObjectsOfState:
    """The one object of a state, which the first run defines.

    Attributes:
        folder: The directory.
        store: The store in it.
        definition: What the first run has defined; None in the first run.
    """

    folder: str
    store: Store
    definition: Definition | None
    _secret: bytes

    def sketch(
        self, settings: SketchSettings, reading: InputSettings, *, max_weight: int
    ) -> StoredSketch:
        """Return the sketch of a list, new or as it was left."""
        spec = settings.spec(max_weight=max_weight)
        self._check_whole()
        self.define(spec.schedule, LISTED, pinned_options(settings, spec), reading)
        return self.made(lambda: self.store.sketch(OBJECT, spec))

    def hitters(
        self,
        settings: SketchSettings,
        discovery: DiscoverySettings,
        reading: InputSettings,
        *,
        max_weight: int,
    ) -> StoredHitters:
        """Return the sketch with discovery, new or as it was left."""
        spec = settings.hitters_spec(discovery, max_weight=max_weight)
        found = spec.discovery
        epoch = discovery.discovery_epoch if found is None else found.epoch
        discovery = dataclasses.replace(discovery, discovery_epoch=epoch)
        options = pinned_options(settings, spec.table) | values_of(discovery, OF_DISCOVERY)
        self._check_whole()
        self.define(spec.table.schedule, DISCOVERED, options, reading)
        return self.made(lambda: self.store.heavy_hitters(OBJECT, spec))

    def statistic(
        self,
        settings: StatisticSettings,
        reading: InputSettings,
    ) -> StoredStatistic:
        """Return the statistic, new or as it was left."""
        counted = counted_by(settings)
        options = values_of(settings, OPTIONS_OF[counted])
        self._check_whole()
        self.define(settings.spec.schedule, counted, options, reading)
        return self._statistic(settings)

    def _statistic(self, settings: StatisticSettings) -> StoredStatistic:
        if isinstance(settings, SumsSettings):
            sums = settings.spec
            return self.made(lambda: self.store.sums(OBJECT, sums))
        spec = settings.spec
        if isinstance(settings, DistinctSettings):
            return self.made(lambda: self.store.distinct(OBJECT, spec))
        if isinstance(settings, DistributionSettings):
            return self.made(lambda: self.store.distribution(OBJECT, spec))
        return self.made(lambda: self.store.ranges(OBJECT, spec))

    def kept(self) -> Kept | None:
        """Return the object as it was left; None in the first run."""
        if self.definition is None or OBJECT not in self.store.names:
            return None
        if self.definition.length is not None:
            from lazysketch.cli.run.state_windows import kept_windows  # late: few states have them

            return kept_windows(self)
        counted = self.definition.counted
        if counted in _STATISTICS:
            return self._statistic(self.settings_of_statistic())
        settings, discovery = self.settings_of_items()
        most = self.max_weight
        if counted == LISTED:
            sketch = settings.spec(max_weight=most)
            return self.made(lambda: self.store.sketch(OBJECT, sketch))
        hitters = settings.hitters_spec(discovery, max_weight=most)
        return self.made(lambda: self.store.heavy_hitters(OBJECT, hitters))

    @property
    def max_weight(self) -> int:
        """The largest weight of an event, as the first run has defined it."""
        return self._known["max_weight"] or 1

    def settings_of_items(self) -> tuple[SketchSettings, DiscoverySettings]:
        """Return what the first run has defined of items; of a list nothing is discovered."""
        known, chosen = self._known, None if self.definition is None else self.definition.chosen
        sketch = SketchSettings(
            **{name: known[name] for name in OF_SKETCH},
            chosen=chosen,
            at_end=isinstance(chosen, Single),
        )
        found: dict[str, Any] = {name: known.get(name) for name in OF_DISCOVERY}
        return sketch, DiscoverySettings(**found)

    def settings_of_statistic(self) -> StatisticSettings:
        """Return what the first run has defined of a statistic."""
        assert self.definition is not None, "asked for only after the first run"  # noqa: S101
        counted, chosen = self.definition.counted, self.definition.chosen
        options = {name: self._known[name] for name in OPTIONS_OF[counted]}
        if counted == RANGES:
            options["max_weight"] = self.max_weight
        at_end = isinstance(chosen, Single)
        return _STATISTICS[counted](**options, chosen=chosen, at_end=at_end)

    @property
    def _known(self) -> dict[str, Any]:
        return {} if self.definition is None else dict(self.definition.options)

    def _check_whole(self) -> None:
        """Raise ArgumentValueError if the first run has cut the stream into windows."""
        if self.definition is not None and self.definition.length is not None:
            raise ArgumentValueError(
                f"--state: expected one without windows, got {self.folder}, which has some; use "
                "another directory"
            )

    def define(
        self,
        schedule: Schedule,
        counted: str,
        options: dict[str, object],
        reading: InputSettings,
    ) -> None:
        """Keep what the first run defines, before the object is made.

        Args:
            schedule: The schedule of a table.
            counted: What is counted.
            options: The options that define it.
            reading: How the inputs are read.
        """
        if self.definition is not None:
            return
        self.definition = Definition(
            counted=counted,
            options=options | values_of(reading, OF_INPUT),
            schedule=schedule.specification,
            secret=self._secret,
        )
        self.store.keep_note(NOTE, self.definition.to_text())

    def made(self, make: Callable[[], Made]) -> Made:
        """Return an object of the store, and tell what its eras spend.

        Args:
            make: Returns it.

        Raises:
            StoreError: It was made with other parameters.
        """
        try:
            stored = make()
        except ArgumentValueError as error:
            if not str(error).startswith("spec: "):
                raise
            raise StoreError(
                f"--state: expected the parameters of {self.folder}, got others, as another "
                "version of lazysketch chose them"
            ) from None
        self.store.commit()
        spent = self.store.spent
        if len(spent.parts) > 1:
            tell(
                f"{self.folder}: {len(spent.parts)} eras, which spend {spent} together; "
                "the table is that of the last one"
            )
        return stored


def pinned_options(settings: SketchSettings, table: TableSpec) -> dict[str, object]:
    """Return the options of a sketch, with what was chosen for the first run."""
    pinned = dataclasses.replace(settings, width=table.width)
    if (bound := table.person_bound) is not None:
        pinned = dataclasses.replace(pinned, cells=bound.cells, per_cell=bound.events)
    return values_of(pinned, OF_SKETCH)


def values_of(settings: object, options: Mapping[str, str]) -> dict[str, object]:
    """Return the values of some options, as those of JSON.

    Args:
        settings: What has them.
        options: The options, by parameter.
    """
    return {name: plain_option(getattr(settings, name)) for name in options}


def counted_by(settings: StatisticSettings) -> str:
    """Return what settings of a statistic count, a key of ``OPTIONS_OF``.

    Args:
        settings: The settings.
    """
    return next(name for name, kind in _STATISTICS.items() if isinstance(settings, kind))
