"""The service: readers see nothing of events but released values, all the same, of durable ones.

Copies of one store under one clock count streams that differ in one event, or are empty and
saturated, and publish at different moments after a tick. Crashes are copies of what is on the disk.

Detects: an instant, a number, a size, a status, a header or an event of the feed that depends on
events; what is acknowledged or published before it is durable; publications that depend on the life
of the process; answers that depend on the reader, and earlier ones after later ones. Cannot detect:
how long an answer takes; what a disk loses that has confirmed a write.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.service_system import (
    DELAY,
    ITEMS,
    NAME,
    SLICE,
    START,
    Life,
    Reader,
    Seen,
    Services,
)
from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.release import Release

__all__ = [
    "Run",
    "publications_are_durable",
    "readers_get_equal_bytes",
    "readers_see_no_events",
]

Run = Callable[[Services], Outcome]
Events = tuple[tuple[str, ...], ...]  # by slice

_ROOT: Final = f"/v1/streams/{NAME}"
_FIRST: Final = int(START) // 60  # number of the first window
_SLICES: Final = 8
_LOOKED_AFTER: Final = (0, 5, 7)  # slices: one of each window, and the end of the first
_TABLES: Final = (f"{_ROOT}/windows/{_FIRST}", f"{_ROOT}/windows/{_FIRST + 1}", f"{_ROOT}/release")
_RELEASED: Final = (
    _ROOT, f"{_ROOT}/overview", f"{_ROOT}/publication", f"{_ROOT}/top?n=12",
    f"{_ROOT}/top?open=false&last=1", f"{_ROOT}/estimate?item=%2Fpage%201&item=none",
    f"{_ROOT}/course?item=%2Fpage%202", f"{_ROOT}/changes", "/metrics",
)  # fmt: skip
# Nothing here has a released value.
_FIXED: Final = (
    "/", "/v1/streams", "/v1/streams/none/top", "/healthz", f"{_ROOT}/none", f"{_ROOT}/top?n=0",
    f"{_ROOT}/windows/1",
)  # fmt: skip
_VALUES: Final = (
    "estimate", "low", "high", "share", "course", "releases", "changes", "total", "item",
)  # fmt: skip

_BASE: Final[Events] = tuple(
    tuple(ITEMS[(7 * number + place * place) % 11] for place in range(30 + number))
    for number in range(_SLICES)
)


def _changed(**slices: Sequence[str]) -> Events:
    return tuple(tuple(slices.get(f"slice_{number}", items)) for number, items in enumerate(_BASE))


# Name, events, and by how many seconds a publication is complete after its tick.
_STREAMS: Final[tuple[tuple[str, Events, float], ...]] = (
    ("the stream", _BASE, 0.1),
    ("one event less", _changed(slice_4=_BASE[4][1:]), 0.7),
    ("another item", _changed(slice_4=[ITEMS[11], *_BASE[4][1:]]), 1.2),
    ("an event moved", _changed(slice_1=_BASE[1][1:], slice_6=[*_BASE[6], _BASE[1][0]]), 1.9),
    ("an empty stream", ((),) * _SLICES, 0.1),
    ("a saturated stream", (ITEMS * 500,) * _SLICES, 1.9),
)
_NEIGHBOURS: Final = 3


def readers_see_no_events(system: Services) -> Outcome:
    """Check that what readers observe is equal for streams with other events.

    Args:
        system: the system under test.

    Returns:
        Failed if the instants, number, order or sizes of publications, a status, a header, the feed
        or an answer without its released values differ, or if an event changes the cells of others.
    """
    with TemporaryDirectory() as folder:
        live = system.lives(Path(folder))
        seen = [_observed(live(), events, late) for _, events, late in _STREAMS]

    def failures() -> Iterator[str]:
        for number, (name, _, _) in enumerate(_STREAMS[1:], 1):
            for what, one in seen[0].items():
                other = seen[number].get(what)
                if _public(what, one) != _public(what, other):
                    yield f"{what}: another for {name}"
            if number <= _NEIGHBOURS:
                cells = _differing(seen[0], seen[number])
                least = int(name != "another item")  # which may be in the same cells
                if not least <= cells <= 4:
                    yield f"{name}: {cells} cells of a window differ, at most 4 expected"

    claim = "readers observe nothing of events but released values"
    return exact_outcome(claim, failures(), cases=len(seen[0]) * (len(_STREAMS) - 1))


def _observed(life: Life, events: Events, late: float) -> dict[str, object]:
    """Return everything that readers see of a life, by what it is."""
    found: dict[str, object] = {}
    with closing(life), closing(life.reader()) as reader:
        for number, items in enumerate(events):
            life.feed(items)
            tick = START + SLICE * (number + 1)
            life.clock.now = tick + late
            found[f"slice {number}, published"] = life.publish()
            if number not in _LOOKED_AFTER:
                continue
            for moment, after in (("before", DELAY - 0.05), ("after", DELAY)):
                life.clock.now = tick + after
                reader.look()
                for path in (*_FIXED, *_RELEASED, *_TABLES):
                    found[f"slice {number}, {moment}, {path}"] = reader.get(path)
            found[f"slice {number}, feed"] = reader.events()
            life.clock.now = tick + late
    return found


def _public(what: str, seen: object) -> object:
    """Return what was seen without what is a function of released values."""
    if not isinstance(seen, Seen):
        return seen
    of_table, is_fixed = what.endswith(_TABLES), what.endswith(_FIXED)
    hidden = () if is_fixed else ("etag",) if of_table else ("etag", "content-length")
    headers = [one for one in seen.headers if one[0] not in hidden]
    if is_fixed or seen.status != 200:
        return seen.status, headers, seen.body
    if of_table:
        return seen.status, headers, len(seen.body)
    if what.endswith("/metrics"):
        return seen.status, headers, sorted(_without_value(seen.body))
    return seen.status, headers, _without_values(json.loads(seen.body.split(b"\n")[0]))


def _without_value(body: bytes) -> Iterator[bytes]:
    for line in body.splitlines():
        yield line.rpartition(b" ")[0]


def _without_values(content: object) -> object:
    if isinstance(content, dict):
        return {
            name: None if name in _VALUES else _without_values(value)
            for name, value in content.items()
        }
    return [_without_values(one) for one in content] if isinstance(content, list) else content


def _differing(one: dict[str, object], other: dict[str, object]) -> int:
    """Return the largest number of cells of a window in which two lives differ.

    What is no release counts as one that differs everywhere.
    """
    most = 0
    for what in one:
        first, second = one[what], other.get(what)
        if "/windows/" in what and isinstance(first, Seen) and isinstance(second, Seen):
            if (first.status, second.status) != (200, 200) or first.body == second.body:
                continue
            try:
                tables = [Release.from_bytes(seen.body).table for seen in (first, second)]
            except ReleaseFormatError:
                return len(first.body)
            most = max(most, int(np.sum(tables[0] != tables[1])))
    return most


def publications_are_durable(system: Services) -> Outcome:
    """Check that what senders and readers were told survives a crash at the same moment.

    Args:
        system: the system under test.

    Returns:
        Failed if the next life publishes something else for a tick that was published, after a
        crash or a restart, or has not counted a batch that was acknowledged.
    """

    def failures(folder: Path) -> Iterator[str]:
        life = system.lives(folder)()
        for number, items in enumerate(_BASE):
            life.feed(items)
            life.clock.now += SLICE
            life.publish()
            life.image(folder / f"image {number}")
            with closing(system.open(folder / f"image {number}", life.clock)) as crashed:
                if crashed.manifest() != life.published():
                    yield f"slice {number}: another publication after a crash"
        told = folder / "told"
        if (status := life.send(ITEMS * 20, lambda: life.image(told))) != 200:
            yield f"a batch was answered with {status} instead of an acknowledgement"
        else:
            with closing(system.open(told, life.clock)) as crashed:
                life.clock.now += SLICE
                if crashed.manifest() != life.manifest():
                    yield "a batch that was acknowledged is not counted after a crash"
        life.publish()
        before = life.published()
        life.close()
        with closing(system.open(life.folder, life.clock)) as again:
            if again.manifest() != before:
                yield "another publication after a restart"

    with TemporaryDirectory() as folder:
        wrong = list(failures(Path(folder)))
    claim = "what was acknowledged and published was durable, and determines publications"
    return exact_outcome(claim, iter(wrong), cases=_SLICES + 2)


_READERS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"user-agent": "one", "cookie": "a=1"},
    {"accept-language": "de"},
)


def readers_get_equal_bytes(system: Services) -> Outcome:
    """Check that all readers get the same bytes, and none an earlier publication after a later one.

    Args:
        system: the system under test.

    Returns:
        Failed if an answer depends on the reader, on the process or on what was asked before, or if
        the number of a publication falls where the clock is set back or old files are put back.
    """
    paths = (*_RELEASED, *_TABLES)

    def failures(folder: Path) -> Iterator[str]:
        life = system.lives(folder)()
        readers = [life.reader()]
        numbers = []
        public, kept = life.folder / "public" / "streams", folder / "kept"
        for number, items in enumerate(_BASE):
            life.feed(items)
            life.clock.now = START + SLICE * (number + 1)
            life.publish()
            life.clock.now += DELAY
            if number == 3:
                shutil.copytree(public, kept)
                readers.append(life.reader())
            numbers.append(_number(readers[0]))
        for path in paths:
            asked = [(reader, headers) for reader in readers for headers in _READERS]
            readers[-1].look()
            found = [reader.get(path, headers) for reader, headers in asked]
            if len(set(found)) > 1:
                yield f"{path}: {len(set(found))} answers for {len(found)} readers"
        shutil.copytree(kept, public, dirs_exist_ok=True)
        numbers.append(_number(readers[0]))
        life.clock.now -= 2.5 * SLICE
        life.publish()
        numbers.append(_number(readers[0]))
        for reader in readers:
            reader.close()
        life.close()
        if numbers != sorted(numbers):
            yield "a reader was shown an earlier publication after a later one"

    with TemporaryDirectory() as folder:
        wrong = list(failures(Path(folder)))
    claim = "every reader gets the same bytes, and time never goes back"
    return exact_outcome(claim, iter(wrong), cases=len(paths) + _SLICES + 2)


def _number(reader: Reader) -> int:
    """Return the number of the publication that a reader is shown."""
    reader.look()
    return int(dict(reader.get(_ROOT).headers)["lazysketch-publication"])
