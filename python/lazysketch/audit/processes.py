"""A run of the audit in several processes: each makes the same checks and runs some of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor

from lazysketch.audit.case import Case
from lazysketch.audit.finding import Finding, check_number
from lazysketch.audit.suite import Check, audit, checks_of, standard_checks

__all__ = ["audit_in_processes", "usable_processors"]

# Checks for which another process, which takes a second to start, is worth it.
_CHECKS_PER_PROCESS = 16


def usable_processors() -> int:
    """Return how many processors this process may use, 1 or more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def audit_in_processes(
    case: Case,
    areas: Collection[str],
    *,
    processes: int,
    begun: Callable[[str], None] = lambda _: None,
) -> list[Finding]:
    """Run the standard checks and those of one table.

    Guarantee: as :func:`lazysketch.audit.audit`; checks draw their own randomness, so it does not
    matter where they run.

    Args:
        case: the table.
        areas: the areas of the checks that are run.
        processes: the most processes that run checks, 1 or more; few checks run in this one.
        begun: called with the name and the tables of a check before it runs here, or before its
            finding is waited for.

    Returns:
        One finding per check, in the order of the checks.

    Raises:
        AssertionError: more checks than share the false-alarm rate.
        concurrent.futures.process.BrokenProcessPool: a process ended in the middle of a check.

    Example:
        >>> from lazysketch import RoundRobin
        >>> table = Case.of("count-min", 2, 8, RoundRobin(horizon=64))
        >>> found = audit_in_processes(table, {"low-bits"}, processes=2)
        >>> [finding.passed for finding in found]
        [True, True, True]
    """
    checks = _checks(case, areas)
    check_number(len(checks))
    processes = min(processes, len(checks) // _CHECKS_PER_PROCESS)
    if processes < 2:
        return audit(checks, begun=lambda check: begun(_text(check)))
    # Not forked: a fork would share the threads and locks of this process.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin, initargs=(case, areas)
    )
    try:
        # The last checks are the longest, so they begin first.
        places = reversed(range(len(checks)))
        waiting = {place: executor.submit(_finding, place) for place in places}
        found = []
        for place, check in enumerate(checks):
            begun(_text(check))
            found.append(waiting[place].result())
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    executor.shutdown()
    return found


def _checks(case: Case, areas: Collection[str]) -> list[Check]:
    return [check for check in [*standard_checks(), *checks_of(case)] if check.area in areas]


def _text(check: Check) -> str:
    return f"{check.name}, {check.case}"


# The checks of the run that this process works for.
_own: list[Check] = []


def _begin(case: Case, areas: Collection[str]) -> None:
    """Make the checks, and leave Ctrl-C to the process that waits, and which ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _own.extend(_checks(case, areas))


def _finding(place: int) -> Finding:
    return audit([_own[place]])[0]
