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

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # what a name is; _MODULES says where it is loaded from
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
    from lazysketch.pipelines import Part, Pipeline, PrivacyShare
    from lazysketch.planning import (
        ClipBounds,
        DistinctPlan,
        DistributionPlan,
        Plan,
        Prediction,
        RangesPlan,
        SumsPlan,
        clip_bounds,
        plan,
        plan_distinct,
        plan_distribution,
        plan_ranges,
        plan_sums,
    )
    from lazysketch.privacy.accounting import Privacy
    from lazysketch.privacy.composition import Composition, compose
    from lazysketch.privacy.person_bound import PersonBound
    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.periodic import PeriodicSaves
    from lazysketch.releases.ranges_release import RangesRelease
    from lazysketch.releases.release import Release, ReleasePart
    from lazysketch.releases.sums_queries import ItemSum
    from lazysketch.releases.sums_release import SumsRelease
    from lazysketch.sketches.counters import ContinualCounters
    from lazysketch.sketches.distinct_count import DistinctCount
    from lazysketch.sketches.distribution import Distribution
    from lazysketch.sketches.exact import CountMin, CountSketch
    from lazysketch.sketches.keys import Key
    from lazysketch.sketches.partial_counts import PartialCounts
    from lazysketch.sketches.private_sketches import (
        LazyCountMin,
        LazyCountSketch,
        PunctualCountMin,
        PunctualCountSketch,
    )
    from lazysketch.sketches.ranges import Ranges
    from lazysketch.specification.bins import Bins
    from lazysketch.specification.mechanisms import Mechanism
    from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Single
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import NO_ANCHOR, ReleasesOnly, Store, open_store
    from lazysketch.sums.sums import Sums
    from lazysketch.sums.sums_spec import SumsSpec
    from lazysketch.windows import (
        Alert,
        AlertRule,
        Alerts,
        Change,
        Changes,
        DistinctWindows,
        DistributionWindows,
        FiredAlerts,
        HierarchicalWindows,
        RangesWindows,
        ReleasedWindow,
        Sliding,
        SumsWindows,
        Window,
        Windows,
        WindowsOfLevel,
    )

__all__ = [
    "NO_ANCHOR",
    "Alert",
    "AlertRule",
    "Alerts",
    "Batch",
    "Bins",
    "Change",
    "Changes",
    "ClipBounds",
    "Composition",
    "ContinualCounters",
    "CountMin",
    "CountSketch",
    "DiscoverySpec",
    "DistinctCount",
    "DistinctPlan",
    "DistinctRelease",
    "DistinctWindows",
    "Distribution",
    "DistributionPlan",
    "DistributionRelease",
    "DistributionWindows",
    "FiredAlerts",
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
    "ItemSum",
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
    "Part",
    "PartialCounts",
    "PeriodicSaves",
    "PersonBound",
    "Pipeline",
    "Plan",
    "Prediction",
    "Privacy",
    "PrivacyShare",
    "Punctual",
    "PunctualCountMin",
    "PunctualCountSketch",
    "Ranges",
    "RangesPlan",
    "RangesRelease",
    "RangesWindows",
    "Release",
    "ReleasePart",
    "ReleasedWindow",
    "ReleasesOnly",
    "RoundRobin",
    "Single",
    "Sliding",
    "Store",
    "Sums",
    "SumsPlan",
    "SumsRelease",
    "SumsSpec",
    "SumsWindows",
    "TableSpec",
    "Window",
    "Windows",
    "WindowsOfLevel",
    "__version__",
    "clip_bounds",
    "compose",
    "dns_names",
    "ipv4_prefixes",
    "ipv6_prefixes",
    "open_store",
    "plan",
    "plan_distinct",
    "plan_distribution",
    "plan_ranges",
    "plan_sums",
    "url_paths",
]

