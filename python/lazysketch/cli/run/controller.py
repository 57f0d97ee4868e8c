"""Run controller: reading, counting, the result and the exit status.

A run that ends early (Ctrl-C, SIGTERM, a stream longer than its horizon, a late failure of an
input) still shows and saves what was published: the privacy is spent in any case.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run import files
from lazysketch.cli.run.history import History
from lazysketch.cli.run.targets import DiscoveredItems
from lazysketch.cli.run.windows import WindowedItems
from lazysketch.cli.view import plot
from lazysketch.cli.view.json_stream import JsonStream, write_state
from lazysketch.cli.view.live import live
from lazysketch.cli.view.output import tell, write
from lazysketch.errors import HorizonError, LazySketchError
from lazysketch.sources import feed

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from lazysketch.cli.run.targets import Target
    from lazysketch.cli.settings import InputSettings, ResultSettings
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.cli.view.report import Moment
    from lazysketch.sources import RowBatch, Source

FAILED: Final = 2
INTERRUPTED: Final = 130  # 128 + SIGINT, the convention of shells
_SAVE: Final = "--save-release"
_SAVE_NAMES: Final = "--save-names"
_PLOT: Final = "--plot"
_JSON_SECONDS: Final = 1.0


def check_result(result: ResultSettings) -> None:
    """Raise unless every file of the result can be saved; reads nothing of the stream."""
    if result.save_release is not None:
        files.check_release_target(result.save_release, option=_SAVE)
    if result.save_names is not None:
        files.check_names_target(result.save_names, option=_SAVE_NAMES)
    if result.plot is not None:
        files.check_plot_target(result.plot, option=_PLOT)


def count(
    source: Source,
    target: Target,
    *,
    reading: InputSettings,
    horizon: int | None,
    result: ResultSettings,
) -> int:
    """Feed a target from a source, write the result, close the target, return the exit status.

    Raises:
        LazySketchError: The failure that ended the reading early, after the result is written.
        BrokenPipeError: The reader of standard output has closed it.
    """
    batches = _UntilFailure(source, horizon=horizon)
    run = _Run(source, target, reading=reading, result=result)
    done = _Reading(seconds=0.0, interrupted=True)
    try:
        # Ctrl-C while the display starts or stops ends the run like Ctrl-C while it reads.
        with suppress(KeyboardInterrupt), run.display():
            done = _feed(run.history or target, batches)
        failure = batches.failure
        moment = target.finish()
        if failure is not None and (reading.strict or not moment.release.step):
            raise failure
        if moment.release.step:
            known = not (done.interrupted or failure) and source.part_read is not None
            run.finish(moment, length_known=known)
    finally:
        target.close()
    _report_to_operator(source, done)
    if failure is not None:
        raise failure
    return _status(source, done)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Outcome of reading a stream.

    Args:
        seconds: The duration.
        interrupted: Whether Ctrl-C ended it before the end of the stream.
    """

    seconds: float
    interrupted: bool


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


