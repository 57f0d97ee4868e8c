"""What a store holds of objects that were not opened yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lazysketch import _native
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentValueError, LazySketchError, StoreError
from lazysketch.releases.any_release import any_release
from lazysketch.sketches.keys import Key
from lazysketch.store.calls import Call
from lazysketch.store.checkpoint_header import KeptObject, objects_of
from lazysketch.store.eras import BEGUN, ENDED, Eras
from lazysketch.store.partial_batches import ADDED, PartialBatches
from lazysketch.store.spent import plain_privacy
from lazysketch.store.stored_objects import digest_of
from lazysketch.windows.open_windows import Progress

__all__ = ["Origin", "RecoveredObjects", "made_record", "note_record", "other_parameters"]

_MADE: Final = "made"
_NOTED: Final = "noted"


@dataclass
class _Object(KeptObject):
    """What the checkpoint has of it, and the changes after it."""

    calls: list[Call] = field(default_factory=list)


@dataclass(frozen=True)
class Origin:
    """Where an object comes from: the keys of its tables, and its states in the checkpoint.

    Attributes:
        native: the store.
        name: its name.
        era: id of the era in which it is, or was.
        kept: what the store has of it; None for a new object.
    """

    native: _native.Store
    name: str
    era: int
    kept: _Object | None

    def __call__(self, number: int) -> tuple[Key, _native.SavedState | None]:
        """Return the key of a table, and its state in the checkpoint.

        Args:
            number: of the table in the object.
        """
        key = Key._of(self.native.key_of(self.era, self.name, number))
        place = None if self.kept is None else self.kept.states.get(number)
        return key, None if place is None else self.native.checkpoint_state(place)

    def restore_people(self, people: Mapping[int, _native.People]) -> None:
        """Let people who contributed before the checkpoint go on from there, not from nothing.

        Args:
            people: of the object, by the numbers of its tables; no one is known yet.

        Raises:
            StoreError: a checkpoint without what people contributed to a table, or with more.
        """
        kept = self.kept
        if kept is None or not kept.states:  # no table of it is older than the log
            return
        if kept.people.keys() != people.keys():
            raise StoreError(
                "state: expected the contributions of people to each table, got those of others"
            )
        for number, place in kept.people.items():
            people[number]._restore(self.native.checkpoint_state(place))

    def check(self, digest: str) -> None:
        """Raise unless the object is new, or was made with these parameters.

        Args:
            digest: of the parameters.

        Raises:
            ArgumentValueError: other parameters.
        """
        if self.kept is not None and self.kept.digest != digest:
            raise other_parameters(self.name)

    @property
    def progress(self) -> Progress | None:
        """How far windows had come at the checkpoint; None for windows from the log alone."""
        return None if self.kept is None else self.kept.progress

    @property
    def clock_said(self) -> float | None:
        """What the clock of windows said at the checkpoint, or when they were made."""
        return None if self.kept is None else self.kept.clock_said


class RecoveredObjects(Mapping[str, _Object]):
    """Objects by name, until they are opened."""

    def __init__(
        self,
        native: _native.Store,
        *,
        sources: dict[str, int],
        notes: dict[str, str],
        partials: PartialBatches,
        eras: Eras,
    ) -> None:
        """Read the checkpoint and the records after it; fill in all that has been counted."""
        self._eras = eras
        self._sources, self._notes, self._partials = sources, notes, partials
        self._native = native
        self._objects: dict[str, _Object] = {}
        self.bytes_logged = 0
        data = native.checkpoint_header()
        if data is not None:
            found, last, noted = objects_of(data, eras, partials)
            self._sources.update(last)
            self._notes.update(noted)
            for name, kept in found.items():
                self._objects[name] = _Object(**vars(kept))
        for record in native.records():
            self._add(Call.decoded(record))
            self.bytes_logged += len(record)

    def __getitem__(self, name: str) -> _Object:
        """Return an object that was not opened yet."""
        return self._objects[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._objects)

    def __len__(self) -> int:
        """Return their number."""
        return len(self._objects)

    def origin(self, name: str) -> Origin:
        """Return where an object comes from.

        Args:
            name: name of the object, new or not.
        """
        kept = self._objects.get(name)
        era = self._eras.id if kept is None else kept.era
        return Origin(self._native, name, era, kept)

    def is_of_an_earlier_era(self, name: str) -> bool:
        """Return whether an object was made in an earlier era, and not in this one.

        Args:
            name: its name.
        """
        return name in self._objects and self._objects[name].era != self._eras.id

    def repeat(self, name: str, stored: Any) -> None:
        """Make the changes after the checkpoint at an object that was restored.

        Args:
            name: its name; what is held of it is forgotten.
            stored: the object.

        Raises:
            ArgumentValueError: other parameters than those that it was made with.
            StoreError: a change that cannot be made.
        """
        found = self._objects[name]
        if found.digest != digest_of(stored):
            raise other_parameters(name)
        try:
            for call in found.calls:
                stored._carry_out(call)
                if call.method == ADDED and self._partials.is_last(call):
                    made = [release.to_bytes() for release in stored._publication()]
                    self._partials.published(call.source or "", made)
        except LazySketchError as error:
            raise StoreError(
                f"state: expected changes that can be repeated, got {type(error).__name__}"
            ) from None
        del self._objects[name]
        if not self._objects:
            self._native.forget_recovered()

    def _add(self, call: Call) -> None:
        if call.method == BEGUN:
            self._eras.begin(call.facts)
        elif call.method == ENDED:
            self._eras.end(call.object, [any_release(it) for it in call.contents])
            del self._objects[call.object]
        elif call.method == _MADE:
            made = _Object(call.digest, era=self._eras.id, clock_said=call.now)
            self._objects[call.object] = made
            self._eras.add(call.object, call.facts["privacy"])
        elif call.objects:
            for own in call.divided():
                self._objects[own.object].calls.append(own)
        elif call.method != _NOTED:
            self._objects[call.object].calls.append(call)
        self._sources.update(call.sources)
        if call.method == ADDED:
            self._partials.add(call)
        if call.source is None:
            return
        if call.note:
            self._notes[call.source] = call.note
        if call.method != _NOTED:
            self._sources[call.source] = call.sequence


def made_record(name: str, stored: Any) -> Call:
    """Return the record that says that an object was made.

    Args:
        name: its name.
        stored: the object.
    """
    return Call(
        object=name,
        method=_MADE,
        digest=digest_of(stored),
        now=stored._clock_said(),
        facts={"privacy": plain_privacy(stored)},
    )


def note_record(source: str, note: str) -> Call:
    """Return the record of a note without a batch.

    Args:
        source: what the note is of.
        note: the note.
    """
    return Call(object="", method=_NOTED, source=source, note=note)


def other_parameters(name: str) -> ArgumentValueError:
    """Return the error for an object that is opened with other parameters.

    Args:
        name: its name.
    """
    return ArgumentValueError(
        f"spec: expected the parameters that {shown(name)} was made with, got others"
    )
