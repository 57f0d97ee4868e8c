"""Too little memory raises MemoryError, and the object works as before.

Each case runs in a process of its own, whose address space is limited as `ulimit -v` does it.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the limit is one of Linux", allow_module_level=True)

# Leaves this many bytes beyond what the imports took, and one thread, whose stack counts too.
LIMITED = """
import resource
import numpy as np
import pyarrow as pa
from itertools import count, repeat
from lazysketch import CountMin, HeavyHitters, LazyCountMin

def limit(more):
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))

def refused(call):
    try:
        call()
    except MemoryError as error:
        return str(error)
    raise AssertionError("nothing was raised")

def works(sketch, step):
    assert sketch.release().step == step
    sketch.update("a")
    assert sketch.release().step == step + 1

GIVEN = {"epsilon": 1.0, "delta": 1e-6}
exact = CountMin(depth=2, width=16)
private = LazyCountMin(depth=2, width=16, **GIVEN)
heavy = HeavyHitters(share=0.1, discovery_epoch=4_000, **GIVEN)
heavy.update("a")
STARTED = {exact: 0, private: 0, heavy: 1}
"""

CASES = {
    "a table": """
limit(2**28)
refused(lambda: LazyCountMin(depth=16, width=2**24, **GIVEN))
refused(lambda: CountMin(depth=16, width=2**24))
""",
    "a long range": """
limit(2**30)
for sketch, step in STARTED.items():
    message = refused(lambda: sketch.update_many(range(10**10)))
    assert message.startswith("items: expected an iterable of at most 16777216 values"), message
    works(sketch, step)
message = refused(lambda: exact.update_many(["a"], range(10**10)))
assert message.startswith("weights: expected an iterable of at most"), message
""",
    "an endless iterator": """
limit(2**24)
for sketch, step in STARTED.items():
    for endless in (count(), repeat("word")):
        refused(lambda: sketch.update_many(endless))
    refused(lambda: sketch.update_many(["a"], repeat(1)))
    works(sketch, step)
refused(lambda: heavy.update_many(repeat(b"x" * 10**6)))
""",
    "lists that double": """
limit(2**25)
for sketch, step in STARTED.items():
    items, mixed = [1], ["a", 1]
    while True:
        try:
            items += items
            mixed += mixed
        except MemoryError:
            break
    for doubled in (items, mixed):
        try:
            sketch.update_many(doubled)
        except MemoryError:
            continue
        step += len(doubled)
    del items, mixed, doubled
    works(sketch, step)
""",
    "arrays without memory for a copy": """
narrow = np.ones(2**26, np.int8)
limit(2**28)
for sketch, step in STARTED.items():
    refused(lambda: sketch.update_many(narrow))
    works(sketch, step)
""",
    "values without bytes": """
pa.array(["a"]).__arrow_c_array__()  # the first export allocates a pool
limit(2**32)
empty = pa.Array.from_buffers(pa.binary(0), 2**47, [None, pa.py_buffer(b"")])
longer = pa.Array.from_buffers(pa.binary(0), 2**50, [None, pa.py_buffer(b"")])
for sketch, step in STARTED.items():
    for array in (empty, longer):
        try:
            sketch.update_many(array)
        except (MemoryError, ValueError) as error:
            assert str(error).startswith(("memory: expected", "items: expected")), error
        else:
            raise AssertionError("nothing was raised")
    works(sketch, step)
""",
    "reads": """
wide = LazyCountMin(depth=4, width=2**20, **GIVEN)
queries = np.arange(2**24)
release = wide.release()
limit(2**24)
refused(wide.release)
refused(lambda: wide.estimate_many(queries))
refused(lambda: release.estimate_many(queries))
saved = release.to_bytes()  # equal cells, a bit each
refused(lambda: type(release).from_bytes(saved))
wide.update("a")
""",
}


LONG = {"lists that double", "arrays without memory for a copy", "a table"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in CASES]
)
def test_too_little_memory_raises_and_changes_nothing(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + CASES[name]],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
