"""The counts of what was injected: a row per campaign as it ends, a table per class at the end."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest
from tests.locations import ROOT

ROWS: Final = ROOT / "build/faults.jsonl"
_KINDS: Final = ("lines", "bytecodes", "allocations")
# Operation, kind of point, points, errors, violations by kind.
Row: TypeAlias = tuple[str, str, int, int, dict[str, int]]


def _is_whole(config: pytest.Config) -> bool:
    """Tell whether no campaign was left out, in the process that gathers the reports."""
    return not config.option.markexpr and not hasattr(config, "workerinput")


def _rows(report: pytest.TestReport) -> Iterator[Row]:
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "faults":
                yield value  # type: ignore[misc]


class _Rows:
    """Keeps the rows of a run in a file, so that a run that is cut off has told what it found."""

    def __init__(self) -> None:
        ROWS.parent.mkdir(exist_ok=True)
        ROWS.write_text("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append the rows of a test."""
        with ROWS.open("a") as file:
            for row in _rows(report):
                file.write(json.dumps(row) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the rows, unless campaigns are left out.

    Args:
        config: of this run.
    """
    if _is_whole(config):
        config.pluginmanager.register(_Rows())


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show the campaigns that found something, and the counts of every class.

    Args:
        terminalreporter: has the reports of all tests, also of those in other processes.
        config: of this run.
    """
    if not _is_whole(config):
        return
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    rows = [row for report in reports for row in _rows(report)]
    if not rows:
        return
    terminalreporter.section("errors injected")
    for operation, kind, points, injected, violations in sorted(rows, key=lambda row: row[:2]):
        if violations:
            found = ", ".join(f"{name}: {number}" for name, number in violations.items())
            terminalreporter.write_line(f"{operation}, {injected} of {points} {kind}: {found}")
    for line in table(rows):
        terminalreporter.write_line(line)


def table(rows: list[Row]) -> Iterator[str]:
    """Return the lines of a table in Markdown, with a row per class.

    Args:
        rows: of any campaigns.
    """
    kinds = " | ".join(f"errors at {kind}" for kind in _KINDS)
    yield f"| class | operations | {kinds} | violations |"
    yield f"| --- {'| --: ' * (len(_KINDS) + 2)}|"
    operations: defaultdict[str, set[str]] = defaultdict(set)
    errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operation, kind, _, injected, violations in rows:
        for family in (operation.partition(":")[0], "all"):
            operations[family].add(operation)
            errors[family][kind] += injected
            errors[family]["violations"] += sum(violations.values())
    for family in sorted(operations, key=lambda name: (name == "all", name)):
        counted: list[Any] = [len(operations[family])]
        counted += [errors[family][kind] for kind in (*_KINDS, "violations")]
        yield f"| {family} | {' | '.join(f'{number:,}' for number in counted)} |"
