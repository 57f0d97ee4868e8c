"""docs/images/mechanisms.svg: the variance of a release by push number, and by number of pushes.

    python -m tools.mechanism_plot [FILE]

Needs matplotlib (requirements/tools.in). One version of it makes the same bytes every time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tools.mechanism_table import mean_bound, variances

__all__ = ["PLOT", "draw"]

PLOT = Path(__file__).parents[1] / "docs/images/mechanisms.svg"
# Okabe and Ito's colours, which readers with any colour vision tell apart.
STYLES = {
    "binary": ("#999999", "the paper's binary"),
    "haar": ("#E69F00", "haar"),
    "square-root": ("#56B4E9", "square-root (not exact)"),
    "tree": ("#0072B2", "tree"),
    "tree-log": ("#009E73", "tree-log"),
}


def draw(target: Path) -> None:
    """Write the plot."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    settings = {"svg.hashsalt": "lazysketch", "svg.fonttype": "none", "font.size": 9.0}
    with pyplot.rc_context(settings):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
        pushes = np.arange(1, 1025)
        for name, (colour, label) in STYLES.items():
            found = variances(name, 1024)
            assert found is not None
            thin = 0.5 if name == "binary" else 1.4
            left.plot(pushes, found, color=colour, label=label, linewidth=thin)
            depths = [k for k in range(2, 15) if name != "tree-log" or k in (10, 12)]
            tops = [
                (2**k, each.max()) for k in depths if (each := variances(name, 2**k)) is not None
            ]
            right.plot(*zip(*tops, strict=True), color=colour, label=label, marker=".")
        sizes = [2**k for k in range(2, 15)]
        bounds = [mean_bound(n) for n in sizes]
        right.plot(sizes, bounds, color="black", linestyle=":", label="lower bound")
        left.set(
            xscale="log", yscale="log", xlabel="push number p", ylabel="variance at sensitivity 1"
        )
        left.set_title("each release, n = 1024", loc="left")
        right.set(xscale="log", yscale="log", xlabel="number of pushes n")
        right.set_title("noisiest release", loc="left")
        for axes in (left, right):
            axes.grid(visible=True, which="major", linewidth=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        right.legend(frameon=False, fontsize=8)
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PLOT)
