"""What a public table is: its values, its shape, the steps and the noise of its columns."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.error_model import error_model
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import At
from lazysketch.estimation.peeling import Cells, PeeledTable
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart
from lazysketch.releases.parts import ReleasePart, parts_of

__all__ = ["FactsOfOneTable", "TableFacts"]

# Cells of a table that keeps its last list and its published steps: about 100 bytes each.
_KEPT_CELLS: Final = 2**18
_KEPT_NAMES: Final = 2**17  # of a list that is kept


class TableFacts:
    """A release without its queries."""

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from sketches, files and merges."""
        if not isinstance(native, _native.Release):
            raise ArgumentTypeError(
                "release: expected one made by a sketch, Release.load or Release.from_bytes, "
                f"got {type(native).__name__}"
            )
        self._native = native
        self._last_list: tuple[Cells, PeeledTable] | None = None

    @cached_property
    def _parts(self) -> tuple[ReleasePart, ...]:
        """The parts, described when they are first asked for.

        Who merges many releases one by one asks only for those of the last sum: describing those
        of all sums before it would take time that grows with the square of their number.
        """
        return parts_of(self._native)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """The table, int64 of shape (depth, width), read-only."""
        # A view of a read-only array: callers cannot make it writable.
        table: npt.NDArray[np.int64] = self._table.view()
        return table

    @property
    def kind(self) -> str:
        """The kind of the table, such as ``"count-min"`` or ``"values"``."""
        return self._native.kind

    @property
    def depth(self) -> int:
        """Rows."""
        return self._native.depth

    @property
    def width(self) -> int:
        """Columns."""
        return self._native.width

    @property
    def hash_seed(self) -> int:
        """The public seed of the hash functions."""
        return self._native.hash_seed

    @property
    def parts(self) -> tuple[ReleasePart, ...]:
        """The sketches in this release, ordered by id once merged."""
        return self._parts

    @property
    def sketch_id(self) -> bytes:
        """The id of the sketch; a merged release has one per part."""
        return self._only_part("sketch_id").sketch_id

    @property
    def promises(self) -> dict[bytes, tuple[Privacy | PlainPart, ...]]:
        """What each run promised whose tables are in it, names and other levels included.

        Returns:
            The mechanisms by the id of the run, for ``compose``: a person who is in several runs
            has the guarantee of all of them together, and in releases of one run that of the run.
        """
        promised: dict[bytes, tuple[Privacy | PlainPart, ...]] = {}
        for part in self._parts:
            if part.run is None:
                promised[part.sketch_id] = (part.privacy,)
            else:
                promised[part.run.id] = part.run.parts_to_compose
        return promised

    @property
    def finished(self) -> bool:
        """True if every sketch in it was finished: nothing is pending, so reads have no lag."""
        return all(part.finished for part in self._parts)

    @property
    def pushes(self) -> npt.NDArray[np.int64]:
        """Number of the last push of every column, int64 of (width,); per part in a merged one."""
        return self._only_part("pushes").pushes(self.width)

    @property
    def private(self) -> bool:
        """True if the guarantee holds for every part."""
        return all(part.privacy.private for part in self._parts)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons why it is not private; empty for a private release."""
        reasons = [why for part in self._parts for why in part.privacy.not_private_because]
        return tuple(dict.fromkeys(reasons))

    def _only_part(self, name: str) -> ReleasePart:
        if len(self._parts) == 1:
            return self._parts[0]
        raise ArgumentValueError(
            f"{name}: expected a release of one sketch, got a merged one with "
            f"{len(self._parts)} parts; see .parts"
        )

    @property
    def step(self) -> int:
        """Steps seen by all parts together."""
        return sum(part.step - part.since for part in self._parts)

    @property
    def noise_deviation(self) -> npt.NDArray[np.float64]:
        """Standard deviation of the noise in the cells of every column, float64 of (width,)."""
        return np.sqrt(self._noise_variance)

    @cached_property
    def _table(self) -> npt.NDArray[np.int64]:
        table = self._native.table
        table.setflags(write=False)
        return table

    @cached_property
    def _noise_variance(self) -> npt.NDArray[np.float64]:
        return self._noise_variance_now()

    def _noise_variance_now(self) -> npt.NDArray[np.float64]:
        first, *rest = self._parts
        variance = first.noise_variance(self.width)
        for part in rest:
            variance += part.noise_variance(self.width)
        return variance

    @cached_property
    def _published_steps(self) -> npt.NDArray[np.float64]:
        """Number of published steps of every column, summed over all parts."""
        return self._published_steps_now()

    def _published_steps_now(self) -> npt.NDArray[np.float64]:
        first, *rest = self._parts
        own = first.published_steps(self.width)
        steps = (own - first.since if first.since else own).astype(np.float64)
        for part in rest:
            steps += part.published_steps(self.width) - part.since
        return steps

    def _published_steps_of_model(self) -> npt.NDArray[np.float64]:
        is_small = self.depth * self.width <= _KEPT_CELLS
        return self._published_steps if is_small else self._published_steps_now()

    @property
    def _pending(self) -> float:
        """Number of steps whose event may not be in every column yet, such as before the end."""
        return self.step - float(self._published_steps.min())

    def _size(self, at: At) -> float:
        """Return the denominator of shares, at least 1: the steps, or else the noisy total.

        The total of a table covers published events; with ``at="now"`` it is extrapolated at its
        rate per step, like the estimates. For a Count Sketch with weights or batches neither is
        known: NaN. With a bound of people a step may have an event that is not counted.
        """
        unit = all(
            part.privacy.max_weight == 1
            and part.privacy.person_bound is None
            and part.schedule is not None
            and part.schedule.name != "batch"
            for part in self._parts
        )
        signed = self.kind == "count-sketch"
        published = float(self._published_steps.sum())
        if unit and (signed or all(p.privacy.relation == "substitution" for p in self._parts)):
            return max(float(self.step) if at == "now" else published / self.width, 1.0)
        if signed:
            return math.nan
        total = float(np.mean(self._native.row_sums))
        if at == "now":
            total = total * self.step * self.width / max(published, 1.0)
        return max(total, 1.0)

    @cached_property
    def _errors(self) -> _native.ErrorModel:
        return error_model(
            self._native,
            kind=self._native.kind,
            # A wide table computes both for the model, which copies them, and keeps neither.
            published_steps=self._published_steps_of_model,
            noise_variance=self._noise_variance_now,
            step=self.step,
            max_weight=self._max_weight,
        )

    @cached_property
    def _is_exact(self) -> bool:
        """Whether no part has noise."""
        return all(part.mechanism is None for part in self._parts)

    @cached_property
    def _default(self) -> Estimator:
        """The estimator of exact counts is the paper's: their minimum never underestimates."""
        if not self._is_exact:
            return "joint"
        return "median" if self.kind == "count-sketch" else "minimum"

    @property
    def _max_weight(self) -> int:
        return max(part.privacy.max_weight for part in self._parts)

    def _peeled(self, names: Cells) -> PeeledTable:
        """Return the table with a list of names that can be taken out of it.

        The last list is kept, if it takes little memory: its names are fitted once.
        """
        last = self._last_list
        if last is not None and all(map(np.array_equal, last[0], names)):
            return last[1]
        shares = self._published_steps / max(self.step, 1)
        peeled = PeeledTable(self._errors, published_shares=shares, names=names)
        if self._keeps_lists_of(len(names[0])):
            self._last_list = names, peeled
        return peeled

    def _keeps_lists_of(self, names: int) -> bool:
        return self.depth * self.width <= _KEPT_CELLS and names <= _KEPT_NAMES


class FactsOfOneTable(TableFacts):
    """A release of one table, whose guarantee is that of the sketch."""

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sketch; a merged release has one per part."""
        return self._only_part("privacy").privacy