# A name is loaded when it is first used: a program, the command line above all, starts with the
# modules that it needs.
_MODULES: Final = {
    "NO_ANCHOR": "lazysketch.store",
    "Alert": "lazysketch.windows",
    "AlertRule": "lazysketch.windows",
    "Alerts": "lazysketch.windows",
    "Batch": "lazysketch.specification.schedules",
    "Bins": "lazysketch.specification.bins",
    "Change": "lazysketch.windows",
    "Changes": "lazysketch.windows",
    "Composition": "lazysketch.privacy.composition",
    "ContinualCounters": "lazysketch.sketches.counters",
    "CountMin": "lazysketch.sketches.exact",
    "CountSketch": "lazysketch.sketches.exact",
    "DiscoverySpec": "lazysketch.heavy_hitters",
    "DistinctCount": "lazysketch.sketches.distinct_count",
    "DistinctPlan": "lazysketch.planning",
    "DistinctRelease": "lazysketch.releases.distinct_release",
    "DistinctWindows": "lazysketch.windows",
    "Distribution": "lazysketch.sketches.distribution",
    "ClipBounds": "lazysketch.planning",
    "DistributionPlan": "lazysketch.planning",
    "DistributionRelease": "lazysketch.releases.distribution_release",
    "DistributionWindows": "lazysketch.windows",
    "RangesWindows": "lazysketch.windows",
    "SumsWindows": "lazysketch.windows",
    "FiredAlerts": "lazysketch.windows",
    "Geometric": "lazysketch.specification.schedules",
    "HeavyHitter": "lazysketch.heavy_hitters",
    "HeavyHitters": "lazysketch.heavy_hitters",
    "HeavyHittersSpec": "lazysketch.heavy_hitters",
    "HeavyItems": "lazysketch.heavy_hitters",
    "HeavyLevel": "lazysketch.heavy_hitters",
    "HierarchicalHeavyHitters": "lazysketch.heavy_hitters",
    "HierarchicalWindows": "lazysketch.windows",
    "HierarchyNode": "lazysketch.heavy_hitters",
    "HierarchyNodes": "lazysketch.heavy_hitters",
    "Interval": "lazysketch.estimation.intervals",
    "Intervals": "lazysketch.estimation.intervals",
    "ItemSum": "lazysketch.releases.sums_queries",
    "JointPrivacy": "lazysketch.heavy_hitters",
    "Key": "lazysketch.sketches.keys",
    "LazyCountMin": "lazysketch.sketches.private_sketches",
    "LazyCountSketch": "lazysketch.sketches.private_sketches",
    "LazySketchError": "lazysketch.errors",
    "Ledger": "lazysketch.ledger",
    "Levels": "lazysketch.heavy_hitters",
    "LevelsPrivacy": "lazysketch.heavy_hitters",
    "Mechanism": "lazysketch.specification.mechanisms",
    "Moment": "lazysketch.estimation.moments",
    "Part": "lazysketch.pipelines",
    "PartialCounts": "lazysketch.sketches.partial_counts",
    "PeriodicSaves": "lazysketch.releases.periodic",
    "PersonBound": "lazysketch.privacy.person_bound",
    "Pipeline": "lazysketch.pipelines",
    "Plan": "lazysketch.planning",
    "Prediction": "lazysketch.planning",
    "Privacy": "lazysketch.privacy.accounting",
    "PrivacyShare": "lazysketch.pipelines",
    "Punctual": "lazysketch.specification.schedules",
    "PunctualCountMin": "lazysketch.sketches.private_sketches",
    "PunctualCountSketch": "lazysketch.sketches.private_sketches",
    "Ranges": "lazysketch.sketches.ranges",
    "RangesPlan": "lazysketch.planning",
    "RangesRelease": "lazysketch.releases.ranges_release",
    "Release": "lazysketch.releases.release",
    "ReleasePart": "lazysketch.releases.release",
    "ReleasedWindow": "lazysketch.windows",
    "ReleasesOnly": "lazysketch.store",
    "RoundRobin": "lazysketch.specification.schedules",
    "Single": "lazysketch.specification.schedules",
    "Sliding": "lazysketch.windows",
    "Store": "lazysketch.store",
    "Sums": "lazysketch.sums.sums",
    "SumsRelease": "lazysketch.releases.sums_release",
    "SumsSpec": "lazysketch.sums.sums_spec",
    "TableSpec": "lazysketch.specification.table_spec",
    "Window": "lazysketch.windows",
    "Windows": "lazysketch.windows",
    "WindowsOfLevel": "lazysketch.windows",
    "__version__": "lazysketch._native",
    "compose": "lazysketch.privacy.composition",
    "dns_names": "lazysketch.heavy_hitters",
    "ipv4_prefixes": "lazysketch.heavy_hitters",
    "ipv6_prefixes": "lazysketch.heavy_hitters",
    "open_store": "lazysketch.store",
    "plan": "lazysketch.planning",
    "plan_distinct": "lazysketch.planning",
    "SumsPlan": "lazysketch.planning",
    "clip_bounds": "lazysketch.planning",
    "plan_distribution": "lazysketch.planning",
    "plan_sums": "lazysketch.planning",
    "plan_ranges": "lazysketch.planning",
    "url_paths": "lazysketch.heavy_hitters",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
