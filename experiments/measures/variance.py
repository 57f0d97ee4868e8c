"""The variance that each mechanism needs, and what no mechanism can beat: exact, no chance.

At squared sensitivity 1, so that mechanisms can be compared; multiplied by noise_multiplier^2 and
the sensitivity of the table it is the variance of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.mechanism_table import mean_bound, variances

from experiments.cell import Cell, Observation

__all__ = ["BOUND", "measure"]

BOUND = "lower bound"


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Compute the variances of mechanisms for a number of pushes.

    Args:
        parameters: ``leaves``, the number of pushes.
        contenders: names of mechanisms.
        cell: value.

    Returns:
        ``mean`` and ``largest`` variance over the pushes; the bound of the mean.
    """
    leaves = int(parameters["leaves"])
    found = [Observation(BOUND, cell.value, "mean", mean_bound(leaves))]
    for name in contenders:
        # Tables of tree-log for so few pushes are those of tree.
        each = variances(name, leaves)
        if each is not None:
            found.append(Observation(name, cell.value, "mean", float(each.mean())))
            found.append(Observation(name, cell.value, "largest", float(each.max())))
    return found
