"""Damaged releases, and queries of releases with hostile arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from random import Random
from typing import Any, Final

from tests.fuzzing.mutations import DAMAGE
from tests.fuzzing.operations import Box, Call, Operation, called, duplications, reads
from tests.fuzzing.scalars import Disturbance, hostile
from tests.fuzzing.verdicts import CANARY, Finding, Kind, attempt, fault_of
from tests.locations import ROOT
from tests.unit.releases.plain_blake3 import blake3

import lazysketch as ls
from lazysketch.errors import MergeError, ReleaseFormatError
from lazysketch.testing import seeded_key

__all__ = ["CHECKSUM", "damages", "golden", "outcome", "queries", "resealed"]

CHECKSUM: Final = 32
QUERIES: Final = 40  # of one session


@cache
def golden() -> list[bytes]:
    """Return the bytes of one release of every kind."""
    folder = ROOT / "tests/golden/releases"
    return [path.read_bytes() for path in sorted(folder.glob("*.lzs"))]


def resealed(data: bytes) -> bytes:
    """Return the data with a correct checksum, as an attacker would; of long ones only some."""
    body = data[:-CHECKSUM]
    return body + blake3(body) if len(body) <= 1 << 15 else data


def outcome(load: Callable[[bytes], ls.Release], data: bytes) -> str:
    """Return the result of loading; undocumented errors propagate."""
    try:
        release = load(data)
    except ReleaseFormatError:
        return "refused"
    assert release.to_bytes() == data, "two encodings of one release"
    assert release.table.shape == (release.depth, release.width)
    assert len(repr(release)) < 10_000
    if release.kind != "counters":
        assert isinstance(release.estimate("item"), float)
    try:
        release.merge(release)
    except MergeError:
        pass
    else:
        assert not release.private, "one sketch counted twice"
    return "loaded"


def damages(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Damage one release, and load it with its old and with a right checksum."""
    chance = Random(name)
    data = chance.choice(golden())
    body, edits = bytearray(data[:-CHECKSUM]), chance.choice([1, 1, 2, 3, 6])
    for number in range(edits):
        if body and (kept is None or number in kept):
            own = Random(f"{name}.{number}")
            own.choice(DAMAGE)(body, own)
    beat(edits)
    changed = bytes(body[: 1 << 16]) + data[-CHECKSUM:]
    for tried in (changed, resealed(changed)):
        _, error = attempt(lambda tried=tried: outcome(ls.Release.from_bytes, tried))  # type: ignore[misc]
        if error is not None:
            kind, text = fault_of(error) or ("wrong class", repr(error))
            finding = Finding("bytes of releases", name, edits, kind, f"{text}: {tried.hex()}")
            return 2, [finding]
    return 2, []


@cache
def _readable() -> list[ls.Release]:
    made = [ls.Release.from_bytes(data) for data in golden()]
    heavy = ls.HeavyHitters(
        domain=[f"{CANARY} {n}" for n in range(4)],
        epsilon=1.0,
        delta=1e-6,
        width=16,
        depth=2,
        key=seeded_key(1),
    )
    heavy.update_many([f"{CANARY} {n % 4}" for n in range(200)])
    return [*made, heavy.release()]


def _others(box: Box, chance: Random, disturbance: Disturbance) -> Call:
    """Return a call with another release, of the same or another shape."""
    pool: list[Any] = [*_readable(), hostile(chance, disturbance), box.live]
    given = [chance.choice(pool) for _ in range(chance.randrange(4))]
    if chance.random() < 0.5:
        return Call(lambda: box.live.merge(*given))
    return Call(lambda: box.live.inner_product(*given[:1] or [box.live]))


def _saved(box: Box, chance: Random, disturbance: Disturbance) -> Call:
    path = chance.choice(["", "\0", "/no/such/folder/r.lzs", "/dev/full", "/dev", "x" * 5000])
    given = path if chance.random() < 0.5 else hostile(chance, disturbance)
    if isinstance(given, (str, bytes)):  # methods of a subclass may raise
        plain = str.__str__(given) if isinstance(given, str) else bytes.decode(given, "latin-1")
        if plain not in ("", "\0") and "/" not in plain:
            given = "/no/such/folder/r.lzs"  # nothing is written into the working folder
    does = chance.choice([ls.Release.load, box.live.save])
    return Call(lambda: does(given))


def _index(box: Box, chance: Random, disturbance: Disturbance) -> Call:
    item = hostile(chance, disturbance)
    return Call(lambda: box.live[item])


_QUERIES: Final = (
    called("estimate", "item", optional=("estimator", "at")),
    *[called("estimate_many", "items", optional=("column", "estimator", "at"))] * 3,
    called("interval", "item", optional=("confidence", "at")),
    *[
        called(
            "interval_many",
            "items",
            optional=("confidence", "at", "simultaneous", "among", "known", "column"),
        )
    ]
    * 3,
    called("decode", "items", optional=("column",)),
    *[called("top", optional=("items", "n", "confidence", "at"))] * 3,
    called("second_moment", optional=("confidence",)),
    *(Operation("merge", _others), Operation("files", _saved), Operation("index", _index)),
    reads("table", "parts", "privacy", "pushes", "sketch_id", "noise_deviation", "names"),
    *(called("to_bytes"), called("_repr_html_"), duplications),
)


def queries(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Query a release; it must stay as it was, whatever it is asked."""
    box = Box(Random(name).choice(_readable()))
    before = box.live.to_bytes()
    made = range(QUERIES) if kept is None else sorted(kept)
    for at, number in enumerate(made):
        beat(number)
        chance = Random(f"{name}.{number}")
        operation = chance.choice(_QUERIES)
        call = operation.prepare(box, chance, box.live.to_bytes)
        _, error = attempt(call.make)
        allowed = (OSError,) if operation.name == "files" else ()
        fault = None if error is None else fault_of(error, allowed=allowed)
        if fault is None and box.live.to_bytes() != before:
            fault = _changed()
        if fault is not None:
            text = f"{operation.name}: {fault[1]}"
            return at + 1, [Finding("queries of releases", name, number, fault[0], text)]
    return len(made), []


def _changed() -> tuple[Kind, str]:
    return "half applied", "a query changed the release"
