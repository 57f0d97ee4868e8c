"""The run of several statistics of one stream: one pass over its rows, one guarantee.

As in a run of one statistic, a ledger is charged before anything is read, a signal ends the reading
and not the result, and a failure that the content of the input may have caused publishes nothing.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lazysketch import Pipeline
from lazysketch.cli.run.charging import Charging
from lazysketch.cli.run.files import read_public_list
from lazysketch.cli.run.operator_report import report_to_operator, status_of
from lazysketch.cli.run.people import advice_on_names, refusals
from lazysketch.cli.run.pipeline_end import PartInput, PipelineEnd, check_folder
from lazysketch.cli.run.pipeline_parts import TOP, column_of_people, numbers_of, read_parts
from lazysketch.cli.run.signals import Signals, end_as_ctrl_c
from lazysketch.cli.run.topics import is_topic
from lazysketch.cli.run.until_failure import UntilFailure
from lazysketch.cli.view.output import tell
from lazysketch.errors import ArgumentValueError, HorizonError, LazySketchError
from lazysketch.pipelines.columns import ColumnWithGaps, people_of
from lazysketch.sources.columns import Columns
from lazysketch.sources.io.naming import STANDARD_INPUT
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import click

    from lazysketch.cli.run.pipeline_parts import DescribedPart
    from lazysketch.cli.settings import GuaranteeSettings, InputSettings, LedgerSettings
    from lazysketch.sources import Source
    from lazysketch.sources.columns import ColumnBatch

__all__ = ["PipelineSettings", "run_of_pipeline"]


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What is counted together, and where its result goes.

    Attributes:
        parts: The file of the parts.
        user: The field of the person; None to protect rows.
        horizon: Longest possible stream; None for any.
        steps: Expected number of rows; None for the horizon, or a million.
        save_releases: The folder of the releases; None for nowhere.
        overwrite: Whether releases of an earlier run may be replaced.
        output: The format of the result.
    """

    parts: str
    user: str | None
    horizon: int | None
    steps: int | None
    save_releases: str | None
    overwrite: bool
    output: str


def run_of_pipeline(
    context: click.Context,
    files: tuple[str, ...],
    counting: PipelineSettings,
    *,
    guarantee: GuaranteeSettings,
    reading: InputSettings,
    charged: LedgerSettings,
) -> int:
    """Count the rows of inputs in all parts, show the result and return the exit status.

    Args:
        context: Of the verb.
        files: The inputs.
        counting: What is counted.
        guarantee: Of all parts together.
        reading: How the inputs are read.
        charged: The ledger.

    Raises:
        LazySketchError: The failure that ended the reading early, after the result is written.
    """
    parts = [
        _with_its_list(part, files, reading) for part in read_parts(counting.parts, counting.user)
    ]
    if counting.save_releases is not None:
        names = [part.name for part in parts]
        check_folder(counting.save_releases, names, overwrite=counting.overwrite)
    charging = Charging(charged)
    charging.check()
    columns = _opened(parts, files, reading, user=counting.user)
    pipeline = _pipeline(parts, counting, guarantee, columns)
    try:
        run = _Run(pipeline, parts, columns, counting, reading=reading)
        charging.charge(pipeline.privacy, of=columns.first.name, state=None)
    except BaseException:
        pipeline.close()
        raise
    return run.counted(context.ensure_object(Signals), charging)


def _with_its_list(
    part: DescribedPart, files: tuple[str, ...], reading: InputSettings
) -> DescribedPart:
    """Return a part with the items of its public list, if it has one."""
    if not part.list_of_items:
        return part
    option = f"--parts: [{part.name}] items"
    of_part = replace(reading, items_type=part.items_type)
    listed = read_public_list(part.list_of_items, option=option, inputs=files, reading=of_part)
    return replace(part, items=listed)


def _opened(
    parts: Sequence[DescribedPart],
    files: tuple[str, ...],
    reading: InputSettings,
    *,
    user: str | None,
) -> Columns:
    """Return a source for each field that is counted, and for that of the person."""
    if any(map(is_topic, files)):
        raise ArgumentValueError("files: expected files or a pipe, got a topic of Kafka")
    sources: dict[str, Source] = {}
    if user is not None:  # items of any type: they are those of the field, and people are text
        of_people = replace(reading, field=user, items_type=None)
        sources[column_of_people(user)] = of_people.open(files, user=user, people_alone=True)
    for part in parts:
        if part.column not in sources:
            of_part = replace(reading, field=part.field, items_type=part.items_type)
            of_part = replace(of_part, weight=part.weight, max_weight=part.max_weight)
            sources[part.column] = replace(of_part, value=part.value).open(files)
    return Columns(sources)


def _pipeline(
    parts: Sequence[DescribedPart],
    counting: PipelineSettings,
    guarantee: GuaranteeSettings,
    columns: Columns,
) -> Pipeline:
    """Return the pipeline; files are published once, at the end, which has the least noise."""
    at_end = columns.first.part_read is not None and counting.horizon is None
    schedule = Single() if at_end else None
    return Pipeline(
        {part.name: part.part(schedule) for part in parts},
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        relation=guarantee.relation,
        horizon=counting.horizon,
        rows=counting.steps,
        user=None if counting.user is None else column_of_people(counting.user),
    )


