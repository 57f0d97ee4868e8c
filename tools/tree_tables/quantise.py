"""Integer rows from real ones, such that the sensitivities of all leaves stay close.

What counts for privacy and accuracy is ||U 1_{t >= l}||^2, made of the suffix sums of the rows in
the order of time. So the suffix sums are rounded, and the rows are their differences: each step
sees an error of at most 1/2 per node, while rounding the entries themselves would add up to k / 2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tools.tree_tables.layout import Rows, depth_of
from tools.tree_tables.strategy import Geometry

__all__ = ["SCALE_BITS", "quantise"]

SCALE_BITS = 8


def quantise(rows: Rows, *, scale_bits: int = SCALE_BITS) -> list[npt.NDArray[np.int64]]:
    """Integer rows at scale 2^scale_bits of rows whose largest sensitivity is 1."""
    geometry = Geometry(depth_of(rows))
    sums = geometry.suffix_sums([row.astype(np.float64) for row in rows])
    scale = 2.0**scale_bits / np.sqrt(geometry.sensitivities(sums).max())
    rounded = geometry.from_suffix_sums([np.rint(scale * each) for each in sums])
    return [row.astype(np.int64) for row in rounded]
