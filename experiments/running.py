"""Execution of cells, in several processes or, if they are timed, one by one.

Workers are spawned, not forked: a forked child may not use live sketches.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from experiments.cell import Cell, Finished, Journal, cells_of
from experiments.definition import Definition
from experiments.measures import measured

__all__ = ["Progress", "run", "run_cell"]


def run_cell(definition: Definition, cell: Cell) -> Finished:
    """Run one cell.

    Args:
        definition: its experiment.
        cell: the cell.

    Returns:
        Its observations.
    """
    start = time.perf_counter()
    observations = measured(definition, cell)
    return Finished(cell, time.perf_counter() - start, observations)


@dataclass
class Progress:
    """Progress on standard error: one line that is rewritten, on a terminal only.

    Args:
        total: number of cells to run.
    """

    total: int
    done: int = 0
    began: float = 0.0

    def __post_init__(self) -> None:
        """Start the clock."""
        self.began = time.monotonic()

    def step(self, finished: Finished) -> None:
        """Count one finished cell."""
        self.done += 1
        if not sys.stderr.isatty():
            return
        left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        text = f"{self.done}/{self.total} cells, {left:.0f} s left: {finished.cell.experiment}"
        end = "\n" if self.done == self.total else ""
        print(f"\r\x1b[K{text}", end=end, file=sys.stderr, flush=True)


def run(
    definitions: Sequence[Definition], journal: Journal, *, trials: int, jobs: int, quick: bool
) -> int:
    """Run all cells that are not in the journal.

    Args:
        definitions: the experiments.
        journal: finished cells.
        trials: trials of every value.
        jobs: number of processes for cells that are not timed.
        quick: True for a quick run.

    Returns:
        The number of cells run.
    """
    kept = {finished.cell.key for finished in journal.read()}
    missing = [
        (definition, cell)
        for definition in definitions
        for cell in cells_of(definition, trials=trials, quick=quick)
        if cell.key not in kept
    ]
    progress = Progress(len(missing))
    concurrent = [pair for pair in missing if not pair[0].sequential]
    timed = [pair for pair in missing if pair[0].sequential]
    for finished in _results(concurrent, jobs=jobs):
        journal.add(finished)
        progress.step(finished)
    for definition, cell in timed:
        finished = run_cell(definition, cell)
        journal.add(finished)
        progress.step(finished)
    return len(missing)


def _results(pairs: Iterable[tuple[Definition, Cell]], *, jobs: int) -> Iterator[Finished]:
    if jobs == 1:
        for definition, cell in pairs:
            yield run_cell(definition, cell)
        return
    spawning = multiprocessing.get_context("spawn")
    # Only the parent handles Ctrl-C; it has stored every cell that was returned.
    ignoring = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(jobs, spawning, signal.signal, ignoring) as pool:
        waiting = [pool.submit(run_cell, definition, cell) for definition, cell in pairs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
