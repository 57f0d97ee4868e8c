"""Simulated releases: collisions of a workload plus noise of the exact variance of each column.

Names of a known list have places of their own, so that they can be taken out of each other's cells
as from a real release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.estimation.error_model import error_model, level_of
from lazysketch.estimation.peeling import Cells, PeeledTable
from lazysketch.planning.design import Design, noise_variances
from lazysketch.planning.workload import Workload
from lazysketch.specification.schedules import Batch

__all__ = ["SimulatedTable", "known_half_width"]

Array = npt.NDArray[np.float64]

_MOST_COLUMNS: Final = 1 << 16
_TABLES: Final = 2
_NEAREST: Final = 50  # names whose intervals are computed, at about a millisecond each


@dataclass(frozen=True, eq=False)
class Named:
    """The heaviest items of a workload, with places of their own.

    Attributes:
        shares: their shares, float64 of shape (items,).
        cells: their columns and flips, each of shape (items, depth).
        rest: the workload without them.
    """

    shares: Array
    cells: Cells
    rest: Workload


@dataclass(frozen=True, eq=False)
class SimulatedTable:
    """A release of a sketch, or some of its columns.

    Attributes:
        values: released values, int64 of shape (depth, columns).
        published: step up to which each column is published, float64 of shape (columns,).
        model: the errors of its cells, as a release estimates them.
    """

    values: npt.NDArray[np.int64]
    published: Array
    model: _native.ErrorModel

    @classmethod
    def of(
        cls,
        design: Design,
        *,
        columns: int,
        waited: int,
        seed: int,
        named: Named | None = None,
    ) -> SimulatedTable:
        """Return a table without the queried items, or with some names.

        Args:
            design: the sketch.
            columns: number of columns, at most its width.
            waited: steps since the last batch; 0 for other schedules.
            seed: seed of the fixed streams of random numbers.
            named: the heaviest items, in the whole table.

        Returns:
            The table.
        """
        request, width, depth = design.request, design.width, design.depth
        shown = np.arange(columns) * width // columns
        public = design.public(waited=waited)
        published = public.steps[shown]
        variance = noise_variances(design, public.pushes[shown])
        signed = design.kind == "count-sketch"
        if named is None:
            cells = _shared_cells(request.workload, width, depth, columns, seed)[signed]
        else:
            cells = named.rest.cells(width, rows=depth, columns=columns, seed=seed)[signed]
            places, flipped = named.cells
            signs = np.where(flipped & signed, -1.0, 1.0)
            for row in range(depth):
                np.add.at(cells[row], places[:, row], named.shares * signs[:, row])
        noise = np.random.default_rng(seed).standard_normal(cells.shape) * np.sqrt(variance)
        values = np.rint(cells * request.mean_weight * published + noise).astype(np.int64)
        model = error_model(
            values,
            kind=design.kind,
            published_steps=lambda: published,
            noise_variance=lambda: variance,
            # Reads take a closed batch as the present.
            step=int(published[0]) if isinstance(design.schedule, Batch) else request.steps,
            max_weight=request.max_weight,
        )
        return cls(values, published, model)


# A plan compares schedules and privacy parameters for one size: of five tables, four were known.
@lru_cache(maxsize=8)
def _shared_cells(
    workload: Workload, width: int, depth: int, columns: int, seed: int
) -> tuple[Array, Array]:
    """Return cells that no one may change."""
    found = workload.cells(width, rows=depth, columns=columns, seed=seed)
    for cells in found:
        cells.setflags(write=False)
    return found


def known_half_width(design: Design, *, count: float, names: int) -> float | None:
    """Return the half width of intervals of known names, which cover together.

    Args:
        design: the sketch.
        count: count of the names that matter; the nearest ones are queried.
        names: length of the list, the heaviest items of the stream.

    Returns:
        Mean half width in counts; None if taking names out does not pay, or cannot be simulated.
    """
    request = design.request
    if design.width > _MOST_COLUMNS:
        return None
    shares, rest = request.workload.without(names)
    level = level_of(request.confidence, among=names)
    near = np.argsort(np.abs(shares * request.total - count), kind="stable")[:_NEAREST]
    found = []
    for seed in range(1, _TABLES + 1):
        generator = np.random.default_rng([seed, names])
        # Names beyond those that the workload knows never occur.
        places = generator.integers(0, design.width, (names, design.depth)).astype(np.uint32)
        flips = generator.integers(0, 2, places.shape).astype(bool)
        flips &= design.kind == "count-sketch"
        own = Named(shares, (places[: len(shares)], flips[: len(shares)]), rest)
        table = SimulatedTable.of(design, columns=design.width, waited=0, seed=seed, named=own)
        last = table.published.max() if design.batch > 1 else request.steps
        peeled = PeeledTable(
            table.model, published_shares=table.published / last, names=(places, flips)
        )
        cells = places[near], flips[near]
        ends = peeled.ends(cells, level=level, max_weight=request.max_weight)
        if ends is None:
            return None
        found.append(float(np.mean(ends[1] - ends[0])) / 2.0)
    return float(np.mean(found))
