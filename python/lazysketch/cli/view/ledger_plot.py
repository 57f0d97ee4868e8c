"""Plot of what was spent of a ledger's cap over time, in each period."""

from __future__ import annotations

import io
import time
import warnings
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.errors import SourceError
from lazysketch.ledger.spending import spending_at
from lazysketch.windows.durations import EPOCH

if TYPE_CHECKING:
    from lazysketch.ledger import Ledger

__all__ = ["checked_kind", "draw"]

_KINDS: Final = (".png", ".svg")
_SPENT, _CAP = "#0072B2", "#D55E00"


def checked_kind(path: str) -> None:
    """Raise SourceError unless a plot of a ledger can have this suffix.

    Args:
        path: Where it shall be saved.
    """
    if Path(path).suffix.lower() not in _KINDS:
        known = ", ".join(_KINDS)
        raise SourceError(f"--plot: expected a file ending in one of {known}, got {path}")


def draw(path: str, ledger: Ledger) -> bytes:
    """Return the plot.

    Args:
        path: Its suffix selects the kind of file.
        ledger: An open ledger.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    times, shares = _steps(ledger, now=time.time())
    kind = Path(path).suffix.lower().removeprefix(".")
    settings = {"svg.hashsalt": "lazysketch", "font.size": 9.0, "text.parse_math": False}
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about glyphs that the font lacks
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        instants = np.array([EPOCH.replace(tzinfo=None) + timedelta(seconds=at) for at in times])
        axes.step(instants.astype("datetime64[ms]"), shares, color=_SPENT, where="post")
        axes.axhline(100.0, color=_CAP, linestyle="--")
        axes.text(1.0, 101.0, "cap ", color=_CAP, ha="right", transform=axes.get_yaxis_transform())
        axes.set_ylim(0.0, 110.0)
        axes.set_ylabel("spent, % of the cap")
        axes.set_xlabel("time, UTC")
        locator = AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.set_title(str(ledger.terms), loc="left", fontsize=9)
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    return buffer.getvalue()


def _steps(ledger: Ledger, *, now: float) -> tuple[list[float], list[float]]:
    """Return instants up to now, and the share that was spent from each on, in %.

    The share grows with each run, and falls where a period begins.
    """
    entries, periods = ledger.entries(), ledger.terms.periods
    begun = [entry.begun for entry in entries]
    last = max([now, *begun])
    instants = {*begun, last}
    if periods is not None:
        ends = {periods.end(at) for at in begun}
        ends |= {periods.end(entry.closed) for entry in entries if entry.closed is not None}
        instants |= {at for at in ends if at < last}
    times = sorted(instants)
    known = [[entry for entry in entries if entry.begun <= at] for at in times]
    shares = [
        100.0 * spending_at(ledger.terms, before, at).share
        for before, at in zip(known, times, strict=True)
    ]
    return [times[0], *times], [0.0, *shares]
