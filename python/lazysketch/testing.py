"""NOT PRIVATE: keys from seeds, chosen sketch ids and raw draws, for tests and experiments.

Everything made with this module is marked: the sketch, its releases and their ``repr`` say NOT
PRIVATE. Two streams under one key and one sketch id are published with the same noise, so the
difference of their releases is exact. Tests need this; in production it would disclose counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer, checked_integers
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.keys import Key
from lazysketch.specification.mechanisms import LARGEST_LEAVES

__all__ = ["draws", "fixed_id", "seeded_key"]

_ZERO_ID = bytes(16)


def seeded_key(seed: int, *, sketch_id: bytes | None = _ZERO_ID) -> Key:
    """Return a key from a public seed: equal seeds, ids and streams give equal releases.

    Guarantee: none; NOT PRIVATE.

    Args:
        seed: 0 to 2^64 - 1.
        sketch_id: 16 bytes, the id of every sketch under this key, or None for fresh ids.

    Returns:
        A key that marks every sketch made with it.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(
        ...     depth=2, width=8, epsilon=1.0, delta=1e-6, key=seeded_key(1)
        ... )
        >>> sketch.private
        False
    """
    number = checked_integer("seed", seed, least=0, most=2**64 - 1)
    return _native.Key.__new__(Key, seed=number, sketch_id=sketch_id)


def fixed_id(key: Key, sketch_id: bytes) -> Key:
    """Return a secret key whose sketches all have one id, as in a replay.

    Guarantee: none; NOT PRIVATE.

    Args:
        key: a secret key.
        sketch_id: 16 bytes.

    Returns:
        A key that marks every sketch made with it.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: an id that is not 16 bytes, or a seeded key.

    Example:
        >>> key = fixed_id(Key.generate(), bytes(16))
        >>> import lazysketch as ls
        >>> ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6, key=key).private
        False
    """
    if not isinstance(key, Key):
        raise ArgumentTypeError(f"key: expected a Key, got {type(key).__name__}")
    if not isinstance(sketch_id, bytes):
        raise ArgumentTypeError(f"sketch_id: expected bytes, got {type(sketch_id).__name__}")
    return _native.Key.__new__(Key, key.to_bytes(), sketch_id=sketch_id)


def draws(
    sketch: _native.PrivateSketch, cells: npt.ArrayLike, nodes: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Return the raw node draws of a sketch made with a seeded key.

    Guarantee: none; a sketch under a secret key raises.

    Args:
        sketch: made with :func:`seeded_key`.
        cells: cell numbers, row * width + column.
        nodes: node numbers, 1 to n.

    Returns:
        int64 array of shape (cells, nodes).

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: the sketch's key is secret, or a number outside its range.
        ClosedError: the sketch is closed.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(
        ...     depth=2, width=8, epsilon=1.0, delta=1e-6, key=seeded_key(1)
        ... )
        >>> draws(sketch, cells=[0, 1], nodes=[1, 2, 3]).shape
        (2, 3)
    """
    if not isinstance(sketch, _native.PrivateSketch):
        raise ArgumentTypeError(
            f"sketch: expected a private sketch or counters, got {type(sketch).__name__}"
        )
    rows = checked_integers("cells", cells, most=sketch.depth * sketch.width - 1)
    columns = checked_integers("nodes", nodes, least=1, most=LARGEST_LEAVES)
    return sketch._draws(rows.tolist(), columns.tolist()).reshape(len(rows), len(columns))
