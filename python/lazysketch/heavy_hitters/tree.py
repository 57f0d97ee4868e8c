"""The tree of heavy names of a hierarchy, derived from published names alone.

A node is a name published at its own level, or the name above a published one. The latter may be
shown although discovery did not publish it: it is a function of a public name, and its count is
read from a public table, so both are post-processing.

Source: C. Dwork and A. Roth, 2014, Proposition 2.1 (post-processing); G. Cormode, F. Korn,
S. Muthukrishnan and D. Srivastava, "Finding Hierarchical Heavy Hitters in Data Streams", VLDB 2003
(counts of a node without those of its heavy children).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.releases.heavy_items import HeavyHitter
from lazysketch.releases.items import Item
from lazysketch.result_tables import Rows

__all__ = ["HierarchyNode", "HierarchyNodes", "tree_of"]

Key: TypeAlias = tuple[type, Item, bool]


@dataclass(frozen=True)
class HierarchyNode:
    """A name in the tree of heavy names.

    Guarantee: post-processing of published names and of public tables.

    Attributes:
        item: the name.
        level: number of its level; 0 is the coarsest.
        label: name of its level.
        estimate: count at this step, within the interval.
        low: lower end of its interval.
        high: upper end.
        share: estimate divided by the size of the stream.
        own: estimate minus those of the children; noise may make it negative.
        own_share: ``own`` divided by the size of the stream.
        children: heavy names one level down, in descending order of their estimates.
        published: False if only a name below it was published.
        complete: False if the name is longer than ``max_item_bytes``; then it has no parent.
    """

    item: Item
    level: int
    label: str
    estimate: float
    low: float
    high: float
    share: float
    own: float
    own_share: float
    children: tuple[HierarchyNode, ...]
    published: bool = True
    complete: bool = True

    def walk(self) -> Iterator[HierarchyNode]:
        """Return this node and all below it, parents first.

        Returns:
            An iterator.
        """
        yield self
        for child in self.children:
            yield from child.walk()


class HierarchyNodes(Rows[HierarchyNode]):
    """Nodes of a tree: a frozen sequence of :class:`HierarchyNode`.

    Guarantee: post-processing of published names and of public tables.

    It compares equal to a list of the same nodes. In notebooks and data frames it is a table with
    every field except the children.

    Args:
        rows: the nodes, in order.
    """

    __slots__ = ()

    _row = HierarchyNode
    _left_out = frozenset({"children"})


def tree_of(
    heavy: Sequence[Sequence[HeavyHitter]],
    levels: Levels,
    read: Callable[[int, list[Item]], Sequence[HeavyHitter]],
    *,
    size: float | None = None,
) -> tuple[HierarchyNode, ...]:
    """Return the tree of heavy names.

    Guarantee: post-processing, as explained at the top of this module.

    Args:
        heavy: published names to show, level by level.
        levels: the hierarchy.
        read: takes a level and names, and returns their estimates from the table of the level.
        size: of the stream, which all shares are parts of; None if the levels have one size, so
            that shares are parts of it already.

    Returns:
        The roots, level by level, in descending order of their estimates.

    Raises:
        ArgumentValueError: levels whose functions do not accept the names they return.
    """
    shown = [{_key(hitter): (hitter, True) for hitter in level} for level in heavy]
    parents: list[dict[Key, Key]] = [{} for _ in shown]
    for level in range(len(shown) - 1, 0, -1):
        missing: dict[Key, Item] = {}
        for key, (hitter, _) in shown[level].items():
            if not hitter.complete:
                continue
            name = levels.above(hitter.item, level)
            parent = (type(name), name, True)
            parents[level][key] = parent
            if parent not in shown[level - 1]:
                missing[parent] = name
        found = read(level - 1, list(missing.values()))
        shown[level - 1].update({_key(hitter): (hitter, False) for hitter in found})
    below: dict[Key, list[HierarchyNode]] = {}
    roots: list[HierarchyNode] = []
    for level in range(len(shown) - 1, -1, -1):
        above: dict[Key, list[HierarchyNode]] = {}
        orphans: list[HierarchyNode] = []
        for key, (hitter, published) in shown[level].items():
            children = sorted(below.get(key, ()), key=_by_estimate)
            node = _node(hitter, level, levels.names[level], children, published=published)
            if size is not None:
                share, own_share = min(node.estimate / size, 1.0), node.own / size
                node = replace(node, share=share, own_share=own_share)
            known = parents[level].get(key)
            (orphans if known is None else above.setdefault(known, [])).append(node)
        roots = sorted(orphans, key=_by_estimate) + roots
        below = above
    return tuple(roots)


def _node(
    hitter: HeavyHitter,
    level: int,
    label: str,
    children: Sequence[HierarchyNode],
    *,
    published: bool,
) -> HierarchyNode:
    return HierarchyNode(
        item=hitter.item,
        level=level,
        label=label,
        estimate=hitter.estimate,
        low=hitter.low,
        high=hitter.high,
        share=hitter.share,
        own=hitter.estimate - sum(child.estimate for child in children),
        own_share=hitter.share - sum(child.share for child in children),
        children=tuple(children),
        published=published,
        complete=hitter.complete,
    )


def _key(hitter: HeavyHitter) -> Key:
    return (type(hitter.item), hitter.item, hitter.complete)


def _by_estimate(node: HierarchyNode) -> float:
    return -node.estimate
