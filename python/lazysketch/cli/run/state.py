"""The state of a run in a store: what the next run with the same directory goes on with.

The directory keeps one object, the options that define it, and the positions of the inputs. Each
batch is in one record with its position, so that a crash loses or repeats both or neither. Changes
are durable within a second, before anything is shown or saved, and at the end.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from click.core import ParameterSource

from lazysketch.arguments import shown
from lazysketch.cli.run.state_definition import (
    DISCOVERED,
    IN_WORDS,
    LISTED,
    OF_INPUT,
    OF_WINDOWS,
    ONLY_WITH_WINDOWS,
    OPEN,
    OPTIONS_OF,
    Definition,
    plain_option,
    restored_option,
)
from lazysketch.cli.run.state_objects import NOTE, OBJECT, ObjectsOfState
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
    from types import TracebackType

    import click
    from typing_extensions import Self

    from lazysketch.cli.distinct_options import DistinctSettings
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import (
        DiscoverySettings,
        InputSettings,
        SketchSettings,
        StateSettings,
    )
    from lazysketch.cli.statistic_options import (
        DistributionSettings,
        RangesSettings,
    )
    from lazysketch.cli.sums_options import SumsSettings
    from lazysketch.store import Store

__all__ = ["OBJECT", "State"]

Settings = TypeVar(
    "Settings",
    "SketchSettings",
    "DiscoverySettings",
    "InputSettings",
    "DistinctSettings",
    "DistributionSettings",
    "RangesSettings",
    "SumsSettings",
    "WindowSettings",
)


class State(ObjectsOfState):
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
        note = store.note(NOTE)
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
        options = {**OPTIONS_OF[self.definition.counted], **OF_INPUT, **OF_WINDOWS}
        for name, option in options.items():
            if name not in fields or name not in known:
                continue
            given = context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
            value = plain_option(getattr(settings, name))
            if name in ONLY_WITH_WINDOWS and self.definition.length is None:
                continue
            is_open = known[name] == OPEN[name] if name in OPEN else False
            is_open |= name == "field" and not self.definition.knows_field
            if given and value != known[name] and not is_open:
                raise ArgumentValueError(
                    f"{option}: expected {_value(known[name])}, as in the first run with "
                    f"{self.folder}, got {_value(value)}; leave the option out, or use another "
                    "directory"
                )
            changed[name] = restored_option(value if given else known[name], name)
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
                self.store.keep_note(NOTE, self.definition.to_text())
            known = self.definition.options["field"]
        if field != known:
            wanted, got = (_value(f) if f else "whole lines" for f in (known, field))
            raise SourceError(
                f"{name}: expected to count {wanted}, as everything in {self.folder}, got {got}; "
                "name --by and --format, or use another directory"
            )


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
