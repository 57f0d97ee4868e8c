"""Average relative error (ARE) of the heaviest items, as the paper measures it.

All contenders count the same stream. They are read at steps drawn from the second half of the
stream, and at the end; the true counts are those at the step, so that lag counts as an error. The
two differ: at step 2^20 a binary tree has one noisy node instead of ten on average, so that the
noise of the Punctual sketches is smaller by a factor of three there (``are at the end``). What is
published once is read at the end only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from experiments.cell import Cell, Observation
from experiments.contenders import Contender, Sketch, contender
from experiments.settings import Settings
from experiments.streams import Items, heaviest, zipf

__all__ = ["measure", "measure_course", "relative_error"]


def relative_error(estimates: npt.NDArray[np.float64], counts: Items) -> float:
    """Return the mean of |estimate - count| / count."""
    return float(np.mean(np.abs(estimates - counts) / counts))


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Measure all contenders on one stream.

    Args:
        parameters: ``depth``, ``memory`` in KB (for ``memory_depth`` rows, if given), ``epsilon``,
            ``delta``, ``skew``, ``items``, ``events``, ``top`` and ``reads``.
        contenders: names of contenders.
        cell: value and seed.

    Returns:
        ``are``, ``are at the end``, and the memory by both accountings.
    """
    generator = cell.generator()
    steps, depth = parameters.integer("events"), parameters.integer("depth")
    spent_on = parameters.integer("memory_depth", depth)
    stream = _stream(generator, parameters, steps)
    drawn = generator.integers(steps // 2, steps, parameters.integer("reads"))
    reads = [*sorted(int(step) + 1 for step in drawn), steps]
    counts = [np.bincount(stream[:step]) for step in reads]
    found: list[Observation] = []
    for name in contenders:
        one = contender(name)
        width = one.width(memory=parameters.number("memory"), depth=spent_on)
        sketch = _made(one, generator, parameters, width=width, steps=steps)
        moments = slice(-1, None) if one.once else slice(None)
        errors = _errors(
            one, sketch, stream, reads[moments], counts[moments], parameters.integer("top")
        )
        before = errors if one.once else errors[:-1]
        figures = {"are": float(np.mean(before)), "are at the end": errors[-1]}
        for accounting in one.cell_bytes:
            kilobytes = one.kilobytes(accounting, depth=depth, width=width)
            figures[f"KB ({accounting})"] = kilobytes
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def measure_course(
    parameters: Settings, contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Measure all contenders on one stream, at growing numbers of steps.

    Args:
        parameters: as for :func:`measure`, with ``steps``, where the error is read, instead of
            ``reads``.
        contenders: names of contenders.
        cell: value and seed.

    Returns:
        ``are`` at every step.
    """
    generator = cell.generator()
    steps, depth = parameters.integers("steps"), parameters.integer("depth")
    stream = _stream(generator, parameters, steps[-1])
    counts = [np.bincount(stream[:step]) for step in steps]
    found = []
    for name in contenders:
        one = contender(name)
        width = one.width(memory=parameters.number("memory"), depth=depth)
        sketch = _made(one, generator, parameters, width=width, steps=steps[-1])
        errors = _errors(one, sketch, stream, steps, counts, parameters.integer("top"))
        pairs = zip(steps, errors, strict=True)
        found += [Observation(name, step, "are", error) for step, error in pairs]
    return found


def _stream(generator: np.random.Generator, parameters: Settings, events: int) -> Items:
    skew, items = parameters.number("skew"), parameters.integer("items")
    return zipf(generator, skew=skew, items=items, events=events)


def _made(
    one: Contender, generator: np.random.Generator, parameters: Settings, *, width: int, steps: int
) -> Sketch:
    return one.make(
        generator,
        depth=parameters.integer("depth"),
        width=width,
        steps=steps,
        epsilon=parameters.number("epsilon"),
        delta=parameters.number("delta"),
    )


def _errors(
    one: Contender,
    sketch: Sketch,
    stream: Items,
    reads: Sequence[int],
    counts: Sequence[Items],
    top: int,
) -> list[float]:
    """Return the error at each of the steps, in order, while the sketch counts the stream."""
    errors = []
    for step, counted in zip(reads, counts, strict=True):
        if step > sketch.step:
            sketch.update_many(stream[sketch.step : step])
        items = heaviest(counted, top)
        errors.append(relative_error(one.read(sketch, items), counted[items]))
    return errors
