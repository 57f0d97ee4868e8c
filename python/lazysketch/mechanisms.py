"""Mechanisms: how much noise one cell needs to be counted for ever.

What it computes: the squared sensitivity that sigma is calibrated for, and the variance of the
noise after each push. The exact integers come from the native core, which draws the noise.

=========  ============================  ===================  ====================================
mechanism  what it is                    ``sensitivity2``     variance at n = 1024, max and mean
=========  ============================  ===================  ====================================
binary     the paper's GaussBM           floor(log2 n) + 1    110 and 55
haar       tree mechanism, closed form   4 log2 n + 9         17.7 and 12.7
=========  ============================  ===================  ====================================

Variances are per unit of sensitivity (``sensitivity2`` times :meth:`Mechanism.variances`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.relations import checked_integer, checked_integers

__all__ = ["LARGEST_LEAVES", "MECHANISMS", "Mechanism", "checked_mechanism"]

MECHANISMS: Final = ("binary", "haar")
LARGEST_LEAVES: Final = 2**48


def checked_mechanism(argument: str, name: object) -> str:
    """Return the name of a mechanism, or raise.

    Args:
        argument: what the caller calls it, for the message.
        name: what the caller gave.

    Returns:
        The same string.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: a string that names no mechanism.

    Example:
        >>> checked_mechanism("mechanism", "haar")
        'haar'
    """
    wanted = " or ".join(repr(known) for known in MECHANISMS)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument}: expected {wanted}, got {type(name).__name__}")
    if name not in MECHANISMS:
        raise ArgumentValueError(f"{argument}: expected {wanted}, got {name[:40]!r}")
    return name


@dataclass(frozen=True)
class Mechanism:
    """A mechanism for a number of pushes, as the core computes it.

    Guarantee: ``sensitivity2`` is exact: the largest squared L2 norm of the change of all noisy
    queries of one cell when one count changes by one.

    Args:
        name: ``"binary"`` or ``"haar"``.
        leaves: largest number of pushes of a cell, 1 to 2^48.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: an unknown name or too many leaves.

    Source: Chan, Shi and Song 2011 with Gaussian noise (binary); docs/guarantees.md (haar).

    Example:
        >>> Mechanism("haar", leaves=1024).sensitivity2
        49
        >>> Mechanism("binary", leaves=1024).sensitivity2
        11
    """

    name: str
    leaves: int
    sensitivity2: int = field(init=False)
    nodes_per_leaf: int = field(init=False)
    nodes: int = field(init=False)

    def __post_init__(self) -> None:
        """Check the arguments and ask the core for the facts."""
        checked_mechanism("name", self.name)
        leaves = checked_integer("leaves", self.leaves, most=LARGEST_LEAVES)
        object.__setattr__(self, "leaves", leaves)
        sensitivity2, nodes_per_leaf, nodes = _native.mechanism_facts(
            mechanism=self.name, leaves=self.leaves
        )
        object.__setattr__(self, "sensitivity2", sensitivity2)
        object.__setattr__(self, "nodes_per_leaf", nodes_per_leaf)
        object.__setattr__(self, "nodes", nodes)

    def variances(self, pushes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the variance of the noise after some numbers of pushes, in units of sigma^2.

        Args:
            pushes: integers from 0 to ``leaves``.

        Returns:
            float64 array; 0 for push 0, when nothing has been released.

        Raises:
            ArgumentTypeError: not integers.
            ArgumentValueError: negative, or beyond the leaves.

        Example:
            >>> Mechanism("binary", leaves=8).variances([0, 7, 8])
            array([0., 3., 1.])
        """
        values = checked_integers("pushes", pushes, most=self.leaves)
        distinct, back = np.unique(values, return_inverse=True)
        found = _native.mechanism_variances(
            mechanism=self.name, leaves=self.leaves, pushes=distinct.tolist()
        )
        return found[back]
