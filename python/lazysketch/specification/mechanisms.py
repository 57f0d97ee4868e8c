"""Mechanisms: how the noise of one cell is correlated over its pushes.

A mechanism gives the squared sensitivity that sigma is calibrated for, and the variance of the
noise after each push. The exact numbers come from the native core, which draws the noise.

===========  =====================================  =================  =====================
mechanism    description                            most pushes        variance at n = 1024
===========  =====================================  =================  =====================
tree         optimised tables                       2^14               9.48 max, 9.32 mean
tree-log     the same, even over log t              2^12               less early, more late
tree-deep    rows shared by the nodes of a depth    2^48               10.6 max, 9.5 mean
tree-endless tree-deep without a horizon            2^32               15.0 max, 13.9 mean
haar         the tree in closed form                2^48               17.7 max, 12.7 mean
binary       the paper's GaussBM                    2^48               110 max, 55 mean
square-root  Toeplitz, for research, NOT PRIVATE    2^16               10.7 max, 9.7 mean
===========  =====================================  =================  =====================

Variances are per unit of sensitivity (``sensitivity2`` times :meth:`Mechanism.variances`). A read
costs log2 n draws; with square-root it costs one draw per push. :func:`mechanisms_for` replaces
``"tree"`` by ``"tree-log"`` under the geometric schedule with more than 512 rounds, by
``"tree-deep"`` for more than 2^14 pushes, by ``"tree-endless"`` without a horizon, and by
``"haar"`` for one or two pushes, and where the numbers of the others would not fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer, checked_integers, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "LARGEST_LEAVES",
    "MECHANISMS",
    "Mechanism",
    "MechanismName",
    "checked_mechanism",
    "mechanisms_for",
]

MechanismName: TypeAlias = Literal[
    "tree", "tree-log", "tree-deep", "tree-endless", "haar", "binary", "square-root"
]
MECHANISMS: Final[tuple[MechanismName, ...]] = get_args(MechanismName)
LARGEST_LEAVES: Final = 2**48
# Up to this number of pushes the closed form has less noise than the smallest table; for one push
# it is optimal.
_FEWEST_FOR_TABLES: Final = 2
# The smallest table of tree-log serves 1024 pushes; tree has less noise for far fewer pushes.
_FEWEST_FOR_EARLY: Final = 512
# The smallest tree with shared rows serves 1024 pushes; haar has less noise for far fewer pushes.
_FEWEST_FOR_SHARED: Final = 512
_FEW: Final = 16  # numbers of pushes that are not sorted


def checked_mechanism(argument: str, name: object) -> MechanismName:
    """Return the name of a mechanism, or raise.

    Args:
        argument: name of the caller's argument, for the message.
        name: value of the argument.

    Returns:
        The same string.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: a string that names no mechanism.

    Example:
        >>> checked_mechanism("mechanism", "haar")
        'haar'
    """
    wanted = "one of " + ", ".join(repr(known) for known in MECHANISMS)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument}: expected {wanted}, got {type(name).__name__}")
    for known in MECHANISMS:
        if name == known:
            return known
    raise ArgumentValueError(f"{argument}: expected {wanted}, got {shown(name)}")


@dataclass(frozen=True)
class Mechanism:
    """A mechanism for a number of pushes, as the core computes it.

    Guarantee: ``sensitivity2`` is exact: the largest squared L2 norm of the change of all noisy
    queries of one cell when one count changes by one.

    Attributes:
        nodes_per_leaf: largest number of noisy queries that one count changes.
        nodes: most pushes of a cell, at least ``leaves``.
        draws: most draws for one cell, with that of a final push after the last leaf.

    Args:
        name: one of :data:`MECHANISMS`.
        leaves: largest number of pushes of a cell, from 1 to the limit of the mechanism.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: an unknown name or too many leaves.

    Source: Chan, Shi and Song 2011 with Gaussian noise (binary); docs/theory.md (tree, haar);
    Fichtenberger, Henzinger and Upadhyay 2023 (square-root).

    Example:
        >>> Mechanism("haar", leaves=1024).sensitivity2
        49
        >>> Mechanism("binary", leaves=1024).sensitivity2
        11
    """

    name: MechanismName
    leaves: int
    sensitivity2: int | Fraction = field(init=False)
    nodes_per_leaf: int = field(init=False)
    nodes: int = field(init=False)
    draws: int = field(init=False)

    def __post_init__(self) -> None:
        """Check the arguments and read the other fields from the core."""
        checked_mechanism("name", self.name)
        most = _native.mechanism_largest_leaves(mechanism=self.name)
        leaves = checked_integer("leaves", self.leaves, most=most)
        object.__setattr__(self, "leaves", leaves)
        sensitivity2, nodes_per_leaf, nodes, draws = _native.mechanism_facts(
            mechanism=self.name, leaves=leaves
        )
        # Only the square-root mechanism has a fraction, which the core rounds up.
        exact = int(sensitivity2) if sensitivity2.is_integer() else Fraction(sensitivity2)
        object.__setattr__(self, "sensitivity2", exact)
        object.__setattr__(self, "nodes_per_leaf", nodes_per_leaf)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "draws", draws)

    def fits(self, sigma: float) -> bool:
        """Return True if the exact sums of this mechanism fit the integers they are computed in.

        Args:
            sigma: standard deviation of the draws, in counts.

        Returns:
            True if the core accepts this sigma.

        Example:
            >>> Mechanism("tree", leaves=1024).fits(1e3)
            True
        """
        return _native.mechanism_fits(mechanism=self.name, leaves=self.leaves, sigma=sigma)

    def variances(self, pushes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the variance of the noise after some numbers of pushes, in units of sigma^2.

        Args:
            pushes: integers from 0 to ``nodes + 1``, the leaf that only a final push can use.

        Returns:
            float64 array; 0 for push 0, before anything is released.

        Raises:
            ArgumentTypeError: not integers.
            ArgumentValueError: negative, or above ``nodes + 1``.

        Example:
            >>> Mechanism("binary", leaves=8).variances([0, 7, 8])
            array([0., 3., 1.])
        """
        values = checked_integers("pushes", pushes, most=self.nodes + 1)
        fewer, back = _without_most_repeats(values)
        found = _native.mechanism_variances(
            mechanism=self.name, leaves=self.leaves, pushes=fewer.tolist()
        )
        return found[back]

    @property
    def has_differences(self) -> bool:
        """True if :meth:`difference_variances` knows the noise of differences of pushes."""
        return self.name not in ("tree-deep", "tree-endless")

    def difference_variances(
        self, late: npt.ArrayLike, early: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Return the variance of the difference of the noise of two pushes of one cell.

        The pushes share draws, so this is not the sum of their variances. Both are rounded after
        that, each by at most 1/2.

        Args:
            late: integers from 0 to ``nodes + 1``.
            early: as many; push 0, before anything is released, has no noise.

        Returns:
            float64 array, in units of sigma^2.

        Raises:
            ArgumentTypeError: not integers.
            ArgumentValueError: outside their range, or a mechanism that rounds at every node
                (``"tree-deep"``, ``"tree-endless"``), whose differences are not known.

        Source: docs/theory.md, Lemma 12a.

        Example:
            >>> Mechanism("binary", leaves=8).difference_variances([7, 8], [6, 0])
            array([1., 1.])
        """
        ends = [
            checked_integers("pushes", end, most=self.nodes + 1).tolist() for end in (late, early)
        ]
        return _native.mechanism_difference_variances(
            mechanism=self.name, leaves=self.leaves, late=ends[0], early=ends[1]
        )

    def final_pushes(
        self, pushes: npt.ArrayLike, *, nothing_pending: bool
    ) -> npt.NDArray[np.int64]:
        """Return the leaves of the final pushes of cells, which ``finish()`` makes.

        Guarantee: a leaf of a final push is later than the last push of the cell, unless nothing is
        pending and that push has less noise.

        Args:
            pushes: pushes of each cell so far, integers from 0 to ``nodes``.
            nothing_pending: True if every cell was pushed at the last step.

        Returns:
            int64 array: the later leaf with the least variance, ``nodes + 1`` if there is no other.

        Raises:
            ArgumentTypeError: not integers.
            ArgumentValueError: negative, or above ``nodes``.

        Source: docs/theory.md, "The final push".

        Example:
            >>> Mechanism("haar", leaves=1024).final_pushes([0, 5, 1024], nothing_pending=False)
            array([   1,    8, 1025])
        """
        values = checked_integers("pushes", pushes, most=self.nodes)
        fewer, back = _without_most_repeats(values)
        found = _native.mechanism_final_pushes(
            mechanism=self.name,
            leaves=self.leaves,
            pushes=fewer.tolist(),
            nothing_pending=nothing_pending,
        )
        return np.array(found, dtype=np.int64)[back]


def _without_most_repeats(
    pushes: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return numbers of pushes without most repeats, and the place of each number in them.

    Few are returned as they are. Of many each is returned once: neighbouring columns have
    equally many, so that their runs are sorted, not all of them.
    """
    if len(pushes) <= _FEW:
        return pushes, np.arange(len(pushes))
    begins = np.flatnonzero(np.diff(pushes, prepend=-1))
    distinct, of_runs = np.unique(pushes[begins], return_inverse=True)
    return distinct, np.repeat(of_runs, np.diff(begins, append=len(pushes)))


def mechanisms_for(
    mechanism: MechanismName | Mechanism, *, leaves: int, growing: bool, endless: bool = False
) -> tuple[Mechanism, ...]:
    """Return the mechanisms that implement the requested one, best first.

    Guarantee: the choice depends on public parameters only.

    Args:
        mechanism: one of :data:`MECHANISMS`, where ``"tree"`` means the best exact one; or a
            mechanism for this number of leaves, which is then the only choice.
        leaves: largest number of pushes of a cell.
        growing: True for the geometric schedule, whose streams rarely reach the last pushes.
        endless: True if the number of pushes is not known; ``leaves`` is then only a limit.

    Returns:
        At least one mechanism; for ``"tree"`` the last one is ``"haar"``.

    Raises:
        ArgumentTypeError: neither a name nor a mechanism.
        ArgumentValueError: an unknown name, more leaves than the mechanism serves, or a mechanism
            for another number of leaves.

    Example:
        >>> [known.name for known in mechanisms_for("tree", leaves=2000, growing=True)]
        ['tree-log', 'tree', 'tree-deep', 'haar']
        >>> [known.name for known in mechanisms_for("tree", leaves=10**6, growing=False)]
        ['tree-deep', 'haar']
        >>> [
        ...     known.name
        ...     for known in mechanisms_for("tree", leaves=2**32, growing=False, endless=True)
        ... ]
        ['tree-endless', 'tree-deep', 'haar']
    """
    if isinstance(mechanism, Mechanism):
        if mechanism.leaves != leaves:
            raise ArgumentValueError(
                f"mechanism: expected one for the {leaves} leaves of the schedule, got one for "
                f"{mechanism.leaves}"
            )
        return (mechanism,)
    if checked_mechanism("mechanism", mechanism) != "tree":
        return (Mechanism(mechanism, leaves=leaves),)
    if leaves <= _FEWEST_FOR_TABLES:
        return (Mechanism("haar", leaves=leaves),)
    if endless:
        unknown: tuple[MechanismName, ...] = ("tree-endless", "tree-deep", "haar")
        return tuple(Mechanism(known, leaves=leaves) for known in unknown)
    early = growing and leaves > _FEWEST_FOR_EARLY
    names: list[MechanismName] = ["tree-log"] if early else []
    names += ["tree", "tree-deep"] if leaves > _FEWEST_FOR_SHARED else ["tree"]
    most = {known: _native.mechanism_largest_leaves(mechanism=known) for known in names}
    serving: list[MechanismName] = [*(known for known in names if leaves <= most[known]), "haar"]
    return tuple(Mechanism(known, leaves=leaves) for known in serving)
