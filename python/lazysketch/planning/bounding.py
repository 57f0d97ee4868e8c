"""Choice of what is counted of a person: what is dropped against noise.

A wider bound drops less and needs more noise, with the square root of its cells and with the events
of each cell. For each bound of a grid the core decides which events of a public sample it counts,
in a table of the planned size. The bound with the least error is taken: the half width of the
interval, and the bias by what is dropped of the item, which no interval shows. The size of the
sketch and the bound depend on each other, so that they are chosen in turn, until neither changes.

Source: docs/planning.md, "Bounds of people"; docs/theory.md, Theorem 21 for the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lazysketch.planning.design import Design
from lazysketch.planning.people import Counted, PublicPeople
from lazysketch.planning.prediction import Prediction, Scores, predict
from lazysketch.planning.request import Bounding, Request
from lazysketch.planning.search import chosen
from lazysketch.privacy.person_bound import PersonBound

__all__ = ["Bounded", "Choice", "bounded", "explained"]

_STEPS: Final = (1, 2, 3, 5, 7)
_LARGER_STEPS: Final = (1, 1.5, 2, 3, 5, 7)
_MOST_CELLS: Final = 4_096
_MOST_EVENTS: Final = 65_535
_ROUNDS: Final = 5
_DEPTH, _WIDTH, _FIRST_CELLS = 4, 4_096, 10  # for which the first sketch is planned
_FEW: Final = 2  # numbers of cells that are shown on either side of the chosen one
_NEARLY: Final = 0.99  # noise is proportional to the bound, but for a little of its numerics
_LEAST: Final = 1e-9  # what is counted of a stream or an item, at least: it divides


@dataclass(frozen=True)
class Bounded:
    """One bound of people and its predicted error, for the planned table.

    Guarantee: none; as :class:`lazysketch.planning.Prediction`.

    Attributes:
        cells: cells of each row that hold events of one person.
        events: events of one person in each of them.
        dropped: share of all events (by weight) that is not counted.
        dropped_of_top: share of a top item's events that is not counted, mean over the top items
            of the sample: those with at least the planned share, 10 to 100.
        worst_of_top: the same, of the top item with the largest share.
        noise_deviation: standard deviation of the noise of one cell, in counts.
        half_width: scored half width of the interval of the item, in counts.
        bias: what is not counted of the item, in counts.
        is_chosen: True for the bound of the plan.
    """

    cells: int
    events: int
    dropped: float
    dropped_of_top: float
    worst_of_top: float
    noise_deviation: float
    half_width: float
    bias: float
    is_chosen: bool = False

    @property
    def error(self) -> float:
        """Half width and bias, which the choice minimises."""
        return self.half_width + self.bias


@dataclass(frozen=True, eq=False)
class Choice:
    """A sketch with a bound of people.

    Attributes:
        scores: of the request with its bound.
        design: the sketch.
        predicted: its errors.
        bounds: the chosen bound among some others, with the planned table.
    """

    scores: Scores
    design: Design
    predicted: Prediction
    bounds: tuple[Bounded, ...]


def bounded(request: Request, people: PublicPeople) -> Choice:
    """Return a sketch with the bound of people that has the least error.

    Args:
        request: the request, without a bound.
        people: the public sample.

    Returns:
        The choice. Its errors are those of the bound in a table of its own size.

    Raises:
        ArgumentValueError: no sketch reaches the target.
    """
    table = _Table(request, people, depth=_DEPTH, width=_WIDTH)
    first = PersonBound(cells=min(_FIRST_CELLS, people.largest.cells))
    # Any error will do for a sketch to begin with.
    design, _ = chosen(Scores(replace(table.asked(first), relative_error=None)))
    for _ in range(_ROUNDS):
        table = _Table(request, people, depth=design.depth, width=design.width)
        bound = table.best(design)
        scores = Scores(table.asked(bound))
        found, predicted = chosen(scores)
        if (found.depth, found.width) == (table.depth, table.width):
            break
        design = found
    else:  # two sizes in turn, whose bounds are about as good
        table = _Table(request, people, depth=found.depth, width=found.width)
        scores = Scores(table.asked(bound))
        found = replace(found, request=scores.request)
        predicted = predict(scores, found)
    return Choice(scores, found, predicted, table.around(bound, found))


class _Table:
    """Errors of bounds in tables of one size; each bound is decided once.

    Args:
        request: without a bound.
        people: the public sample.
        depth: rows.
        width: buckets per row.
    """

    def __init__(self, request: Request, people: PublicPeople, *, depth: int, width: int) -> None:
        self.depth, self.width = depth, width
        self._request, self._people = request, people
        self._counted: dict[PersonBound, Counted] = {}

    def asked(self, bound: PersonBound) -> Request:
        """Return the request with a bound, for what it counts."""
        counted = self._of(bound)
        mean_weight = self._request.mean_weight * max(_LEAST, 1.0 - counted.dropped)
        return replace(
            self._request,
            mean_weight=mean_weight,
            workload=counted.workload(events=self._request.steps * mean_weight),
            bounding=Bounding(
                bound,
                dropped=min(counted.dropped, 1.0 - _LEAST),
                dropped_of_item=min(counted.dropped_of_top, 1.0 - _LEAST),
            ),
        )

    def scored(self, bound: PersonBound, design: Design) -> Bounded:
        """Return the error of a bound with a sketch of this size."""
        asked, counted = self.asked(bound), self._of(bound)
        scores, design = Scores(asked), replace(design, request=asked)
        return Bounded(
            cells=bound.cells,
            events=bound.events,
            dropped=counted.dropped,
            dropped_of_top=counted.dropped_of_top,
            worst_of_top=counted.worst_of_top,
            noise_deviation=scores.deviation(design),
            half_width=scores.of(design),
            bias=asked.bias,
        )

    def best(self, design: Design) -> PersonBound:
        """Return the bound with the least error, of a grid in the order of the noise."""
        least, found = math.inf, PersonBound(cells=1)
        whole: list[PersonBound] = []  # bounds that drop nothing: wider ones only have more noise
        one = replace(self._request, bounding=Bounding(PersonBound(cells=1), 0.0, 0.0))
        unit = Scores(one).alone(replace(design, request=one), part="noise")
        for bound in self._grid():
            if any(it.cells <= bound.cells and it.events <= bound.events for it in whole):
                continue
            cells = min(bound.cells, self.width)
            if _NEARLY * unit * math.sqrt(cells) * bound.events >= least:
                break  # those that follow have more noise
            scored = self.scored(bound, design)
            if scored.error < least:
                least, found = scored.error, bound
            if not scored.dropped:
                whole.append(bound)
        return found

    def around(self, bound: PersonBound, design: Design) -> tuple[Bounded, ...]:
        """Return a bound among its neighbours, in the order of the noise."""
        cells, events = self._steps()
        near = {PersonBound(it, bound.events) for it in _near(cells, bound.cells, _FEW)}
        near |= {PersonBound(bound.cells, it) for it in _near(events, bound.events, 1)}
        rows = [self.scored(each, design) for each in sorted(near, key=_noise)]
        chosen_one = bound.cells, bound.events
        return tuple(replace(row, is_chosen=(row.cells, row.events) == chosen_one) for row in rows)

    def _of(self, bound: PersonBound) -> Counted:
        if bound not in self._counted:
            self._counted[bound] = self._people.counted(bound, depth=self.depth, width=self.width)
        return self._counted[bound]

    def _grid(self) -> list[PersonBound]:
        cells, events = self._steps()
        return sorted((PersonBound(g, c) for g in cells for c in events), key=_noise)

    def _steps(self) -> tuple[list[int], list[int]]:
        """Return the numbers of cells and of events up to those that drop nothing."""
        largest = self._people.largest
        return (
            _steps_to(min(largest.cells, self.width), most=_MOST_CELLS),
            # Items of a person that share a cell need more.
            _steps_to(2 * largest.events, most=_MOST_EVENTS),
        )


def explained(bounds: Sequence[Bounded], people: PublicPeople, *, steps: int) -> list[str]:
    """Return in words which bound was chosen and why, for a plan with people.

    Args:
        bounds: the chosen one among its neighbours.
        people: the public sample.
        steps: length of the stream.

    Returns:
        Sentences.
    """
    at = next(number for number, each in enumerate(bounds) if each.is_chosen)
    own = bounds[at]
    fewer = [it for it in bounds[:at] if it.events == own.events][-1:]
    more = [it for it in bounds[at + 1 :] if it.events == own.events][:1]
    others = [
        f"{_cells(it)} would drop {it.dropped_of_top:.1%} of a top item, error {it.error:,.0f}"
        for it in fewer
    ]
    others += [
        f"{_cells(it)} would have noise {it.noise_deviation:,.0f}, error {it.error:,.0f}"
        for it in more
    ]
    events = "1 event" if own.events == 1 else f"{own.events:,} events"
    why = f" {'; '.join(others).capitalize()}." if others else ""
    return [
        (
            f"Of a person {events} in each of {_cells(own)} count: of the bounds tried it has "
            f"the least error, {own.error:,.0f} = {own.half_width:,.0f} (half the interval) + "
            f"{own.bias:,.0f} (dropped of an item, which no interval shows).{why}"
        ),
        (
            f"{own.dropped:.1%} of all events are dropped, {own.dropped_of_top:.1%} of a top item "
            f"on average over {people.top} of them, {own.worst_of_top:.1%} at worst; the noise of "
            f"a cell has standard deviation {own.noise_deviation:,.0f}."
        ),
        (
            f"The sample has {len(people):,} events of {people.number:,} people, the stream "
            f"{steps:,} events. The shares that are dropped are those of the sample: it has to "
            "have all events of its people, for as long as the run lasts. If it covers a shorter "
            "time, more is dropped than predicted."
        ),
    ]


def _cells(bound: Bounded) -> str:
    return "1 cell" if bound.cells == 1 else f"{bound.cells:,} cells"


def _steps_to(enough: int, *, most: int) -> list[int]:
    """Return 1, 2, 3, 5, 7, 10, 15, 20, ... up to the first that is enough.

    Example:
        >>> _steps_to(12, most=100), _steps_to(12, most=11)
        ([1, 2, 3, 5, 7, 10, 15], [1, 2, 3, 5, 7, 10, 11])
    """
    found = []
    for power in range(10):
        for step in _STEPS if power == 0 else _LARGER_STEPS:
            value = min(round(step * 10**power), most)
            found.append(value)
            if value >= min(enough, most):
                return found
    raise AssertionError("more than 10^9 cells")


def _near(values: list[int], value: int, few: int) -> list[int]:
    """Return a value, and a few of an ascending list on either side."""
    return [
        *[it for it in values if it < value][-few:],
        value,
        *[it for it in values if it > value][:few],
    ]


def _noise(bound: PersonBound) -> tuple[int, int]:
    """Return what orders bounds by their noise: its square, up to a factor."""
    return bound.cells * bound.events**2, bound.cells
