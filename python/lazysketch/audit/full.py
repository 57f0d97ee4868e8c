"""The long audit: the same checks with as many samples as time allows, and a report with plots.

Half of the time goes to attacks (each kind, at mu = 3 and as configured), a third to tests of
residuals, the rest to rates of published names and to the checks of a CI run. The report is a
folder: report.md, findings.json and, with matplotlib (the extra ``plot``), two plots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lazysketch.audit import plots, residuals
from lazysketch.audit.case import Case
from lazysketch.audit.discovery_checks import rates_of_publication
from lazysketch.audit.discovery_system import DiscoveryLibrary
from lazysketch.audit.distinguisher import distinguish
from lazysketch.audit.finding import Finding, check_number
from lazysketch.audit.suite import AREAS, Check, companion, epsilon_at, standard_checks
from lazysketch.audit.system_under_test import Library
from lazysketch.privacy.relations import CountKind
from lazysketch.specification.schedules import RoundRobin

__all__ = ["Attack", "full_audit", "write_report"]

_FEWEST = 1000  # trials per stream, even if the time is over
_CLOSE_DELTA = 1e-6  # of attacks at mu = 3
_WIDTH = 2048
_EPOCHS_PER_MINUTE = 100_000  # some seconds
_RATE = "Correct code raises an alarm in at most one report of 100,000."
_BOUNDS = (
    "Lower bounds at 95 %. The bound by mu assumes a Gaussian mechanism, which the tests of "
    "residuals support; the bound without this assumption needs far more trials."
)
_HEADINGS = (
    "| case | mu claimed | mu audited | epsilon claimed | epsilon audited, by mu "
    "| epsilon audited, without assumption | tables |"
)


@dataclass
class Attack:
    """One long attack, with its progress for the plot.

    Args:
        name: name of the attacked sketch, for the legend.
        case: a small table.
        seconds: time limit.
        progress: after every block, trials per stream and the bound on mu from them.
    """

    name: str
    case: Case
    seconds: float
    progress: list[tuple[int, float]] = field(default_factory=list)

    @property
    def check(self) -> Check:
        """The attack as a check, with as many trials as its time allows, and at least a few."""
        return Check(
            "distinguisher",
            "distinguisher",
            f"{self.name}: {self.case}",
            lambda system: distinguish(
                system,
                self.case,
                trials=_FEWEST,
                seconds=self.seconds,
                progress=lambda trials, mu: self.progress.append((trials, mu)),
            ),
        )


def _long_residuals(case: Case, seconds: float) -> Check:
    """A test of the residuals of as many tables as the time allows."""
    return Check(
        "residuals",
        "distribution",
        f"at length: {case}",
        lambda system: residuals.check_releases(system, case, seconds=seconds),
    )


def _long_rates(minutes: float, *, exact: bool) -> Check:
    """Test the rates of published names, with epochs in proportion to the time."""
    epochs = max(1000, round(_EPOCHS_PER_MINUTE * minutes))
    return Check(
        "published names",
        "discovery",
        f"at length: {'exact counting' if exact else 'Misra-Gries'}, {epochs} epochs",
        lambda _: rates_of_publication(DiscoveryLibrary(), exact=exact, epochs=epochs),
    )


def full_audit(
    case: Case,
    *,
    minutes: float,
    areas: Sequence[str] = AREAS,
    begun: Callable[[Check], None] = lambda _: None,
) -> tuple[list[Finding], list[Attack]]:
    """Run the long audit.

    Guarantee: correct code raises a false alarm with probability at most 1e-5, as in a CI run:
    the number of samples grows, the number of findings does not.

    Args:
        case: its epsilon, delta, relation and mechanism are audited, for both kinds.
        minutes: approximate duration, without the checks of a CI run.
        areas: the areas to check.
        begun: called with each check before it runs.

    Returns:
        The findings, and the attacks with their progress.
    """
    names: dict[CountKind, str] = {
        "count-min": "LazyCountMin",
        "count-sketch": "LazyCountSketch",
    }
    attacks = [
        Attack(f"{name}, {'mu = 3' if close else 'as configured'}", small, minutes * 60 / 8)
        for kind, name in names.items()
        for close in (False, True)
        for small in (_attacked(case, kind, close=close),)
    ]
    wide = [
        case.changed(
            kind=kind,
            depth=4,
            width=_WIDTH,
            schedule=RoundRobin(horizon=64 * _WIDTH),
            mechanism=mechanism,
            max_weight=1,
        )
        for kind in names
        for mechanism in dict.fromkeys((case.spec.mechanism, "haar", "binary"))
    ]
    checks = [
        *standard_checks(),
        *(_long_residuals(table, minutes * 60 / 3 / len(wide)) for table in wide),
        *(_long_rates(minutes, exact=exact) for exact in (True, False)),
        *(attack.check for attack in attacks),
    ]
    check_number(len(checks))
    found = []
    for check in checks:
        if check.area in areas:
            begun(check)
            found.append(check.of(Library()))
    return found, attacks


def _attacked(case: Case, kind: CountKind, *, close: bool) -> Case:
    small = companion(case).changed(kind=kind, depth=2)
    if not close:
        return small
    # A smaller delta would need an epsilon beyond the reach of the draws.
    delta = max(small.spec.delta, _CLOSE_DELTA)
    return small.changed(epsilon=epsilon_at(3.0, delta, small.spec.depth), delta=delta)


def write_report(folder: Path, found: Sequence[Finding], attacks: Sequence[Attack]) -> None:
    """Write report.md, findings.json and, where matplotlib is installed, the plots.

    Args:
        folder: created if it does not exist.
        found: all findings.
        attacks: the long attacks.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [finding.row() for finding in found]
    (folder / "findings.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    shown = [attack for attack in attacks if attack.progress]
    drawn = []
    if shown and plots.can_draw():
        plots.draw_progress(
            folder / "distinguisher.svg",
            {attack.name: (attack.progress, attack.case.mu) for attack in shown},
        )
        drawn.append("![Lower bounds on mu by number of trials](distinguisher.svg)")
    p_values = [finding.figures["p_value"] for finding in found if "p_value" in finding.figures]
    if p_values and plots.can_draw():
        plots.draw_p_values(folder / "p-values.svg", np.array(p_values))
        drawn.append("![p-values of the statistical checks](p-values.svg)")
    (folder / "report.md").write_text(_page(found, drawn), encoding="utf-8")


def _page(found: Sequence[Finding], drawn: Sequence[str]) -> str:
    alarms = sum(not finding.passed for finding in found)
    samples = sum(finding.samples for finding in found)
    seconds = sum(finding.seconds for finding in found)
    verdict = "no alarm" if not alarms else f"{alarms} ALARMS"
    lines = [
        "# Audit of lazysketch",
        "",
        f"{len(found)} checks, {samples:,} samples, {seconds:,.0f} s: {verdict}. {_RATE}",
        "",
        "## Audited and claimed bounds",
        "",
        _BOUNDS,
        "",
        _HEADINGS,
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for finding in found:
        figures = finding.figures
        if finding.check in ("distinguisher", "adaptive"):
            chosen = ", an event chosen from releases" * (finding.check == "adaptive")
            lines.append(
                f"| {finding.case}{chosen} | {figures['mu_claimed']:.4f} "
                f"| {figures['mu_audited']:.4f} | {figures['epsilon_claimed']:.4g} "
                f"| {figures['epsilon_by_mu']:.4g} | {figures['epsilon_audited']:.4g} "
                f"| {finding.samples:,} |"
            )
    lines += ["", *drawn, "", "## All findings", ""]
    lines += ["| check | case | observed | samples | s | |", "| --- " * 6 + "|"]
    lines += [
        f"| {finding.check} | {finding.case} | {finding.observed} "
        f"| {finding.samples:,} | {finding.seconds:.1f} | {'ok' if finding.passed else 'ALARM'} |"
        for finding in found
    ]
    return "\n".join(lines) + "\n"
