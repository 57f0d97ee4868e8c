"""The state of a run in a store: what the next run with the same directory goes on with.

The directory keeps one object, the options that define it, and the positions of the inputs. Each
batch is in one record with its position, so that a crash loses or repeats both or neither. Changes
are durable within a second, before anything is shown or saved, and at the end.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from click.core import ParameterSource

from lazysketch.arguments import shown
from lazysketch.cli.run.state_definition import (
    DISCOVERED,
    DISTINCT,
    IN_WORDS,
    LISTED,
    OF_DISCOVERY,
    OF_INPUT,
    OF_SKETCH,
    OPEN,
    OPTIONS_OF,
    RANGES,
    SUMS,
    VALUES,
    Definition,
)
from lazysketch.cli.settings import DiscoverySettings, SketchSettings
from lazysketch.cli.statistic_options import (
    DistinctSettings,
    DistributionSettings,
    RangesSettings,
)
from lazysketch.cli.sums_options import SumsSettings
from lazysketch.cli.view.output import tell
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LazySketchError,
    SourceError,
    StoreError,
)
from lazysketch.sources.io.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import click
    from typing_extensions import Self

    from lazysketch.cli.run.state_counting import Kept, StoredStatistic
    from lazysketch.cli.settings import InputSettings, StateSettings
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import Store
    from lazysketch.store.stored_objects import StoredHitters, StoredSketch
    from lazysketch.sums.sums_spec import SumsSpec

__all__ = ["State"]

OBJECT: Final = "items"
_NOTE: Final = "command line"

Settings = TypeVar(
    "Settings",
    "SketchSettings",
    "DiscoverySettings",
    "InputSettings",
    "DistinctSettings",
    "DistributionSettings",
    "RangesSettings",
    "SumsSettings",
)
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


class State:
    """An open state; closed when the block ends.

    Args:
        folder: The directory.
        store: The store in it.
        finishes: Whether the stream ends with this run.
        reread: Whether a file that was rewritten or truncated, or a topic that was made anew, is
            counted anew.

    Attributes:
        positions: What was counted of each file.
        definition: What the first run has defined; None in the first run.
    """

    def __init__(
        self, folder: str, store: Store, *, finishes: bool = False, reread: bool = False
    ) -> None:
        self.folder = folder
        self.store = store
        self.finishes = finishes
        self.rereads = reread
        note = store.note(_NOTE)
        self.definition = Definition.from_text(note) if note else None
        if self.definition is None and store.names:
            store.close()
            raise StoreError(
                f"--state: expected a state of the command line, got {folder} of another program"
            )
        self._reads = threading.Lock()  # inputs are read in another thread
        self._secret = self.definition.secret if self.definition else secrets.token_bytes(32)
        notes = {source: store.note(source) for source in store.sources}
        self.positions = Positions(self._secret, notes, reread=reread)

    @classmethod
    def open(cls, settings: StateSettings) -> Self | None:
        """Return the open state; None without ``--state``.

        Raises:
            ArgumentTypeError: An option that needs ``--state``.
            LazySketchError: A state or key that cannot be used.
        """
        folder = settings.state
        if folder is None:
            for name, given in dataclasses.asdict(settings).items():
                if given:
                    option = name.replace("_", "-")
                    also = (
                        "; the key of a ledger is --ledger-key-file" if name == "key_file" else ""
                    )
                    raise ArgumentTypeError(f"--{option}: expected --state too, got none{also}")
            return None
        from lazysketch.cli.run.state_keys import key_for, opened  # late: few runs have a state

        key, made = key_for(settings.key_file, folder)
        store = opened(folder, key=key, anchor=settings.anchor, new_era=settings.new_era)
        if made is not None:
            tell(f"state: the key of {folder} is in {made}; without it the state is lost")
        return cls(folder, store, finishes=settings.finish, reread=settings.reread)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Everything was committed before, or the failure is known.
        with suppress(LazySketchError):
            self.store.close()

    def tell_inputs(self) -> None:
        """Say which files had no new row."""
        for reading in self.positions.readings:
            if reading.rows == reading.counted_before > 0:
                tell(f"{reading.name}: nothing new; its {reading.rows:,} rows were counted before")

    def check_listed(self, *, listed: bool, option: str) -> None:
        """Raise unless the items come from where they came from in the first run."""
        if self.definition is None:
            return
        self.check_counted(LISTED, DISCOVERED)
        if self.definition.counted == (LISTED if listed else DISCOVERED):
            return
        if listed:
            raise ArgumentValueError(
                f"{option}: expected none, since {self.folder} discovers items, got one"
            )
        raise ArgumentTypeError(
            f"{option}: expected a public list, as in the first run with {self.folder}, got none"
        )

    def check_counted(self, *counted: str) -> None:
        """Raise ArgumentValueError unless the first run has counted one of these."""
        if self.definition is not None and self.definition.counted not in counted:
            wanted = " or ".join(IN_WORDS[one] for one in counted)
            raise ArgumentValueError(
                f"--state: expected one with {wanted}, got {self.folder}, which has "
                f"{IN_WORDS[self.definition.counted]}; use another directory"
            )

    def defined(self, settings: Settings, context: click.Context) -> Settings:
        """Return settings with the values of the first run where none is given now.

        Raises:
            ArgumentValueError: An option that is given and differs.
        """
        if self.definition is None:
            return settings
        known = self.definition.options
        fields = {field.name for field in dataclasses.fields(settings)}
        changed: dict[str, Any] = {}
        for name, option in {**OPTIONS_OF[self.definition.counted], **OF_INPUT}.items():
            if name not in fields or name not in known:
                continue
            given = context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
            value = getattr(settings, name)
            is_open = known[name] == OPEN[name] if name in OPEN else False
            is_open |= name == "field" and not self.definition.knows_field
            if given and value != known[name] and not is_open:
                raise ArgumentValueError(
                    f"{option}: expected {_value(known[name])}, as in the first run with "
                    f"{self.folder}, got {_value(value)}; leave the option out, or use another "
                    "directory"
                )
            changed[name] = value if given else known[name]
        if "chosen" in fields:
            changed["chosen"] = self.definition.chosen
        return dataclasses.replace(settings, **changed)

    def reads(self, name: str, field: str | None) -> None:
        """Take the field of an input; that of the first input is the one of all.

        Args:
            name: The input.
            field: The field, given or guessed; None if a row is one item.

        Raises:
            SourceError: Another field than that of the first input.
        """
        with self._reads:
            if self.definition is None:
                return
            if not self.definition.knows_field:
                self.definition = self.definition.with_field(field)
                self.store.keep_note(_NOTE, self.definition.to_text())
            known = self.definition.options["field"]
        if field != known:
            wanted, got = (_value(f) if f else "whole lines" for f in (known, field))
            raise SourceError(
                f"{name}: expected to count {wanted}, as everything in {self.folder}, got {got}; "
                "name --by and --format, or use another directory"
            )

    def sketch(
        self, settings: SketchSettings, reading: InputSettings, *, max_weight: int
    ) -> StoredSketch:
        """Return the sketch of a list, new or as it was left."""
        spec = settings.spec(max_weight=max_weight)
        self._define(spec, LISTED, _pinned(settings, spec), reading)
        return self._made(lambda: self.store.sketch(OBJECT, spec))

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
        options = _pinned(settings, spec.table) | _values(discovery, OF_DISCOVERY)
        self._define(spec.table, DISCOVERED, options, reading)
        return self._made(lambda: self.store.heavy_hitters(OBJECT, spec))

    def statistic(
        self,
        settings: StatisticSettings,
        reading: InputSettings,
    ) -> StoredStatistic:
        """Return the statistic, new or as it was left."""
        counted = next(name for name, kind in _STATISTICS.items() if isinstance(settings, kind))
        self._define(settings.spec, counted, _values(settings, OPTIONS_OF[counted]), reading)
        return self._statistic(settings)

    def _statistic(self, settings: StatisticSettings) -> StoredStatistic:
        if isinstance(settings, SumsSettings):
            sums = settings.spec
            return self._made(lambda: self.store.sums(OBJECT, sums))
        spec = settings.spec
        if isinstance(settings, DistinctSettings):
            return self._made(lambda: self.store.distinct(OBJECT, spec))
        if isinstance(settings, DistributionSettings):
            return self._made(lambda: self.store.distribution(OBJECT, spec))
        return self._made(lambda: self.store.ranges(OBJECT, spec))

    def kept(self) -> Kept | None:
        """Return the object as it was left; None in the first run."""
        if self.definition is None or OBJECT not in self.store.names:
            return None
        known: dict[str, Any] = dict(self.definition.options)
        counted = self.definition.counted
        if counted in _STATISTICS:
            options = {name: known[name] for name in OPTIONS_OF[counted]}
            chosen = self.definition.chosen
            return self._statistic(_STATISTICS[counted](**options, chosen=chosen))
        settings = SketchSettings(
            **{name: known[name] for name in OF_SKETCH}, chosen=self.definition.chosen
        )
        most = known["max_weight"] or 1
        if self.definition.counted == LISTED:
            sketch = settings.spec(max_weight=most)
            return self._made(lambda: self.store.sketch(OBJECT, sketch))
        discovery = DiscoverySettings(**{name: known[name] for name in OF_DISCOVERY})
        hitters = settings.hitters_spec(discovery, max_weight=most)
        return self._made(lambda: self.store.heavy_hitters(OBJECT, hitters))

    def _define(
        self,
        table: TableSpec | SumsSpec,
        counted: str,
        options: dict[str, object],
        reading: InputSettings,
    ) -> None:
        """Keep what the first run defines, before the object is made."""
        if self.definition is not None:
            return
        self.definition = Definition(
            counted=counted,
            options=options | _values(reading, OF_INPUT),
            schedule=table.schedule.specification,
            secret=self._secret,
        )
        self.store.keep_note(_NOTE, self.definition.to_text())

    def _made(self, make: Callable[[], Made]) -> Made:
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


Made = TypeVar("Made", "StoredSketch", "StoredHitters", "StoredStatistic")


def _pinned(settings: SketchSettings, table: TableSpec) -> dict[str, object]:
    """Return the options of a sketch, with what was chosen for the first run."""
    pinned = dataclasses.replace(settings, width=table.width)
    if (bound := table.person_bound) is not None:
        pinned = dataclasses.replace(pinned, cells=bound.cells, per_cell=bound.events)
    return _values(pinned, OF_SKETCH)


def _values(settings: object, options: Mapping[str, str]) -> dict[str, object]:
    return {name: getattr(settings, name) for name in options}


def _value(value: object) -> str:
    if value is None:
        return "none"
    return (
        shown(value)
        if isinstance(value, str)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
