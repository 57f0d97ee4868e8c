"""The bytes of a release of sums: its bounds, and two releases of tables.

======  ====================================================================
bytes   content (little endian)
======  ====================================================================
8       ``LAZYSUMS``
4       version, 1
8 + 8   the bounds of values, float64
4       grid steps
1       1 if the caller chose the grid, else 0
8       number of bytes of the table of events
..      the table of events, then that of values, as docs/release-format.md
16      BLAKE2b of everything before
======  ====================================================================
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Final

from lazysketch.errors import ArgumentTypeError, LazySketchError, ReleaseFormatError
from lazysketch.releases.files import SUMS_MAGIC
from lazysketch.releases.release import Release
from lazysketch.specification.value_grid import ValueGrid

__all__ = ["decoded_sums", "encoded_sums"]

_VERSION: Final = 1
_HEAD: Final = struct.Struct("<8sIddIBQ")
_DIGEST: Final = 16


def encoded_sums(grid: ValueGrid, counts: bytes, values: bytes) -> bytes:
    """Return a release of sums as bytes.

    Args:
        grid: the integers of values.
        counts: bytes of the table of events.
        values: bytes of the table of values.

    Returns:
        The bytes, the same on every platform.
    """
    bounds = (grid.low, grid.high, grid.steps, grid.is_exact)
    head = _HEAD.pack(SUMS_MAGIC, _VERSION, *bounds, len(counts))
    content = head + counts + values
    return content + _digest(content)


def decoded_sums(data: object) -> tuple[ValueGrid, Release, Release]:
    """Return what bytes encode.

    Guarantee: hostile bytes raise an error.

    Args:
        data: the result of :func:`encoded_sums`.

    Returns:
        The grid, the table of events and that of values, which belong together.

    Raises:
        ArgumentTypeError: not bytes.
        ReleaseFormatError: not a release of sums of this version, or damaged.
    """
    if not isinstance(data, bytes):
        raise ArgumentTypeError(f"data: expected bytes, got {type(data).__name__}")
    if not data.startswith(SUMS_MAGIC):
        raise ReleaseFormatError("release: expected a release of sums, got other data")
    content, digest = data[:-_DIGEST], data[-_DIGEST:]
    if len(content) < _HEAD.size or _digest(content) != digest:
        raise ReleaseFormatError("release: expected intact sums, got damaged ones")
    _, version, low, high, steps, is_exact, size = _HEAD.unpack_from(content)
    if version != _VERSION:
        raise ReleaseFormatError(
            f"release: expected sums of version {_VERSION}, got version {version}"
        )
    if not (math.isfinite(high - low) and low < high and steps > 0 and is_exact in (0, 1)):
        raise ReleaseFormatError("release: expected bounds of values, got others")
    tables = content[_HEAD.size :]
    counts, values = Release.from_bytes(tables[:size]), Release.from_bytes(tables[size:])
    try:
        step = (high - low) / steps if is_exact else None
        grid = ValueGrid.of(low, high, step)
    except LazySketchError:
        raise ReleaseFormatError("release: expected bounds of values, got others") from None
    if grid.steps != steps or not _belong_together(counts, values, steps):
        raise ReleaseFormatError("release: expected two tables of the same sums, got others")
    return grid, counts, values


def _belong_together(counts: Release, values: Release, steps: int) -> bool:
    """Whether both tables are of the same runs, at the same steps, under one hash."""
    shapes = [(table.kind, table.depth, table.width, table.hash_seed) for table in (counts, values)]
    runs = [
        sorted((part.run.id, part.step, part.finished) for part in table.parts if part.run)
        for table in (counts, values)
    ]
    weights = {part.privacy.max_weight for part in values.parts}
    return (
        shapes[0] == shapes[1]
        and shapes[0][0] == "count-sketch"
        and len(runs[0]) == len(counts.parts)
        and runs[0] == runs[1]
        and weights == {steps}
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
