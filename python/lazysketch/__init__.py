"""Differentially private Count-Min and Count sketches under continual observation.

The public table may be read after every event, without limit: all reads together satisfy
(epsilon, delta)-differential privacy.

    >>> import lazysketch as ls
    >>> sketch = ls.LazyCountMin(depth=3, width=1024, epsilon=1.0, delta=1e-8)
    >>> sketch.update_many(["203.0.113.9", "198.51.100.7", "203.0.113.9"])
    >>> release = sketch.release()      # public: query, save, load and merge it anywhere
    >>> release.private
    True
"""

from __future__ import annotations

from lazysketch._native import __version__
from lazysketch.errors import LazySketchError
from lazysketch.estimation.intervals import Interval, Intervals
from lazysketch.estimation.moments import Moment
from lazysketch.heavy_hitters import (
    DiscoverySpec,
    HeavyHitter,
    HeavyHitters,
    HeavyHittersSpec,
    HeavyItems,
    HeavyLevel,
    HierarchicalHeavyHitters,
    HierarchyNode,
    HierarchyNodes,
    JointPrivacy,
    Levels,
    LevelsPrivacy,
    dns_names,
    ipv4_prefixes,
    ipv6_prefixes,
    url_paths,
)
from lazysketch.ledger import Ledger
from lazysketch.planning import Plan, Prediction, plan
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.releases.periodic import PeriodicSaves
from lazysketch.releases.release import Release, ReleasePart
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.exact import CountMin, CountSketch
from lazysketch.sketches.keys import Key
from lazysketch.sketches.partial_counts import PartialCounts
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Single
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store import NO_ANCHOR, ReleasesOnly, Store, open_store
from lazysketch.windows import (
    Change,
    Changes,
    HierarchicalWindows,
    Window,
    Windows,
    WindowsOfLevel,
)

__all__ = [
    "NO_ANCHOR",
    "Batch",
    "Change",
    "Changes",
    "Composition",
    "ContinualCounters",
    "CountMin",
    "CountSketch",
    "DiscoverySpec",
    "Geometric",
    "HeavyHitter",
    "HeavyHitters",
    "HeavyHittersSpec",
    "HeavyItems",
    "HeavyLevel",
    "HierarchicalHeavyHitters",
    "HierarchicalWindows",
    "HierarchyNode",
    "HierarchyNodes",
    "Interval",
    "Intervals",
    "JointPrivacy",
    "Key",
    "LazyCountMin",
    "LazyCountSketch",
    "LazySketchError",
    "Ledger",
    "Levels",
    "LevelsPrivacy",
    "Mechanism",
    "Moment",
    "PartialCounts",
    "PeriodicSaves",
    "PersonBound",
    "Plan",
    "Prediction",
    "Privacy",
    "Punctual",
    "PunctualCountMin",
    "PunctualCountSketch",
    "Release",
    "ReleasePart",
    "ReleasesOnly",
    "RoundRobin",
    "Single",
    "Store",
    "TableSpec",
    "Window",
    "Windows",
    "WindowsOfLevel",
    "__version__",
    "compose",
    "dns_names",
    "ipv4_prefixes",
    "ipv6_prefixes",
    "open_store",
    "plan",
    "url_paths",
]
