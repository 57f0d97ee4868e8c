"""The long audit: the same checks with as many samples as time allows, and a report with plots.

Half of the time goes to attacks (each kind, at mu = 3 and as configured), a third to residual laws
with table after table, the rest to the checks of a CI-size run. The report is a folder: report.md,
findings.json and, with matplotlib (the extra ``plot``), two plots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from lazysketch.audit import plots, residuals
from lazysketch.audit.configuration import Configuration
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.finding import Finding
from lazysketch.audit.suite import AREAS, Check, companion, epsilon_at, standard_checks
from lazysketch.audit.system_under_test import Library
from lazysketch.specification.schedules import RoundRobin

__all__ = ["Attack", "full_audit", "write_report"]

_FEWEST = 1000  # trials per stream, also where the time is over
_WIDTH = 2048
_RATE = "Correct code raises an alarm in at most one report of 100,000."
_BOUNDS = (
    "Lower bounds at 95 %. The bound by mu takes the mechanism for a Gaussian one, which the "
    "residual laws support; the bound without it needs far more trials."
)
_HEADINGS = (
    "| configuration | mu claimed | mu audited | epsilon claimed | epsilon audited, by mu "
    "| epsilon audited, without assumption | tables |"
)


@dataclass
class Attack:
    """One long attack, with its course for the plot.

    Args:
        name: what is attacked, for the legend.
        configuration: a small table.
        seconds: how long it may last.
        course: trials per stream and the bound on mu from them, as it went on.
    """

    name: str
    configuration: Configuration
    seconds: float
    course: list[tuple[int, float]] = field(default_factory=list)

    @property
    def check(self) -> Check:
        """The attack as a check, with as many trials as its time allows, and a few at least."""
        return Check(
            "distinguisher",
            "distinguisher",
            f"{self.name}: {self.configuration}",
            lambda subject: distinguish(
                subject,
                self.configuration,
                trials=_FEWEST,
                seconds=self.seconds,
                watch=lambda trials, mu: self.course.append((trials, mu)),
            ),
        )


def _long_laws(configuration: Configuration, seconds: float) -> Check:
    """The residual law of table after table, as many as fit into a time."""
    return Check(
        "residual law",
        "law",
        f"at length: {configuration}",
        lambda subject: residuals.law_of_releases(subject, configuration, seconds=seconds),
    )


def full_audit(
    configuration: Configuration,
    *,
    minutes: float,
    areas: Sequence[str] = AREAS,
    begun: Callable[[Check], None] = lambda _: None,
) -> tuple[list[Finding], list[Attack]]:
    """Run everything at length.

    Guarantee: correct code raises a false alarm with probability at most 1e-5, as in a CI-size
    run: the samples grow, the number of findings does not.

    Args:
        configuration: whose epsilon, delta, relation and mechanism are audited, for both kinds.
        minutes: how long, about; the checks of a CI-size run come on top.
        areas: which checks.
        begun: called with each check before it runs.

    Returns:
        The findings, and the attacks with their course.
    """
    attacks = [
        Attack(f"{name}, {'mu = 3' if close else 'as configured'}", small, minutes * 60 / 8)
        for kind, name in (("count-min", "LazyCountMin"), ("count-sketch", "LazyCountSketch"))
        for close in (False, True)
        for small in (_attacked(configuration, kind, close=close),)
    ]
    wide = [
        replace(
            configuration,
            kind=kind,
            depth=4,
            width=_WIDTH,
            schedule=RoundRobin(horizon=64 * _WIDTH),
            mechanism=mechanism,
            max_weight=1,
        )
        for kind in ("count-min", "count-sketch")
        for mechanism in dict.fromkeys((configuration.mechanism, "haar", "binary"))
    ]
    checks = [
        *standard_checks(),
        *(_long_laws(table, minutes * 60 / 3 / len(wide)) for table in wide),
        *(attack.check for attack in attacks),
    ]
    found = []
    for check in checks:
        if check.area in areas:
            begun(check)
            found.append(check.of(Library()))
    return found, attacks


def _attacked(configuration: Configuration, kind: str, *, close: bool) -> Configuration:
    small = replace(companion(configuration), kind=kind, depth=2)
    return replace(small, epsilon=epsilon_at(3.0, small.delta)) if close else small


def write_report(folder: Path, found: Sequence[Finding], attacks: Sequence[Attack]) -> None:
    """Write report.md, findings.json and, where matplotlib is installed, the plots.

    Args:
        folder: made if it is not there.
        found: all findings.
        attacks: the long attacks.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [finding.row() for finding in found]
    (folder / "findings.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    shown = [attack for attack in attacks if attack.course]
    drawn = []
    if shown and plots.can_draw():
        plots.draw_courses(
            folder / "distinguisher.svg",
            {attack.name: (attack.course, attack.configuration.mu) for attack in shown},
        )
        drawn.append("![Lower bounds on mu by number of trials](distinguisher.svg)")
    p_values = [row["p_value"] for row in rows if "p_value" in row]
    if p_values and plots.can_draw():
        plots.draw_p_values(folder / "p-values.svg", np.array(p_values))
        drawn.append("![p-values of the laws](p-values.svg)")
    (folder / "report.md").write_text(_page(found, drawn), encoding="utf-8")


def _page(found: Sequence[Finding], drawn: Sequence[str]) -> str:
    alarms = sum(not finding.passed for finding in found)
    samples, seconds = (
        sum(getattr(finding, name) for finding in found) for name in ("samples", "seconds")
    )
    verdict = "no alarm" if not alarms else f"{alarms} ALARMS"
    lines = [
        "# Audit of lazysketch",
        "",
        f"{len(found)} checks, {samples:,} samples, {seconds:,.0f} s: {verdict}. {_RATE}",
        "",
        "## Audited beside claimed",
        "",
        _BOUNDS,
        "",
        _HEADINGS,
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for finding in found:
        figures = finding.figures
        if finding.check == "distinguisher":
            lines.append(
                f"| {finding.configuration} | {figures['mu_claimed']:.4f} "
                f"| {figures['mu_audited']:.4f} | {figures['epsilon_claimed']:.4g} "
                f"| {figures['epsilon_by_mu']:.4g} | {figures['epsilon_audited']:.4g} "
                f"| {finding.samples:,} |"
            )
    lines += ["", *drawn, "", "## All findings", ""]
    lines += ["| check | configuration | observed | samples | s | |", "| --- " * 6 + "|"]
    lines += [
        f"| {finding.check} | {finding.configuration} | {finding.observed} "
        f"| {finding.samples:,} | {finding.seconds:.1f} | {'ok' if finding.passed else 'ALARM'} |"
        for finding in found
    ]
    return "\n".join(lines) + "\n"