class _Run:
    """The display while a run reads, and its result at the end."""

    def __init__(
        self, source: Source, target: Target, *, reading: InputSettings, result: ResultSettings
    ) -> None:
        plots = result.plot is not None and not isinstance(target, WindowedItems)
        self.history = History(target) if plots else None
        self._source = source
        self._target = target
        self._reading = reading
        self._result = result
        self._json_stream: JsonStream | None = None

    def display(self) -> AbstractContextManager[object]:
        """Return the display while the run reads: the JSON stream or the live table."""
        every = self._result.every
        if self._result.json_stream:
            seconds = _JSON_SECONDS if every is None else every
            self._json_stream = JsonStream(self._state, every=seconds)
            return self._json_stream
        return live(
            self._target.moment,
            name=self._source.name,
            part_read=lambda: self._source.part_read,
            every=every,
        )

    def finish(self, moment: Moment, *, length_known: bool) -> None:
        """Save the files, then write the result."""
        result = self._result
        report = self._report(moment, length_known=length_known)
        # Files first: they are kept even if the reader of standard output has closed it.
        if result.save_release is not None:
            files.save(moment.release, result.save_release, option=_SAVE)
        if result.save_names is not None and isinstance(self._target, DiscoveredItems):
            files.save_names(self._target.names(), result.save_names, option=_SAVE_NAMES)
        if result.plot is not None and self.history is not None:
            self._save_plot(result.plot, self.history, moment, report)
        if self._json_stream is None:
            write(report, output=result.output)
            return
        if self._json_stream.failure is not None:
            raise self._json_stream.failure
        write_state(_as_state(moment, report), final=True)

    def _save_plot(self, path: str, history: History, moment: Moment, report: Report) -> None:
        before = [kept for kept in history.releases if kept.step < moment.release.step]
        drawn = plot.draw(
            path,
            report,
            [*before, moment.release],
            of=self._source.name,
            guarantee=moment.guarantee,
            among=self._target.candidates,
        )
        files.save_plot(drawn, path, option=_PLOT)

    def _state(self) -> Row | None:
        moment = self._target.moment()
        if moment is None or (moment.progress is None and not moment.release.step):
            return None
        return _as_state(moment, self._report(moment, length_known=False))

    def _report(self, moment: Moment, *, length_known: bool) -> Report:
        source = self._source
        return self._target.report(
            moment,
            of=f"{source.name} ({'; '.join(source.tally.formats) or 'nothing read'})",
            inputs=_inputs(source, self._reading),
            length_known=length_known,
        )


def _feed(target: Target | History, batches: _UntilFailure) -> _Reading:
    """Feed every row as one step, until the stream ends or Ctrl-C."""
    begin = time.perf_counter()
    interrupted = False
    try:
        feed(target, batches)
    except KeyboardInterrupt:
        interrupted = True
    return _Reading(seconds=time.perf_counter() - begin, interrupted=interrupted)


def _as_state(moment: Moment, report: Report) -> Row:
    return {**report.summary, "waiting": moment.waiting, report.name: report.rows}


def _inputs(source: Source, reading: InputSettings) -> Row:
    """Return the description of the inputs in JSON."""
    names = [form.partition(",")[0] for form in source.tally.formats]
    guessed = [form.partition(", field ")[2] for form in source.tally.formats if not reading.weight]
    fields = dict.fromkeys(field for field in guessed if field)
    return {
        "inputs": [str(path) for path in source.paths],
        "format": ", ".join(dict.fromkeys(names)),
        "field": reading.field or ", ".join(fields) or None,
    }


def _report_to_operator(source: Source, done: _Reading) -> None:
    """Print what the guarantee does not cover, on a terminal or if rows were not counted."""
    tally = source.tally
    if done.interrupted:
        rows = f"after {tally.rows:,} rows" if tally.rows else "before the first row"
        tell(f"interrupted {rows}")
    if not (tally.malformed or tally.absent or tally.clipped or sys.stderr.isatty()):
        return
    rate = tally.rows / done.seconds if done.seconds else 0.0
    line = f"{tally.rows:,} rows in {done.seconds:,.2f} s ({rate:,.0f}/s)"
    if tally.malformed:
        places = ", ".join(f"{place.name} row {place.row:,}" for place in tally.first_malformed)
        more = ", ..." if tally.malformed > len(tally.first_malformed) else ""
        line += f", {tally.malformed:,} of them malformed: {places}{more}"
    if tally.absent:
        line += f", {tally.absent:,} of them without the field"
    if source.weighted:
        line += f"; total weight {tally.total_weight:,}, {tally.clipped:,} weights clipped"
    tell(f"{line} (for the operator, outside the guarantee)")
    if tally.malformed and tally.malformed == tally.rows:
        tell(f"every row was malformed, read as {'; '.join(tally.formats)}; check --format")


def _status(source: Source, done: _Reading) -> int:
    """Return the exit status of a run that did not fail; warn if most rows were malformed."""
    tally = source.tally
    if done.interrupted:
        return INTERRUPTED
    if tally.rows > tally.malformed > tally.rows / 2:
        formats = "; ".join(tally.formats)
        tell(f"more than half of the rows were malformed, read as {formats}; check --format")
    return FAILED if tally.malformed == tally.rows else 0
