"""Heavy items of a stream, found without a list of items, and their counts.

Two mechanisms read every event. *Discovery* publishes names: items whose count in a discovery epoch
(a block of steps), plus noise, reaches a threshold that an item of one event rarely reaches. The
*sketch* publishes counts of the whole stream, including events before an item was discovered. Their
privacy parameters add up.

Releasing an item because the sketch alone estimates it as heavy would not be private: an item of
one event is heavy in the sketch if it collides with a heavy item, and its name would reveal that it
occurred.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from lazysketch.heavy_hitters.discovery_spec import DiscoverySpec
from lazysketch.heavy_hitters.heavy_hitters import HeavyHitters
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec
from lazysketch.heavy_hitters.joint_privacy import JointPrivacy
from lazysketch.releases.heavy_items import HeavyHitter, HeavyItems

if TYPE_CHECKING:  # what a name is; _OF_HIERARCHIES says where it is loaded from
    from lazysketch.heavy_hitters.hierarchical import HierarchicalHeavyHitters
    from lazysketch.heavy_hitters.hierarchies import (
        Levels,
        dns_names,
        ipv4_prefixes,
        ipv6_prefixes,
        url_paths,
    )
    from lazysketch.heavy_hitters.levels_privacy import LevelsPrivacy
    from lazysketch.heavy_hitters.published_levels import HeavyLevel
    from lazysketch.heavy_hitters.tree import HierarchyNode, HierarchyNodes

__all__ = [
    "DiscoverySpec",
    "HeavyHitter",
    "HeavyHitters",
    "HeavyHittersSpec",
    "HeavyItems",
    "HeavyLevel",
    "HierarchicalHeavyHitters",
    "HierarchyNode",
    "HierarchyNodes",
    "JointPrivacy",
    "Levels",
    "LevelsPrivacy",
    "dns_names",
    "ipv4_prefixes",
    "ipv6_prefixes",
    "url_paths",
]

# Loaded with the first use: most streams have no levels.
_OF_HIERARCHIES: Final = {
    "HeavyLevel": "published_levels",
    "HierarchicalHeavyHitters": "hierarchical",
    "HierarchyNode": "tree",
    "HierarchyNodes": "tree",
    "Levels": "hierarchies",
    "LevelsPrivacy": "levels_privacy",
    "dns_names": "hierarchies",
    "ipv4_prefixes": "hierarchies",
    "ipv6_prefixes": "hierarchies",
    "url_paths": "hierarchies",
}


def __getattr__(name: str) -> object:
    if name not in _OF_HIERARCHIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_OF_HIERARCHIES[name]}"), name)
    globals()[name] = value
    return value
