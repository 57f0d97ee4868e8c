"""Inputs of engines that are counted twice, in part, or as they were not listed."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_ENGINES"]

_FILES: Final = "tests/unit/workers/test_file_tasks.py"
_GATE: Final = "tests/unit/workers/test_offsets.py"
_LOG: Final = "tests/unit/workers/test_input_log.py"
_PARTS: Final = "tests/unit/sources/test_parts.py"

BUGS_OF_ENGINES: Final = (
    PlantedBug(
        name="both-tries-of-a-task-are-added",
        subject="durable state",
        claim="Results of a task and of the copy that an engine ran of it are both added.",
        caught_by=f"{_FILES}::test_results_are_one_of_each_task",
        patch=edited(
            "lazysketch.workers.results:add_results",
            ("len(set(numbers)) < len(numbers) or (tasks and", "(tasks and set() and"),
        ),
    ),
    PlantedBug(
        name="noise-in-a-task",
        subject="distribution",
        claim="A task counts made-up events to hide how many it has.",
        caught_by=f"{_FILES}::test_tasks_publish_what_one_machine_does[0-count-min]",
        patch=edited(
            "lazysketch.workers.file_tasks:count_task",
            (
                "worker = PartialCounts(task.spec)",
                "worker = PartialCounts(task.spec)\n    worker.update_many(['noise'])",
            ),
        ),
    ),
    PlantedBug(
        name="rewritten-file-of-a-tick-counted-again",
        subject="durable state",
        claim="A file that was rewritten after its tick is new input of a later tick.",
        caught_by=f"{_LOG}::test_a_file_that_changed_is_refused",
        patch=edited(
            "lazysketch.workers.input_log:InputLog.begin",
            ("elif row[:2] != (file.size, file.modified):", "elif False:"),
        ),
    ),
    PlantedBug(
        name="replayed-tick-takes-what-has-arrived",
        subject="durable state",
        claim="A tick that is begun again after a crash has the files that arrived since as well.",
        caught_by=f"{_LOG}::test_a_tick_that_is_begun_again_keeps_its_files",
        patch=edited(
            "lazysketch.workers.input_log:InputLog.begin",
            ("if tick <= self.last_tick:", "if tick < self.last_tick:"),
            ("if tick != self.last_tick + 1:", "if False:"),
            ("insert into ticks", "insert or replace into ticks"),
        ),
    ),
    PlantedBug(
        name="positions-without-the-input",
        subject="durable state",
        claim="What the store keeps of an input does not depend on its files.",
        caught_by=f"{_FILES}::test_results_are_one_of_each_task",
        patch=edited(
            "lazysketch.workers.results:positions_of",
            ('"input": input_digest', '"input": ""'),
        ),
    ),
    PlantedBug(
        name="row-between-two-parts-counted-twice",
        subject="sensitivity",
        claim="A row that begins in one part and ends in the next is read by both.",
        caught_by=f"{_PARTS}::test_parts_of_lines_have_each_row_once",
        patch=edited(
            "lazysketch.sources.parts:_opened",
            ("stream.rows_skipped = int(part.begin > 0)", "stream.rows_skipped = 0"),
        ),
    ),
    PlantedBug(
        name="offsets-counted-by-two-members",
        subject="durable state",
        claim="A range of offsets is taken that another member has counted.",
        caught_by=f"{_GATE}::test_ranges_follow_one_another",
        patch=edited(
            "lazysketch.workers.offsets:OffsetGate.take",
            ("if begin != expected or", "if begin > expected or"),
        ),
    ),
    PlantedBug(
        name="offsets-before-their-commit",
        subject="durable state",
        claim="Offsets of counts that the store refused are taken for counted.",
        caught_by=f"{_GATE}::test_counts_that_the_store_refuses_are_read_again",
        patch=edited(
            "lazysketch.workers.offsets:OffsetGate.tick",
            ("self._next = self._committed()", "pass"),
        ),
    ),
    PlantedBug(
        name="file-changed-while-its-parts-are-read",
        subject="durable state",
        claim="Parts of one file are read from two contents.",
        caught_by=f"{_PARTS}::test_a_file_that_changed_is_refused[write_json]",
        patch=edited(
            "lazysketch.sources.parts:_check_unchanged",
            ("if (status.st_size, status.st_mtime_ns) != (part.size, part.modified):", "if False:"),
        ),
    ),
)
