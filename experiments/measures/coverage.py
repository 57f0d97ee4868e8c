"""How often 95 % intervals cover the true counts of heavy, random and absent items.

``at="now"`` is asked in the midst of the stream. For ``at="published"`` the stream is followed by
empty steps until every column has been pushed: then the published count is the true one, and the
public interface is enough to check it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.cell import Cell, Observation
from experiments.contenders import Private, contender, private
from experiments.streams import asked_items, zipf
from lazysketch.estimation.intervals import At

__all__ = ["measure"]


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Measure all contenders on one stream.

    Args:
        parameters: ``depth``, ``width``, ``epsilon``, ``delta``, ``skew``, ``items``, ``events``
            and ``confidence``.
        contenders: who competes.
        cell: value and seed.

    Returns:
        Shares of covered counts by moment and group of items.
    """
    generator = cell.generator()
    steps, width = int(parameters["events"]), int(parameters["width"])
    stream = zipf(
        generator, skew=float(parameters["skew"]), items=int(parameters["items"]), events=steps
    )
    groups = asked_items(stream)
    counts = np.bincount(stream)
    empty = max(width, steps // 40)  # more than a round of either schedule
    found = []
    for name in contenders:
        made = contender(name).make(
            generator,
            depth=int(parameters["depth"]),
            width=width,
            steps=steps + empty,
            epsilon=float(parameters["epsilon"]),
            delta=float(parameters["delta"]),
        )
        sketch = private(made)
        sketch.update_many(stream)
        moments: tuple[At, At] = ("now", "published")
        for at in moments:
            if at == "published":
                sketch.tick(empty)
            for group, items in groups.items():
                share = _covered(sketch, items, counts, at, float(parameters["confidence"]))
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
