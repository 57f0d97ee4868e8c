"""The whole of one run: reading, the release, the result and the exit status.

A run that ends early (Ctrl-C, SIGTERM, a stream longer than its horizon, an input that
fails behind others) shows and keeps what was published: its privacy is spent either way.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazysketch.cli.run.history import Course
from lazysketch.cli.run.saving import check_target, save, save_names
from lazysketch.cli.run.stream import INTERRUPTED, Reading, describe, feed, tell_operator
from lazysketch.cli.run.targets import Found
from lazysketch.cli.run.windows import InWindows
from lazysketch.cli.view.json_stream import Ticker, write_state
from lazysketch.cli.view.live import live
from lazysketch.cli.view.output import tell, write
from lazysketch.cli.view.plot import check_picture, save_picture
from lazysketch.errors import HorizonError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from lazysketch.cli.options import InputSettings
    from lazysketch.cli.run.targets import Moment, Subject
    from lazysketch.cli.view.output import Report
    from lazysketch.sources import RowBatch, Source

FAILED = 2
_SAVE = "--save-release"
_SAVE_NAMES = "--save-names"
_TICK = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class ResultSettings:
    """What becomes of a run's result.

    Args:
        output: The form of the result on standard output.
        save_release: Where to keep the release, or None.
        save_names: Where to keep the names that were found, or None.
        plot: Where to draw the top items, or None.
        ticking: Whether standard output gets an object per refresh instead.
        every: Seconds between refreshes; None for the default of each kind.
    """

    output: str
    save_release: str | None = None
    save_names: str | None = None
    plot: str | None = None
    ticking: bool = False
    every: float | None = None

    def check(self) -> None:
        """Raise unless everything can be saved where it shall be; nothing has been read yet."""
        if self.save_release is not None:
            check_target(self.save_release, option=_SAVE)
        if self.save_names is not None:
            check_target(self.save_names, option=_SAVE_NAMES, replaces=None)
        if self.plot is not None:
            check_picture(self.plot)


class _UntilFailure:
    """The batches of a source up to its first failure or the horizon, and that failure."""

    def __init__(self, source: Source, *, horizon: int | None) -> None:
        self.max_weight = source.max_weight
        self.failure: LazySketchError | None = None
        self._source = source
        self._horizon = horizon

    def __iter__(self) -> Generator[RowBatch, None, None]:
        left = self._horizon
        try:
            with closing(iter(self._source)) as batches:
                for batch in batches:
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
    subject: Subject,
    *,
    reading: InputSettings,
    horizon: int | None,
    result: ResultSettings,
) -> int:
    """Feed a subject from a source, write the result and return the exit status.

    The subject is closed: only what it has published is used then.

    Raises:
        LazySketchError: What ended the reading early, once the result is written.
        BrokenPipeError: The reader of standard output has gone.
    """
    batches = _UntilFailure(source, horizon=horizon)
    run = _Run(source, subject, reading=reading, result=result)
    done = Reading(seconds=0.0, interrupted=True)
    try:
        # Ctrl-C while what is shown comes or goes ends the run as it does while it reads.
        with suppress(KeyboardInterrupt), run.shown():
            done = feed(run.course or subject, batches)
        failure = batches.failure
        moment = subject.finish()
        if failure is not None and (reading.strict or not moment.release.step):
            raise failure
        if moment.release.step:
            known = not (done.interrupted or failure) and source.part_read is not None
            run.finish(moment, length_known=known)
    finally:
        subject.close()
    tell_operator(source, done)
    if failure is not None:
        raise failure
    return _status(source, done)


class _Run:
    """One run: what is shown while it reads, and written at its end."""

    def __init__(
        self, source: Source, subject: Subject, *, reading: InputSettings, result: ResultSettings
    ) -> None:
        drawn = result.plot is not None and not isinstance(subject, InWindows)
        self.course = Course(subject) if drawn else None
        self._source = source
        self._subject = subject
        self._reading = reading
        self._result = result
        self._ticker: Ticker | None = None

    def shown(self) -> AbstractContextManager[Any]:
        """Return what shows the run while it reads: the ticker, or the live table."""
        every = self._result.every
        if self._result.ticking:
            self._ticker = Ticker(self._state, every=_TICK if every is None else every)
            return self._ticker
        return live(
            self._subject,
            name=self._source.name,
            part_read=lambda: self._source.part_read,
            every=every,
        )

    def finish(self, moment: Moment, *, length_known: bool) -> None:
        """Save what is to be saved, then write the result."""
        result = self._result
        report = self._report(moment, length_known=length_known)
        # First: where the reader of the output goes away nothing is lost.
        if result.save_release is not None:
            save(moment.release, result.save_release, option=_SAVE)
        if result.save_names is not None and isinstance(self._subject, Found):
            save_names(self._subject.names(), result.save_names, option=_SAVE_NAMES)
        if result.plot is not None and self.course is not None:
            releases = [kept for kept in self.course.releases if kept.step < moment.release.step]
            whole = [*releases, moment.release]
            among = self._subject.choice
            save_picture(result.plot, report, whole, of=self._source.name, among=among)
        if self._ticker is None:
            write(report, output=result.output)
            return
        if self._ticker.failure is not None:
            raise self._ticker.failure
        write_state(_as_state(moment, report), final=True)

    def _state(self) -> dict[str, Any] | None:
        moment = self._subject.moment()
        if moment is None or (moment.progress is None and not moment.release.step):
            return None
        return _as_state(moment, self._report(moment, length_known=False))

    def _report(self, moment: Moment, *, length_known: bool) -> Report:
        return self._subject.report(
            moment,
            of=describe(self._source),
            inputs=_inputs(self._source, self._reading),
            length_known=length_known,
        )


def _as_state(moment: Moment, report: Report) -> dict[str, Any]:
    return {**report.summary, "waiting": moment.waiting, report.name: report.rows}


def _status(source: Source, done: Reading) -> int:
    """Return the exit status of a run that did not fail."""
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
