"""The table of mechanisms in docs/theory.md: variances, cost, and what no mechanism can beat.

    python -m tools.mechanism_table            prints the two tables as Markdown
    python -m tools.mechanism_table --update   writes them into docs/theory.md

Everything is computed: variances by the library, bounds here. The test
tests/unit/tools/test_mechanism_table.py compares the document with it. Cost: some seconds, for the
bound on the largest variance at n = 2^8.

Sources of the bounds: J. Matousek, A. Nikolov and K. Talwar, "Factorization Norms and Hereditary
Discrepancy", 2020; M. Henzinger, J. Upadhyay and S. Upadhyay, "Almost Tight Error Bounds on
Differentially Private Continual Counting", 2023.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lazysketch.privacy import classical_noise_multiplier, noise_multiplier
from lazysketch.specification.mechanisms import Mechanism, checked_mechanism

__all__ = ["DOCUMENT", "deviations", "largest_bound", "mean_bound", "tables", "variances"]

DOCUMENT = Path(__file__).parents[1] / "docs/theory.md"
DEPTHS = (4, 6, 8, 10, 12, 14)
NAMES = ("tree", "tree-log", "haar", "square-root", "binary")
_DENSE = 8  # the bound on the maximum takes singular values of n x n matrices
_ROUNDS = 40
_PROMISES = ((0.3, 1e-3), (1.0, 1e-6), (0.1, 1e-6))
_CELLS = 6  # squared sensitivity of a Count-Min table of depth 3 under substitution


def variances(name: str, n: int) -> npt.NDArray[np.float64] | None:
    """Variance of releases 1..n at sensitivity 1, or None if the mechanism ends before n."""
    from lazysketch import _native

    if n > _native.mechanism_largest_leaves(mechanism=name):
        return None
    mechanism = Mechanism(checked_mechanism("name", name), leaves=n)
    return float(mechanism.sensitivity2) * mechanism.variances(np.arange(1, n + 1))


def mean_bound(n: int) -> float:
    """Least mean variance of any mechanism: (sum of the singular values of A, over n)^2.

    The j-th singular value of the n x n matrix of lower-triangular ones is
    1 / (2 sin((2 j - 1) pi / (4 n + 2))).
    """
    angles = (2 * np.arange(1, n + 1) - 1) * np.pi / (4 * n + 2)
    return float((np.sum(0.5 / np.sin(angles)) / n) ** 2)


@lru_cache
def largest_bound(n: int) -> float:
    """Least largest variance of any mechanism, from below: gamma_2(A)^2 by its dual.

    For all unit vectors u, v the nuclear norm of diag(u) A diag(v) is at most gamma_2(A). The
    weights are improved a fixed number of times; the bound holds whatever they are.
    """
    ones = np.tril(np.ones((n, n)))
    rows = columns = np.full(n, 1.0 / n)
    best = 0.0
    for _ in range(_ROUNDS):
        left, values, right = np.linalg.svd(np.sqrt(rows)[:, None] * ones * np.sqrt(columns))
        best = max(best, float(values.sum()))
        rows = np.einsum("ij,j,ij->i", left, values, left)
        columns = np.einsum("ji,j,ji->i", right, values, right)
        rows, columns = rows / rows.sum(), columns / columns.sum()
    return best**2


def deviations() -> Iterator[tuple[str, list[float]]]:
    """Standard deviation of one cell, rms over pushes, for the sketch of the paper's size."""
    n = 1024
    for name, multiplier in (
        ("binary, classical calibration (the paper)", classical_noise_multiplier),
        ("binary", noise_multiplier),
        ("haar", noise_multiplier),
        ("tree", noise_multiplier),
    ):
        found = variances(name.split(",")[0], n)
        assert found is not None
        root = float(np.sqrt(_CELLS * found.mean()))
        yield name, [root * multiplier(*promise) for promise in _PROMISES]


def _cost(name: str, n: int) -> tuple[str, str]:
    """Draws of one read (largest / mean), and bytes beside the counts at n = 2^10."""
    k = n.bit_length() - 1
    if name == "square-root":
        return f"{n} / {(n + 1) / 2:.0f}", "0"
    if name == "binary":
        popcounts = [p.bit_count() for p in range(1, n + 1)]
        return f"{max(popcounts)} / {np.mean(popcounts):.0f}", "0"
    stored = f"{2 * (1 + k * n):,}" if name.startswith("tree") else "0"
    return f"{k + 1} / {k}", stored


def _variance_table() -> list[str]:
    head = ["mechanism", *(f"n = 2^{k}" for k in DEPTHS), "draws per read", "bytes"]
    lines = [head, ["---"] * len(head)]
    for name in NAMES:
        cells = []
        for k in DEPTHS:
            found = variances(name, 2**k)
            cells.append("-" if found is None else f"{found.max():.2f} / {found.mean():.2f}")
        lines.append([f"`{name}`", *cells, *_cost(name, 1024)])
    bounds = [
        f"{largest_bound(2**k):.2f} / {mean_bound(2**k):.2f}"
        if k <= _DENSE
        else f"{mean_bound(2**k):.2f} / {mean_bound(2**k):.2f}"
        for k in DEPTHS
    ]
    lines.append(["no mechanism is below", *bounds, "", ""])
    return ["| " + " | ".join(line) + " |" for line in lines]


def _deviation_table() -> list[str]:
    head = ["one cell, rms over time", *(f"({e:g}, {d:g})" for e, d in _PROMISES)]
    lines = [head, ["---"] * len(head)]
    lines += [[name, *(f"{each:.1f}" for each in found)] for name, found in deviations()]
    return ["| " + " | ".join(line) + " |" for line in lines]


def tables() -> dict[str, str]:
    """The generated parts of the document by name."""
    return {
        "variances": "\n".join(_variance_table()),
        "deviations": "\n".join(_deviation_table()),
    }


def place(text: str, name: str) -> re.Pattern[str]:
    """Where a generated part stands in the document."""
    pattern = re.compile(rf"(<!-- begin {name} -->\n)(.*?)(\n<!-- end {name} -->)", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"{name}: expected one place in the document")
    return pattern


def main(arguments: list[str]) -> int:
    """Print the tables, or write them into the document."""
    made = tables()
    if "--update" not in arguments:
        print("\n\n".join(made.values()))
        return 0
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in made.items():
        text = place(text, name).sub(lambda found, t=table: found[1] + t + found[3], text)  # type: ignore[misc]
    DOCUMENT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
