"""Tumbling windows of a stream: one sketch per window, with tops, counts and changes.

A window may also hold the number of distinct items, the distribution of a value, counts of ranges
of keys, or sums by item.

A window is cut by the machine's clock, by the number of steps or, for files, by the time of each
event within a public range; never by the largest time seen so far, which one event from the future
would move. Each event lies in exactly one window, so the guarantee of one window holds for all
windows together.
"""

from __future__ import annotations

from lazysketch.windows.alerts import Alert, AlertRule, Alerts, FiredAlerts
from lazysketch.windows.boundaries import UNKNOWN_TIME
from lazysketch.windows.changes import Change, Changes
from lazysketch.windows.distinct_windows import DistinctWindows
from lazysketch.windows.distribution_windows import DistributionWindows
from lazysketch.windows.hierarchical_windows import HierarchicalWindows
from lazysketch.windows.published_hierarchy import WindowsOfLevel
from lazysketch.windows.ranges_windows import RangesWindows
from lazysketch.windows.sliding import Sliding
from lazysketch.windows.sums_windows import SumsWindows
from lazysketch.windows.window import ReleasedWindow, Window
from lazysketch.windows.windows import Windows

__all__ = [
    "UNKNOWN_TIME",
    "Alert",
    "AlertRule",
    "Alerts",
    "Change",
    "Changes",
    "DistinctWindows",
    "DistributionWindows",
    "FiredAlerts",
    "HierarchicalWindows",
    "RangesWindows",
    "ReleasedWindow",
    "Sliding",
    "SumsWindows",
    "Window",
    "Windows",
    "WindowsOfLevel",
]
