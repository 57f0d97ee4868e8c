"""``lazysketch explain``: what someone who reads a release may conclude, at most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click

from lazysketch.cli.options import output_option
from lazysketch.cli.run.files import check_plot_target, load, save_plot
from lazysketch.cli.view.guarantees import composition, guarantees, together
from lazysketch.cli.view.observer_plot import draw
from lazysketch.cli.view.output import Report, tell, write
from lazysketch.errors import SourceError
from lazysketch.privacy import compose
from lazysketch.privacy.observer import posterior, right_guesses
from lazysketch.privacy.person_bound import CountedOnce, PersonBound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.privacy.observer import Curve
    from lazysketch.releases.any_release import AnyRelease

_PRIORS: Final = (0.01, 0.1, 0.5, 0.9)
_CHANCE: Final = 0.01
_PLOT: Final = "--plot"
_KINDS: Final = (".png", ".svg")


class PriorRow(TypedDict):
    """What one observer may conclude."""

    before: float
    after_at_most: float
    right_guesses_before: float
    right_guesses_after: float


@click.command()
@click.argument("releases", metavar="RELEASE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(),
    help="Plot how many are found at a rate of false alarms, as .png or .svg.  [default: no plot]",
)
@output_option
def explain(releases: tuple[str, ...], *, plot: str | None, output: str) -> None:
    """Show what someone who reads releases may conclude about one event or person, at most.

    The observer knows everything else, for example all other people's events, and uses the best
    method there is. A row is for an observer who thought the event (or what the person did) this
    probable before, and shows how probable it may be after reading, except with a chance of 1 %,
    and how often the observer's best guess is right. Everything that the runs of the releases
    published counts, at all steps. For several releases the person is in all of their streams.

    \b
    Examples:
      lazysketch explain hosts.lzs
      lazysketch explain monday.lzs tuesday.lzs --plot observer.svg
    """
    if plot is not None:
        if Path(plot).suffix.lower() not in _KINDS:
            raise SourceError(f"{_PLOT}: expected a file ending in .png or .svg, got {plot}")
        check_plot_target(plot, option=_PLOT)
    found = [load(name) for name in releases]
    for name, release in zip(releases, found, strict=True):
        if not release.private:
            reasons = "; ".join(release.not_private_because)
            raise click.UsageError(
                f"{name}: expected a release with a guarantee, got one that is NOT PRIVATE: "
                f"{reasons}; an observer may conclude everything"
            )
    if composition(found) is None:
        raise click.UsageError(
            "expected releases with one unit and one relation, got several: explain each alone"
        )
    curve = compose(*found)
    promised = _promised(releases, found)
    write(_report(curve, found, promised), output=output)
    if plot is not None:
        image = draw(curve, kind=Path(plot).suffix.lower()[1:], guarantee=promised[-1])
        tell(save_plot(image, plot, option=_PLOT))


def _promised(names: Sequence[str], releases: Sequence[AnyRelease]) -> list[str]:
    """Return the guarantee of each release, and that of all together last."""
    if len(releases) == 1:
        return guarantees(releases[0])
    each = zip(names, releases, strict=True)
    lines = [f"{name}: {line}" for name, release in each for line in guarantees(release)]
    return [*lines, together(releases)]


def _report(curve: Curve, releases: Sequence[AnyRelease], promised: Sequence[str]) -> Report:
    rows = [_row(curve, prior) for prior in _PRIORS]
    secret = _secret(releases[0].parts[0].privacy.person_bound)
    undecided = next(row for row in rows if row["before"] == 0.5)
    sentence = (
        f"An observer who was undecided whether {secret} is at most "
        f"{_percent(undecided['after_at_most'])} sure afterwards (except with a chance of "
        f"{_percent(_CHANCE)}), and guesses right in at most "
        f"{_percent(undecided['right_guesses_after'])} of all cases instead of 50 %."
    )
    return Report(
        rows=rows,
        summary={"chance": _CHANCE, "composition": composition(releases)},
        lines=[sentence, *promised],
        name="observers",
    )


def _secret(bound: PersonBound | None) -> str:
    """Return what an observer of one release would like to know."""
    if bound is None:
        return "one event took place"
    return "one item occurred" if isinstance(bound, CountedOnce) else "one person took part"


def _row(curve: Curve, prior: float) -> PriorRow:
    return {
        "before": prior,
        "after_at_most": _up(posterior(curve, prior=prior, chance=_CHANCE)),
        "right_guesses_before": max(prior, 1.0 - prior),
        "right_guesses_after": _up(right_guesses(curve, prior=prior)),
    }


def _up(probability: float) -> float:
    """Return a probability rounded up to four digits after the point."""
    return min(1.0, -(-probability * 1e4 // 1) / 1e4)


def _percent(probability: float) -> str:
    return f"{100 * probability:.4g} %"
