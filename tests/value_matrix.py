"""The rows of a tree over bins of values as a matrix, by definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.specification.value_tree import ValueTree


def matrix(tree: ValueTree) -> npt.NDArray[np.int64]:
    """Return V from the rows of the core: depth by depth, ancestors and the node itself."""
    entries = iter(_native.value_tree_rows(rows=tree.rows, bins=tree.bins).tolist())
    found = np.zeros((tree.bins, tree.bins), dtype=np.int64)
    for depth in range(tree.bins.bit_length()):
        for index in range(1 if depth == 0 else 2 ** (depth - 1)):
            times = [
                tree.bins if at == 0 else (2 * (index >> (depth - at)) + 1) * (tree.bins >> at)
                for at in range(depth + 1)
            ]
            for time in times:
                found[times[-1] - 1, time - 1] = next(entries)
    assert next(entries, None) is None
    return found
