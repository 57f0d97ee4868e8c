"""The noise of the last m slices, and how many slices a block should have.

A block is one private sketch that publishes at the end of each of its slices. A window of m slices
is, in each block that it touches, the difference of two of these prefixes. Short blocks have little
noise each, but a window touches many; in a long block the difference of two prefixes has the noise
of many pushes. Everything here is a function of public numbers.

================  ==================================  ============================
block             window of m slices                  variance for m = 60
================  ==================================  ============================
1 slice           sum of m single releases            60
as long as m      end of one block, begin of another  11.0 in the mean, 13.7 at most
much longer       difference of two prefixes          12.4 in the mean, 18.4 at most
================  ==================================  ============================

Variances are per cell, where 1 is that of a single release with the same guarantee.

Source: docs/theory.md, Lemma 12a and Theorem 12b.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.specification.mechanisms import Mechanism, mechanisms_for
from lazysketch.windows.cuts import leaves_of

__all__ = ["LARGEST_BLOCK", "best_block", "window_variances"]

# Blocks up to this length have the mechanism "tree" or "haar" for any sigma (`leaves_of`).
LARGEST_BLOCK: Final = 480


@lru_cache(maxsize=1024)
def _mechanism(block: int) -> Mechanism:
    return mechanisms_for("tree", leaves=leaves_of(block), growing=False)[0]


def window_variances(block: int, span: int) -> npt.NDArray[np.float64]:
    """Return the variances of the noise of windows, by the place of their end in a block.

    Args:
        block: slices of a block, 1 to 480.
        span: slices of a window, 1 or more.

    Returns:
        float64 array of shape (block,), for windows that end with slice 1, 2, ... of a block. The
        unit is the variance of a single release.

    Source: docs/theory.md, Theorem 12b.

    Example:
        >>> window_variances(1, 60)
        array([60.])
        >>> window_variances(60, 60).max().round(1)
        np.float64(13.7)
    """
    mechanism = _mechanism(block)
    end = int(mechanism.final_pushes([block], nothing_pending=True)[0])
    ends = np.arange(1, block + 1)
    leaves = np.append(np.arange(block), end)
    # In the block of its end, then in the one before, of which a part or all, and whole ones.
    inside = np.minimum(ends, span)
    variances = mechanism.difference_variances(leaves[ends], leaves[ends - inside])
    whole, left = np.divmod(span - inside, block)
    variances += whole * mechanism.variances([end])[0]
    variances += mechanism.difference_variances(
        np.where(left > 0, end, 0), np.where(left > 0, leaves[block - left], 0)
    )
    return variances * float(mechanism.sensitivity2)


@lru_cache(maxsize=64)
def best_block(span: int) -> int:
    """Return the number of slices of a block for which the noisiest window has the least noise.

    Args:
        span: slices of a window, 1 or more.

    Returns:
        1 to 480.

    Example:
        >>> [best_block(span) for span in (1, 2, 8, 60, 168)]
        [1, 1, 4, 60, 240]
    """
    powers = [factor << i for factor in (1, 15) for i in range(9)]
    parts = [span // part for part in (1, 2, 3, 4)]
    most = min(LARGEST_BLOCK, max(2 * span, 1))
    choices = sorted({block for block in (*powers, *parts, 2 * span) if 1 <= block <= most})
    return min(choices, key=lambda block: (float(window_variances(block, span).max()), block))
