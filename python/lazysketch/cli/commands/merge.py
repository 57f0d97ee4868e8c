"""``lazysketch merge``: the sum of releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.commands.inspect import inspection
from lazysketch.cli.options import output_option
from lazysketch.cli.run.files import check_release_target, load, save
from lazysketch.cli.view.output import tell, write
from lazysketch.errors import MergeError
from lazysketch.releases.any_release import merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.releases.any_release import AnyRelease

_OUT: Final = "-o"


@click.command()
@click.argument("releases", metavar="RELEASE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o",
    "out",
    metavar="OUT",
    required=True,
    type=click.Path(),
    help="File for the merged release; only a release is replaced.",
)
@output_option
def merge(releases: tuple[str, ...], *, out: str, output: str) -> None:
    """Add up releases of different sketches, for example of several sites or days.

    They must have the same kind, depth, width and hash seed (--hash-seed of top and
    estimate). The merged release keeps the noise and the guarantee of every part. For a
    person in the streams of several parts, the parts compose to sqrt(sum of mu^2), where
    mu is sensitivity / noise.

    \b
    Example:
      lazysketch merge monday.lzs tuesday.lzs -o week.lzs
    """
    if len(releases) < 2:
        raise click.UsageError("expected at least two releases, got one")
    check_release_target(out, option=_OUT)
    parts = [load(path) for path in releases]
    try:
        total = merged(parts)
    except MergeError as error:
        raise _named(error, parts, releases) from None
    saved = save(total, out, option=_OUT)
    write(inspection(total, name=out), output=output)
    tell(saved)


def _named(error: MergeError, parts: Sequence[AnyRelease], paths: tuple[str, ...]) -> MergeError:
    """Return the error with the names of the first two releases that cannot be merged."""
    for place, part in enumerate(parts):
        for earlier in range(place):
            try:
                merged([parts[earlier], part])
            except MergeError as why:
                reason = str(why).removeprefix("merge: ")
                alike = part.kind == parts[earlier].kind and not part._words.not_added
                if alike and parts[earlier].hash_seed != part.hash_seed:
                    reason += "; count releases to be merged with the same --hash-seed"
                return MergeError(f"{paths[earlier]}, {paths[place]}: {reason}")
    return error
