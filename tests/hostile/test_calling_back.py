"""Values that call the object that reads them: no deadlock, no panic, all or nothing."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from tests.hostile.arrow_structs import Producer
from tests.hostile.calling_back import LIVE
from tests.hostile.calling_values import CARRIERS

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LiveStateError

PATIENCE = 300.0
ASKED = {"epsilon": 8.0, "delta": 1e-6, "depth": 2, "width": 16, "domain": ["a", "b"]}
FEW = 200

# What never calls: no batch hashes or compares its items in Python, and before Python 3.12 no class
# has a buffer. Only a hierarchy and windows of a clock take a function.
SILENT = {"__hash__", "__hash__ of a text", "__buffer__"}
WITH_FUNCTION = {"hierarchy", "windows by clock"}
ENDS = {"counted", "an error of ours", "InsideError", "KeyboardInterrupt", "MemoryError"}


@pytest.mark.parametrize(
    "every", [FEW, pytest.param(1, marks=pytest.mark.long)], ids=["sample", "all"]
)
@pytest.mark.parametrize("name", LIVE)
def test_values_that_call_back(name: str, every: int) -> None:
    """A call that does not return is seen by its limit of time, a panic by its class."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.calling_back", name, str(every)],
        capture_output=True,
        text=True,
        timeout=PATIENCE * (1 if every == FEW else 20),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in results if not one["whole"] or one["result"] not in ENDS] == []
    acted = {one["case"].partition(":")[0] for one in results if one["acted"]}
    silent = set(SILENT)
    if name not in WITH_FUNCTION:
        silent.add("level or clock")
    if name == "hierarchy" or name.startswith("windows"):
        silent.add("__len__")  # these read an iterable as a list
    assert set(CARRIERS) - silent <= acted


def windows(**options: object) -> ls.Windows:
    return ls.Windows(**{"every": 10, **ASKED, **options})


class Calling:
    """A weight that calls a function."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function

    def __index__(self) -> int:
        self.function()
        return 1


@pytest.mark.parametrize("name", ["update", "tick", "advance", "finish", "close"])
def test_windows_refuse_changes_from_within_another(name: str) -> None:
    """The call that is under way has read where its windows begin and end."""
    live = windows()
    arguments = {"update": ("a",), "tick": (3,)}.get(name, ())
    nested = Calling(lambda: getattr(live, name)(*arguments))
    for events in (5, 25):
        with pytest.raises(LiveStateError, match="^windows: expected one change at a time"):
            live.update_many(["a"] * events, [nested] + [1] * (events - 1))
        assert live.step == 0
    live.update_many(["a"] * 25)
    assert (live.step, len(live.windows)) == (25, 2)


def test_windows_are_read_from_within_a_change() -> None:
    live = windows()
    seen: list[object] = []
    read = Calling(lambda: seen.append((len(live.windows), live.step)))
    live.update_many(["a"] * 25, [read] * 25)
    assert seen == [(0, 0)] * 25
    assert (len(live.windows), live.step) == (2, 25)


@pytest.mark.parametrize(
    "items",
    [
        deque(["a"] * 25),
        range(25),
        iter(["a"] * 25),
        np.array(["a"] * 25, dtype=object),
        Producer(pa.array(["a"] * 25).__arrow_c_array__()),
        pa.table({"x": ["a"] * 25}).to_reader(),
    ],
    ids=lambda items: type(items).__name__,
)
def test_windows_take_what_sketches_take(items: object) -> None:
    live = windows()
    live.update_many(items, [Calling(lambda: None)] * 25)
    assert (live.step, len(live.windows)) == (25, 2)


def test_an_endless_iterator_ends_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazysketch.windows.batches._MOST_OF_AN_ITERABLE", 1000)
    live = windows()
    with pytest.raises(MemoryError, match="^items: expected an iterable of at most 1000 values"):
        live.update_many(itertools.repeat("a"))
    assert live.step == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_an_error_of_a_weight_is_not_called_a_wrong_type(error: type[BaseException]) -> None:
    def fails() -> None:
        raise error("its own")

    live = ls.CountMin(depth=2, width=16)
    for call in (
        lambda: live.update("a", Calling(fails)),
        lambda: live.update_many(["a"], [Calling(fails)]),
        lambda: live.update_many(["a", "b"], (Calling(fails) for _ in range(2))),
    ):
        with pytest.raises(error, match="^its own"):
            call()
    assert live.step == 0
    with pytest.raises(ArgumentTypeError, match="^weight: expected a non-negative integer"):
        live.update("a", Calling(lambda: len(3)))  # type: ignore[arg-type]


def test_lists_are_asked_for_while_one_is_remembered() -> None:
    """The collector may run while a list is remembered; its lock is free for that thread."""
    live = ls.HeavyHitters(share=0.1, discovery_epoch=4_000, epsilon=8.0, delta=1e-6)
    lock = live._lists._lock
    with lock:
        assert lock.acquire(blocking=False)  # type: ignore[attr-defined]
        lock.release()
        live.top(1)


@pytest.mark.parametrize("wrong", [-1, 0, 15, 2**16 + 1, 2**32, 2**63, 2**64, 2**100])
def test_the_bytes_kept_of_an_item_have_a_range(wrong: int) -> None:
    expected = f"^max_item_bytes: expected an integer from 16 to 65536, got {wrong}$"
    with pytest.raises(ArgumentValueError, match=expected):
        ls.HeavyHitters(share=0.1, epsilon=4.0, delta=1e-6, max_item_bytes=wrong)
