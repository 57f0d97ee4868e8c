"""What a store holds of objects that were not opened yet, and the header of its checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lazysketch import _native
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentValueError, LazySketchError, StoreError
from lazysketch.heavy_hitters.hierarchical import Origins
from lazysketch.sketches.keys import Key
from lazysketch.store.calls import Call
from lazysketch.store.stored_objects import tables_of

__all__ = [
    "RecoveredObjects",
    "digest_of",
    "header_of",
    "made_record",
    "note_record",
    "other_parameters",
]

_MADE: Final = "made"
_NOTED: Final = "noted"
_VERSION: Final = 1
_ERA: Final = 0  # of the ids; another one begins where an older state may have been put back


@dataclass
class _Object:
    """The digest of its parameters, its states in the checkpoint, and the changes after it."""

    digest: str
    states: range = range(0)
    calls: list[Call] = field(default_factory=list)


class RecoveredObjects(Mapping[str, _Object]):
    """Objects by name, until they are opened."""

    def __init__(
        self, native: _native.Store, *, sources: dict[str, int], notes: dict[str, str]
    ) -> None:
        """Read the checkpoint and the records after it; fill in the last sequences and notes."""
        self._sources, self._notes = sources, notes
        self._native = native
        self._objects: dict[str, _Object] = {}
        self.bytes_logged = 0
        data = native.checkpoint_header()
        if data is not None:
            self._read_header(json.loads(data))
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

    def origins(self, name: str) -> Origins:
        """Return the key of each table of an object, and its state in the checkpoint.

        Args:
            name: name of the object, new or not.
        """
        states = self._objects[name].states if name in self._objects else range(0)

        def origin(number: int) -> tuple[Key, _native.SavedState | None]:
            key = Key._of(self._native.key_of(_ERA, name, number))
            found = number < len(states)
            return key, self._native.checkpoint_state(states[number]) if found else None

        return origin

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
        if found.digest != digest_of(tables_of(stored)):
            raise other_parameters(name)
        try:
            for call in found.calls:
                stored._carry_out(call)
        except LazySketchError as error:
            raise StoreError(
                f"state: expected changes that can be repeated, got {type(error).__name__}"
            ) from None
        del self._objects[name]
        if not self._objects:
            self._native.forget_recovered()

    def _read_header(self, header: dict[str, Any]) -> None:
        if header.get("version") != _VERSION:
            raise StoreError(
                f"state: expected checkpoint version {_VERSION}, got {header.get('version')}"
            )
        self._sources.update(header["sources"])
        self._notes.update(header.get("notes", {}))
        for name, found in header["objects"].items():
            states = range(found["first"], found["last"])
            self._objects[name] = _Object(found["digest"], states)

    def _add(self, call: Call) -> None:
        if call.method == _MADE:
            self._objects[call.object] = _Object(call.digest)
        elif call.method != _NOTED:
            self._objects[call.object].calls.append(call)
        if call.source is None:
            return
        if call.note:
            self._notes[call.source] = call.note
        if call.method != _NOTED:
            self._sources[call.source] = call.sequence


def made_record(name: str, stored: object) -> Call:
    """Return the record that says that an object was made.

    Args:
        name: its name.
        stored: the object.
    """
    return Call(object=name, method=_MADE, digest=digest_of(tables_of(stored)))


def note_record(source: str, note: str) -> Call:
    """Return the record of a note without a batch.

    Args:
        source: what the note is of.
        note: the note.
    """
    return Call(object="", method=_NOTED, source=source, note=note)


def header_of(
    objects: Mapping[str, object], sources: Mapping[str, int], notes: Mapping[str, str]
) -> tuple[bytes, list[_native.PrivateSketch]]:
    """Return the header of a checkpoint, and the tables whose states follow it.

    Args:
        objects: all objects of the store.
        sources: the last sequence of each source.
        notes: the last note of each source.
    """
    tables: list[_native.PrivateSketch] = []
    described: dict[str, Any] = {}
    for name, stored in objects.items():
        own = tables_of(stored)
        first, last = len(tables), len(tables) + len(own)
        described[name] = {"digest": digest_of(own), "first": first, "last": last}
        tables += own
    header = {
        "version": _VERSION,
        "objects": described,
        "sources": dict(sources),
        "notes": dict(notes),
    }
    return json.dumps(header, separators=(",", ":")).encode(), tables


def digest_of(tables: Sequence[_native.PrivateSketch]) -> str:
    """Return a digest of the parameters of some tables.

    Args:
        tables: the tables of one object.
    """
    return "".join(table._parameters_digest.hex() for table in tables)


def other_parameters(name: str) -> ArgumentValueError:
    """Return the error for an object that is opened with other parameters.

    Args:
        name: its name.
    """
    return ArgumentValueError(
        f"spec: expected the parameters that {shown(name)} was made with, got others"
    )
