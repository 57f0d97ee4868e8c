"""The end of a run of several statistics: publish, save, print. One failure prevents no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from lazysketch.cli.run import files
from lazysketch.cli.run.exit_status import FAILED, READER_GONE
from lazysketch.cli.run.finishing import Step
from lazysketch.cli.run.pipeline_parts import QUANTILES, RANGES, SUMS, TOP
from lazysketch.cli.run.result_checks import check_overwrite
from lazysketch.cli.run.shown_statistics import ShownRanges, ShownSums
from lazysketch.cli.run.statistic import Answers, Statistic
from lazysketch.cli.run.targets import DiscoveredItems
from lazysketch.cli.settings import PrivacySettings
from lazysketch.cli.view.output import Writing, as_json, tell, text_of
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.errors import SourceError
from lazysketch.releases.value_rows import quantile_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lazysketch import DistributionRelease, Pipeline
    from lazysketch.cli.run.pipeline_parts import DescribedPart
    from lazysketch.cli.run.statistic import Shown
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.cli.view.report import Moment
    from lazysketch.releases.any_release import AnyRelease

__all__ = ["PartInput", "PipelineEnd", "check_folder"]

_SAVE: Final = "--save-releases"
_RESULT: Final = "result"
_OUTPUT: Final = "standard output"


@dataclass(frozen=True, slots=True)
class PartInput:
    """What a part was counted of, for its result.

    Attributes:
        of: In words, for people.
        row: For programs.
    """

    of: str
    row: Row


@dataclass(frozen=True, slots=True)
class _Quantiles(Answers):
    """The quantiles of a distribution."""

    shares: tuple[float, ...]

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""
        found = cast("DistributionRelease", release)
        return quantile_rows(found, self.shares, confidence=CONFIDENCE)


def check_folder(folder: str, names: Sequence[str], *, overwrite: bool) -> None:
    """Raise unless the release of each part can be saved; writes nothing.

    Args:
        folder: Where to save them.
        names: Of the parts.
        overwrite: Whether releases of an earlier run may be replaced.

    Raises:
        SourceError: No such folder, a file that cannot be written, or one that must not be
            replaced.
    """
    if not Path(folder).is_dir():
        raise SourceError(f"{_SAVE}: expected an existing directory, got {folder}")
    for name in names:
        path = _path(folder, name)
        if files.check_release_target(path, option=_SAVE):
            check_overwrite(path, overwrite=overwrite, option=_SAVE)


def _path(folder: str, name: str) -> str:
    return str(Path(folder, f"{name}.lzs"))


class PipelineEnd:
    """The steps at the end of a run.

    Args:
        pipeline: What was counted.
        parts: Its parts, as their file describes them.
        folder: Where the releases are saved; None for nowhere.
        output: The format of the result.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        parts: Sequence[DescribedPart],
        *,
        folder: str | None,
        output: str,
    ) -> None:
        self._pipeline = pipeline
        self._targets = {part.name: _target(pipeline, part) for part in parts}
        self._folder = folder
        self._output = output
        self._steps: list[Step[object]] = []

    def complete(self, inputs: Mapping[str, PartInput], *, finishes: bool) -> None:
        """Publish what waits for the end of the input, save all releases and print the result.

        Args:
            inputs: What each part was counted of.
            finishes: Whether anything may be published now.
        """
        publish = Step(_RESULT, partial(self._publish, finishes=finishes))
        publish.complete()
        moments = publish.result
        self._steps.append(cast("Step[object]", publish))
        if moments is None:
            return
        if self._folder is not None:
            for name, moment in moments.items():
                path = _path(self._folder, name)
                self._take(_SAVE, partial(files.save, moment.release, path, option=_SAVE))
        text = self._take(_RESULT, lambda: Writing(self._text(moments, inputs)))
        if isinstance(text, Writing):
            self._take(_OUTPUT, text.complete)

    def tell(self) -> int:
        """Say what was saved and what failed; return 0 or the exit status of the failure."""
        for step in self._steps:
            if isinstance(step.result, str):
                tell(step.result)
        failed = [step for step in self._steps if step.failure is not None]
        named = [step for step in failed if not isinstance(step.failure, BrokenPipeError)]
        for step in named:
            tell(step.message)
        return FAILED if named else READER_GONE if failed else 0

    def _take(self, name: str, action: Callable[[], object]) -> object:
        step = Step(name, action)
        step.complete()
        self._steps.append(step)
        return step.result

    def _publish(self, *, finishes: bool) -> dict[str, Moment]:
        if finishes:
            self._pipeline.finish()
        return {name: target.finish() for name, target in self._targets.items()}

    def _text(self, moments: Mapping[str, Moment], inputs: Mapping[str, PartInput]) -> str:
        reports = {name: self._report(name, moments[name], inputs[name]) for name in moments}
        together = str(self._pipeline.privacy)
        if self._output == "json":
            parts = {
                name: {**report.summary, report.name: report.rows}
                for name, report in reports.items()
            }
            shares = {name: one.share for name, one in self._pipeline.shares.items()}
            document = {"guarantee": together, "shares": shares, "parts": parts}
            return as_json(document, indent=2) + "\n"
        texts = [f"{name}\n{text_of(report, output='table')}" for name, report in reports.items()]
        return "\n".join([*texts, f"all parts together: {together}\n"])

    def _report(self, name: str, moment: Moment, of: PartInput) -> Report:
        report = self._targets[name].report(moment, of=of.of, inputs=of.row, length_known=False)
        share = self._pipeline.shares[name]
        line = (
            f"{share.share:.0%} of the privacy of all parts: errors are {share.error_growth:.2f} "
            "times those that it would have with all of it"
        )
        return replace(report, lines=[*report.lines, line])


def _target(pipeline: Pipeline, part: DescribedPart) -> DiscoveredItems | Statistic:
    """Return what shows a part; the pipeline alone publishes it."""
    live = pipeline[part.name]
    target: DiscoveredItems | Statistic
    if part.statistic == TOP:
        privacy = live.privacy
        relation = privacy.sketch.relation
        own = PrivacySettings(privacy.epsilon, privacy.delta, relation, 1)
        target = DiscoveredItems(live, most=part.rows, asked=own)
    else:
        target = Statistic(live, _shown(part))
    target.hold_back()
    return target


def _shown(part: DescribedPart) -> Shown | None:
    """Return what is shown of a part that is no list of heavy items."""
    if part.statistic == QUANTILES:
        return _Quantiles(part.quantiles)
    if part.statistic == RANGES:
        return ShownRanges(part.ranges)
    return ShownSums(part.items, part.rows) if part.statistic == SUMS else None
