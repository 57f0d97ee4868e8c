"""The counts of what was injected: a row per campaign as it ends, a table per class at the end.

With ``--going-on`` campaigns that ended without a violation in earlier runs are left out, and the
table has them too.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest
from tests.faults.operations_on_large_tables import LARGE_OPERATIONS
from tests.locations import ROOT

ROWS: Final = ROOT / "build/faults.jsonl"
_KINDS: Final = ("lines", "bytecodes", "allocations")
# Operation, kind of point, points, errors, violations by kind.
Row: TypeAlias = tuple[str, str, int, int, dict[str, int]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option to go on.

    Args:
        parser: of the command line.
    """
    parser.addoption("--going-on", action="store_true", help="leave out campaigns of build/")


def _is_whole(config: pytest.Config) -> bool:
    """Tell whether no campaign was left out, in the process that gathers the reports."""
    chosen = config.option.markexpr or config.option.keyword
    return not chosen and not hasattr(config, "workerinput")


def _earlier() -> list[Row]:
    """Return the rows of campaigns that need not run again."""
    lines = ROWS.read_text().splitlines() if ROWS.is_file() else ()
    rows: Iterator[Row] = (tuple(json.loads(line)) for line in lines)
    ended = {tuple(row[:2]): row for row in rows if not row[4]}.values()
    # All allocations are one test, which ended if it has told of all its operations.
    told = sum(kind == "allocations" for _, kind, *_ in ended)
    whole = told == len(LARGE_OPERATIONS)
    return [row for row in ended if whole or row[1] != "allocations"]


def _rows(report: pytest.TestReport) -> Iterator[Row]:
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "faults":
                yield value  # type: ignore[misc]


class _Rows:
    """Keeps the rows in a file, so that a run that is cut off has told what it found."""

    def __init__(self, earlier: list[Row]) -> None:
        self.rows = earlier
        ROWS.parent.mkdir(exist_ok=True)
        ROWS.write_text("".join(json.dumps(row) + "\n" for row in earlier))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append the rows of a test."""
        with ROWS.open("a") as file:
            for row in _rows(report):
                self.rows.append(row)
                file.write(json.dumps(row) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the campaigns that found something, and the counts of every class."""
        if not self.rows:
            return
        terminalreporter.section("errors injected")
        for operation, kind, points, injected, violations in sorted(
            self.rows, key=lambda row: row[:2]
        ):
            if violations:
                found = ", ".join(f"{name}: {number}" for name, number in violations.items())
                terminalreporter.write_line(f"{operation}, {injected} of {points} {kind}: {found}")
        for line in table(self.rows):
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the rows, unless campaigns are left out.

    Args:
        config: of this run.
    """
    if _is_whole(config):
        going_on = config.getoption("going_on", default=False)
        config.pluginmanager.register(_Rows(_earlier() if going_on else []))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what ended in an earlier run, and samples of what runs as a whole.

    Args:
        config: of this run.
        items: the tests.
    """
    if not config.getoption("going_on", default=False):
        return
    ended = {(operation, kind) for operation, kind, *_ in _earlier()}
    kept = [item for item in items if not _is_ended(item, ended)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _is_ended(item: pytest.Item, ended: set[tuple[str, str]]) -> bool:
    name = getattr(item, "originalname", item.name)
    if name == "test_every_large_allocation_fails_once":
        return any(kind == "allocations" for _, kind in ended)
    if name == "test_all_points":
        asked = item.callspec.params  # type: ignore[attr-defined]
        return (str(asked["operation"]), asked["between"]) in ended
    return name == "test_some_lines"


def table(rows: list[Row]) -> Iterator[str]:
    """Return the lines of a table in Markdown, with a row per class.

    Args:
        rows: of any campaigns.
    """
    kinds = " | ".join(f"errors at {kind}" for kind in _KINDS)
    yield f"| class | operations | {kinds} | violations | hangs |"
    yield f"| --- {'| --: ' * (len(_KINDS) + 3)}|"
    operations: defaultdict[str, set[str]] = defaultdict(set)
    errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for operation, kind, _, injected, violations in rows:
        for family in (operation.partition(":")[0], "all"):
            operations[family].add(operation)
            errors[family][kind] += injected
            errors[family]["hangs"] += violations.get("hangs", 0)
            errors[family]["violations"] += sum(violations.values()) - violations.get("hangs", 0)
    for family in sorted(operations, key=lambda name: (name == "all", name)):
        counted: list[Any] = [len(operations[family])]
        counted += [errors[family][kind] for kind in (*_KINDS, "violations", "hangs")]
        yield f"| {family} | {' | '.join(f'{number:,}' for number in counted)} |"
