"""A picture of the top items over a stream: counts by step, with bands, into PNG, SVG or HTML.

Drawn at the end, of releases kept on the way (``course``): an item's line begins before its name
was found, because the sketch counts everything. Needs matplotlib (the extra ``plot``), which is
imported where something is drawn.

It costs the intervals of the drawn items in every kept release, and a second for matplotlib.
"""

from __future__ import annotations

import html
import io
import textwrap
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lazysketch.cli.run.saving import check_target, save_bytes
from lazysketch.cli.view.output import shown, tell, visible
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.errors import MissingPackageError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import Release
    from lazysketch.cli.view.output import Report

__all__ = ["check_picture", "save_picture"]

_OPTION: Final = "--plot"
# Okabe and Ito's colours, which readers with any colour vision tell apart; without their yellow,
# which is faint on white.
_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
_STYLES: Final = ("-", "--", "-.", ":")
_LONGEST_LABEL: Final = 32
_LINE: Final = 110  # characters above the picture
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="lazysketch">
"""
# How files begin that may be replaced.
_BEGINNINGS: Final = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".html": _PAGE.encode()}
_NOT_SHOWN: Final = ("above_noise", "complete")


def check_picture(path: str) -> None:
    """Raise unless a picture can be made and saved here; looks without writing.

    Raises:
        MissingPackageError: matplotlib is not installed.
        SourceError: Another ending, no such directory, or a file that is no picture.
    """
    beginning = _BEGINNINGS.get(Path(path).suffix.lower())
    if beginning is None:
        known = ", ".join(_BEGINNINGS)
        raise SourceError(f"{_OPTION}: expected a file ending in one of {known}, got {path}")
    if find_spec("matplotlib") is None:
        raise MissingPackageError(
            f"{_OPTION}: expected matplotlib (pip install 'lazysketch[plot]'), got none"
        )
    check_target(path, option=_OPTION, replaces=beginning, kind="a picture of that kind")


def save_picture(
    path: str, report: Report, releases: Sequence[Release], *, of: str, among: int
) -> None:
    """Draw the top items of a report over the steps of its releases, and save it whole.

    Args:
        path: Where to.
        report: The result, its rows from heavy to light.
        releases: From early to late.
        of: What was counted.
        among: From how many items those of the report were chosen.

    Raises:
        SourceError: It cannot be written.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    # As wide as those of all items that could have been chosen, since the largest were.
    confidence = 1 - (1 - CONFIDENCE) / max(among, 1)
    image = "svg" if kind == "html" else kind
    drawn = _drawn(report, releases, of=of, confidence=confidence, kind=image)
    if kind == "html":
        drawn = _page(drawn.decode("utf-8"), report, of=of).encode("utf-8")
    check_picture(path)
    save_bytes(drawn, path, option=_OPTION)
    tell(f"picture saved to {path}")


def _drawn(
    report: Report, releases: Sequence[Release], *, of: str, confidence: float, kind: str
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
        warnings.simplefilter("ignore")  # of glyphs that the font lacks
        figure = Figure(figsize=(8.6, 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _draw_lines(axes, report, releases, confidence=confidence)
        axes.set_title(_title(report, of=of), loc="left", fontsize=9)
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    return buffer.getvalue()


def _draw_lines(
    axes: Any, report: Report, releases: Sequence[Release], *, confidence: float
) -> None:
    from matplotlib.ticker import FuncFormatter

    rows = [row for row in report.rows if row.get("complete", True)][: len(_COLOURS)]
    # Before all columns have been published, a count of 0 says nothing of the item.
    whole = [release for release in releases if release.pushes.all()] or list(releases[-1:])
    steps = [release.step for release in whole]
    items = [row["item"] for row in rows]
    found = [
        release.interval_many(items, confidence=confidence, at="now") for release in whole if items
    ]
    for i, row in enumerate(rows):
        colour, style = _COLOURS[i], _STYLES[i % len(_STYLES)]
        axes.fill_between(
            steps,
            [each.low[i] for each in found],
            [each.high[i] for each in found],
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
        axes.plot(
            steps,
            [each.estimate[i] for each in found],
            color=colour,
            linestyle=style,
            marker="." if len(steps) == 1 else "",
            # matplotlib leaves out labels that begin with an underscore.
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
        axes.text(0.5, 0.5, "no name was found", ha="center", transform=axes.transAxes)


def _label(row: Any) -> str:
    item = shown(row, "item")
    return item if len(item) <= _LONGEST_LABEL else f"{item[: _LONGEST_LABEL - 1]}…"


def _short(name: str) -> str:
    """Return a name of a file that fits above a picture; its end tells most."""
    name = visible(name)
    return name if len(name) <= _LINE // 2 else f"…{name[-_LINE // 2 :]}"


def _title(report: Report, *, of: str) -> str:
    """Return what is drawn, and below it the promise."""
    promise = next((line for line in report.lines if "-DP per " in line), "NOT PRIVATE")
    level = f"{CONFIDENCE:.0%}".replace("%", " %")
    lines = [f"{_short(of)}: top items with {level} intervals", *textwrap.wrap(promise, _LINE)]
    return "\n".join(lines)


def _page(svg: str, report: Report, *, of: str) -> str:
    """Return a page that needs nothing else: the picture, the table and what is said of it."""
    keys = [key for key in report.header or report.rows[0] if key not in _NOT_SHOWN]
    titles = "".join(f'<th class="{key}">{key}</th>' for key in keys)
    rows = "\n".join(_table_row(row, keys) for row in report.rows)
    lines = "\n".join(f"<p>{html.escape(visible(line))}</p>" for line in report.lines)
    name = html.escape(visible(of))
    return f"""{_PAGE}<meta name="viewport" content="width=device-width">
<title>Top items of {name}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; margin: 1.5em 0; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .2em .8em; border-bottom: 1px solid #ddd; }}
th.item, td.item {{ text-align: left; overflow-wrap: anywhere; }}
tr.noise {{ color: #777; }}
p {{ margin: .3em 0; }}
</style>
<h1>Top items of {name}</h1>
{svg[svg.index("<svg") :]}
<table>
<thead><tr>{titles}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
{lines}
</html>
"""


def _table_row(row: Any, keys: Sequence[str]) -> str:
    cells = "".join(f'<td class="{key}">{html.escape(shown(row, key))}</td>' for key in keys)
    return f'<tr class="{"told" if row["above_noise"] else "noise"}">{cells}</tr>'
