"""Plan of a distribution of values: the error of its quantiles to expect, in ranks.

Nothing is random in a distribution but its noise, so the error follows from the description alone:
whatever the values are, the number of values below an edge has the noise of a few sums of the tree
over the bins. It reads no stream and makes no counts. Costs some milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lazysketch.arguments import checked_integer
from lazysketch.estimation.error_model import deviations_of, level_of
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.planning.noise_over_time import mean_noise_variance
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.keys import Key
from lazysketch.specification.bins import Bins
from lazysketch.specification.distribution_spec import distribution_spec
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import ValueRows, ValueTree

__all__ = ["DistributionPlan", "plan_distribution"]

_LARGEST: Final = 2**48  # values, and steps
_MEDIAN: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class DistributionPlan:
    """A distribution to make, and its predicted error; made by :func:`plan_distribution`.

    Guarantee: :meth:`distribution` makes the counts that the plan describes.

    Attributes:
        spec: description of the distribution.
        values: number of values for which the error is predicted.
        steps: number of steps up to which noise is averaged.
        memory: size of the counters, in bytes.
        confidence: of the interval.
        standard_error: standard deviation of the rank of a value against that of the median, in
            values; the mean over the edges.
        largest_error: the same at the edge with the most noise.
        rank_error: half of the width of the interval of a median in ranks: 0.01 for one from the
            share 0.49 to 0.51 of all values. The width of a bin comes on top of it.
    """

    spec: TableSpec
    values: int
    steps: int
    memory: int
    confidence: float
    standard_error: float
    largest_error: float
    rank_error: float

    @property
    def bins(self) -> Bins:
        """The public bins."""
        return Bins(self.spec.edges)

    def distribution(self, *, key: Key | None = None) -> Distribution:
        """Return the distribution.

        Args:
            key: master key; a fresh one when None.

        Returns:
            An empty live distribution.

        Raises:
            ArgumentTypeError: not a key.
        """
        return Distribution.from_spec(self.spec, key=key)


def plan_distribution(
    *,
    bins: Bins,
    epsilon: float,
    delta: float,
    values: int,
    steps: int | None = None,
    horizon: int | None = None,
    schedule: Schedule | None = None,
    relation: Relation = "substitution",
    mechanism: MechanismName = "tree",
    value_rows: ValueRows | None = None,
    max_events_per_user: int = 1,
    person_bound: PersonBound | None = None,
    confidence: float = 0.95,
) -> DistributionPlan:
    """Return a distribution to make, and the error of its quantiles.

    Guarantee: it reads no data: if its arguments are public, so is the plan.

    Args:
        bins: public bins; their places do not matter, their number does.
        epsilon: privacy parameter, above 0 and at most 100.
        delta: privacy parameter, above 0 and below 1.
        values: number of values that are expected to be counted, 1 to 2^48.
        steps: number of steps, 1 to 2^48; by default the horizon, else ``values``.
        horizon: largest number of steps, if known.
        schedule: as for :class:`lazysketch.Distribution`, instead of a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        mechanism: as for :class:`lazysketch.Distribution`.
        value_rows: likewise.
        max_events_per_user: events of one person that are protected together.
        person_bound: what is counted of each person, who is protected then. Values beyond it are no
            part of ``values``.
        confidence: of the interval, above 0 and below 1.

    Returns:
        The plan.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Source: docs/planning.md; docs/theory.md, "Values".

    Example:
        >>> import lazysketch as ls
        >>> found = plan_distribution(
        ...     bins=ls.Bins.linear(0, 100), values=1_000_000, epsilon=1.0, delta=1e-6
        ... )
        >>> found.rank_error < 0.001
        True
        >>> found.distribution().bins == found.bins
        True
    """
    expected = checked_integer("values", values, most=_LARGEST)
    level = checked_confidence(confidence)
    spec = distribution_spec(
        bins=bins,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        horizon=horizon,
        schedule=schedule,
        mechanism=mechanism,
        value_rows=value_rows,
        max_events_per_user=max_events_per_user,
        person_bound=person_bound,
    )
    length = spec.schedule.horizon or expected
    if steps is not None:
        length = checked_integer("steps", steps, most=_LARGEST)
    variances = mean_noise_variance(spec, length) * _of_ranks(spec)
    standard = float(np.sqrt(variances.mean()))
    half = deviations_of(level_of(level, among=None)) * standard
    return DistributionPlan(
        spec=spec,
        values=expected,
        steps=length,
        memory=8 * spec.width,
        confidence=level,
        standard_error=standard,
        largest_error=float(np.sqrt(variances.max())),
        rank_error=min(half / expected, 1.0),
    )


def _of_ranks(spec: TableSpec) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the variances of the counts below the edges less half of all, in those of a sum."""
    rows = spec.chosen_value_rows
    assert rows is not None, "a distribution has rows over its bins"  # noqa: S101
    tree = ValueTree(rows, spec.width)
    below = np.arange(1, len(spec.edges) + 1)
    zero, last = np.zeros_like(below), np.full_like(below, tree.bins)
    of_edges, of_rest = tree.variances(zero, below), tree.variances(below, last)
    of_all = float(tree.variances([0], [tree.bins])[0])
    covariances = (of_edges + of_all - of_rest) / 2.0
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        of_edges - 2.0 * _MEDIAN * covariances + _MEDIAN**2 * of_all
    )
    return found
