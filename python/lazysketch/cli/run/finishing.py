"""The end of a run: publish, save, print. A failure of one step prevents no other.

The privacy is spent when this begins, and a second run would spend it again. Files come first,
because a reader of standard output or a terminal may hold up the printing for ever. A failed step
is named at the end and changes the exit status.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from lazysketch.cli.run import files
from lazysketch.cli.run.exit_status import FAILED, READER_GONE
from lazysketch.cli.run.targets import DiscoveredItems
from lazysketch.cli.view.json_stream import line_of
from lazysketch.cli.view.output import Writing, remarks_of, tell, text_of
from lazysketch.errors import LazySketchError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.cli.run.targets import Target
    from lazysketch.cli.settings import ResultSettings
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.cli.view.report import Moment

__all__ = [
    "PLOT",
    "SAVE",
    "SAVE_EVERY",
    "SAVE_NAMES",
    "Finishing",
    "Step",
    "as_state",
]

SAVE: Final = "--save-release"
SAVE_EVERY: Final = "--save-every"
SAVE_NAMES: Final = "--save-names"
PLOT: Final = "--plot"
_OUTPUT: Final = "standard output"
_RESULT: Final = "result"
_ATTEMPTS: Final = 2

Result = TypeVar("Result")


@dataclass(slots=True)
class Step(Generic[Result]):
    """One step of the end of a run.

    Args:
        name: What a failure is attributed to.
        action: Does the step. It is called again after a failure, which may have been a short one,
            such as a lack of memory, and then continues or begins anew.
        result: What it returned.
        failure: Why it failed.
        attempts: How many calls are left.
    """

    name: str
    action: Callable[[], Result]
    result: Result | None = None
    failure: BaseException | None = None
    attempts: int = _ATTEMPTS

    def complete(self) -> None:
        """Call the action until it succeeds or no attempt is left."""
        while self.attempts:
            self.attempts -= 1
            try:
                self.result = self.action()
                self.failure, self.attempts = None, 0
            except BaseException as failure:  # no signal raises here
                self.failure = failure

    @property
    def message(self) -> str:
        """One line about the failure."""
        failure = self.failure
        if isinstance(failure, LazySketchError):
            return str(failure)
        if isinstance(failure, OSError):
            return f"{self.name}: expected to write, got {failure.strerror or 'a failure'}"
        if isinstance(failure, MemoryError):
            return f"{self.name}: expected enough memory, got too little"
        return f"{self.name}: expected to end, got {type(failure).__name__}"


class Finishing:
    """The steps at the end of a run. A call continues where an earlier one was cut short.

    Args:
        target: What the run counted into.
        result: Where the result goes.
        report: Returns the report of the final state.
        plot: Returns the bytes of the plot of that state and report; None for no plot.
        first: Steps that end what else writes to the files.
    """

    def __init__(
        self,
        target: Target,
        result: ResultSettings,
        *,
        report: Callable[[Moment], Report],
        plot: Callable[[Moment, Report], bytes] | None,
        first: list[Step[None]],
    ) -> None:
        self._target = target
        self._result = result
        self._draw = plot
        self._first = first
        self._publish = Step(_RESULT, target.finish)
        self._report = Step(_RESULT, lambda: report(_known(self._publish)))
        self._text = Step(_RESULT, self._rendered)
        self._write = Step(_OUTPUT, lambda: _known(self._text).complete())
        self._saves = self._wanted_saves()
        self._hidden = False

    @property
    def moment(self) -> Moment | None:
        """The public state at the end; None before :meth:`save`, or if it was not published."""
        return self._publish.result

    def save(self, *, hidden: Callable[[Moment | None], bool], publishes: bool = True) -> None:
        """Publish what waits for the end of the input, and save every file.

        Args:
            hidden: Tells whether this state is neither saved nor shown.
            publishes: Whether anything is public, or may be published now.
        """
        for step in self._first:
            step.complete()
        if not publishes:
            self._hidden = True
            return
        self._publish.complete()
        self._hidden = hidden(self.moment)
        for save in () if self._hidden else self._saves:
            save.complete()

    def show(self) -> None:
        """Write the result to standard output, after :meth:`save`."""
        if not self._hidden:
            self._report.complete()
            self._text.complete()
            self._write.complete()

    def tell(self) -> int:
        """Say what was saved and what failed; return 0 or the exit status of the failure."""
        report, json_stream = self._report.result, self._result.json_stream
        if report is not None and self._write.failure is None and not json_stream:
            for line in remarks_of(report, output=self._result.output):
                tell(line)
        for save in self._saves:
            if save.result is not None:
                tell(save.result)
        steps: list[Step[Moment] | Step[Report] | Step[Writing] | Step[str] | Step[None]] = [
            *self._first,
            self._publish,
            *self._saves,
            self._report,
            self._text,
            self._write,
        ]
        # A failure once, though the steps that need its step fail for the same reason.
        failed = {id(step.failure): step for step in reversed(steps) if step.failure is not None}
        named = [s for s in failed.values() if not isinstance(s.failure, BrokenPipeError)]
        of_store = [s for s in reversed(named) if isinstance(s.failure, StoreError)]
        for step in reversed(named):
            if step not in of_store[1:]:  # the first one has the reason
                tell(step.message)
        return FAILED if named else READER_GONE if failed else 0

    def _wanted_saves(self) -> list[Step[str]]:
        result, target = self._result, self._target
        saves: list[Step[str]] = []
        if (path := result.save_release) is not None:
            saves.append(Step(SAVE, partial(self._save_release, path)))
        if (names := result.save_names) is not None and isinstance(target, DiscoveredItems):
            saves.append(Step(SAVE_NAMES, partial(_save_names, target, names)))
        if (image := result.plot) is not None and self._draw is not None:
            saves.append(Step(PLOT, partial(self._save_plot, image, self._draw)))
        return saves

    def _save_release(self, path: str) -> str:
        moment = self.moment
        release = self._target.release() if moment is None else moment.release
        return files.save(release, path, option=SAVE)

    def _save_plot(self, path: str, draw: Callable[[Moment, Report], bytes]) -> str:
        self._report.complete()
        return files.save_plot(draw(_known(self._publish), _known(self._report)), path, option=PLOT)

    def _rendered(self) -> Writing:
        moment, report = _known(self._publish), _known(self._report)
        if self._result.json_stream:
            return Writing(line_of(as_state(moment, report), final=True))
        return Writing(text_of(report, output=self._result.output))


def as_state(moment: Moment, report: Report) -> Row:
    """Return the object of ``--json``."""
    return {**report.summary, "waiting": moment.waiting, report.name: report.rows}


def _save_names(target: DiscoveredItems, path: str) -> str:
    return files.save_names(target.names(), path, option=SAVE_NAMES)


def _known(step: Step[Result]) -> Result:
    """Return what a step returned, or raise why it failed."""
    if step.result is not None:
        return step.result
    raise step.failure or RuntimeError(f"{step.name}: expected a completed step")
