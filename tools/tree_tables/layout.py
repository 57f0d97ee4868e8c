"""Layout of a table's rows in memory and in files.

n = 2^k pushes. Depth 0 holds the root, with time n; depth d = 1..k holds nodes v < 2^(d-1), with
times (2 v + 1) n / 2^d. The row of node (d, v) has d + 1 entries: its ancestors by depth, then
itself. A table is a list of arrays, one per depth, of shape (nodes, d + 1).

Files: ``.i16`` holds all rows, depth by depth, as 16-bit little-endian integers (the library embeds
these); ``.npz`` has arrays ``d0`` .. ``dk``, real or integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["SHIPPED", "Rows", "depth_of", "nodes_at", "pack", "read", "times", "unpack", "write"]

Rows: TypeAlias = Sequence[npt.NDArray[np.int64] | npt.NDArray[np.float64]]

SHIPPED = Path(__file__).parents[2] / "rust/core/src/mechanism/tree/tables"
_LARGEST = 2**15 - 1


def nodes_at(depth: int) -> int:
    """Return the number of nodes at a depth."""
    return 1 if depth == 0 else 1 << (depth - 1)


def depth_of(rows: Rows) -> int:
    """Return k of a table, after a check of its shape."""
    k = len(rows) - 1
    for depth, array in enumerate(rows):
        if array.shape != (nodes_at(depth), depth + 1):
            raise ValueError(f"depth {depth}: expected {(nodes_at(depth), depth + 1)} entries")
    return k


def times(k: int, depth: int) -> npt.NDArray[np.int64]:
    """Return the times of the ancestors and of the node itself, shape (nodes, depth + 1)."""
    v = np.arange(nodes_at(depth), dtype=np.int64)
    columns = [np.full_like(v, 1 << k)]
    columns += [(2 * (v >> (depth - i)) + 1) << (k - i) for i in range(1, depth + 1)]
    return np.stack(columns, axis=1)


def pack(rows: Rows) -> bytes:
    """Return the bytes of a ``.i16`` file."""
    depth_of(rows)
    for array in rows:
        if array.dtype.kind != "i" or np.abs(array).max() > _LARGEST:
            raise ValueError("expected integers of 16 bits")
    return b"".join(array.astype("<i2").tobytes() for array in rows)


def unpack(data: bytes) -> list[npt.NDArray[np.int64]]:
    """Return the rows of a ``.i16`` file; k follows from its size."""
    entries = np.frombuffer(data, dtype="<i2").astype(np.int64)
    rows: list[npt.NDArray[np.int64]] = []
    start = 0
    while start < entries.size:
        depth = len(rows)
        stop = start + nodes_at(depth) * (depth + 1)
        if stop > entries.size:
            raise ValueError(f"expected whole depths of a table, got {entries.size} entries")
        rows.append(entries[start:stop].reshape(-1, depth + 1))
        start = stop
    return rows


def read(path: Path) -> Rows:
    """Return the rows of a ``.i16`` or ``.npz`` file."""
    if path.suffix == ".i16":
        return unpack(path.read_bytes())
    with np.load(path) as stored:
        names = [name for name in stored.files if name[0] == "d" and name[1:].isdigit()]
        rows = [stored[f"d{depth}"] for depth in range(len(names))]
    integers = all(array.dtype.kind == "i" for array in rows)
    rows = [array.astype(np.int64 if integers else np.float64) for array in rows]
    depth_of(rows)
    return rows


def write(path: Path, rows: Rows) -> None:
    """Store a table as ``.npz``, or packed as ``.i16``."""
    if path.suffix == ".i16":
        path.write_bytes(pack(rows))
    else:
        # Any: numpy's signature mixes arrays and its own options in the keywords.
        arrays: dict[str, Any] = {f"d{depth}": array for depth, array in enumerate(rows)}
        np.savez_compressed(path, **arrays)
