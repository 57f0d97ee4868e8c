"""``lazysketch inspect``: what a release says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lazysketch.cli.options import output_option
from lazysketch.cli.run.saving import load
from lazysketch.cli.view.output import Report, write
from lazysketch.cli.view.report import promises, shape, summary

if TYPE_CHECKING:
    from lazysketch import Release, ReleasePart


@click.command(short_help="What a release says about itself.")
@click.argument("release", metavar="RELEASE", type=click.Path())
@output_option
def inspect(release: str, *, output: str) -> None:
    """Show the parameters, the privacy and the noise of a release, part by part.

    The noise is the standard deviation of a cell, least and most over the columns: it
    depends on how often a column has been published, never on what was counted.

    \b
    Example:
      lazysketch inspect hosts.lzs
    """
    write(inspection(load(release), name=release), output=output)


def inspection(release: Release, *, name: str) -> Report:
    """Return what a release says about itself.

    Args:
        release: The release.
        name: Its file.
    """
    rows = [_part(part, width=release.width) for part in release.parts]
    noise = release.noise_deviation
    least, most = float(noise.min()), float(noise.max())
    lines = [
        f"{name}: {shape(release)}, hash seed {release.hash_seed}, {release.step:,} steps",
        f"noise of a cell: standard deviation {_span(least, most)}",
    ]
    if len(rows) == 1:
        lines[1:1] = _law(rows[0])
    return Report(
        rows=rows,
        summary={
            **summary(release),
            "noise_deviation_min": least,
            "noise_deviation_max": most,
        },
        lines=[*promises(release), *lines] if not release.private else [*lines, *promises(release)],
        name="parts",
        columns=_COLUMNS if len(rows) > 1 else (),
    )


def _part(part: ReleasePart, *, width: int) -> dict[str, Any]:
    pushes = part.pushes(width)
    deviation = part.noise_variance(width) ** 0.5
    law, schedule, mechanism = part.privacy, part.schedule, part.mechanism
    noisy = mechanism is not None
    return {
        "sketch": part.sketch_id.hex(),
        "steps": part.step,
        "private": law.private,
        "not_private_because": "; ".join(law.not_private_because),
        "epsilon": law.epsilon,
        "delta": law.delta if noisy else None,
        "relation": law.relation if noisy else None,
        "calibration": law.calibration if noisy else None,
        "max_weight": law.max_weight if noisy else None,
        "max_events_per_user": law.max_events_per_user if noisy else None,
        "mu": law.mu,
        "sigma": law.sigma,
        "schedule": schedule.name if schedule else None,
        "horizon": schedule.horizon if schedule else None,
        "mechanism": mechanism.name if mechanism else None,
        "leaves": mechanism.leaves if mechanism else None,
        "pushes_min": int(pushes.min()),
        "pushes_max": int(pushes.max()),
        "noise_deviation_min": float(deviation.min()),
        "noise_deviation_max": float(deviation.max()),
    }


_COLUMNS = (
    "sketch",
    "steps",
    "epsilon",
    "delta",
    "relation",
    "schedule",
    "noise_deviation_max",
)


def _law(row: dict[str, Any]) -> list[str]:
    """Say how a single sketch was made."""
    lines = [f"sketch {row['sketch']}"]
    if row["mechanism"] is None:
        return lines
    horizon = "no horizon" if row["horizon"] is None else f"horizon {row['horizon']:,} steps"
    published = _span(row["pushes_min"], row["pushes_max"])
    lines.append(
        f"{row['schedule']} schedule, {horizon}; columns published {published} times "
        f"of at most {row['leaves']:,}"
    )
    lines.append(
        f"{row['mechanism']} mechanism, {row['calibration']} calibration, sigma "
        f"{row['sigma']:,.1f}; weights up to {row['max_weight']:,}, events protected per "
        f"person {row['max_events_per_user']:,}"
    )
    return lines


def _span(least: float, most: float) -> str:
    first, last = (
        f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in (least, most)
    )
    return first if first == last else f"{first} to {last}"
