"""The whole of one run: reading, the release, the result and the exit status.

A run that ends early (Ctrl-C, SIGTERM, a stream longer than its horizon, an input that
fails behind others) shows and keeps what was published: its privacy is spent either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch.cli.answers import report
from lazysketch.cli.display import tell, write
from lazysketch.cli.live import live
from lazysketch.cli.saving import check_target, save
from lazysketch.cli.stream import INTERRUPTED, describe, feed, tell_operator
from lazysketch.errors import HorizonError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.cli.answers import Rows
    from lazysketch.cli.options import InputSettings, SketchSettings
    from lazysketch.sources import Batch, Source

FAILED = 2
_SAVE = "--save-release"


class _UntilFailure:
    """The batches of a source up to its first failure or the horizon, and that failure."""

    def __init__(self, source: Source, *, horizon: int | None) -> None:
        self.max_weight = source.max_weight
        self.failure: LazySketchError | None = None
        self._source = source
        self._horizon = horizon

    def __iter__(self) -> Iterator[Batch]:
        left = self._horizon
        try:
            for batch in self._source:
                if left is not None and batch.rows > left:
                    yield batch.first(left)
                    self.failure = HorizonError("horizon")
                    return
                yield batch
                left = None if left is None else left - batch.rows
        except LazySketchError as failure:
            self.failure = failure


def count(
    source: Source,
    settings: SketchSettings,
    *,
    reading: InputSettings,
    rows: Rows,
    rows_while_reading: Rows,
    output: str,
    save_release: str | None,
) -> int:
    """Count a source with a fresh sketch, write the result and return the exit status.

    Raises:
        LazySketchError: What ended the reading early, once the result is written.
    """
    if save_release is not None:
        check_target(save_release, option=_SAVE)
    batches = _UntilFailure(source, horizon=settings.horizon)
    with settings.create(max_weight=source.max_weight) as sketch:
        with live(
            sketch,
            name=source.name,
            rows=rows_while_reading,
            part_read=lambda: source.part_read,
        ):
            done = feed(sketch, batches)
        release = sketch.release()
    failure = batches.failure
    if failure is not None and (reading.strict or not release.step):
        raise failure
    if release.step:
        if save_release is not None:  # first: a reader of the output that goes away loses it not
            save(release, save_release, option=_SAVE)
        found = report(
            release,
            rows(release),
            of=describe(source),
            inputs=_inputs(source, reading),
            length_known=not (done.interrupted or failure) and source.part_read is not None,
        )
        write(found, output=output)
    tell_operator(source, done)
    if failure is not None:
        raise failure
    if done.interrupted:
        return INTERRUPTED
    return FAILED if _is_another_format(source) else 0


def _inputs(source: Source, reading: InputSettings) -> dict[str, Any]:
    """Say for JSON what was read, and as what."""
    names = [form.partition(",")[0] for form in source.tally.formats]
    guessed = [form.partition(", field ")[2] for form in source.tally.formats if not reading.weight]
    fields = dict.fromkeys(field for field in guessed if field)
    return {
        "inputs": [str(path) for path in source.paths],
        "format": ", ".join(dict.fromkeys(names)),
        "field": reading.field or ", ".join(fields) or None,
    }


def _is_another_format(source: Source) -> bool:
    """Tell whether nothing could be read, and raise a doubt where most could not."""
    tally = source.tally
    if tally.rows > tally.malformed > tally.rows / 2:
        read_as = "; ".join(tally.formats)
        tell(f"more than half of the rows were malformed, read as {read_as}: is that its format?")
    return tally.malformed == tally.rows
