"""Run controller: reading, counting, the result and the exit status.

A run that ends early (a signal, a stream longer than its horizon, a late failure of an input, a
lack of memory) still shows and saves what was published: the privacy is spent in any case. The
final push comes at the end of the input, at a signal and at the horizon, none of which depends on
the content. Any other failure may depend on it, so that nothing more is published then.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from lazysketch.cli.run import files
from lazysketch.cli.run.finishing import SAVE_EVERY, Finishing, Step, as_state
from lazysketch.cli.run.history import History
from lazysketch.cli.run.once import Once
from lazysketch.cli.run.operator_report import report_to_operator, status_of
from lazysketch.cli.run.people import advice_on_names, refusals
from lazysketch.cli.run.result_checks import check_replaced
from lazysketch.cli.run.signals import end_as_ctrl_c
from lazysketch.cli.run.state_commits import Commits
from lazysketch.cli.run.statistic import OfNoItems
from lazysketch.cli.run.until_failure import UntilFailure
from lazysketch.cli.run.windowed import RunOfWindows
from lazysketch.cli.view import plot
from lazysketch.cli.view.json_stream import JsonStream
from lazysketch.cli.view.output import tell
from lazysketch.cli.view.report import is_published
from lazysketch.errors import HorizonError, LazySketchError, StoreError
from lazysketch.releases.periodic import PeriodicSaves
from lazysketch.releases.release import Release
from lazysketch.sources import feed
from lazysketch.sources.io.naming import STANDARD_INPUT

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lazysketch.cli.run.charging import Charging
    from lazysketch.cli.run.people import Refusing
    from lazysketch.cli.run.signals import Signals
    from lazysketch.cli.run.state import State
    from lazysketch.cli.run.targets import Target, TargetOfItems
    from lazysketch.cli.settings import InputSettings, ResultSettings
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.cli.view.report import Moment
    from lazysketch.sources import RowBatch, Source

_JSON_SECONDS: Final = 1.0


def count(
    source: Source,
    target: Target,
    *,
    signals: Signals,
    reading: InputSettings,
    horizon: int | None,
    result: ResultSettings,
    charging: Charging,
    state: State | None = None,
    names: bool = False,
) -> int:
    """Feed a target from a source, write the result, close the target, return the exit status.

    With ``names`` the items are taken from the stream, so that they may name people.

    Every way out saves and writes the result, except that a strict reading which fails has none.
    With a state the stream goes on in the next run, unless this one finishes it. A ledger is
    charged before anything is read.

    Raises:
        LazySketchError: The failure that ended the reading early, after the result is written.
    """
    done_before = 0 if state is None or horizon is None else target.release().step
    batches = UntilFailure(source, horizon=None if horizon is None else horizon - done_before)
    try:
        if state is not None:
            in_windows = isinstance(target, RunOfWindows)
            check_replaced(result, target.table_ids, in_windows=in_windows)
        if state is not None and target.is_finished:
            charging.find(state)
            batches.end()
            tell(f"{state.folder}: the stream was ended by --finish; nothing is read")
        else:
            charging.charge(target.spends, of=source.name, state=state)
    except BaseException:
        target.close()
        raise
    if state is not None and not state.finishes:
        target.hold_back()
    run = _Run(
        batches,
        target,
        source=source,
        signals=signals,
        reading=reading,
        result=result,
        state=state,
    )
    signals.counting(batches.stop)
    try:
        try:
            run.read()
        finally:
            run.finish()
    finally:
        run.finish()  # ends what a lack of memory cut short
        ended = state is None or _is_finished(target)
        unseen = target.waits_for_end and not ended
        refused = _refusals(target.people)  # closing forgets the people
        target.close()
    status = run.finishing.tell()
    done = run.done
    if ended:
        charging.end()
    if state is None and source.part_read is not None and done.failure is None and not status:
        charging.remind()
    report_to_operator(source, seconds=done.seconds, interrupted=done.interrupted, refused=refused)
    if names and (advice := advice_on_names(source.tally.fields)):
        tell(advice)
    if state is not None and not batches.ended:
        state.tell_inputs()
    if state is not None and unseen and done.failure is None:
        tell(f"{state.folder}: nothing is published before the end of the stream, with --finish")
    if done.failure is not None and not (status and isinstance(done.failure, StoreError)):
        raise done.failure
    if status:
        return status
    status = 0 if done.interrupted else status_of(source)
    # Asked last: a signal may come at any line above.
    return signals.status if done.interrupted or signals.first is not None else status


def _is_finished(target: Target) -> bool:
    """Return whether a stream that is kept has ended; False if its state has failed."""
    try:
        return target.is_finished
    except LazySketchError:
        return False


@dataclass(slots=True)
class _Reading:
    """Outcome of reading a stream.

    Args:
        seconds: The duration.
        interrupted: Whether a signal, or a closed output, ended it before the end of the stream.
        failure: What else ended it.
        enough: Whether it ended because there was something to list once.
    """

    seconds: float = 0.0
    interrupted: bool = False
    failure: BaseException | None = None
    enough: bool = False


class _ReportedSaves(PeriodicSaves):
    """Saves while a run reads; a failure is reported once, until another one comes."""

    _told = ""

    def failed(self, failure: Exception) -> None:
        """Tell the operator; the last save, at the end, decides on the exit status."""
        reason = files.reason_of(failure)  # without the name of the unfinished file
        if self.failure is None or reason != self._told:
            tell(f"{SAVE_EVERY}: expected to write the release, got {reason}; the run goes on")
        self._told = reason
        super().failed(failure)


class _Run:
    """A run: its display and periodic saves while it reads, and its end.

    Args:
        batches: What it reads.
        target: What it counts into.
        source: Where the batches come from.
        signals: What may ask it to end.
        reading: The settings of the inputs.
        result: Where the result goes.
        state: Keeps what is counted; None if nothing does.
    """

    def __init__(
        self,
        batches: UntilFailure[RowBatch],
        target: Target,
        *,
        source: Source,
        signals: Signals,
        reading: InputSettings,
        result: ResultSettings,
        state: State | None = None,
    ) -> None:
        self._commits = None if state is None else Commits(state.store, end=batches.stop)
        self._goes_on = state is not None and not state.finishes
        self._of = "" if state is None else f"{state.folder}, last from "
        in_windows = isinstance(target, RunOfWindows)
        self.done = _Reading()
        self._history = History(target) if result.plot is not None and not in_windows else None
        self._batches = batches
        self._source = source
        self._signals = signals
        self._target = target
        self._reading = reading
        self._result = result
        self._json_stream: JsonStream | None = None
        self._once: Once | None = None
        self._saves: PeriodicSaves | None = None
        self.finishing = Finishing(
            target,
            result,
            report=self._final_report,
            plot=None if result.plot is None else self._plot,
            first=[
                Step("--state", self._stop_commits),
                Step(SAVE_EVERY, self._stop_saves),
                Step("--json", self._stop_json),
            ],
        )

    def read(self) -> None:
        """Feed every row as one step, then save: what shows the run may be held up for ever."""
        result = self._result
        if result.save_release is not None and result.save_every is not None:
            path, every = result.save_release, result.save_every
            self._saves = _ReportedSaves(self._target.release, path, seconds=every)
            self._saves.start()
        if self._commits is not None:
            self._commits.start()
        with self._display():
            self._feed()
            self._save()

    def finish(self) -> None:
        """Complete the end of the run; a second call continues."""
        self._save()
        self.finishing.show()

    def _feed(self) -> None:
        begin = time.perf_counter()
        try:
            feed(self._history or self._target, self._batches)
        except KeyboardInterrupt:
            self.done.interrupted = True
        except BaseException as failure:
            self.done.failure = failure
            if self._commits is not None and isinstance(failure, StoreError):
                self._commits.failed(failure)
        self._signals.finishing()
        self.done.seconds = time.perf_counter() - begin
        self.done.enough = self._once is not None and self._once.ended
        self.done.interrupted |= self._batches.stopped and not self.done.enough
        self.done.failure = self.done.failure or self._batches.failure
        if self._holds_back:
            self._target.hold_back()

    def _save(self) -> None:
        self._signals.finishing()
        self.finishing.save(hidden=self._hidden, publishes=not self._nothing_is_public)

    @property
    def _nothing_is_public(self) -> bool:
        """True if the table waits for an end of the stream that does not come in this run."""
        waits = self._target.waits_for_end
        goes_on = waits and self._goes_on and not _is_finished(self._target)
        return waits and (self._holds_back or goes_on)

    def _hidden(self, moment: Moment | None) -> bool:
        """Hide a strict reading that failed, because the step where it ends depends on a row."""
        if self._reading.strict and isinstance(self.done.failure, LazySketchError):
            return True
        release = None if moment is None else moment.release
        return release is not None and not (release.step and is_published(release))

    @property
    def _holds_back(self) -> bool:
        """True after a failure that the content of the input may have caused."""
        return self.done.failure is not None and not isinstance(self.done.failure, HorizonError)

    def _stop_commits(self) -> None:
        if self._commits is not None:
            self._commits.stop()

    def _stop_saves(self) -> None:
        if self._saves is not None:
            self._saves.stop()

    def _stop_json(self) -> None:
        if self._json_stream is None:
            return
        self._json_stream.stop()
        failure = self._json_stream.failure
        if failure is not None and not isinstance(failure, OSError):  # the result meets that too
            raise failure

    def _display(self) -> AbstractContextManager[object]:
        """Return the display while the run reads: the JSON stream or the live table."""
        every = self._result.every
        if self._result.json_stream:
            seconds = _JSON_SECONDS if every is None else every
            self._json_stream = JsonStream(self._state, every=seconds, end=self._batches.stop)
            return self._json_stream
        if self._result.once:
            self._once = Once(self._target.moment, end=self._batches.stop)
            return self._once
        if not sys.stderr.isatty():
            return nullcontext()
        from lazysketch.cli.view.live import Reading, live, progress  # late: needs rich

        reading = Reading(
            name=self._source.name,
            rows=lambda: self._source.tally.rows,
            part_read=lambda: self._source.part_read,
            end=end_as_ctrl_c,
            rows_are_typed=STANDARD_INPUT in map(str, self._source.paths),
            has_items=not isinstance(self._target, OfNoItems),
        )
        if self._target.waits_for_end:
            return progress(reading)
        return live(self._target.moment, reading, every=every)

    def _plot(self, moment: Moment, report: Report) -> bytes:
        before = [] if self._history is None else self._history.releases
        earlier = (kept for kept in before if kept.step < moment.release.step)
        # Only runs that count items have a plot.
        releases = [kept for kept in (*earlier, moment.release) if isinstance(kept, Release)]
        if plot.is_page(str(self._result.plot)):
            target = cast("TargetOfItems", self._target)  # the only ones whose verbs have --plot
            return target.page(report, releases, of=self._source.name)
        return plot.draw(
            str(self._result.plot),
            report,
            releases,
            of=self._source.name,
            guarantee=moment.guarantee,
            among=self._target.candidates,
        )

    def _state(self) -> Row | None:
        moment = self._target.moment()
        if moment is None or (moment.progress is None and not moment.release.step):
            return None
        return as_state(moment, self._report(moment, length_known=False))

    def _final_report(self, moment: Moment) -> Report:
        ended = not (self.done.interrupted or self.done.enough or self.done.failure)
        return self._report(moment, length_known=ended and self._source.part_read is not None)

    def _report(self, moment: Moment, *, length_known: bool) -> Report:
        source = self._source
        return self._target.report(
            moment,
            of=f"{self._of}{source.name} ({'; '.join(source.tally.formats) or 'nothing read'})",
            inputs=_inputs(source, self._reading),
            length_known=length_known,
        )


def _inputs(source: Source, reading: InputSettings) -> Row:
    """Return the description of the inputs in JSON."""
    names = [form.partition(",")[0] for form in source.tally.formats]
    return {
        "inputs": [str(path) for path in source.paths],
        "format": ", ".join(dict.fromkeys(names)),
        "field": reading.field or ", ".join(source.tally.fields) or None,
        "user": source.user,
    }


def _refusals(people: Refusing | None) -> str:
    """Return what the bound of people refused, "" if there is nothing to say."""
    return refusals(people) if people and (people.refused or sys.stderr.isatty()) else ""
