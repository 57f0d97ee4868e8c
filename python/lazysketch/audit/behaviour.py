"""Behaviour that tells nothing: an empty and a saturated sketch act alike, and no item is seen.

Each look is a process of its own. (1) The same calls, right and wrong, on a sketch that counted
nothing (events of weight 0) and on one whose counters are as full as they can be: results, sizes,
errors, texts and allocations must be equal. (2) A canary, an item that occurs nowhere else, is
counted in every way and searched for in outputs, texts, tracebacks, logs and releases of the
library and of the command line. (3) The memory of the process, which is what a core file would
hold, after the caller has overwritten his own copy.

Sees: a message, size or allocation that depends on counts; an item kept or told. Cannot see:
timing (the dudect test of the core does), and copies that Python itself keeps of an item.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import io
import json
import logging
import os
import pickle
import secrets
import subprocess
import sys
import tempfile
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lazysketch.audit.finding import Outcome, exact
from lazysketch.sketches.private_sketches import LazyCountMin, LazyCountSketch
from lazysketch.specification.schedules import Geometric, Punctual, RoundRobin, Schedule

__all__ = [
    "MEMORY_CAN_BE_READ",
    "canary_in_memory",
    "canary_in_outputs",
    "empty_and_saturated_alike",
]

MEMORY_CAN_BE_READ = Path("/proc/self/mem").exists()
WEIGHT = 2**30
STEPS = 32
WIDTH = 2**12  # a difference of one byte per cell is 8 KiB
SLACK = 2**12  # bytes; which free chunk malloc takes differs from process to process
_FORM = "canary-{}-does-not-occur-elsewhere"


class _Library:
    """The sketches as they are."""

    count_min = LazyCountMin
    count_sketch = LazyCountSketch


class _TalkativeCountMin(LazyCountMin):
    """Planted: tells items in errors and whether anything was counted, and keeps what it counts."""

    def update(self, item: object, weight: int = 1) -> None:
        self._keep(item)
        try:
            super().update(item, weight)
        except Exception as error:
            raise type(error)(f"{error}: {item!r}") from None

    def update_many(self, items: object, weights: object = None, **options: Any) -> None:
        self._keep(items)
        super().update_many(items, weights, **options)
        if weights is not None and np.asarray(weights).any():
            self._keep(np.zeros(1000))

    def _keep(self, items: object) -> None:
        _KEPT.append(copy.deepcopy(items))


_KEPT: list[object] = []


class _Talkative(_Library):
    """Planted: a library of sketches that talk."""

    count_min = _TalkativeCountMin


_FACES: dict[str, type[_Library]] = {"lazysketch": _Library, "planted: talkative": _Talkative}


def _child(*arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    """Run one of the functions below in a process of its own."""
    program = "import sys; from lazysketch.audit import behaviour; behaviour.act(*sys.argv[1:])"
    return subprocess.Popen(  # noqa: S603 -- this very module
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def act(deed: str, face: str, *arguments: str) -> None:
    """Do one thing in this process, and write what it shows to standard output.

    Args:
        deed: which.
        face: the library, or a planted one.
        *arguments: what it needs.
    """
    deeds: dict[str, Callable[..., None]] = {
        "states": _show_state,
        "canary": _show_canary,
        "memory": _hold_memory,
    }
    deeds[deed](_FACES[face], *arguments)


# --- empty and saturated --------------------------------------------------------------


def _allocated() -> int | None:
    """Bytes that the C library has handed out in this process, where it can tell."""
    try:
        count = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

    count.restype = Info
    told = count()
    return int(told.uordblks + told.hblkhd)


def _show_state(face: type[_Library], weight: str) -> None:
    for _ in range(2):  # the first round fills what is computed once, and is not looked at
        shown = [
            _state_of(cls, schedule, int(weight))
            for cls in (face.count_min, face.count_sketch)
            for schedule in (RoundRobin(horizon=64), Punctual(horizon=64), Geometric())
        ]
    sys.stdout.write(json.dumps(shown))


def _state_of(cls: Any, schedule: Schedule, weight: int) -> dict[str, Any]:
    items, weights = np.zeros(STEPS, dtype=np.int64), np.full(STEPS, weight)
    gc.collect()
    before = _allocated()
    sketch = cls(
        depth=2,
        width=WIDTH,
        epsilon=8.0,
        delta=1e-6,
        max_weight=WEIGHT,
        hash_seed=1,
        schedule=schedule,
    )
    sketch.update_many(items, weights)
    gc.collect()
    after = _allocated()
    tracemalloc.start()
    release = sketch.release()
    live, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = _allocated()
    shown: dict[str, Any] = {
        "native bytes of a sketch": None if None in (before, after) else after - before,  # type: ignore[operator]
        "native bytes of a release": None if None in (held, after) else held - after,  # type: ignore[operator]
        "Python bytes of a release": [live, peak],
        "bytes of the object": sys.getsizeof(sketch),
        "bytes on disk": len(release.to_bytes()),
        "shape": [release.table.shape, str(release.table.dtype), release.table.strides],
    }
    shown.update(_answers(sketch))
    shown["repr of a release"] = repr(release).replace(release.sketch_id.hex(), "<id>")
    return shown


def _answers(sketch: Any) -> dict[str, Any]:
    """What each call gives: the type of its result, or the error in full."""
    calls: dict[str, Callable[[], object]] = {
        "repr": lambda: repr(sketch),
        "privacy": lambda: repr(sketch.privacy),
        "estimate": lambda: type(sketch.estimate(0)).__name__,
        "estimate_many": lambda: sketch.estimate_many([0, "x"]).shape,
        "update": lambda: sketch.update("x"),
        "a float": lambda: sketch.update(1.5),
        "None": lambda: sketch.update(None),
        "a heavy event": lambda: sketch.update("x", WEIGHT + 1),
        "a negative event": lambda: sketch.update("x", -1),
        "a bad batch": lambda: sketch.update_many(["x", None]),
        "a bare str": lambda: sketch.update_many("x"),
        "weights of another length": lambda: sketch.update_many([0], [1, 2]),
        "a batch in a step": lambda: sketch.update_batch([0]),
        "a tick": lambda: sketch.tick(3),
        "past the horizon": lambda: sketch.tick(64),
        "events past the horizon": lambda: sketch.update_many(np.zeros(64, dtype=np.int64)),
        "a copy": lambda: copy.copy(sketch),
        "a pickle": lambda: pickle.dumps(sketch),
        "the table": lambda: sketch.table,
        "the state": lambda: sorted(vars(sketch)) if hasattr(sketch, "__dict__") else [],
        "close": sketch.close,
        "closed": lambda: sketch.update("x"),
        "closed, estimate": lambda: sketch.estimate("x"),
        "closed, release": lambda: sketch.release(),
    }
    shown: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            shown[name] = str(call())
        except Exception as error:
            shown[name] = f"{type(error).__name__}: {error}"
    return shown


def empty_and_saturated_alike(face: str = "lazysketch") -> Outcome:
    """Check that nothing but the released numbers tells an empty sketch from a full one.

    Args:
        face: the library, or ``"planted: talkative"``.

    Returns:
        Results, errors, texts, sizes and allocations, call by call.
    """
    shown = []
    for weight in (0, WEIGHT):
        out, error = _child("states", face, str(weight)).communicate(timeout=120)
        if error:
            return exact("a child process answers", iter([error.decode()[-300:]]), cases=1)
        shown.append(json.loads(out))

    def failures() -> Iterator[str]:
        for empty, full in zip(*shown, strict=True):
            yield from (
                f"{name}: {empty[name]} when empty, {full[name]} when full"
                for name in empty
                if not _alike(empty[name], full[name], slack=SLACK if "native" in name else 0)
            )

    cases = sum(len(state) for state in shown[0])
    return exact("an empty and a full sketch behave alike", failures(), cases=cases)


def _alike(one: Any, other: Any, *, slack: int) -> bool:
    if slack and one is not None and other is not None:
        return bool(abs(one - other) <= slack)
    return bool(one == other)


# --- the canary -----------------------------------------------------------------------


def _show_canary(face: type[_Library], item: str) -> None:
    """Everything that the library shows after it has met the item, on standard output."""
    warnings.simplefilter("always")
    log = io.StringIO()
    logging.basicConfig(level=logging.DEBUG, stream=log)
    # An item whose text is in no source line, so that a traceback shows it only if a value does.
    binary = item.encode()
    with face.count_min(depth=2, width=8, epsilon=1.0, delta=1e-6, horizon=4) as sketch:
        sketch.update(item)
        sketch.update_many([item])
        calls: list[Callable[[], object]] = [
            lambda: sketch.update(item, 2),
            lambda: sketch.update([item]),
            lambda: sketch.update({item: item}),
            lambda: sketch.update_many(item),
            lambda: sketch.update_many(binary),
            lambda: sketch.update_many([item, None]),
            lambda: sketch.update_many({item: 1}),
            lambda: sketch.update_many([item], [item]),
            lambda: sketch.update_many([item] * 9),
            lambda: sketch.estimate((item,)),
            lambda: sketch.estimate_many([item, 1.5]),
            lambda: sketch.update(f"{item}\ud800"),
            lambda: copy.copy(sketch),
        ]
        for call in calls:
            try:
                call()
            except Exception as error:
                sys.stdout.write(f"{error}\n{error!r}\n{traceback.format_exc()}\n")
        release = sketch.release()
        sys.stdout.write(f"{sketch!r} {release!r} {release.parts!r} {sketch.privacy!r}\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(release.to_bytes())
    sys.stdout.write(log.getvalue())


def canary_in_outputs(face: str = "lazysketch") -> Outcome:
    """Check that an item shows in no text, log, error, traceback or release.

    Args:
        face: the library (with the command line), or ``"planted: talkative"``.

    Returns:
        The places where it was seen.
    """
    item = _FORM.format(secrets.token_hex(8))
    seen: dict[str, bytes] = {}
    done = _child("canary", face, item)
    seen["output of the library"], seen["errors of the library"] = done.communicate(timeout=120)
    if face == "lazysketch":
        with tempfile.TemporaryDirectory() as folder:
            seen.update(_command_line(Path(folder), item))

    def failures() -> Iterator[str]:
        for where, data in seen.items():
            if _holds(data, item):
                yield f"the canary is in: {where}"
            if done.returncode or (where == "output of the library" and len(data) < 1000):
                yield f"the library did not answer: {seen['errors of the library'][-300:]!r}"

    return exact("an item that was counted is seen nowhere", failures(), cases=len(seen))


def _holds(data: bytes, item: str) -> bool:
    plain = item.encode()
    return any(form in data for form in (plain, plain[::-1], plain.hex().encode()))


def _command_line(folder: Path, item: str) -> dict[str, bytes]:
    """What the command line writes about files that hold the item, well-formed and not."""
    (folder / "items").write_text("other\n", encoding="utf-8")
    inputs = {
        "lines": f"{item}\nother\n".encode(),
        "latin": item.encode() + b"\xff\nother\n",
        "rows.csv": f'a,b\n{item},1\n"{item}\n{item}\n'.encode(),
        "rows.jsonl": f'{{"a": "{item}"}}\n{{"a": {item}\n'.encode(),
    }
    seen = {}
    for name, data in inputs.items():
        for strict in ([], ["--strict"]):
            (folder / name).write_bytes(data)
            command = [sys.executable, "-m", "lazysketch", "estimate", name, "--items", "items"]
            command += ["--save-release", "out.lzs", *strict]
            command += ["--field", "a"] if "." in name else []
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603 -- our own program
            seen[f"{name}, standard output {strict}"] = done.stdout
            seen[f"{name}, standard error {strict}"] = done.stderr
            with contextlib.suppress(FileNotFoundError):
                seen[f"{name}, release {strict}"] = (folder / "out.lzs").read_bytes()
    return seen


# --- memory ---------------------------------------------------------------------------


def _hold_memory(face: type[_Library]) -> None:
    """Count what comes through a pipe into a buffer of our own, overwrite it, and wait."""
    numbers = np.zeros(4, dtype=np.int64)
    os.readv(0, [memoryview(numbers.data).cast("B")])
    with face.count_min(depth=2, width=8, epsilon=1.0, delta=1e-6, horizon=64) as sketch:
        sketch.update_many(numbers)
        sketch.estimate_many(numbers)
        numbers[:] = 0
        sketch.release()
        os.write(1, b".")
        os.read(0, 1)
        sketch.update_many(numbers)


def canary_in_memory(face: str = "lazysketch") -> Outcome:
    """Check that a counted item is not in the memory of the process, as a core file would hold it.

    Args:
        face: the library, or ``"planted: talkative"``.

    Returns:
        All readable memory of a child that counted four random integers; Linux only.
    """
    numbers = [secrets.token_bytes(8) for _ in range(4)]
    child = _child("memory", face, bufsize=0)
    if child.stdin is None or child.stdout is None:
        raise AssertionError("child: expected pipes, got none")
    child.stdin.write(b"".join(numbers))
    answered = child.stdout.read(1) == b"."
    size, found = 0, 0
    for block in _memory_of(child.pid) if answered else ():
        size += len(block)
        found += sum(block.count(number) for number in numbers)
    child.communicate(b".", timeout=60)

    def failures() -> Iterator[str]:
        if not answered or size < 2**20:
            yield "the memory of the child could not be read"
        if found:
            yield f"{found} copies in the memory of the process"

    return exact("an item that was counted is not in memory", failures(), cases=size)


def _memory_of(process: int) -> Iterator[bytes]:
    """The readable memory of a process of ours, region by region."""
    with (
        Path(f"/proc/{process}/maps").open(encoding="utf-8") as maps,
        Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory,
    ):
        for line in maps:
            span, rights, *_ = line.split()
            start, end = (int(edge, 16) for edge in span.split("-"))
            if "w" in rights and "r" in rights:
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(start)
                    yield memory.read(end - start)
