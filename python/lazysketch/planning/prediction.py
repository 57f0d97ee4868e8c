"""The errors that a sketch will have: a simulated release, asked by the code that asks real ones.

Some tables are filled with collisions of the workload and with noise of the exact variance of each
column at the last step; items of the share are put into random cells, and the estimates and the
intervals of :mod:`lazysketch.estimation` are taken from the tables as from a release. The parts of
the error are taken alone from the law of a cell (:mod:`.score`), so they do not add up: errors of
both signs cancel. Costs some tens of milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.error_distribution import Strata
from lazysketch.estimation.estimators import Readings
from lazysketch.estimation.intervals import Intervals, intervals
from lazysketch.estimation.lag import Lag
from lazysketch.planning.design import Design, round_length, sigma_of
from lazysketch.planning.request import Request
from lazysketch.planning.score import Scores

__all__ = ["Prediction", "predict", "simulated"]

Array = npt.NDArray[np.float64]

_CELLS: Final = 2**15  # of one simulated table
_TABLES: Final = 4
_ITEMS: Final = 1024  # asked of each table


@dataclass(frozen=True)
class Prediction:
    """Predicted errors of an item's count, in counts unless they are relative.

    Guarantee: none; it is as good as what was said of the stream. docs/planning.md compares
    predictions with measurements.

    Attributes:
        count: of the item at the last step.
        typical_error: mean absolute error of ``release.interval(item, at="now").estimate``.
        interval_half_width: mean half width of that interval.
        relative_error: the half width as a part of the count.
        typical_relative_error: the typical error as a part of the count.
        collisions: half width that collisions alone would have.
        noise: half width that noise alone would have.
        lag: counts of the item that wait unpublished, on average.
        lag_steps: steps for which they wait, on average.
        noise_deviation: standard deviation of the noise of one cell.
    """

    count: float
    typical_error: float
    interval_half_width: float
    collisions: float
    noise: float
    lag: float
    lag_steps: float
    noise_deviation: float

    @property
    def relative_error(self) -> float:
        """Half width of the interval as a part of the count."""
        return self.interval_half_width / self.count

    @property
    def typical_relative_error(self) -> float:
        """Typical error as a part of the count."""
        return self.typical_error / self.count

    @property
    def dominant(self) -> str:
        """The largest part: ``"collisions"``, ``"noise"`` or ``"lag"``."""
        parts = {"collisions": self.collisions, "noise": self.noise, "lag": self.lag}
        return max(parts, key=lambda name: parts[name])


def predict(scores: Scores, design: Design) -> Prediction:
    """Return the predicted errors of a sketch.

    Args:
        scores: of the request.
        design: the sketch.

    Returns:
        The prediction; the same for the same arguments.
    """
    request = scores.request
    typical, half = simulated(request, design, count=request.count)
    wait = round_length(design.schedule, design.width, request.steps) / 2.0
    return Prediction(
        count=request.count,
        typical_error=typical,
        interval_half_width=half,
        collisions=scores.alone(design, part="collisions"),
        noise=scores.alone(design, part="noise"),
        lag=request.count * wait / request.steps,
        lag_steps=wait,
        noise_deviation=scores.deviation(design),
    )


def simulated(request: Request, design: Design, *, count: float) -> tuple[float, float]:
    """Return the mean absolute error and the mean half width of intervals in simulated releases.

    Args:
        request: the stream and the promise.
        design: the sketch.
        count: of the items that are asked for, at the last step; 0 for absent ones.

    Returns:
        (typical error, half width), both in counts.
    """
    columns = min(design.width, max(_CELLS // design.depth, 1))
    shown = np.arange(columns) * design.width // columns
    published = design.schedule.published_steps(design.width, request.steps)[shown]
    pushes = design.schedule.pushes(design.width, request.steps)[shown]
    mechanism, sigma = sigma_of(request, design)
    variance = sigma**2 * mechanism.variances(pushes)
    answers = [
        _asked(request, design, count, published.astype(np.float64), variance, seed=table)
        for table in range(1, _TABLES + 1)
    ]
    errors = np.concatenate([np.abs(answer.estimate - count) for answer in answers])
    widths = np.concatenate([answer.high - answer.low for answer in answers])
    return float(errors.mean()), float(widths.mean()) / 2.0


def _asked(
    request: Request,
    design: Design,
    count: float,
    published: Array,
    variance: Array,
    *,
    seed: int,
) -> Intervals:
    """Return the intervals of items in one simulated release."""
    signed = design.kind == "count-sketch"
    generator = np.random.default_rng(seed)
    cells = request.workload.cells(
        design.width, rows=design.depth, columns=len(published), seed=seed
    )[signed]
    noise = generator.standard_normal(cells.shape) * np.sqrt(variance)
    table = np.rint(cells * request.mean_weight * published + noise).astype(np.int64)
    strata = Strata.of(table, published_steps=published, noise_variance=variance, signed=signed)
    columns = generator.integers(0, len(published), (_ITEMS, design.depth))
    # Events of the item come at random: what waits in a cell varies as their number does.
    ages = request.steps - published[columns]
    waiting = request.mean_weight * generator.poisson(
        count / request.mean_weight * ages / request.steps
    )
    own = np.maximum(count - waiting, 0.0)
    errors = table[np.arange(design.depth), columns]
    readings = Readings(own + errors, strata.of_column[columns], strata.laws, signed)
    lag = Lag.of(published[columns], step=request.steps, max_weight=request.max_weight)
    return intervals(readings, lag, confidence=request.confidence, at="now")
