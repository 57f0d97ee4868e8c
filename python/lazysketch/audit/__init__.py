"""The audit: whoever doubts the guarantee can test it, and a planted bug never passes.

What it computes: evidence against the claims of docs/guarantees.md, from tables that it makes,
feeds and reads like any user, compared with its own slow account of schedule, matrices and law.
What it costs: a CI-size run some 25 seconds on one core; ``--full`` as long as you give it.
Correct code raises a false alarm in at most one run of 100,000.

==================  ========================================================================
module              what it doubts
==================  ========================================================================
``residuals``       the law of the noise, through Python, releases on disk and the command line
``sensitivity``     the distance of neighbours, by enumeration on small tables
``distinguisher``   both, as an attacker who sees whole trajectories of releases
``low_bits``        rounding and floating point
``hygiene``         keys, ids, draws, replay, counters
``behaviour``       errors, sizes, allocations; items in outputs, releases or memory
``controls``        the checks themselves: a planted bug for each
==================  ========================================================================

No audit proves a guarantee; docs/audit.md says what each check cannot see.

Example:
    >>> from lazysketch.audit import audit, standard_checks
    >>> quick = [check for check in standard_checks() if check.name == "replay"]
    >>> [finding.passed for finding in audit(quick)]
    [True]
"""

from __future__ import annotations

from lazysketch.audit.configuration import Configuration
from lazysketch.audit.controls import Control, controls, run_controls
from lazysketch.audit.finding import Finding
from lazysketch.audit.model import Bug, Model
from lazysketch.audit.suite import AREAS, Check, audit, checks_of, standard_checks
from lazysketch.audit.system_under_test import Library, Subject

__all__ = [
    "AREAS",
    "Bug",
    "Check",
    "Configuration",
    "Control",
    "Finding",
    "Library",
    "Model",
    "Subject",
    "audit",
    "checks_of",
    "controls",
    "run_controls",
    "standard_checks",
]