class _Run:
    """A run: what it reads, and how it ends."""

    def __init__(
        self,
        pipeline: Pipeline,
        parts: Sequence[DescribedPart],
        columns: Columns,
        counting: PipelineSettings,
        *,
        reading: InputSettings,
    ) -> None:
        self._pipeline = pipeline
        self._parts = parts
        self._columns = columns
        self._reading = reading
        self._batches: UntilFailure[ColumnBatch] = UntilFailure(columns, horizon=counting.horizon)
        self._failure: BaseException | None = None
        self._seconds = 0.0
        self._interrupted = False
        self._end = PipelineEnd(
            pipeline, parts, folder=counting.save_releases, output=counting.output
        )

    def counted(self, signals: Signals, charging: Charging) -> int:
        """Count the rows, write the result, and return the exit status.

        Raises:
            LazySketchError: The failure that ended the reading early.
        """
        signals.counting(self._batches.stop)
        try:
            with self._display():
                self._read()
            signals.finishing()
            self._complete()
        finally:
            signals.finishing()
            refused = self._refused()  # closing forgets the people
            self._pipeline.close()
        status = self._end.tell()
        charging.end()
        sources = self._columns.sources.values()
        if self._columns.first.part_read is not None and self._failure is None and not status:
            charging.remind()
        for source in sources:
            report_to_operator(source, seconds=self._seconds, interrupted=self._interrupted)
        for told in refused:
            tell(f"{told} (for the operator, outside the guarantee)")
        for part in self._parts:
            fields = self._columns.sources[part.column].tally.fields
            if part.statistic == TOP and (advice := advice_on_names(fields)):
                tell(advice)
        if self._failure is not None:
            raise self._failure
        status = status or (0 if self._interrupted else max(map(status_of, sources)))
        return signals.status if self._interrupted or signals.first is not None else status

    def _refused(self) -> list[str]:
        """Return what the bound of people refused in each part, for the operator."""
        told = []
        for name in self._pipeline:
            people = people_of(self._pipeline[name])
            if people is not None and (people.refused or sys.stderr.isatty()):
                told.append(f"{name}: {refusals(people)}")
        return told

    def _read(self) -> None:
        begin = time.perf_counter()
        try:
            for batch in self._batches:
                self._pipeline.update_many(_rows_of(batch, self._pipeline.user))
        except KeyboardInterrupt:
            self._interrupted = True
        except BaseException as failure:
            self._failure = failure
        self._seconds = time.perf_counter() - begin
        self._interrupted |= self._batches.stopped
        self._failure = self._failure or self._batches.failure

    def _complete(self) -> None:
        """Publish and write, unless the content of the input may decide whether there is a result.

        A strict reading that failed shows nothing at all.
        """
        failed = self._failure is not None and not isinstance(self._failure, HorizonError)
        strict = self._reading.strict and isinstance(self._failure, LazySketchError)
        waits = all(self._pipeline[name].schedule == Single() for name in self._pipeline)
        if strict or not self._pipeline.steps or (failed and waits):
            return
        inputs = {part.name: self._input(part) for part in self._parts}
        self._end.complete(inputs, finishes=not failed)

    def _input(self, part: DescribedPart) -> PartInput:
        source = self._columns.sources[part.column]
        read_as = "; ".join(source.tally.formats) or "nothing read"
        return PartInput(
            of=f"{source.name} ({read_as})",
            row={
                "inputs": [str(path) for path in source.paths],
                "statistic": part.statistic,
                "field": part.field or ", ".join(source.tally.fields) or None,
            },
        )

    def _display(self) -> AbstractContextManager[object]:
        """Return the display while the run reads: how far it is."""
        if not sys.stderr.isatty():
            return nullcontext()
        from lazysketch.cli.view.live import Reading, progress  # late: needs rich

        first = self._columns.first
        return progress(
            Reading(
                name=first.name,
                rows=lambda: first.tally.rows,
                part_read=lambda: first.part_read,
                end=end_as_ctrl_c,
                rows_are_typed=STANDARD_INPUT in map(str, first.paths),
                has_items=False,
            )
        )


def _rows_of(batch: ColumnBatch, user: str | None) -> Mapping[str, ColumnWithGaps]:
    """Return the rows of a batch as the columns of a pipeline, with that of the people."""
    rows = {
        name: ColumnWithGaps(one.items, one.empty_rows, one.rows)
        for name, one in batch.columns.items()
    }
    numbers = {
        numbers_of(name): ColumnWithGaps(one.weights, one.empty_rows, one.rows)
        for name, one in batch.columns.items()
        if one.weights is not None
    }
    if user is None:
        return {**rows, **numbers}
    of_people = batch.columns[user]  # as text: 7 and "7" are one person
    people = ColumnWithGaps(of_people.users, of_people.empty_rows, of_people.rows)
    return {**rows, **numbers, user: people}
