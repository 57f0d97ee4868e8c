"""Files as tasks: each row of the input is counted by exactly one task.

A task is what a worker gets: parts of files, what to read of each row, and the description of the
store's object. It has no key and draws no noise. Tasks are filled largest part first, each into the
task that has least to read, so that the result depends on the input alone.
"""

from __future__ import annotations

import glob
import hashlib
import heapq
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Final

from lazysketch.arguments import checked_integer
from lazysketch.errors import SourceError
from lazysketch.sketches.partial_counts import PartialCounts
from lazysketch.sources.formats.registry import AUTO
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.naming import naming
from lazysketch.sources.parts import FilePart, parts_of, read_part
from lazysketch.workers.item_types import fitting_request
from lazysketch.workers.results import TaskResult

__all__ = [
    "PARALLEL_TASKS",
    "FileTask",
    "ListedFile",
    "count_task",
    "input_digest",
    "listed_files",
    "plan_tasks",
]

# A task of an engine costs 20 ms or more before it counts.
LEAST_PART_BYTES: Final = 1 << 22
MOST_PART_BYTES: Final = 1 << 27
PARALLEL_TASKS: Final = 4
PART_BYTES_OF_NAMES: Final = 1 << 24  # a worker holds 2^20 different ones
MOST_TASKS: Final = 256
_HIDDEN: Final = (".", "_")
_MOST_SEALED: Final = 1 << 28  # bytes that the driver gathers


