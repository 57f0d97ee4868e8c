"""Canaries: no output, release or memory contains an item that was counted.

A canary is an item that occurs nowhere else. A child process counts it through every input type;
it is then searched for (1) in outputs, texts, tracebacks, logs and releases of the library and of
the command line, and (2) in the memory of the process, which is what a core file would hold, after
the caller has overwritten its own copy.

Detects: an item that is kept or disclosed. Cannot detect: copies of an item that Python keeps.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lazysketch.audit.child_process import SOUND, Sketches, child
from lazysketch.audit.finding import Outcome, exact_outcome

__all__ = [
    "MEMORY_CAN_BE_READ",
    "canary_in_memory",
    "canary_in_outputs",
    "hold_memory",
    "show_canary",
]

MEMORY_CAN_BE_READ = Path("/proc/self/mem").exists()
_FORM = "canary-{}-does-not-occur-elsewhere"


def show_canary(variant: type[Sketches], item: str) -> None:
    """Write everything that the library shows after it has counted an item.

    Args:
        variant: the sketches.
        item: the item.
    """
    warnings.simplefilter("always")
    log = io.StringIO()
    logging.basicConfig(level=logging.DEBUG, stream=log)
    # The text of the item is in no source line, so a traceback shows it only through a value.
    binary = item.encode()
    with variant.count_min(depth=2, width=8, epsilon=1.0, delta=1e-6, horizon=4) as sketch:
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


def canary_in_outputs(variant: str = SOUND) -> Outcome:
    """Check that no text, log, error, traceback or release contains a counted item.

    Args:
        variant: :data:`SOUND` (with the command line) or :data:`LEAKY`.

    Returns:
        Failed if an output contains the item.
    """
    item = _FORM.format(secrets.token_hex(8))
    seen: dict[str, bytes] = {}
    done = child(show_canary, variant, item)
    seen["output of the library"], seen["errors of the library"] = done.communicate(timeout=120)
    if variant == SOUND:
        with tempfile.TemporaryDirectory() as folder:
            seen.update(_command_line(Path(folder), item))

    def failures() -> Iterator[str]:
        for where, data in seen.items():
            if _holds(data, item):
                yield f"the canary is in {where}"
            if done.returncode or (where == "output of the library" and len(data) < 1000):
                yield f"the child process failed: {seen['errors of the library'][-300:]!r}"

    return exact_outcome("no output contains a counted item", failures(), cases=len(seen))


def _holds(data: bytes, item: str) -> bool:
    plain = item.encode()
    return any(form in data for form in (plain, plain[::-1], plain.hex().encode()))


def _command_line(folder: Path, item: str) -> dict[str, bytes]:
    """The outputs of the command line for files that contain the item, well-formed and not."""
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


def hold_memory(variant: type[Sketches]) -> None:
    """Count four integers from standard input, overwrite the buffer they were read into, and wait.

    Args:
        variant: the sketches.
    """
    numbers = np.zeros(4, dtype=np.int64)
    os.readv(0, [memoryview(numbers.data).cast("B")])
    with variant.count_min(depth=2, width=8, epsilon=1.0, delta=1e-6, horizon=64) as sketch:
        sketch.update_many(numbers)
        sketch.estimate_many(numbers)
        numbers[:] = 0
        sketch.release()
        os.write(1, b".")
        os.read(0, 1)
        sketch.update_many(numbers)


def canary_in_memory(variant: str = SOUND) -> Outcome:
    """Check that a counted item is not in the memory of the process, as in a core file.

    Args:
        variant: :data:`SOUND` or :data:`LEAKY`.

    Returns:
        Failed if any writable memory of a child holds one of four random integers that it
        counted; Linux only.
    """
    numbers = [secrets.token_bytes(8) for _ in range(4)]
    process = child(hold_memory, variant, bufsize=0)
    if process.stdin is None or process.stdout is None:
        raise AssertionError("child: expected pipes, got none")
    process.stdin.write(b"".join(numbers))
    answered = process.stdout.read(1) == b"."
    size, found = 0, 0
    for block in _memory_of(process.pid) if answered else ():
        size += len(block)
        found += sum(block.count(number) for number in numbers)
    process.communicate(b".", timeout=60)

    def failures() -> Iterator[str]:
        if not answered or size < 2**20:
            yield "the memory of the child could not be read"
        if found:
            yield f"{found} copies in the memory of the process"

    return exact_outcome("no counted item is in memory", failures(), cases=size)


def _memory_of(process: int) -> Iterator[bytes]:
    """Yield the writable memory of a child process, region by region."""
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
