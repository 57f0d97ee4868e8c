"""The tables of mechanisms in docs/theory.md and their plot, docs/images/mechanisms.svg.

    python -m tools.mechanism_table              prints the tables as Markdown
    python -m tools.mechanism_table --update     writes them into docs/theory.md
    python -m tools.mechanism_table --plot FILE  draws the plot (needs matplotlib)

Everything is computed: variances by the library, lower bounds here and in
``experiments.measures.variance``. tests/unit/tools/test_mechanism_table.py compares the document
with it. Cost: some seconds, for the bound on the largest variance at n = 2^8. The plot is
reproducible byte for byte with one version of matplotlib.

Source of the bound on the largest variance: J. Matousek, A. Nikolov and K. Talwar, "Factorization
Norms and Hereditary Discrepancy", 2020.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from experiments.measures.variance import PROMISES, deviations, mean_bound, variances

from lazysketch import Mechanism
from lazysketch.specification.mechanisms import checked_mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DOCUMENT", "PLOT", "distance", "draw", "largest_bound", "tables"]

_DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT = _DOCS / "theory.md"
PLOT = _DOCS / "images/mechanisms.svg"
_DEPTHS = (4, 6, 8, 10, 12, 14)
_NAMES = ("tree", "tree-log", "haar", "square-root", "binary")
_LONG = (10, 12, 14, 16)
_LONG_NAMES = ("tree-deep", "haar")
_DISTANCES = (8, 10, 12, 14, 16, 20, 24, 32)
# Found by largest_bound, which takes minutes at these lengths.
_FOUND = {10: 8.770, 12: 11.511}
_ALL_PUSHES = 16  # up to this depth every push is looked at
_SAMPLES = 1 << 14
_DENSE = 8  # the bound on the maximum takes singular values of n x n matrices
_ROUNDS = 40
# Okabe and Ito's palette, distinguishable with any colour vision.
_STYLES = {
    "binary": ("#999999", "the paper's binary"),
    "haar": ("#E69F00", "haar"),
    "square-root": ("#56B4E9", "square-root (not exact)"),
    "tree": ("#0072B2", "tree"),
    "tree-log": ("#009E73", "tree-log"),
}


@lru_cache
def largest_bound(n: int) -> float:
    """Return a lower bound on the largest variance of any mechanism: gamma_2(A)^2 by its dual.

    For all unit vectors u, v the nuclear norm of diag(u) A diag(v) is at most gamma_2(A). The
    weights are improved a fixed number of times; the bound holds for any weights.
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


def _cost(name: str, n: int) -> tuple[str, str]:
    """Return the draws of one read (largest / mean), and the bytes stored without the counts."""
    k = n.bit_length() - 1
    if name == "square-root":
        return f"{n} / {(n + 1) / 2:.0f}", "0"
    if name == "binary":
        popcounts = [p.bit_count() for p in range(1, n + 1)]
        return f"{max(popcounts)} / {np.mean(popcounts):.0f}", "0"
    stored = f"{2 * (1 + k * n):,}" if name.startswith("tree") else "0"
    return f"{k + 1} / {k}", stored


def _variance_table() -> list[str]:
    head = ["mechanism", *(f"n = 2^{k}" for k in _DEPTHS), "draws per read", "bytes"]
    lines = [head, ["---"] * len(head)]
    for name in _NAMES:
        cells = []
        for k in _DEPTHS:
            found = variances(name, 2**k)
            cells.append("-" if found is None else f"{found.max():.2f} / {found.mean():.2f}")
        lines.append([f"`{name}`", *cells, *_cost(name, 1024)])
    bounds = [
        f"{largest_bound(2**k):.2f} / {mean_bound(2**k):.2f}"
        if k <= _DENSE
        else f"{mean_bound(2**k):.2f} / {mean_bound(2**k):.2f}"
        for k in _DEPTHS
    ]
    lines.append(["no mechanism is below", *bounds, "", ""])
    return ["| " + " | ".join(line) + " |" for line in lines]


def _long_table() -> list[str]:
    head = ["mechanism", *(f"n = 2^{k}" for k in _LONG)]
    lines = [head, ["---"] * len(head)]
    for name in _LONG_NAMES:
        each = [variances(name, 2**k) for k in _LONG]
        found = [f"{one.max():.2f} / {one.mean():.2f}" for one in each if one is not None]
        lines.append([f"`{name}`", *found])
    lines.append(["no mean is below", *(f"{mean_bound(2**k):.2f}" for k in _LONG)])
    return ["| " + " | ".join(line) + " |" for line in lines]


