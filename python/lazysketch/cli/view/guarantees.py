"""What releases promise: in words, and as numbers for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from lazysketch.cli.view.output import NOT_PRIVATE
from lazysketch.privacy import compose
from lazysketch.privacy.charges import sum_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import ReleasePart
    from lazysketch.releases.any_release import AnyRelease


def guarantees(release: AnyRelease) -> list[str]:
    """Return the guarantee of the run, or of each; for several also that of all together."""
    parts = release.parts
    if not release.private:
        return [f"{NOT_PRIVATE} ({'; '.join(release.not_private_because)}): no privacy guarantee"]
    distinct = Counter(release._promised(part) for part in parts)
    if len(parts) == 1:
        return list(distinct)
    lines = [f"{number} of {len(parts)} parts: {each}" for each, number in distinct.items()]
    if len(distinct) == 1:
        lines = [f"{len(parts)} parts, each {each}" for each in distinct]
    return [*lines, together([release])]


def together(releases: Sequence[AnyRelease]) -> str:
    """Return the guarantee of everything that the runs of some releases published."""
    joint = composition(releases)
    if joint is None:
        return "the parts protect different units or relations: no joint guarantee"
    epsilon, delta = _rounded_up(joint["epsilon"]), f"{joint['delta']:g}"
    mu = f"mu = sqrt(sum of mu^2) = {joint['mu']:.3g}"
    return f"for a person in all streams: {mu}, that is ({epsilon}, {delta})-DP"


class Run(TypedDict):
    """What the run of a release promised."""

    id: str
    epsilon: float
    delta: float
    tables: int
    names_epsilon: float
    names_delta: float


def run_of(part: ReleasePart) -> Run | None:
    """Return what the run of a part promised, None if that is the guarantee of the part."""
    run = part.run
    if run is None:
        return None
    return {
        "id": run.id.hex(),
        "epsilon": run.epsilon,
        "delta": run.delta,
        "tables": len(run.counts),
        "names_epsilon": sum_up(names.epsilon for names in run.names),
        "names_delta": sum_up(names.delta for names in run.names),
    }


class Total(TypedDict):
    """The guarantee of several runs together."""

    mu: float
    epsilon: float
    delta: float
    relation: str
    runs: int


def composition(releases: Sequence[AnyRelease]) -> Total | None:
    """Return the guarantee of the runs together, None if they do not compose.

    Args:
        releases: Those of one run count once.
    """
    parts = [part for release in releases for part in release.parts]
    relations = {part.privacy.relation for part in parts}
    units = {part.privacy.person_bound is None for part in parts}
    if not all(part.privacy.private for part in parts) or len(relations) > 1 or len(units) > 1:
        return None
    joint = compose(*releases)
    delta = joint.delta if joint.plain else max(part.privacy.delta for part in parts)
    return {
        "mu": joint.mu,
        "epsilon": joint.epsilon_at(delta),
        "delta": delta,
        "relation": parts[0].privacy.relation,
        "runs": len({run for release in releases for run in release.promises}),
    }


def _rounded_up(epsilon: float) -> str:
    """Return the number to three digits, never below itself."""
    shown = f"{epsilon:.3g}"
    return shown if float(shown) >= epsilon else f"{epsilon * 1.005:.3g}"
