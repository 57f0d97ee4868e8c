"""Keys, and the NOT PRIVATE mark of everything made with lazysketch.testing."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LiveStateError
from lazysketch.sketches.keys import key_or_fresh
from lazysketch.testing import draws, fixed_id, seeded_key

SECRET = bytes(range(90, 122))
NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 64}
SIZE: dict[str, Any] = {"depth": 2, "width": 8}
PRIVATE: dict[str, Callable[..., Any]] = {
    "LazyCountMin": lambda **more: ls.LazyCountMin(**SIZE, **NOISE, **more),
    "LazyCountSketch": lambda **more: ls.LazyCountSketch(**SIZE, **NOISE, **more),
    "PunctualCountMin": lambda **more: ls.PunctualCountMin(**SIZE, **NOISE, **more),
    "PunctualCountSketch": lambda **more: ls.PunctualCountSketch(**SIZE, **NOISE, **more),
    "ContinualCounters": lambda **more: ls.ContinualCounters(counters=8, **NOISE, **more),
}
private = pytest.mark.parametrize("make", PRIVATE.values(), ids=PRIVATE)


def test_a_key_survives_as_its_bytes() -> None:
    key = ls.Key.from_bytes(SECRET)
    assert type(key) is ls.Key
    assert key.to_bytes() == SECRET
    fresh = ls.Key.generate()
    assert ls.Key.from_bytes(fresh.to_bytes()).to_bytes() == fresh.to_bytes()
    assert len(fresh.to_bytes()) == 32


def test_generated_keys_differ() -> None:
    assert len({ls.Key.generate().to_bytes() for _ in range(100)}) == 100


def test_no_key_is_made_without_a_source() -> None:
    with pytest.raises(TypeError):
        ls.Key()
    for nothing in (None, b"", bytearray(32), "x" * 32):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match="^secret: "):
            ls.Key.from_bytes(nothing)


@pytest.mark.parametrize(
    "key",
    [ls.Key.from_bytes(SECRET), seeded_key(77), fixed_id(ls.Key.from_bytes(SECRET), SECRET[:16])],
    ids=["secret", "seeded", "fixed id"],
)
def test_nothing_shows_the_secret(key: ls.Key) -> None:
    text = f"{key} {key!r} {key!s} {vars(key) if hasattr(key, '__dict__') else ''}"
    for form in (SECRET.hex(), SECRET.decode("latin-1"), str(list(SECRET))[1:-1], "77"):
        assert form not in text
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as raised:
        ls.Key.from_bytes(SECRET + b"!")
    assert SECRET.decode("latin-1") not in str(raised.value)


@pytest.mark.parametrize("key", [ls.Key.from_bytes(SECRET), seeded_key(7)])
def test_a_copy_of_a_key_is_never_another_key(key: ls.Key) -> None:
    """Copying may raise, but must not return a different, fresh key."""

    def pickled(protocol: int) -> Callable[[ls.Key], Any]:
        return lambda key: pickle.loads(pickle.dumps(key, protocol))

    ways: list[Callable[[ls.Key], Any]] = [copy.copy, copy.deepcopy]
    ways += [pickled(protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for way in ways:
        try:
            second = way(key)
        except TypeError:
            continue
        assert second.to_bytes() == key.to_bytes()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled(protocol: int) -> None:
    """A pickle is written to files and sent to other processes."""
    with pytest.raises(LiveStateError, match="^key: expected to stay in this process"):
        pickle.dumps({"key": ls.Key.from_bytes(SECRET)}, protocol)


@pytest.mark.parametrize(
    "key",
    [
        seeded_key(0),
        seeded_key(2**64 - 1),
        seeded_key(1, sketch_id=None),
        seeded_key(1, sketch_id=b"i" * 16),
        fixed_id(ls.Key.from_bytes(SECRET), b"i" * 16),
    ],
)
def test_test_keys_have_no_bytes_to_keep(key: ls.Key) -> None:
    with pytest.raises(ArgumentValueError, match="^key: .*test key"):
        key.to_bytes()
    with pytest.raises(ArgumentValueError, match="^key: "):
        fixed_id(key, bytes(16))


def marks(sketch: Any) -> tuple[str, ...]:
    """The reasons, after checking that sketch, privacy, release and reprs agree on them."""
    release = sketch.release()
    loaded = ls.Release.from_bytes(release.to_bytes())
    reasons: tuple[str, ...] = sketch.not_private_because
    for one in (sketch, release, loaded, sketch.privacy, loaded.privacy):
        assert one.not_private_because == reasons
        assert one.private is not bool(reasons)
    for one in (sketch, release, loaded):
        assert ("NOT PRIVATE" in repr(one)) is bool(reasons)
        assert all(reason in repr(one) for reason in reasons)
    assert ("NOT PRIVATE" in str(sketch.privacy)) is bool(reasons)
    sketch.close()
    assert ("NOT PRIVATE" in repr(sketch)) is bool(reasons)
    return reasons


@private
def test_marks_of_keys(make: Any) -> None:
    key = ls.Key.from_bytes(SECRET)
    assert marks(make()) == marks(make(key=key)) == ()
    seed, chosen = "noise from a public seed", "sketch id chosen by the caller"
    assert marks(make(key=seeded_key(1, sketch_id=None))) == (seed,)
    assert marks(make(key=fixed_id(key, b"i" * 16))) == (chosen,)
    assert marks(make(key=seeded_key(1))) == (seed, chosen)


@private
def test_ids_are_fresh_unless_fixed(make: Any) -> None:
    key = ls.Key.from_bytes(SECRET)
    for source in (None, key, seeded_key(1, sketch_id=None)):
        assert len({make(key=source).sketch_id for _ in range(50)}) == 50
    assert make(key=seeded_key(1)).sketch_id == bytes(16)
    assert make(key=seeded_key(1, sketch_id=b"i" * 16)).sketch_id == b"i" * 16
    fixed = make(key=fixed_id(key, b"j" * 16))
    assert fixed.sketch_id == fixed.release().sketch_id == b"j" * 16


def fed(sketch: Any) -> bytes:
    sketch.update_many(range(8))
    sketch.tick(9)
    data: bytes = sketch.release().to_bytes()
    return data


@private
def test_equal_seeds_and_ids_give_equal_releases(make: Any) -> None:
    key = ls.Key.from_bytes(SECRET)
    makers: list[Callable[[], ls.Key]] = [
        lambda: seeded_key(5),
        lambda: seeded_key(np.uint8(5)),
        lambda: fixed_id(key, b"i" * 16),
        lambda: fixed_id(ls.Key.from_bytes(SECRET), b"i" * 16),
    ]
    first, second, third, fourth = (fed(make(key=source())) for source in makers)
    assert first == second
    assert third == fourth
    assert first != third
    distinct = [
        seeded_key(5),
        seeded_key(6),
        seeded_key(5, sketch_id=b"i" * 16),
        seeded_key(5, sketch_id=None),
        seeded_key(5, sketch_id=None),
        fixed_id(key, b"i" * 16),
        fixed_id(key, b"j" * 16),
        key,
        key,
    ]
    tables = {ls.Release.from_bytes(fed(make(key=source))).table.tobytes() for source in distinct}
    assert len(tables) == len(distinct)


@private
def test_draws_are_those_of_the_release(make: Any) -> None:
    """Binary: the noise of push 1 is the draw of node 1, of push 2 that of node 2."""
    sketch = make(mechanism="binary", key=seeded_key(3))
    sketch.tick(8)
    push = int(sketch.release().pushes[0])
    cells = list(range(sketch.depth * sketch.width))
    assert push in (1, 8)
    noise = draws(sketch, cells, [push])
    assert noise.dtype == np.int64
    np.testing.assert_array_equal(sketch.release().table.ravel(), noise[:, 0])
    again = draws(sketch, np.array(cells[::-1]), np.array([2, push], dtype=np.uint32))
    assert again.shape == (len(cells), 2)
    np.testing.assert_array_equal(again[::-1, 1], noise[:, 0])
    assert draws(sketch, [], [1]).shape == (0, 1)
    assert draws(sketch, [0, 1, 2], []).shape == (3, 0)


@private
def test_draws_differ_by_cell_and_node(make: Any) -> None:
    sketch = make(key=seeded_key(3))
    table = draws(sketch, range(8), range(1, 9))
    assert not any(np.array_equal(a, b) for a, b in itertools.combinations(table, 2))
    assert not any(np.array_equal(a, b) for a, b in itertools.combinations(table.T, 2))


@private
def test_secret_keys_give_no_draws(make: Any) -> None:
    key = ls.Key.from_bytes(SECRET)
    for source in (None, key, fixed_id(key, b"i" * 16)):
        with pytest.raises(ArgumentValueError, match="seeded key"):
            draws(make(key=source), [0], [1])


def test_one_master_key_serves_many_sketches() -> None:
    key = ls.Key.from_bytes(SECRET)
    tables = {fed(make(key=key)) for make in PRIVATE.values() for _ in range(5)}
    assert len(tables) == 5 * len(PRIVATE)
    assert key.to_bytes() == SECRET


def test_without_a_key_there_is_a_fresh_one() -> None:
    """Fresh ids would hide a key that all sketches share, so the keys themselves are compared."""
    secrets = {key_or_fresh(None).to_bytes() for _ in range(50)}
    assert len(secrets) == 50
    bits = np.unpackbits(np.array([list(secret) for secret in secrets], dtype=np.uint8), axis=1)
    assert np.all(bits.any(axis=0) & ~bits.all(axis=0))  # false alarm: 256 * 2^-49
    given = ls.Key.from_bytes(SECRET)
    assert key_or_fresh(given) is given


def test_hash_seeds_do_not_come_from_the_key_alone() -> None:
    key = ls.Key.from_bytes(SECRET)
    make = PRIVATE["LazyCountMin"]
    assert make(key=key).hash_seed != make(key=key).hash_seed
    assert make(key=seeded_key(1)).hash_seed == make(key=seeded_key(1)).hash_seed
    assert make(key=seeded_key(1), hash_seed=9).hash_seed == 9
    assert ls.CountMin(**SIZE).hash_seed != ls.CountMin(**SIZE).hash_seed
