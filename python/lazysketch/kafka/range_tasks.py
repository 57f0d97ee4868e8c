"""Ranges of offsets as tasks of any engine: each message of the input is counted by one task.

    ranges = listed_ranges(["visits"], range_settings("broker:9092"))
    tasks = plan_range_tasks(ranges, "broker:9092", request, live.partial_spec(), format="jsonl")
    release = add_results(store, "hours", hour, map(count_ranges, tasks), into=live)

What is counted of a range does not depend on how it is divided, on the engine, or on how often a
task was tried. A range that the brokers no longer have whole is refused by every try.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from lazysketch.arguments import checked_integer
from lazysketch.kafka.ranges import OffsetRange, RangeReader, range_settings
from lazysketch.kafka.rows import read_values_as, row_format
from lazysketch.sketches.partial_counts import PartialCounts
from lazysketch.sources.formats.registry import AUTO
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.properties import read_properties
from lazysketch.workers import TaskResult
from lazysketch.workers.item_types import fitting_request

__all__ = ["RangeTask", "count_ranges", "plan_range_tasks", "ranges_digest"]

MOST_OFFSETS: Final = 1 << 20  # of a range that one task reads
MOST_TASKS: Final = 256


@dataclass(frozen=True, slots=True)
class RangeTask:
    """What one worker counts; it can be pickled.

    Args:
        number: From 0.
        tasks: How many tasks the input has.
        tick: The step of the input's clock; 0 without one.
        input: The digest of the whole input.
        ranges: What to read; two of one partition do not overlap.
        brokers: HOST:PORT, with commas between several.
        settings: A file with further settings of librdkafka, under this path on every machine: no
            password is in a task. None for none.
        format: What the value of a message is.
        request: What to read of each row.
        spec: The description of the store's object.

    Example:
        >>> from lazysketch.sources import checked_request
        >>> ranges = [OffsetRange("visits", 0, 0, 900)]
        >>> (task,) = plan_range_tasks(ranges, "broker:9092", checked_request(), b"")
        >>> task.format, task.ranges[0].end
        ('lines', 900)
    """

    number: int
    tasks: int
    tick: int
    input: str
    ranges: tuple[OffsetRange, ...]
    brokers: str
    settings: str | None
    format: str
    request: Selection
    spec: bytes


def ranges_digest(
    ranges: Iterable[OffsetRange],
    request: Selection,
    *,
    format: str,  # noqa: A002 -- the usual word
    tick: int = 0,
) -> str:
    """Return what stands for an input: it changes with every offset, field and format.

    Args:
        ranges: All of the input.
        request: What is read of each row.
        format: What the value of a message is.
        tick: The step of the input's clock.

    Example:
        >>> from lazysketch.sources import checked_request
        >>> short, long = OffsetRange("visits", 0, 10, 20), OffsetRange("visits", 0, 10, 21)
        >>> digests = [
        ...     ranges_digest([one], checked_request(), format="lines") for one in (short, long)
        ... ]
        >>> digests[0] == digests[1]
        False
    """
    content = [tick, sorted(ranges), format, astuple(request)]
    text = json.dumps(content, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def plan_range_tasks(
    ranges: Sequence[OffsetRange],
    brokers: str,
    request: Selection,
    spec: bytes,
    *,
    format: str = AUTO,  # noqa: A002 -- the usual word
    settings: str | None = None,
    most_offsets: int = MOST_OFFSETS,
    most_tasks: int = MOST_TASKS,
    tick: int = 0,
) -> list[RangeTask]:
    """Return tasks that together count each message of the ranges once; at least one.

    Args:
        ranges: Those of :func:`listed_ranges`; none for a step without events.
        brokers: HOST:PORT, with commas between several.
        request: What to read of each row, by :func:`~lazysketch.sources.checked_request`.
        spec: ``partial_spec()`` of the object that counts.
        format: As for :func:`open_topics`.
        settings: A file with further settings, on every machine.
        most_offsets: A longer range is divided.
        most_tasks: Each task costs the store one sealed table.
        tick: The step of the input's clock.

    Raises:
        ArgumentTypeError: No field for a format that requires one.
        ArgumentValueError: A format or a field that cannot be read, or a number below 1.

    Example:
        >>> from lazysketch.sources import checked_request
        >>> ranges = [OffsetRange("visits", 0, 0, 900), OffsetRange("visits", 1, 0, 100)]
        >>> tasks = plan_range_tasks(
        ...     ranges, "broker:9092", checked_request(), b"", most_offsets=300, most_tasks=2
        ... )
        >>> [sum(one.end - one.begin for one in task.ranges) for task in tasks]
        [600, 400]
    """
    most_offsets = checked_integer("most_offsets", most_offsets)
    most_tasks = checked_integer("most_tasks", most_tasks)
    form, _ = row_format(format, request)
    pieces = [
        one._replace(begin=begin, end=min(begin + most_offsets, one.end))
        for one in ranges
        for begin in range(one.begin, one.end, most_offsets)
    ]
    count = max(1, min(most_tasks, len(pieces)))
    digest = ranges_digest(ranges, request, format=form.name, tick=tick)
    filled: list[list[OffsetRange]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for piece in sorted(pieces, key=lambda one: (one.begin - one.end, one)):
        load, number = heapq.heappop(loads)
        filled[number].append(piece)
        heapq.heappush(loads, (load + piece.end - piece.begin, number))
    return [
        RangeTask(
            number, count, tick, digest, tuple(own), brokers, settings, form.name, request, spec
        )
        for number, own in enumerate(filled)
    ]


def count_ranges(task: RangeTask) -> TaskResult:
    """Count the messages of a task, and return the sealed counts.

    Guarantee: nothing but sealed counts leaves this process; no noise is drawn. Every message of
        the ranges whose transaction was committed is counted once, or the task fails.

    Args:
        task: One of :func:`plan_range_tasks`.

    Raises:
        SourceError: Brokers that do not answer, or a range that they do not have whole.
        ArgumentValueError: Weights above those of the object, or more rows than a partial holds.

    Example:
        A task without ranges is a step without events:

        >>> import lazysketch as ls
        >>> from lazysketch.sources import checked_request
        >>> spec = ls.TableSpec(
        ...     kind="count-min", depth=2, width=64, schedule=ls.Batch(horizon=10), epsilon=1.0,
        ...     delta=1e-6,
        ... )
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with ls.open_store(
        ...     f"{folder}/store", key=ls.Key.generate(), anchor=f"{folder}/anchor"
        ... ) as store:
        ...     live = store.sketch("visits", spec)
        ...     tasks = plan_range_tasks(
        ...         [], "broker:9092", checked_request(), live.partial_spec()
        ...     )
        ...     result = count_ranges(tasks[0])
        >>> result.number, result.tasks
        (0, 1)
    """
    worker = PartialCounts(task.spec)
    read = read_values_as(*row_format(task.format, fitting_request(worker, task.request)))
    chosen = None if task.settings is None else read_properties(task.settings)
    for ranges in _of_different_partitions(task.ranges):
        with RangeReader(range_settings(task.brokers, chosen), ranges) as reader:
            for messages in reader.read():
                for batch in read([message.value for message in messages]).batches:
                    worker._update_fitting(batch.items, batch.weights)
    return TaskResult(task.number, task.tasks, task.tick, task.input, worker.seal())


def _of_different_partitions(ranges: Sequence[OffsetRange]) -> list[list[OffsetRange]]:
    """Return the ranges in groups, of which each has a partition once."""
    groups: list[dict[tuple[str, int], OffsetRange]] = []
    for one in sorted(ranges):
        free = next((group for group in groups if one[:2] not in group), None)
        if free is None:
            groups.append(free := {})
        free[one[:2]] = one
    return [[*group.values()] for group in groups]
