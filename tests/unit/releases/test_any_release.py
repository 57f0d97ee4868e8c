"""Releases of any kind: each kind has its class, its words, its rows and its way to add up."""

from __future__ import annotations

import typing

import pytest

import lazysketch as ls
from lazysketch.errors import MergeError, ReleaseFormatError
from lazysketch.releases.any_release import AnyRelease, any_release, merged
from lazysketch.releases.kinds import KINDS
from lazysketch.releases.release_of_kind import ReleaseOfKind

OPTIONS: typing.Any = {"epsilon": 1.0, "delta": 1e-6}


def _counts(kind: str) -> typing.Any:
    if kind == "count-min":
        return ls.LazyCountMin(depth=2, width=16, hash_seed=1, **OPTIONS)
    if kind == "count-sketch":
        return ls.LazyCountSketch(depth=2, width=16, hash_seed=1, **OPTIONS)
    if kind == "counters":
        return ls.ContinualCounters(counters=8, **OPTIONS)
    if kind == "distinct":
        return ls.DistinctCount(hash_seed=1, **OPTIONS)
    if kind == "ranges":
        return ls.Ranges(bits=8, width=16, horizon=64, hash_seed=1, **OPTIONS)
    if kind == "sums":
        return ls.Sums(low=0, high=8, hash_seed=1, horizon=64, **OPTIONS)
    assert kind == "values", f"{kind}: expected a case for each kind, got none"
    return ls.Distribution(bins=ls.Bins.linear(0, 8, number=8), horizon=64, **OPTIONS)


def _release(kind: str) -> AnyRelease:
    with _counts(kind) as counts:
        items = [number % 8 for number in range(32)]
        counts.update_many(*([items] * (2 if kind == "sums" else 1)))
        return counts.release()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind_is_read_with_its_class_and_its_words(kind: str) -> None:
    release = _release(kind)
    assert release.kind == kind
    assert type(release).__name__ == KINDS[kind].release
    assert getattr(ls, KINDS[kind].release) is type(release)
    read = any_release(release.to_bytes())
    assert type(read) is type(release)
    assert read._words is KINDS[kind]
    assert read._shape == release._shape


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_the_ends_that_the_words_of_the_kind_name(kind: str) -> None:
    release = _release(kind)
    asked = (1,) if KINDS[kind].release in ("Release", "SumsRelease") else ()
    rows = release._rows(asked, confidence=0.95)  # type: ignore[arg-type]  # of items any item
    assert rows
    low, high = KINDS[kind].ends
    for row in rows:
        assert row[low] <= row[high]  # type: ignore[operator]


@pytest.mark.parametrize("kind", KINDS)
def test_releases_of_a_kind_add_up_unless_its_words_say_why_not(kind: str) -> None:
    parts = [_release(kind), _release(kind)]
    if KINDS[kind].not_added:
        with pytest.raises(MergeError, match=KINDS[kind].not_added):
            merged(parts)
        with pytest.raises(MergeError, match="expected one release of"):
            parts[0]._merged(parts[1:])
    else:
        assert merged(parts).step == 64
        assert type(merged(parts)) is type(parts[0])


def test_releases_of_several_kinds_are_not_added() -> None:
    with pytest.raises(MergeError, match="one kind, got counts of items and of values"):
        merged([_release("count-min"), _release("values")])


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_refuses_the_bytes_of_other_kinds(kind: str) -> None:
    data = _release(kind).to_bytes()
    for other in (ls.Release, ls.DistinctRelease, ls.DistributionRelease, ls.SumsRelease):
        assert issubclass(other, ReleaseOfKind)
        if other.__name__ != KINDS[kind].release:
            with pytest.raises(ReleaseFormatError, match="release: expected one of"):
                other.from_bytes(data)
