"""Coverage of 95 % intervals for heavy, random and absent items.

``at="now"`` is read at the end of the stream. For ``at="published"`` the stream is followed by
empty steps until every column has been pushed: then the published counts are the true ones, and
the public interface suffices to check them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from experiments.cell import Cell, Observation
from experiments.contenders import Private, contender, private
from experiments.settings import Settings
from experiments.streams import asked_items, zipf
from lazysketch.estimation.intervals import At

__all__ = ["measure"]


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Measure all contenders on one stream.

    Args:
        parameters: ``depth``, ``width``, ``epsilon``, ``delta``, ``skew``, ``items``, ``events``
            and ``confidence``.
        contenders: names of contenders.
        cell: value and seed.

    Returns:
        The share of covered counts by moment and group of items.
    """
    generator = cell.generator()
    steps, width = parameters.integer("events"), parameters.integer("width")
    stream = zipf(
        generator, skew=parameters.number("skew"), items=parameters.integer("items"), events=steps
    )
    groups = asked_items(stream)
    counts = np.bincount(stream)
    empty = max(width, steps // 40)  # more than a round of either schedule
    found = []
    for name in contenders:
        made = contender(name).make(
            generator,
            depth=parameters.integer("depth"),
            width=width,
            steps=steps + empty,
            epsilon=parameters.number("epsilon"),
            delta=parameters.number("delta"),
        )
        sketch = private(made)
        sketch.update_many(stream)
        moments: tuple[At, At] = ("now", "published")
        for at in moments:
            if at == "published":
                sketch.tick(empty)
            for group, items in groups.items():
                share = _covered(sketch, items, counts, at, parameters.number("confidence"))
                found.append(Observation(name, cell.value, f"{at}, {group}", share))
    return found


def _covered(
    sketch: Private,
    items: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    at: At,
    confidence: float,
) -> float:
    absent = items >= len(counts)
    true = np.where(absent, 0, counts[np.where(absent, 0, items)])
    answer = sketch.release().interval_many(items, confidence=confidence, at=at)
    return float(np.mean((answer.low <= true) & (true <= answer.high)))
