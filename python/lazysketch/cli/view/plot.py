"""Plot of the top items over a stream: counts by step with intervals, as PNG or SVG.

It is drawn at the end of a run from the releases that were kept on the way. The line of an item
begins before the item was discovered, because the sketch counts all items. matplotlib (extra
``plot``) is imported only when something is drawn.

Cost: the intervals of the drawn items in every kept release, and a second for matplotlib.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch.cli.view.output import item_text, name_without_folders, visible
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.errors import MissingPackageError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import Release
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.releases.rows import ItemRow

__all__ = ["checked_plot_kind", "draw", "is_page"]

# Colours by Okabe and Ito, distinguishable with any colour vision; without their yellow, which is
# faint on white.
_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
_STYLES: Final = ("-", "--", "-.", ":")
_LONGEST_LABEL: Final = 32
_LINE: Final = 110  # characters above the plot
PAGE: Final = ".html"


def checked_plot_kind(path: str, *, option: str) -> bytes:
    """Return the first bytes of such a plot, or raise if it cannot be drawn.

    Raises:
        MissingPackageError: matplotlib is not installed, and the plot is not a page.
        SourceError: The suffix of the path is not that of a plot.
    """
    from lazysketch.service.page_file import BEGINNING  # late: few runs draw anything

    beginnings = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", PAGE: BEGINNING}
    beginning = beginnings.get(Path(path).suffix.lower())
    if beginning is None:
        known = ", ".join(beginnings)
        raise SourceError(f"{option}: expected a file ending in one of {known}, got {path}")
    if not is_page(path) and find_spec("matplotlib") is None:
        raise MissingPackageError(
            f"{option}: expected matplotlib (pip install 'lazysketch[plot]'), got none"
        )
    return beginning


def is_page(path: str) -> bool:
    """Return True if the plot is a page, which needs no other package.

    Args:
        path: Its suffix selects the kind of file.
    """
    return Path(path).suffix.lower() == PAGE


def draw(
    path: str,
    report: Report,
    releases: Sequence[Release],
    *,
    of: str,
    guarantee: str,
    among: int,
) -> bytes:
    """Return the plot of the top items of a report over the steps of its releases.

    Args:
        path: Its suffix selects the kind of file.
        report: The result, its rows in descending order.
        releases: In ascending order of steps.
        of: What was counted.
        guarantee: The guarantee of the run.
        among: The number of items from which the rows were selected.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    # Simultaneous over all items that could have been selected, since the largest were.
    confidence = 1 - (1 - CONFIDENCE) / max(among, 1)
    title = _title(of=of, guarantee=guarantee)
    return _image(report, releases, title=title, confidence=confidence, kind=kind)


def _image(
    report: Report, releases: Sequence[Release], *, title: str, confidence: float, kind: str
) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {
        "svg.hashsalt": "lazysketch",
        "svg.fonttype": "none",
        "font.size": 9.0,
        "text.parse_math": False,
    }
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about glyphs that the font lacks
        figure = Figure(figsize=(8.6, 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _draw_lines(axes, report, releases, confidence=confidence)
        axes.set_title(title, loc="left", fontsize=9)
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    return buffer.getvalue()


def _draw_lines(
    axes: Any, report: Report, releases: Sequence[Release], *, confidence: float
) -> None:
    from matplotlib.ticker import FuncFormatter

    complete = [row for row in report.rows if row.get("complete", True)]
    rows = cast("list[ItemRow]", complete[: len(_COLOURS)])
    # Before all columns are published, a count of 0 carries no information.
    usable = [release for release in releases if release.pushes.all()] or list(releases[-1:])
    steps = [release.step for release in usable]
    items = [row["item"] for row in rows]
    found = [
        release.interval_many(items, confidence=confidence, at="now") for release in usable if items
    ]
    for i, row in enumerate(rows):
        low, high = [each.low[i] for each in found], [each.high[i] for each in found]
        axes.fill_between(steps, low, high, color=_COLOURS[i], alpha=0.15, linewidth=0)
        axes.plot(
            steps,
            [each.estimate[i] for each in found],
            color=_COLOURS[i],
            linestyle=_STYLES[i % len(_STYLES)],
            marker="." if len(steps) == 1 else "",
            # matplotlib omits labels that begin with an underscore.
            label=f"\N{ZERO WIDTH SPACE}{_label(row)}",
        )
    axes.set(xlabel="steps", ylabel="count")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(visible=True, linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if rows:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    else:
        axes.text(0.5, 0.5, "no item discovered", ha="center", transform=axes.transAxes)


def _label(row: Row) -> str:
    item = item_text(row)
    return item if len(item) <= _LONGEST_LABEL else f"{item[: _LONGEST_LABEL - 1]}…"


def _title(*, of: str, guarantee: str) -> str:
    """Return the name of the input, of which a long one keeps its end, and the guarantee."""
    name = visible(name_without_folders(of))
    if len(name) > _LINE // 2:
        name = f"…{name[-_LINE // 2 :]}"
    level = f"{CONFIDENCE:.0%}".replace("%", " %")
    return "\n".join(
        [f"{name}: top items with {level} intervals", *textwrap.wrap(guarantee, _LINE)]
    )
