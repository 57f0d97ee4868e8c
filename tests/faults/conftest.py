"""The table of what was injected, at the end of ``make faults``."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show the counts of every campaign, unless campaigns were left out.

    Args:
        terminalreporter: has the reports of all tests, also of those in other processes.
        config: of this run.
    """
    if config.option.markexpr:
        return
    rows = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for name, value in report.user_properties
        if name == "faults" and report.when == "call"
    ]
    if not rows:
        return
    terminalreporter.section("errors injected")
    for operation, points, injected, violations in sorted(rows):
        found = ", ".join(f"{kind}: {number}" for kind, number in violations.items())
        terminalreporter.write_line(f"{operation:75}{points:9,}{injected:9,}  {found or 'none'}")
    total = sum(injected for _, _, injected, _ in rows)
    wrong = sum(sum(violations.values()) for _, _, _, violations in rows)
    terminalreporter.write_line(f"{len(rows)} campaigns, {total:,} errors, {wrong:,} violations")
