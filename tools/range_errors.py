"""The table of docs/ranges.md: errors of ranges of keys, and of hierarchies of the same size.

A stream of keys is a random cascade: every node of the binary tree over keys gives its left half a
share from Beta(a, a), so that a small a makes some keys very heavy. `Ranges` is the class itself,
with its noise. A hierarchy has one row of cells for each of its levels, with the noise that all of
them together need: it is simulated, with a draw for each cell that is read. Costs three minutes:

    python -m tools.range_errors

Prints the root mean square errors as a table in Markdown, over sixteen streams with a sketch each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

import lazysketch as ls

__all__ = ["Hierarchy", "cascade", "errors", "nodes_of_range", "table"]

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Range = tuple[int, int]

_BITS: Final = 32
_CELLS: Final = 131_072
_BATCHES: Final = 32
_PREFIXES: Final = (16, 24, 32)
_SHARES: Final = {"even cascade": 4.0, "skewed cascade": 0.6}
_EPSILON, _DELTA = 1.0, 1e-6


def cascade(events: int, share: float, chance: np.random.Generator) -> tuple[Keys, Counts]:
    """Return the keys of a random cascade, in order, and how often each occurs.

    Args:
        events: number of keys.
        share: a of Beta(a, a), above 0.
        chance: where the shares and the keys come from.
    """
    nodes, counts = np.zeros(1, dtype=np.uint64), np.array([events], dtype=np.int64)
    for _ in range(_BITS):
        left = chance.binomial(counts, chance.beta(share, share, counts.size))
        halves = np.stack([left, counts - left], axis=1).ravel()
        nodes = np.stack(
            [nodes * np.uint64(2), nodes * np.uint64(2) + np.uint64(1)], axis=1
        ).ravel()
        nodes, counts = nodes[halves > 0], halves[halves > 0]
    return nodes, counts


def nodes_of_range(low: int, high: int, levels: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the fewest nodes of a hierarchy that make up a range: the level and the number.

    Args:
        low: first key.
        high: the key after the last one.
        levels: bits of the prefixes, rising, the last one those of a key.
    """
    sizes = [1 << (_BITS - prefix) for prefix in levels]
    while low < high:
        level = next(at for at, size in enumerate(sizes) if low % size == 0 and low + size <= high)
        yield level, low // sizes[level]
        low += sizes[level]


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy of one row of cells for each level.

    Args:
        every: bits between two levels.
        signed: True for a Count Sketch; False for a Count-Min, less the mean of its collisions.
    """

    every: int
    signed: bool

    @property
    def name(self) -> str:
        """Its row in the table."""
        kind = "Count Sketch" if self.signed else "Count-Min"
        if self.every == 1:
            return f"counts of nodes, every level, {kind}"
        return f"every {self.every}{'nd' if self.every == 2 else 'th'} level, {kind}"

    @property
    def levels(self) -> list[int]:
        """Bits of the prefixes."""
        return list(range(self.every, _BITS + 1, self.every))

    def sensitivity2(self, width: int) -> int:
        """Return what a replaced key changes: 2 of a level, 4 where nodes with signs collide."""
        return sum(4 if self.signed and 1 << level > width else 2 for level in self.levels)

    def estimates(
        self,
        keys: Keys,
        counts: Counts,
        *,
        noise: float,
        chance: np.random.Generator,
    ) -> Callable[[Range], float]:
        """Return the function from a range to its estimate.

        Args:
            keys: of the stream.
            counts: how often each occurs.
            noise: standard deviation of a cell per unit of the root of the sensitivity.
            chance: where hash seeds and noise come from.
        """
        width = _CELLS // len(self.levels)
        sigma = noise * math.sqrt(self.sensitivity2(width))
        seeds = chance.integers(1, 1 << 63, len(self.levels), dtype=np.uint64)
        rows = []
        for level, seed in zip(self.levels, seeds, strict=True):
            nodes = keys >> np.uint64(_BITS - level)
            columns, signs = self._places(nodes, level, seed, width)
            row = np.bincount(columns, weights=signs * counts, minlength=width)
            rows.append(row + chance.normal(0.0, sigma, width))

        def estimate(asked: Range) -> float:
            found = 0.0
            for at, number in nodes_of_range(*asked, self.levels):
                level, row = self.levels[at], rows[at]
                node = np.array([number], dtype=np.uint64)
                columns, signs = self._places(node, level, seeds[at], width)
                cell = float(row[columns[0]] * signs[0])
                if not self.signed and 1 << level > width:
                    cell -= (float(row.sum()) - cell) / (width - 1)
                found += cell
            return found

        return estimate

    def _places(
        self, nodes: Keys, level: int, seed: np.uint64, width: int
    ) -> tuple[npt.NDArray[np.intp], Numbers]:
        """Return columns and signs; a node has a cell of its own where all of a level fit."""
        if 1 << level <= width:
            return nodes.astype(np.intp), np.ones(nodes.size)
        mixed = _mixed(nodes ^ seed)
        signs = 1.0 - 2.0 * (mixed >> np.uint64(63)).astype(np.float64)
        return (mixed % np.uint64(width)).astype(np.intp), signs if self.signed else np.abs(signs)


def _mixed(values: Keys) -> Keys:
    """Return well mixed numbers (the finaliser of SplitMix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    mixed: Keys = values ^ (values >> np.uint64(31))
    return mixed


HIERARCHIES: Final = (
    Hierarchy(1, signed=True),
    Hierarchy(2, signed=True),
    Hierarchy(2, signed=False),
    Hierarchy(4, signed=False),
    Hierarchy(8, signed=False),
)
_RANGES: Final = f"`Ranges`, Haar coefficients, {_BITS} x {_CELLS // _BITS:,}"


def _asked(
    keys: Keys, counts: Counts, number: int, chance: np.random.Generator
) -> list[list[Range]]:
    """Return ranges between two keys of the stream, and networks of keys of each prefix."""
    ends = chance.choice(keys, (number, 2), p=counts / counts.sum())
    asked = [[(int(min(pair)), int(max(pair)) + 1) for pair in ends]]
    for prefix in _PREFIXES:
        size = 1 << (_BITS - prefix)
        of = chance.choice(keys, number, p=counts / counts.sum()).tolist()
        asked.append([(key // size * size, key // size * size + size) for key in of])
    return asked


def _answer_of(release: ls.RangesRelease) -> Callable[[Range], float]:
    return lambda asked: release.count_between(*asked).estimate


def errors(
    share: float, *, events: int, streams: int, questions: int, seed: int
) -> dict[str, list[float]]:
    """Return the root mean square errors of every structure: of ranges, and by prefix.

    Args:
        share: a of Beta(a, a).
        events: keys of a stream.
        streams: number of streams, each with fresh sketches.
        questions: ranges of each stream, and networks of each prefix.
        seed: where streams and hash seeds come from.
    """
    squares: dict[str, list[list[float]]] = {}
    for stream in range(streams):
        chance = np.random.default_rng([seed, stream])
        keys, counts = cascade(events, share, chance)
        below = np.concatenate([[0], np.cumsum(counts)])
        with ls.Ranges(
            bits=_BITS,
            width=_CELLS // _BITS,
            epsilon=_EPSILON,
            delta=_DELTA,
            schedule=ls.Batch(horizon=_BATCHES),
        ) as live:
            for part in np.array_split(chance.permutation(np.repeat(keys, counts)), _BATCHES):
                live.update_batch(part)
            release, spec = live.release(), live.spec
        square = spec.noise.l2_sensitivity**2 / spec.chosen_mechanism.sensitivity2
        # The error of all keys is that of two cells.
        noise = release.standard_error(0, 1 << _BITS) / math.sqrt(2.0 * square)
        answers = {_RANGES: _answer_of(release)}
        for one in HIERARCHIES:
            answers[one.name] = one.estimates(keys, counts, noise=noise, chance=chance)
        for at, ranges in enumerate(_asked(keys, counts, questions, chance)):
            places = np.searchsorted(keys, np.array(ranges, dtype=np.uint64))
            truths = below[places[:, 1]] - below[places[:, 0]]
            for name, answer in answers.items():
                kept = squares.setdefault(name, [[] for _ in range(1 + len(_PREFIXES))])
                kept[at] += [
                    (answer(one) - truth) ** 2 for one, truth in zip(ranges, truths, strict=True)
                ]
    return {name: [math.sqrt(np.mean(one)) for one in kept] for name, kept in squares.items()}


def table(*, events: int, streams: int, questions: int, seed: int = 1) -> str:
    """Return the table in Markdown; the arguments are those of :func:`errors`."""
    found = {
        name: errors(share, events=events, streams=streams, questions=questions, seed=seed)
        for name, share in _SHARES.items()
    }
    titles = [
        title
        for name in _SHARES
        for title in (f"ranges, {name}", *(f"/{prefix}" for prefix in _PREFIXES))
    ]
    lines = [f"| | {' | '.join(titles)} |", f"| {' | '.join(['---'] * (len(titles) + 1))} |"]
    for name in next(iter(found.values())):
        row = [f"{error:,.0f}" for each in found.values() for error in each[name]]
        lines.append(f"| {name} | {' | '.join(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(events=1_000_000, streams=16, questions=60))
