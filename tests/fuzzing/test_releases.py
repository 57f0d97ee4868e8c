"""A damaged release is refused or is a valid release; nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fuzzing.mutations import damaged, rounds
from tests.unit.releases.test_release_bytes import blake3

import lazysketch as ls
from lazysketch.errors import MergeError, ReleaseFormatError

GOLDEN = [
    path.read_bytes()
    for path in sorted((Path(__file__).parents[1] / "golden" / "releases").glob("*.lzs"))
]
CHECKSUM = 32


def resealed(data: bytes) -> bytes:
    """Return the data with a correct checksum, as an attacker would; for one chunk of BLAKE3."""
    body = data[:-CHECKSUM]
    return body + blake3(body) if len(body) <= 1024 else data


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


def test_damaged_releases() -> None:
    seen = {"refused": 0, "loaded": 0}
    for chance, name in rounds():
        data = chance.choice(GOLDEN)
        changed = damaged(data[:-CHECKSUM], chance) + data[-CHECKSUM:]
        for tried in (changed, resealed(changed)):
            try:
                seen[outcome(ls.Release.from_bytes, tried)] += 1
            except BaseException as error:
                pytest.fail(f"{name}: {error!r}")
    # Flipped table entries under a correct checksum are releases of another table.
    assert min(seen.values()) > 0, seen


def test_a_planted_loader_is_detected() -> None:
    """A loader that reads too far in short inputs; the rounds of CI suffice to detect it."""

    def careless(data: bytes) -> ls.Release:
        if len(data) < 100:
            raise IndexError("read past the end")
        return ls.Release.from_bytes(data)

    def fuzz() -> None:
        for chance, _ in rounds():
            outcome(careless, resealed(damaged(chance.choice(GOLDEN), chance)))

    with pytest.raises(IndexError):
        fuzz()
