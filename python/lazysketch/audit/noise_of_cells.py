"""The noise of all cells of many small tables: as claimed in each, and no two cells related.

Tables under fresh keys with one stream. Each cell of each table is a sample of the distribution;
every two cells are compared over the tables, which shows a draw that two cells share. 512 tables
of 16 cells take half a second; a deviation that is wrong by 10 % gives p below 1e-25.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.case import Case
from lazysketch.audit.claimed_noise import ClaimedNoise
from lazysketch.audit.counts_system import CountsSystem
from lazysketch.audit.finding import Outcome, statistical_outcome
from lazysketch.audit.schedule_model import Integers

__all__ = ["TABLES", "noise_of_cells"]

TABLES = 512
Sample = NDArray[np.float64]


def noise_of_cells(
    system: CountsSystem,
    case: Case,
    claimed: Callable[[str], ClaimedNoise],
    *,
    events: Sequence[int],
    truths: Mapping[int, Integers],
) -> Outcome:
    """Test the residuals of all cells at several steps, and of every two cells.

    Args:
        system: the system under test.
        case: counts that are published at every step.
        claimed: the claimed noise under a stated mechanism.
        events: the stream.
        truths: the exact counts of the cells at the steps that are read.

    Returns:
        Tests of the stated sigma; at each step of mean, variance, shape, correlation with the count
        and every two cells; of the covariance of every two steps.
    """

    def tested() -> Iterator[tuple[str, float]]:
        stated, tables = _tables(system, case, events, sorted(truths))
        mechanism, sigma = stated
        noise = claimed(mechanism)
        yield "stated sigma", float(sigma >= noise.sigma * (1 - 1e-9))
        found: dict[int, Sample] = {}
        for step, table in tables.items():
            residuals = np.asarray(table - truths[step], np.float64)
            x = noise.standardised(residuals, step)
            found[step] = x
            yield f"mean, step {step}", p_values.mean(x.ravel())
            yield f"variance, step {step}", p_values.variance(x.ravel())
            for cell, values in enumerate(x.T):
                yield f"variance of cell {cell}, step {step}", p_values.variance(values)
            whole = np.floor(residuals).astype(np.int64).ravel()
            yield f"shape, step {step}", p_values.shape(whole, noise.deviation(step))
            counts = np.broadcast_to(truths[step], x.shape).ravel()
            yield f"correlation with the count, step {step}", p_values.mean(x.ravel(), counts)
            for one, other in itertools.combinations(range(x.shape[1]), 2):
                yield (
                    f"cells {one} and {other}, step {step}",
                    p_values.covariance(x[:, one], x[:, other], 0.0),
                )
        for step, later in itertools.combinations(found, 2):
            matrix = noise.covariance([step, later])
            correlation = float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))
            yield (
                f"covariance, steps {step} and {later}",
                p_values.covariance(found[step].ravel(), found[later].ravel(), correlation),
            )

    claim = "the noise of all cells is as claimed, and independent"
    return statistical_outcome(claim, tested(), samples=TABLES * case.cells * len(truths))


def _tables(
    system: CountsSystem, case: Case, events: Sequence[int], steps: Sequence[int]
) -> tuple[tuple[str, float], dict[int, Integers]]:
    """Return what is stated, and of each step the tables of shape (tables, cells)."""
    read: dict[int, list[Integers]] = {step: [] for step in steps}
    stated = ("", 0.0)
    for _ in range(TABLES):
        live, taken = system.open(case), 0
        for step in steps:
            live.feed(events[taken:step])
            taken = step
            read[step].append(np.asarray(live.read()).astype(np.int64))
        stated = live.mechanism, live.sigma
    return stated, {step: np.array(tables) for step, tables in read.items()}
