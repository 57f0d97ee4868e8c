"""The rows of the tree without a horizon by definition: which nodes a push has, and their integers.

The nodes at pushes 1, 2, 4, ... are the spine: a row has entries at the four before it and its
own. Epoch j has the pushes 2^(j-1) + 1 .. 2^j. Its other nodes are those of the right half of a
tree with shared rows, times a factor, and their rows sum to zero.

Source: docs/theory.md, "No horizon".
"""

from __future__ import annotations

from collections.abc import Callable

from lazysketch.audit.schedule_model import Integers

__all__ = ["LAST_EPOCH", "endless_path", "endless_row", "epoch_of"]

LAST_EPOCH = 32
_PLACES, _BEFORE, _FACTOR_BITS = 6, 4, 13
_TURNS = 6  # the ancestor that the left end of a shared row belongs to


def epoch_of(push: int) -> int:
    """Return the epoch of a push.

    Args:
        push: push number, from 1.

    Returns:
        j with 2^(j-1) < push <= 2^j.

    Example:
        >>> [epoch_of(push) for push in (1, 2, 3, 4, 5)]
        [0, 1, 2, 2, 3]
    """
    return (push - 1).bit_length()


def endless_path(push: int, in_tree: Callable[[int, int], list[int]]) -> list[int]:
    """Return the spine up to the end of the epoch, then the nodes of the epoch down to a push.

    Args:
        push: push number, from 1.
        in_tree: the path of a push in the tree of a size, root first.

    Returns:
        Push numbers.
    """
    epoch = epoch_of(push)
    spine = [1 << j for j in range(epoch + 1)]
    return spine if push == spine[-1] else spine + in_tree(push, spine[-1])[2:]


def endless_row(
    push: int, spine: Integers, tree_path: list[int], tree_row: list[int], top: int
) -> list[int]:
    """Return the row of U for a push number, entry by entry along its path.

    Args:
        push: push number, from 1.
        spine: six integers per epoch: four entries before, its own, the factor.
        tree_path: the path of the push in the tree of its epoch.
        tree_row: its row there.
        top: the last depth with rows of its own.

    Returns:
        One integer per node of :func:`endless_path`.
    """
    epoch = epoch_of(push)
    *before, own, factor = (int(entry) for entry in spine[_PLACES * epoch :][:_PLACES])
    if push == 1 << epoch:
        near = before[max(0, _BEFORE - epoch) :]
        return [0] * (epoch - len(near)) + near + [own]
    half = 1 << (_FACTOR_BITS - 1)
    row = [(entry * factor + half) >> _FACTOR_BITS for entry in tree_row]
    depth = len(tree_path) - 1
    # The left end of all that the row reaches: of the right half, or of the 6th ancestor's block.
    if depth <= top:
        left = 1
    else:
        middle = tree_path[depth - _TURNS]
        left = tree_path.index(middle - (1 << epoch >> (depth - _TURNS)))
    row[left] = 0
    row[left] = -sum(row)
    root, begin, *rest = row
    return [0] * (epoch - 1) + [begin, root] + rest
