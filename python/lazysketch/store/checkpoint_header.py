"""The header of a checkpoint: which states follow it, and what is kept in addition.

After its length the header has a description in JSON, then the releases of the ended windows of all
objects, in order. They are public; the states that follow the header are exact, and never seen
here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lazysketch import _native
from lazysketch.errors import StoreError
from lazysketch.store.eras import Eras
from lazysketch.store.partial_batches import PartialBatches
from lazysketch.store.saved_windows import progress_of, saved_progress
from lazysketch.store.stored_objects import digest_of, tables_of
from lazysketch.windows.open_windows import Progress

__all__ = ["KeptObject", "header_of", "objects_of"]

_VERSION: Final = 1
_LENGTH: Final = struct.Struct("<I")


@dataclass
class KeptObject:
    """What a checkpoint has of an object.

    Attributes:
        digest: of its parameters.
        era: id of the era in which it was made.
        states: place of the state of each table in the checkpoint, by the number of the table.
        people: place of what people have contributed to it, likewise; none without a bound.
        progress: of windows; None for other objects.
        clock_said: of windows of a clock, what it said last.
    """

    digest: str
    era: int
    states: dict[int, int] = field(default_factory=dict)
    people: dict[int, int] = field(default_factory=dict)
    progress: Progress | None = None
    clock_said: float | None = None


def header_of(
    objects: Mapping[str, Any],
    sources: Mapping[str, int],
    notes: Mapping[str, str],
    partials: PartialBatches,
    eras: Eras,
) -> tuple[bytes, list[_native.PrivateSketch | _native.People]]:
    """Return the header of a checkpoint, and the tables and people whose states follow it.

    Args:
        objects: all objects of the store.
        sources: the last sequence of each source.
        notes: the last note of each source.
        partials: batches of partial counts.
        eras: those of the store.
    """
    states: list[_native.PrivateSketch | _native.People] = []
    described: dict[str, Any] = {}
    contents: list[bytes] = []
    for name, stored in objects.items():
        own, people = tables_of(stored), stored._people()
        described[name] = {
            "digest": digest_of(stored),
            "era": eras.id,
            "first": len(states),
            "tables": [*own],
        }
        if people:
            described[name]["people"] = [*people]
        states += [*own.values(), *people.values()]
        progress = stored._progress()
        if progress is not None:
            described[name]["windows"], releases = saved_progress(progress)
            described[name]["now"] = stored._clock_said()
            contents += releases
    of_eras, releases = eras.described()
    contents += releases
    of_partials, publications = partials.described()
    header = {
        "version": _VERSION,
        "objects": described,
        "sources": dict(sources),
        "notes": dict(notes),
        "eras": of_eras,
    }
    if partials.last:
        header["partials"] = of_partials
        contents += publications
    head = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *contents]), states


def objects_of(
    data: bytes, eras: Eras, partials: PartialBatches
) -> tuple[dict[str, KeptObject], dict[str, int], dict[str, str]]:
    """Return what a header says: the objects, and the last sequence and note of each source.

    Args:
        data: the first result of :func:`header_of`.
        eras: those of the store, which go on from there.
        partials: batches of partial counts, likewise.

    Raises:
        StoreError: another version, or other bytes.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        header = json.loads(data[_LENGTH.size : start])
        version = header["version"]
        if version != _VERSION:
            raise StoreError(f"state: expected checkpoint version {_VERSION}, got {version!r}")
        contents = _contents(data, start, header)
        found = {name: _object(kept, contents) for name, kept in header["objects"].items()}
        eras.restore(header["eras"], contents)
        if "partials" in header:
            partials.restore(header["partials"], contents)
        next(contents, None)  # which checks that nothing is left
        return found, header["sources"], header["notes"]
    except (KeyError, TypeError, ValueError, StopIteration, struct.error) as error:
        raise StoreError(
            f"state: expected a checkpoint of this version, got another ({type(error).__name__})"
        ) from None


def _object(found: dict[str, Any], contents: Iterator[bytes]) -> KeptObject:
    first, tables = found["first"], found["tables"]
    states = {number: first + at for at, number in enumerate(tables)}
    people = {number: first + len(tables) + at for at, number in enumerate(found.get("people", ()))}
    windows = found.get("windows")
    progress = None if windows is None else progress_of(windows, contents)
    return KeptObject(found["digest"], found["era"], states, people, progress, found.get("now"))


def _contents(data: bytes, start: int, header: dict[str, Any]) -> Iterator[bytes]:
    objects = header["objects"].values()
    ended = [window for found in objects for window in found.get("windows", {}).get("ended", ())]
    earlier = header["eras"]["earlier"].values()
    sizes = [size for one in ended for size in (*one.get("coarser", ()), one["bytes"])]
    sizes += [size for kept in earlier for size in kept]
    for kept in header.get("partials", {}).get("publications", {}).values():
        sizes += kept if isinstance(kept, list) else [kept]
    for size in sizes:
        yield data[start : start + size]
        start += size
    if start != len(data):
        raise ValueError("sizes")
