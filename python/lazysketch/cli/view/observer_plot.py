"""Plot of what a test of one event or person can find, against its rate of false alarms."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Final

from lazysketch.privacy.observer import detection

if TYPE_CHECKING:
    from lazysketch.privacy.observer import Curve

__all__ = ["draw"]

_RATES: Final = (*(10 ** (step / 10 - 4) for step in range(37)), *(it / 20 for it in range(11, 20)))
_LINE: Final = 80  # characters of the title


def draw(curve: Curve, *, kind: str, guarantee: str) -> bytes:
    """Return the plot.

    Args:
        curve: The guarantee at every epsilon.
        kind: ``"png"`` or ``"svg"``.
        guarantee: The same in words, for the title.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = [detection(curve, false_alarms=rate) for rate in _RATES]
    settings = {"svg.hashsalt": "lazysketch", "svg.fonttype": "none", "font.size": 9.0}
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        rates, all_found = (0.0, *_RATES, 1.0), (curve.delta_at(100.0), *found, 1.0)
        axes.fill_between(rates, all_found, 1.0, color="#D55E00", alpha=0.12, linewidth=0)
        axes.plot(rates, all_found, color="#0072B2", label="the best test there is, at most")
        axes.plot((0, 1), (0, 1), color="#777777", linestyle="--", label="a guess without reading")
        axes.text(0.04, 0.93, "impossible for any observer", color="#A04000")
        axes.set(
            xlabel="false alarms: share of cases without the event that the test reports",
            ylabel="found: share of cases with the event",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        title = textwrap.fill(f"What any observer can find: {guarantee}", _LINE)
        axes.set_title(title, loc="left", fontsize=9)
        axes.grid(visible=True, linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    return buffer.getvalue()
