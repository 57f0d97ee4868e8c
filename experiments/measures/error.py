"""Average relative error (ARE) of the heaviest items, as the paper measures it.

Every contender sees the same stream. It is read at steps drawn from the second half of the stream,
and at the end; the true counts are those at the step, so that lag is an error too. The two differ:
at step 2^20 a binary tree has a single noisy node where it has ten on average, so that "at the
end" flatters the Punctual sketches by a factor of three in noise (``are at the end``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.cell import Cell, Observation
from experiments.contenders import Contender, contender
from experiments.streams import heaviest, zipf

__all__ = ["measure", "relative_error"]


def relative_error(estimates: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> float:
    """Return the mean of |estimate - count| / count."""
    return float(np.mean(np.abs(estimates - counts) / counts))


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Measure all contenders on one stream.

    Args:
        parameters: ``depth``, ``memory`` in KB (spent on ``memory_depth`` rows, if given),
            ``epsilon``, ``delta``, ``skew``, ``items``, ``events``, ``top`` and ``reads``.
        contenders: who competes.
        cell: value and seed.

    Returns:
        ``are``, ``are at the end``, and the memory by both accountings.
    """
    generator = cell.generator()
    steps = int(parameters["events"])
    stream = zipf(
        generator, skew=float(parameters["skew"]), items=int(parameters["items"]), events=steps
    )
    drawn = generator.integers(steps // 2, steps, int(parameters["reads"]))
    reads = [*sorted(int(step) + 1 for step in drawn), steps]
    counts = [np.bincount(stream[:step]) for step in reads]
    found: list[Observation] = []
    for name in contenders:
        one = contender(name)
        errors = _errors(one, stream, reads, counts, parameters, generator)
        measures = {"are": float(np.mean(errors[:-1])), "are at the end": errors[-1]}
        found += [Observation(name, cell.value, *pair) for pair in measures.items()]
        found += _memory(one, parameters, cell)
    return found


def _size(one: Contender, parameters: Mapping[str, Any]) -> tuple[int, int]:
    depth = int(parameters["depth"])
    spent_on = int(parameters.get("memory_depth", depth))
    return depth, one.width(memory=float(parameters["memory"]), depth=spent_on)


def _errors(
    one: Contender,
    stream: npt.NDArray[np.int64],
    reads: Sequence[int],
    counts: Sequence[npt.NDArray[np.int64]],
    parameters: Mapping[str, Any],
    generator: np.random.Generator,
) -> list[float]:
    depth, width = _size(one, parameters)
    promise = {name: float(parameters[name]) for name in ("epsilon", "delta")}
    sketch = one.make(generator, depth=depth, width=width, steps=len(stream), **promise)
    errors = []
    for step, counted in zip(reads, counts, strict=True):
        if step > sketch.step:
            sketch.update_many(stream[sketch.step : step])
        top = heaviest(counted, int(parameters["top"]))
        errors.append(relative_error(one.read(sketch, top), counted[top]))
    return errors


def _memory(one: Contender, parameters: Mapping[str, Any], cell: Cell) -> list[Observation]:
    depth, width = _size(one, parameters)
    return [
        Observation(
            one.name,
            cell.value,
            f"KB ({accounting})",
            one.kilobytes(accounting, depth=depth, width=width),
        )
        for accounting in one.cell_bytes
    ]
