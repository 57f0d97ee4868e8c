"""Empirical audit of the privacy guarantee, with planted bugs as negative controls.

The audit collects evidence against the claims of docs/guarantees.md. It makes, feeds and reads
tables, heavy hitters, windows and hierarchies through the public interface and compares the results
with its own slow implementation of schedules, matrices, distributions, discovery and accounts.
Cost: a CI run takes about 100 processor seconds, in as many processes as there are processors;
``--full`` takes as long as requested. Correct code raises a false alarm in at most one run of
100,000.

==================  ========================================================================
module              what it tests
==================  ========================================================================
``residuals``       the distribution of the noise, from Python, saved releases and the command line
``sensitivity``     the distance of neighbours, by enumeration on small tables
``distinguisher``   both, by attacks on whole trajectories of releases
``adaptive``        an attack that chooses the event from releases
``low_bits``        rounding and floating point
``hygiene``         keys, ids, draws, replay, counters
``behaviour``       errors, sizes, allocations
``canary``          items in outputs, releases or memory
``discovery_...``   published names: thresholds, noise, identity
``window_...``      windows: the window of an event, their noise, the cost of a move
``level_...``       hierarchies: the budget of levels, their noise
``people_...``      bounds of people: the rule, the distance, the noise
``distinct_...``    distinct items: bits that go and move, their noise
``values_...``      values: replacements over bins and time, their noise
``statement_...``   what releases, merges, hitters, levels and windows state
``service_...``     the service: what readers observe, and what is durable
``controls``        the checks themselves: a planted bug for each
==================  ========================================================================

An audit cannot prove a guarantee; docs/audit.md states the limits of each check.

Example:
    >>> from lazysketch.audit import audit, standard_checks
    >>> quick = [check for check in standard_checks() if check.name == "replay"]
    >>> [finding.passed for finding in audit(quick)]
    [True]
"""

from __future__ import annotations

from lazysketch.audit.case import Case
from lazysketch.audit.control import Control
from lazysketch.audit.controls import controls, run_controls
from lazysketch.audit.finding import Finding
from lazysketch.audit.model import Bug, Model
from lazysketch.audit.suite import AREAS, Check, audit, checks_of, standard_checks
from lazysketch.audit.system_under_test import Library, SystemUnderTest

__all__ = [
    "AREAS",
    "Bug",
    "Case",
    "Check",
    "Control",
    "Finding",
    "Library",
    "Model",
    "SystemUnderTest",
    "audit",
    "checks_of",
    "controls",
    "run_controls",
    "standard_checks",
]