@dataclass(frozen=True, slots=True, order=True)
class ListedFile:
    """A file as it was listed: its path, its size, and its modification time in nanoseconds."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class FileTask:
    """What one worker counts; it can be pickled.

    Args:
        number: From 0.
        tasks: How many tasks the input has.
        tick: The step of the input's clock; 0 without one.
        input: The digest of the whole input.
        parts: What to read.
        request: What to read of each row.
        spec: The description of the store's object.
    """

    number: int
    tasks: int
    tick: int
    input: str
    parts: tuple[FilePart, ...]
    request: Selection
    spec: bytes


def listed_files(path: str, *, settled: float = 0.0) -> list[ListedFile]:
    """Return the files of a folder or a pattern, sorted by path.

    Names that begin with "." or "_" are left out: engines write there what is not complete.

    Args:
        path: A folder, with all folders in it; a pattern with ``*``, ``?``, ``[`` or ``**``; or one
            file.
        settled: Only files that were modified at least that number of seconds ago.

    Raises:
        SourceError: A path without a pattern that does not exist.
    """
    if glob.has_magic(path):
        found = glob.glob(path, recursive=True)  # noqa: PTH207 -- also absolute patterns
    elif Path(path).is_dir():
        found = glob.glob("**", root_dir=path, recursive=True)  # noqa: PTH207
        found = [str(Path(path, name)) for name in found]
    else:
        found = [path]
    newest = time.time_ns() - int(settled * 1e9)
    files = []
    for name in sorted(found):
        with naming(name):
            status = Path(name).stat()
        is_shown = not Path(name).name.startswith(_HIDDEN)
        if S_ISREG(status.st_mode) and is_shown and status.st_mtime_ns <= newest:
            files.append(ListedFile(str(Path(name).absolute()), status.st_size, status.st_mtime_ns))
    return files


def input_digest(files: Iterable[ListedFile], request: Selection, *, tick: int = 0) -> str:
    """Return what stands for an input: it changes with every file, size, time and field.

    Args:
        files: All files of the input.
        request: What is read of each row.
        tick: The step of the input's clock.
    """
    listed = [astuple(file) for file in sorted(files)]
    text = json.dumps([tick, listed, astuple(request)], separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def plan_tasks(
    files: Sequence[ListedFile],
    request: Selection,
    spec: bytes,
    *,
    format: str = AUTO,  # noqa: A002 -- the usual word
    part_bytes: int | None = None,
    most_tasks: int | None = None,
    parallel_tasks: int = PARALLEL_TASKS,
    tick: int = 0,
) -> list[FileTask]:
    """Return tasks that together count each row of the files once; at least one.

    Args:
        files: Those of :func:`listed_files`; none for a step without events.
        request: What to read of each row, by :func:`~lazysketch.sources.checked_request`; of an
            object that counts values, items are numbers; of ranges, keys. Sums need a ``value``.
        spec: ``partial_spec()`` of the object that counts.
        format: As for :func:`~lazysketch.sources.open_source`.
        part_bytes: About how much of a file is read in one piece. By default 16 MiB where names
            are counted; else the input over ``parallel_tasks``, or over the smallest multiple of it
            that makes parts of at most 128 MiB; at least 4 MiB.
        most_tasks: Each task costs the store one sealed table. By default 256, and fewer for large
            tables: about 256 MiB of sealed counts in all.
        parallel_tasks: How many tasks run at the same time, such as the cores of a cluster.
        tick: The step of the input's clock.

    Raises:
        SourceError: A file that is missing or has changed, or lacks the field.
        ArgumentTypeError: No field for a format that requires one; no value for sums, or one for
            others.
        ArgumentValueError: A format or a field that cannot be read, or a number below 1.
    """
    counts = PartialCounts(spec)
    fitting = fitting_request(counts, request)
    if part_bytes is None:
        parallel = checked_integer("parallel_tasks", parallel_tasks)
        part_bytes = _part_bytes(files, counts, parallel_tasks=parallel)
    part_bytes = checked_integer("part_bytes", part_bytes)
    most_tasks = checked_integer(
        "most_tasks", _most_tasks(counts) if most_tasks is None else most_tasks
    )
    parts: list[FilePart] = []
    for file in files:
        found = parts_of(file.path, fitting, format=format, most_bytes=part_bytes)
        if (found[0].size, found[0].modified) != (file.size, file.modified):
            raise SourceError(
                f"{file.path}: expected the file as it was listed, got one of another size or "
                "modification time"
            )
        parts += found
    count = max(1, min(most_tasks, len(parts)))
    digest = input_digest(files, request, tick=tick)
    filled: list[list[FilePart]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for part in sorted(parts, key=lambda part: (-part.weight, part.path, part.begin)):
        load, number = heapq.heappop(loads)
        filled[number].append(part)
        heapq.heappush(loads, (load + part.weight + 1, number))
    return [
        FileTask(number, count, tick, digest, tuple(own), fitting, spec)
        for number, own in enumerate(filled)
    ]


def _part_bytes(files: Sequence[ListedFile], counts: PartialCounts, *, parallel_tasks: int) -> int:
    if counts._has_names:
        return PART_BYTES_OF_NAMES
    size = sum(file.size for file in files)
    rounds = max(-(-size // (parallel_tasks * MOST_PART_BYTES)), 1)
    return max(-(-size // (parallel_tasks * rounds)), LEAST_PART_BYTES)


def _most_tasks(counts: PartialCounts) -> int:
    return max(2, min(MOST_TASKS, _MOST_SEALED // len(counts.seal())))


def count_task(task: FileTask) -> TaskResult:
    """Count the rows of a task, and return the sealed counts.

    Guarantee: nothing but sealed counts leaves this process. Their size does not depend on the
        rows; that of names is a power of two. No noise is drawn. A task that is run again seals the
        same counts under another id, of which the store takes one.

    Args:
        task: One of :func:`plan_tasks`.

    Raises:
        SourceError: A file that is missing, damaged, or not as it was listed.
        ArgumentValueError: Weights above those of the object, or more rows or more distinct items
            than one partial holds: plan more tasks.
    """
    worker = PartialCounts(task.spec)
    for part in task.parts:
        for batch in read_part(part, task.request):
            worker._update_fitting(batch.items, batch.weights)
    return TaskResult(task.number, task.tasks, task.tick, task.input, worker.seal())
