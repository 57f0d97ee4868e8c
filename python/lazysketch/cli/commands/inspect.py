"""``lazysketch inspect``: the parameters of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

import click

from lazysketch.cli.options import output_option
from lazysketch.cli.run.files import load
from lazysketch.cli.view.guarantees import composition, guarantees, together
from lazysketch.cli.view.output import Report, write
from lazysketch.cli.view.report import summary

if TYPE_CHECKING:
    from lazysketch import ReleasePart
    from lazysketch.releases.any_release import AnyRelease


@click.command()
@click.argument("releases", metavar="RELEASE...", nargs=-1, required=True, type=click.Path())
@output_option
def inspect(releases: tuple[str, ...], *, output: str) -> None:
    """Show the parameters, the guarantee and the noise of a release, part by part.

    The noise is the standard deviation of a cell, minimum and maximum over the columns. It
    depends on how often a column was published, never on what was counted.

    For several releases, show also the guarantee of a person who is in all of their streams.
    Everything that their runs published counts, names and other levels included, and releases
    of one run count once.

    \b
    Examples:
      lazysketch inspect hosts.lzs
      lazysketch inspect monday.lzs tuesday.lzs wednesday.lzs
    """
    found = {name: load(name) for name in releases}
    if len(found) > 1:
        write(_inspection_of_several(found), output=output)
    else:
        write(inspection(found[releases[0]], name=releases[0]), output=output)


def _inspection_of_several(releases: dict[str, AnyRelease]) -> Report:
    """Return the parts of releases, and what all of them promise together."""
    rows = [
        {"file": name, **_part(part, width=release.width)}
        for name, release in releases.items()
        for part in release.parts
    ]
    each = [f"{name}: {line}" for name, it in releases.items() for line in guarantees(it)]
    private = all(release.private for release in releases.values())
    total = [together(list(releases.values()))] if private else []
    return Report(
        rows=rows,
        summary={
            "files": list(releases),
            "private": private,
            "composition": composition(list(releases.values())),
        },
        lines=[*each, *total],
        name="parts",
        columns=("file", *_COLUMNS),
    )


def inspection(release: AnyRelease, *, name: str) -> Report:
    """Return the parameters of a release.

    Args:
        release: The release.
        name: Its file.
    """
    rows = [_part(part, width=release.width) for part in release.parts]
    noise = release.noise_deviation
    least, most = float(noise.min()), float(noise.max())
    lines = [
        f"{name}: {release._shape}, hash seed {release.hash_seed}, {release.step:,} steps",
        f"noise of {release._words.cell}: standard deviation {_span(least, most)}",
    ]
    if len(rows) == 1:
        lines[1:1] = _sketch_lines(rows[0])
    guarantee = guarantees(release)
    return Report(
        rows=rows,
        summary={
            **summary(release),
            "noise_deviation_min": least,
            "noise_deviation_max": most,
        },
        lines=[*lines, *guarantee] if release.private else [*guarantee, *lines],
        name="parts",
        columns=_COLUMNS if len(rows) > 1 else (),
    )


class PartRow(TypedDict):
    """One part of a release; None for what an exact sketch does not have."""

    sketch: str
    steps: int
    private: bool
    not_private_because: str
    epsilon: float
    delta: float | None
    relation: str | None
    calibration: str | None
    max_weight: int | None
    max_events_per_user: int | None
    mu: float
    sigma: float
    schedule: str | None
    horizon: int | None
    mechanism: str | None
    leaves: int | None
    finished: bool
    pushes_min: int
    pushes_max: int
    noise_deviation_min: float
    noise_deviation_max: float


def _part(part: ReleasePart, *, width: int) -> PartRow:
    # Those of the schedule; a final push comes on top of them.
    pushes = part.schedule.pushes(width, part.step) if part.schedule else part.pushes(width)
    deviation = part.noise_variance(width) ** 0.5
    privacy, schedule, mechanism = part.privacy, part.schedule, part.mechanism
    noisy = mechanism is not None
    return {
        "sketch": part.sketch_id.hex(),
        "steps": part.step,
        "private": privacy.private,
        "not_private_because": "; ".join(privacy.not_private_because),
        "epsilon": privacy.epsilon,
        "delta": privacy.delta if noisy else None,
        "relation": privacy.relation if noisy else None,
        "calibration": privacy.calibration if noisy else None,
        "max_weight": privacy.max_weight if noisy else None,
        "max_events_per_user": privacy.max_events_per_user if noisy else None,
        "mu": privacy.mu,
        "sigma": privacy.sigma,
        "schedule": schedule.name if schedule else None,
        "horizon": schedule.horizon if schedule else None,
        "mechanism": mechanism.name if mechanism else None,
        "leaves": mechanism.leaves if mechanism else None,
        "finished": part.finished,
        "pushes_min": int(pushes.min()),
        "pushes_max": int(pushes.max()),
        "noise_deviation_min": float(deviation.min()),
        "noise_deviation_max": float(deviation.max()),
    }


_COLUMNS: Final = (
    "sketch",
    "steps",
    "epsilon",
    "delta",
    "relation",
    "schedule",
    "noise_deviation_max",
)


def _sketch_lines(row: PartRow) -> list[str]:
    """Return the parameters of a single sketch."""
    lines = [f"sketch {row['sketch']}"]
    if row["mechanism"] is None:
        return lines
    horizon = "no horizon" if row["horizon"] is None else f"horizon {row['horizon']:,} steps"
    published = _span(row["pushes_min"], row["pushes_max"])
    times = f"{published} times of at most {row['leaves']:,}"
    if row["finished"]:
        times = f"{times}, and once more at the end" if row["pushes_max"] else "once, at the end"
    lines.append(f"{row['schedule']} schedule, {horizon}; columns published {times}")
    lines.append(
        f"{row['mechanism']} mechanism, {row['calibration']} calibration, sigma "
        f"{row['sigma']:,.1f}; weights up to {row['max_weight']:,}{_together(row)}"
    )
    return lines


def _together(row: PartRow) -> str:
    """Return how many declared events are protected together; the guarantee names other units."""
    events = row["max_events_per_user"]
    return f", {events:,} events of a person together" if events and events > 1 else ""


def _span(least: float, most: float) -> str:
    first, last = (
        f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in (least, most)
    )
    return first if first == last else f"{first} to {last}"
