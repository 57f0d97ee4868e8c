"""``lazysketch audit``: an empirical test of the guarantee of this installation."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import output_option, sketch_options
from lazysketch.cli.settings import SketchSettings
from lazysketch.cli.view.output import Report, tell, visible, write
from lazysketch.errors import ArgumentTypeError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.audit import Case, Finding
    from lazysketch.cli.view.output import Row

ALARMED: Final = 1
# Equal to lazysketch.audit.AREAS, whose import is deferred until an audit runs; a test compares.
AREAS: Final = (
    "distribution",
    "sensitivity",
    "distinguisher",
    "low-bits",
    "hygiene",
    "behaviour",
    "discovery",
    "windows",
    "hierarchies",
    "releases",
    "people",
    "distinct",
    "values",
    "ranges",
    "sums",
    "service",
)


@click.command()
@click.option(
    "--check",
    "areas",
    type=click.Choice(AREAS),
    multiple=True,
    help="Area to test; may be repeated.  [default: all areas]",
)
@click.option(
    "--controls",
    is_flag=True,
    help="Plant every known bug and check that it is caught.  [default: audit the library]",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of runs; shows the alarms of all runs.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes that run the checks; --controls and --full use one.  "
    "[default: one for each processor]",
)
@click.option(
    "--full",
    is_flag=True,
    help="Take as many samples as --minutes allow, and write a report.  "
    "[default: less than a minute, no report]",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.0, min_open=True),
    default=60.0,
    show_default=True,
    help="Approximate duration of --full.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default="audit-report",
    show_default=True,
    help="Directory for report.md, findings.json and the plots of --full.",
)
@output_option
@sketch_options
def audit(
    *,
    areas: tuple[str, ...],
    controls: bool,
    repeat: int,
    processes: int | None,
    full: bool,
    minutes: float,
    out: str,
    output: str,
    sketch: SketchSettings,
) -> int:
    """Test the guarantee: noise, sensitivity, attacks, rounding, keys, behaviour, published names.

    The audit tests the standard tables and the one that the options describe. Status 1
    means an alarm; correct code raises one in at most one run of 100,000. docs/audit.md
    says what each check can and cannot detect.

    \b
    Example:
      lazysketch audit --kind count-sketch --depth 3 --width 512 --horizon 65536
    """
    if sum((controls, full, repeat > 1)) > 1:
        raise ArgumentTypeError("audit: expected one of --controls, --full and --repeat, got more")
    selected = areas or AREAS
    if controls:
        return _controls(selected, output=output)
    if full:
        return _full(_described(sketch), selected, minutes=minutes, out=out, output=output)
    case = _described(sketch)
    return _runs(case, selected, repeat=repeat, processes=processes, output=output)


def _described(sketch: SketchSettings) -> Case:
    """Return the case that the options describe."""
    from lazysketch.audit import Case

    # Every sketch of a check draws its own hash functions.
    return Case(dataclasses.replace(sketch.spec(), hash_seed=None))


def _runs(
    case: Case, areas: Sequence[str], *, repeat: int, processes: int | None, output: str
) -> int:
    from lazysketch.audit.processes import audit_in_processes, usable_processors

    workers = processes or usable_processors()
    found: list[Finding] = []
    alarms: list[Finding] = []
    for number in range(1, repeat + 1):
        found = audit_in_processes(
            case,
            areas,
            processes=workers,
            begun=lambda text, number=number: _progress(  # type: ignore[misc]
                f"run {number} of {repeat}: {text}"
            ),
        )
        alarms += [finding for finding in found if not finding.passed]
    shown = found if repeat == 1 else alarms or found
    headline = f"{repeat} run{'s' if repeat > 1 else ''} of {len(found)} checks, "
    return _show(shown, alarms, headline=headline, output=output, more={"runs": repeat})


def _controls(areas: Sequence[str], *, output: str) -> int:
    from lazysketch.audit import controls, run_controls

    found = run_controls(
        [control for control in controls() if control.area in areas],
        begun=lambda control: _progress(f"planted: {control.bug}, {control.check}"),
    )
    missed = [finding for finding in found if not finding.passed]
    caught = f"{len(found) - len(missed)} of {len(found)} planted bugs caught, "
    return _show(found, missed, headline=caught, output=output, more={"controls": True})


def _full(case: Case, areas: Sequence[str], *, minutes: float, out: str, output: str) -> int:
    from lazysketch.audit.full import full_audit, write_report
    from lazysketch.audit.plots import can_draw

    if not can_draw():
        tell("no plots: expected matplotlib (pip install 'lazysketch[plot]'), got none")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found, attacks = full_audit(
            case,
            minutes=minutes,
            areas=areas,
            begun=lambda check: _progress(f"{check.name}, {check.case}"),
        )
        write_report(folder, found, attacks)
    except OSError as error:
        raise SourceError(
            f"--out: expected a directory to write, got {error.strerror or 'a failure'}"
        ) from None
    tell(f"report in {folder / 'report.md'}")
    alarms = [finding for finding in found if not finding.passed]
    return _show(found, alarms, headline=f"{len(found)} checks, ", output=output, more={})


def _show(
    found: Sequence[Finding],
    alarms: Sequence[Finding],
    *,
    headline: str,
    output: str,
    more: Row,
) -> int:
    _progress("")
    count = len(alarms)
    verdict = "no alarm" if not count else f"ALARM: {count} failed"
    write(
        Report(
            rows=[_row(finding) for finding in found],
            summary={"alarms": count, **more},
            lines=[headline + verdict],
            name="findings",
        ),
        output=output,
    )
    return ALARMED if alarms else 0


def _row(finding: Finding) -> Row:
    return {
        "verdict": "ok" if finding.passed else "ALARM",
        "check": finding.check,
        "system": finding.system,
        "case": finding.case,
        "observed": finding.observed,
        "samples": finding.samples,
        "seconds": round(finding.seconds, 2),
    }


def _progress(text: str) -> None:
    """Show the current check in one line that the next call overwrites, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{visible(text)[:100]}")
        sys.stderr.flush()
