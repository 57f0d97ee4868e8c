"""Workers of any engine: files as tasks, each task as sealed counts, and what a driver checks.

An engine runs :func:`count_task` once for each task that :func:`plan_tasks` returns, anywhere, and
hands the results to :func:`add_results`. The counts, the input and the order do not depend on the
engine, on how the input is divided, or on how often a task was tried::

    tasks = plan_tasks(listed_files("logs/*.parquet"), request, live.partial_spec())
    release = add_results(store, "days", day, map(count_task, tasks), into=live)

================= ==================================================================
file_tasks        files as tasks; the digest that stands for an input
results           what tasks return: one result of each, of one input; one step of a store
input_log         which files belong to which tick, kept on disk: no file twice, none changed
offsets           ranges of offsets of topics, each once, committed with their counts
current_spec      the description that workers use, from the process that has the store
================= ==================================================================
"""

from __future__ import annotations

from lazysketch.workers.current_spec import keep_spec, kept_spec
from lazysketch.workers.file_tasks import (
    PARALLEL_TASKS,
    FileTask,
    ListedFile,
    count_task,
    input_digest,
    listed_files,
    plan_tasks,
)
from lazysketch.workers.input_log import InputLog
from lazysketch.workers.offsets import OffsetGate, Partition
from lazysketch.workers.results import TaskResult, add_results, positions_of

__all__ = [
    "PARALLEL_TASKS",
    "FileTask",
    "InputLog",
    "ListedFile",
    "OffsetGate",
    "Partition",
    "TaskResult",
    "add_results",
    "count_task",
    "input_digest",
    "keep_spec",
    "kept_spec",
    "listed_files",
    "plan_tasks",
    "positions_of",
]
