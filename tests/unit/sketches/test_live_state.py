"""Live state: one life per private sketch, no second copy, and an end that is final."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ClosedError, HorizonError, LiveStateError
from lazysketch.testing import draws, seeded_key

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 1000}
SIZE: dict[str, Any] = {"depth": 2, "width": 8}

PRIVATE: dict[str, Callable[..., Any]] = {
    "LazyCountMin": lambda **more: ls.LazyCountMin(**{**SIZE, **NOISE, **more}),
    "LazyCountSketch": lambda **more: ls.LazyCountSketch(**{**SIZE, **NOISE, **more}),
    "PunctualCountMin": lambda **more: ls.PunctualCountMin(**{**SIZE, **NOISE, **more}),
    "PunctualCountSketch": lambda **more: ls.PunctualCountSketch(**{**SIZE, **NOISE, **more}),
    "ContinualCounters": lambda **more: ls.ContinualCounters(**{"counters": 8, **NOISE, **more}),
}
private = pytest.mark.parametrize("make", PRIVATE.values(), ids=PRIVATE)
exact = pytest.mark.parametrize("make", [ls.CountMin, ls.CountSketch])


def pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda sketch: pickle.dumps(sketch, protocol)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy inside": lambda sketch: copy.deepcopy({"sketch": [sketch]}),
    **{f"pickle {n}": pickled(n) for n in range(pickle.HIGHEST_PROTOCOL + 1)},
}


def uses(sketch: Any) -> dict[str, Callable[[], Any]]:
    """Every method that touches the state; items are indices, so that all kinds take them."""
    calls: dict[str, Callable[[], Any]] = {
        "update": lambda: sketch.update(1),
        "update with weight": lambda: sketch.update(1, 1),
        "update_many": lambda: sketch.update_many([1, 2]),
        "update_many of nothing": lambda: sketch.update_many([]),
        "update_many of numpy": lambda: sketch.update_many(np.array([1, 2])),
        "tick": lambda: sketch.tick(),
        "tick of nothing": lambda: sketch.tick(0),
        "estimate": lambda: sketch.estimate(1),
        "estimate_many": lambda: sketch.estimate_many([1, 2]),
        "estimate_many of nothing": lambda: sketch.estimate_many([]),
        "release": lambda: sketch.release(),
        "draws": lambda: draws(sketch, [0], [1]),
    }
    if isinstance(sketch, ls.ContinualCounters):
        calls["step"] = lambda: sketch.step([0] * 8)
    return calls


@private
@pytest.mark.parametrize("attempt", COPIES)
def test_a_live_private_sketch_is_not_copied(make: Any, attempt: str) -> None:
    sketch = make()
    sketch.update(1)
    with pytest.raises(LiveStateError, match=r"release\(\)") as raised:
        COPIES[attempt](sketch)
    assert isinstance(raised.value, TypeError)
    assert "merge" in str(raised.value)
    sketch.update(1)
    assert sketch.release().step == 2
    sketch.close()
    with pytest.raises(LiveStateError):
        COPIES[attempt](sketch)


@private
def test_no_other_way_into_a_copy(make: Any) -> None:
    sketch = make()
    for way in (sketch.__reduce__, lambda: sketch.__reduce_ex__(2)):
        with pytest.raises(TypeError):
            way()
    with pytest.raises(TypeError):
        type(sketch).__new__(type(sketch), sketch)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@private
def test_a_forked_child_cannot_use_the_sketch(make: Any) -> None:
    sketch = make(key=seeded_key(1))
    sketch.update(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, "\n".join(complaints_in_a_child(sketch)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        complaints = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert complaints == ""
    sketch.update(1)  # the parent goes on
    assert sketch.release().step == 2


def complaints_in_a_child(sketch: Any) -> list[str]:
    complaints = []
    calls = uses(sketch)
    calls["close"] = sketch.close
    calls |= {name: partial(attempt, sketch) for name, attempt in COPIES.items()}
    for name, call in calls.items():
        try:
            call()
        except LiveStateError as error:
            # The message says what to do instead.
            if "release" not in str(error):
                complaints.append(f"{name}: no advice")
        except BaseException as error:
            complaints.append(f"{name}: {type(error).__name__}")
        else:
            complaints.append(f"{name}: nothing was raised")
    try:
        if "forked" not in repr(sketch):
            complaints.append("repr does not tell")
        fresh = type(sketch)(**SIZE, **NOISE) if sketch.kind != "counters" else None
        if fresh is not None:
            fresh.update(1)
    except BaseException as error:
        complaints.append(f"repr or a fresh sketch: {type(error).__name__}")
    return complaints


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_exact_sketches_and_releases_may_cross_a_fork() -> None:
    sketch = ls.CountMin(**SIZE)
    release = PRIVATE["LazyCountMin"]().release()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sketch.update(1)
            release.estimate(1)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert sketch.step == 0


@exact
@pytest.mark.parametrize("attempt", COPIES)
def test_exact_sketches_are_copied_and_independent_afterwards(make: Any, attempt: str) -> None:
    sketch = make(**SIZE, hash_seed=3)
    sketch.update_many(["a", b"a", 1, 1], [5, 1, 2**40, 1])
    second = COPIES[attempt](sketch)
    if isinstance(second, bytes):
        second = pickle.loads(second)
    if isinstance(second, dict):
        second = second["sketch"][0]
    assert type(second) is make
    assert (second.step, second.hash_seed, repr(second)) == (4, 3, repr(sketch))
    before = sketch.table
    np.testing.assert_array_equal(second.table, before)
    second.update("a")
    np.testing.assert_array_equal(sketch.table, before)
    sketch.update("b", 7)
    assert second.step == sketch.step == 5
    assert second.table.tolist() != sketch.table.tolist()
    assert second.estimate(1) != 0.0


@exact
def test_tables_of_exact_sketches_are_read_only_snapshots(make: Any) -> None:
    sketch = make(**SIZE)
    table = sketch.table
    assert table.dtype == np.int64
    assert table.shape == (2, 8)
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1
    sketch.update("a")
    assert not table.any()


@private
def test_close_is_final(make: Any) -> None:
    sketch = make(key=seeded_key(1))
    sketch.update(1)
    release = sketch.release()
    before = release.to_bytes()
    sketch.close()
    sketch.close()
    for name, call in uses(sketch).items():
        with pytest.raises(ClosedError, match=r"^sketch: .*close\(\)"):
            pytest.fail(f"{name} returned {call()!r}")
    assert "closed" in repr(sketch)
    assert sketch.privacy.epsilon == 1.0
    assert release.to_bytes() == before  # outlives the sketch
    assert release.estimate(1) == ls.Release.from_bytes(before).estimate(1)


@private
def test_a_context_closes(make: Any) -> None:
    with make() as sketch:
        sketch.update(1)
    with pytest.raises(ClosedError):
        sketch.update(1)
    with pytest.raises(KeyError), make() as sketch:  # and lets errors through
        raise KeyError
    with pytest.raises(ClosedError):
        sketch.release()


@private
@pytest.mark.parametrize("horizon", [1, 7, 8, 9])
def test_past_the_horizon_nothing_changes(make: Any, horizon: int) -> None:
    sketch = make(horizon=horizon)
    sketch.update_many([1] * (horizon - 1))
    almost = sketch.release().to_bytes()
    for batch in ([1, 1], np.array([1] * 50), [1] * 3000):
        with pytest.raises(HorizonError, match=r"^horizon: .* nothing was applied"):
            sketch.update_many(batch)
    with pytest.raises(HorizonError):
        sketch.tick(2)
    assert sketch.release().to_bytes() == almost
    sketch.update(2)
    full = sketch.release().to_bytes()
    assert full != almost
    calls: list[Callable[[], Any]] = [
        lambda: sketch.update(1),
        lambda: sketch.update(1, 0),
        lambda: sketch.update_many([1]),
        lambda: sketch.tick(),
        lambda: sketch.tick(2**64 - 1),
    ]
    if isinstance(sketch, ls.ContinualCounters):
        calls.append(lambda: sketch.step([0] * 8))
    for call in calls:
        with pytest.raises(HorizonError, match="^horizon: "):
            call()
    sketch.update_many([])
    sketch.tick(0)
    assert sketch.release().to_bytes() == full
    assert isinstance(sketch.estimate(1), float)


@private
def test_repr_shows_the_guarantee_and_no_count(make: Any) -> None:
    first, second, ticked = make(), make(), make()
    first.update_many([1] * 137)
    second.update_many(list(range(8)) * 17 + [0])
    ticked.tick(137)
    assert repr(first) == repr(second) == repr(ticked)
    text = repr(first)
    for part in ("epsilon=1", "delta=1e-06", "substitution", "1000", "137", type(first).__name__):
        assert part in text
    assert "NOT PRIVATE" not in text
    unbounded = make(horizon=None) if "Lazy" in type(first).__name__ else None
    assert unbounded is None or "horizon=None" in repr(unbounded)
    assert repr(first.release()) == repr(second.release()) == repr(ticked.release())


def in_threads(*works: Callable[[], None]) -> None:
    """Run functions in parallel threads that switch often; raise the errors that they raise."""
    raised: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive(), "a thread hangs"
    finally:
        sys.setswitchinterval(interval)
    if raised:
        raise raised[0]


def write(sketch: Any) -> None:
    batch = np.arange(40) % 8
    for number in range(60):
        sketch.update_many(batch)
        sketch.update_many([1, 2], [1, 1])
        sketch.update(number % 8)
        sketch.update(3, 1)


def read(sketch: Any) -> None:
    for _ in range(60):
        assert sketch.release().table.size >= 8
        assert isinstance(sketch.estimate(1), float)
        assert sketch.estimate_many(np.arange(8)).shape == (8,)
        repr(sketch)


@private
def test_threads_share_a_private_sketch(make: Any) -> None:
    """By additivity: with one seeded key, less the noise of an equal, empty sketch."""
    steps = 4 * 60 * 44
    arguments = {"horizon": steps + 8, "key": seeded_key(1)}
    busy, idle = make(**arguments), make(**arguments)
    hash_seed = busy.hash_seed
    in_threads(*[lambda: write(busy)] * 4, *[lambda: read(busy)] * 2)
    # The last round of the schedule publishes what is pending.
    busy.tick(8)
    idle.tick(steps + 8)
    counted = busy.release().table - idle.release().table
    if busy.kind == "counters":
        assert counted.sum() == steps
        return
    single = ls.CountMin if busy.kind == "count-min" else ls.CountSketch
    alone = single(**SIZE, hash_seed=hash_seed)
    for _ in range(4):
        write(alone)
    np.testing.assert_array_equal(counted, alone.table)


@exact
def test_threads_share_an_exact_sketch(make: Any) -> None:
    shared, alone = make(**SIZE, hash_seed=1), make(**SIZE, hash_seed=1)
    in_threads(*[lambda: write(shared)] * 4, *[lambda: read(shared)] * 2)
    for _ in range(4):
        write(alone)
    np.testing.assert_array_equal(shared.table, alone.table)
    assert shared.step == 4 * 60 * 44


def test_threads_may_merge_crosswise() -> None:
    left, right = (ls.CountMin(**SIZE, hash_seed=1) for _ in range(2))
    left.update("a")

    def merge(first: Any, second: Any) -> None:
        for _ in range(200):
            assert first.merge(second).estimate("a") == 1.0

    in_threads(lambda: merge(left, right), lambda: merge(right, left))


def test_closing_during_other_threads_raises_only_closed_errors() -> None:
    sketch = PRIVATE["LazyCountMin"](horizon=None)

    def work() -> None:
        for _ in range(10_000):
            try:
                sketch.update(1)
                sketch.release()
            except ClosedError:
                return

    in_threads(work, work, work, sketch.close)
    with pytest.raises(ClosedError):
        sketch.update(1)


@pytest.mark.parametrize("make", [ls.CountMin, PRIVATE["LazyCountMin"]])
@pytest.mark.parametrize("call", ["update", "estimate"])
def test_an_item_may_look_at_the_sketch_that_takes_it(make: Any, call: str) -> None:
    """Python code of an item must never run under the sketch's lock: it would wait for itself."""
    sketch = make(**SIZE) if make is ls.CountMin else make()

    class Curious(int):
        def bit_length(self) -> int:
            sketch.estimate(1)
            return super().bit_length()

    done = threading.Event()

    def work() -> None:
        getattr(sketch, call)(Curious(2**70))
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(timeout=5), "waits for its own lock"