def _pushes(first: int, last: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return all pushes of a range, or a sample with its first and last ones."""
    if last <= 1 << _ALL_PUSHES:
        return np.arange(first, last + 1)
    sample = np.random.default_rng(1).integers(first, last + 1, _SAMPLES)
    ends = [np.arange(first, first + 300), np.arange(last - 299, last + 1)]
    return np.unique(np.concatenate([sample, *ends]))


def distance(name: str, depth: int) -> float:
    """Return the largest standard deviation of a push over that of the bound.

    Args:
        name: ``"tree"``, ``"tree-deep"``, or ``"tree-endless"``, of which the last half of the
            pushes is compared with the bound of a mechanism that knows their number.
        depth: log2 of the number of pushes.

    Returns:
        At least 1.
    """
    n, endless = 1 << depth, name == "tree-endless"
    mechanism = Mechanism(checked_mechanism("name", name), leaves=1 << 32 if endless else n)
    found = mechanism.variances(_pushes(n // 2 + 1 if endless else 1, n)).max()
    bound = largest_bound(n) if depth <= _DENSE else _FOUND.get(depth, 0.0) or mean_bound(n)
    return float(np.sqrt(found * float(mechanism.sensitivity2) / bound))


def _distance_table() -> list[str]:
    head = ["standard deviation over the bound", *(f"2^{k}" for k in _DISTANCES)]
    known = [distance("tree" if k in _DEPTHS else "tree-deep", k) for k in _DISTANCES]
    unknown = [distance("tree-endless", k) for k in _DISTANCES]
    lines = [head, ["---"] * len(head)]
    lines.append(["`tree`, beyond 2^14 `tree-deep`", *(f"{each:.3f}" for each in known)])
    lines.append(["`tree-endless`, no horizon", *(f"{each:.3f}" for each in unknown)])
    return ["| " + " | ".join(line) + " |" for line in lines]


def _deviation_table() -> list[str]:
    head = ["one cell, rms over time", *(f"({e:g}, {d:g})" for e, d in PROMISES)]
    lines = [head, ["---"] * len(head)]
    lines += [[name, *(f"{each:.1f}" for each in found)] for name, found in deviations()]
    return ["| " + " | ".join(line) + " |" for line in lines]


def tables() -> dict[str, str]:
    """Return the generated parts of the document by name."""
    return {
        "variances": "\n".join(_variance_table()),
        "long streams": "\n".join(_long_table()),
        "distances": "\n".join(_distance_table()),
        "deviations": "\n".join(_deviation_table()),
    }


def _placed(text: str, name: str, table: str) -> str:
    """Return the document with one generated part replaced."""
    pattern = rf"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)"
    placed, times = re.subn(
        pattern, lambda found: found[1] + table + found[2], text, flags=re.DOTALL
    )
    if times != 1:
        raise ValueError(f"{name}: expected one place in the document, got {times}")
    return placed


def draw(target: Path) -> None:
    """Plot the variance of each release, and of the noisiest one by number of pushes, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    settings = {"svg.hashsalt": "lazysketch", "svg.fonttype": "none", "font.size": 9.0}
    with pyplot.rc_context(settings):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
        _draw_releases(left, 1024)
        _draw_noisiest(right, range(2, 15))
        for axes in (left, right):
            axes.grid(visible=True, which="major", linewidth=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        right.legend(frameon=False, fontsize=8)
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


def _draw_releases(axes: Axes, n: int) -> None:
    pushes = np.arange(1, n + 1)
    for name, (colour, label) in _STYLES.items():
        found = variances(name, n)
        assert found is not None
        thin = 0.5 if name == "binary" else 1.4
        axes.plot(pushes, found, color=colour, label=label, linewidth=thin)
    axes.set(xscale="log", yscale="log", xlabel="push number p", ylabel="variance at sensitivity 1")
    axes.set_title(f"each release, n = {n}", loc="left")


def _draw_noisiest(axes: Axes, depths: Sequence[int]) -> None:
    for name, (colour, label) in _STYLES.items():
        shown = [k for k in depths if name != "tree-log" or k in (10, 12)]
        tops = [(2**k, each.max()) for k in shown if (each := variances(name, 2**k)) is not None]
        axes.plot(*zip(*tops, strict=True), color=colour, label=label, marker=".")
    sizes = [2**k for k in depths]
    bounds = [mean_bound(n) for n in sizes]
    axes.plot(sizes, bounds, color="black", linestyle=":", label="lower bound")
    axes.set(xscale="log", yscale="log", xlabel="number of pushes n")
    axes.set_title("noisiest release", loc="left")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, write them into the document, or draw the plot."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mechanism_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_mutually_exclusive_group()
    verbs.add_argument("--update", action="store_true", help="write the tables into docs/theory.md")
    verbs.add_argument("--plot", type=Path, metavar="FILE", help="draw the plot as SVG")
    asked = parser.parse_args(arguments)
    if asked.plot is not None:
        draw(asked.plot)
    elif asked.update:
        text = DOCUMENT.read_text(encoding="utf-8")
        for name, table in tables().items():
            text = _placed(text, name, table)
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print("\n\n".join(tables().values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
