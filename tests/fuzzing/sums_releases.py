"""Damaged releases of sums, and queries of sums with hostile arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from functools import cache
from random import Random
from typing import Final

from tests.fuzzing.mutations import DAMAGE
from tests.fuzzing.operations import MAKERS, Box, called, duplications, reads
from tests.fuzzing.verdicts import CANARY, Finding, attempt, fault_of

import lazysketch as ls
from lazysketch.errors import ReleaseFormatError
from lazysketch.testing import seeded_key

__all__ = ["damages", "queries"]

_DIGEST: Final = 16
_CALLS: Final = 40  # of one session
_ANSWERS: Final = ("sum", "count", "mean")
_QUERIES: Final = (
    *(called(answer, "item", optional=("confidence",)) for answer in _ANSWERS),
    *(
        called(f"{answer}s", "items", optional=("confidence", "simultaneous"))
        for answer in _ANSWERS
    ),
    called("top", "among", optional=("n", "confidence"), among=MAKERS["items"]),
    reads("parts", "privacy", "promises", "noise_deviation", "tables", "grid", "step", "private"),
    *(called("to_bytes"), duplications),
)


@cache
def _released() -> tuple[ls.SumsRelease, ...]:
    """Return releases of sums: small ones, with and without a grid of the caller."""
    found = []
    for low, high, step in ((0.0, 9.0, 1.0), (-5.0, 5.0, None), (1e5, 2e5, None)):
        live = ls.Sums(
            low=low,
            high=high,
            step=step,
            depth=2,
            width=16,
            epsilon=1.0,
            delta=1e-6,
            horizon=300,
            hash_seed=5,
            key=seeded_key(1),
        )
        live.update_many([f"{CANARY} {number % 4}" for number in range(200)], [high] * 200)
        found.append(live.release())
    return tuple(found)


def _loaded(data: bytes) -> str:
    """Return the result of loading; undocumented errors propagate."""
    try:
        release = ls.SumsRelease.from_bytes(data)
    except ReleaseFormatError:
        return "refused"
    assert release.to_bytes() == data, "two encodings of one release"
    assert len(repr(release)) < 10_000
    for answer in (release.sum, release.count, release.mean):
        found = answer("item")
        assert found.low <= found.high
    return "loaded"


def damages(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Damage one release of sums, and load it with its old and with a right checksum."""
    chance = Random(name)
    data = chance.choice(_released()).to_bytes()
    body, edits = bytearray(data[:-_DIGEST]), chance.choice([1, 1, 2, 3, 6])
    for number in range(edits):
        if body and (kept is None or number in kept):
            own = Random(f"{name}.{number}")
            own.choice(DAMAGE)(body, own)
    beat(edits)
    content = bytes(body[: 1 << 16])
    right = hashlib.blake2b(content, digest_size=_DIGEST).digest()
    for tried in (content + data[-_DIGEST:], content + right):
        _, error = attempt(lambda tried=tried: _loaded(tried))  # type: ignore[misc]
        if error is not None:
            kind, text = fault_of(error) or ("wrong class", repr(error))
            finding = Finding("bytes of sums", name, edits, kind, f"{text}: {tried.hex()}")
            return 2, [finding]
    return 2, []


def queries(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Query a release of sums; it must stay as it was, whatever it is asked."""
    box = Box(Random(name).choice(_released()))
    before = box.live.to_bytes()
    made = range(_CALLS) if kept is None else sorted(kept)
    for at, number in enumerate(made):
        beat(number)
        chance = Random(f"{name}.{number}")
        operation = chance.choice(_QUERIES)
        call = operation.prepare(box, chance, box.live.to_bytes)
        _, error = attempt(call.make)
        fault = None if error is None else fault_of(error)
        if fault is None and box.live.to_bytes() != before:
            fault = "half applied", "a query changed the release"
        if fault is not None:
            text = f"{operation.name}: {fault[1]}"
            return at + 1, [Finding("queries of sums", name, number, fault[0], text)]
    return len(made), []
