"""What tasks return, and how a driver hands it to a store: one result of each task, as one step."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from lazysketch.errors import ArgumentValueError

if TYPE_CHECKING:
    from lazysketch.store.store import Store

__all__ = ["TaskResult", "add_results", "positions_of"]


class TaskResult(NamedTuple):
    """The counts of one task.

    Attributes:
        number: of the task, from 0.
        tasks: how many tasks the input has; 0 if the engine decides while it runs.
        tick: the step of the input's clock; 0 without one.
        input: the digest of the whole input.
        sealed: the sealed counts.
    """

    number: int
    tasks: int
    tick: int
    input: str
    sealed: bytes


def positions_of(tick: int, input_digest: str) -> str:
    """Return what a store keeps of an input: a repetition with another one is refused.

    Args:
        tick: The step of the input's clock.
        input_digest: The digest of the whole input.
    """
    return json.dumps({"tick": tick, "input": input_digest})


def add_results(
    store: Store, source: str, sequence: int, results: Iterable[TaskResult], *, into: Any
) -> Any:
    """Add the results of all tasks of one input as one step, commit, and return what is published.

    Guarantee: that of ``store.add_partials``. An engine that tries a task twice, or runs a copy of
        a slow one, may not hand over both results: each task has to come exactly once, and all of
        one input.

    Args:
        store: The store.
        source: Name of the sender.
        sequence: 1, 2, ... within the source.
        results: Those of all tasks, in any order.
        into: The object of the store that counts.

    Returns:
        What ``store.add_partials`` returns: the release after the step; of a hierarchy one release
        per level.

    Raises:
        ArgumentValueError: A task that is missing or comes twice, results of several inputs, or
            what ``store.add_partials`` refuses. Nothing was counted.
        StoreError: A store that cannot be written.
    """
    found = list(results)
    if not found:
        raise ArgumentValueError("results: expected one of each task, got none")
    kinds = {(result.tasks, result.tick, result.input) for result in found}
    if len(kinds) > 1:
        raise ArgumentValueError(f"results: expected those of one input, got {len(kinds)}")
    ((tasks, tick, digest),) = kinds
    numbers = sorted(result.number for result in found)
    if len(set(numbers)) < len(numbers) or (tasks and numbers != [*range(tasks)]):
        raise ArgumentValueError(
            f"results: expected one of each of {tasks or 'the'} tasks, got {len(numbers)} of "
            f"{len(set(numbers))}; nothing was counted"
        )
    sealed = [bytes(result.sealed) for result in found]
    positions = positions_of(tick, digest)
    return store.add_partials(source, sequence, sealed, into=into, positions=positions)
