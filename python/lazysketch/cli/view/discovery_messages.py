"""What is said of names that nobody listed: when they appear, which can be found, what helps.

All of it follows from the number of steps, the settings and the published names. It is said
before the first names too, because a table that stays empty for minutes has to say why.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lazysketch.cli.view.report import steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import HeavyHitters

_LARGEST_STEP_DOWN = 10  # of the share that is advised, so that advice stays moderate
_SPARE = 2  # so often should an item be seen that an advised share promises
_LARGEST_EPSILON = 10.0  # that is worth naming


def outlook(heavy: HeavyHitters) -> str:
    """Say when names appear next, and which items are found by then."""
    window = heavy.discovery_epoch or 1
    ahead = window - heavy.step % window
    count = len(heavy.candidates)
    if not count:
        return (
            f"names appear every {steps_of(window)}, {ahead:,} to go; "
            f"found are items above about {percent(heavy.smallest_share)}"
        )
    return f"{names_of(count)} so far, more in {steps_of(ahead)} (every {window:,})"


def found_names(heavy: HeavyHitters, *, shown: int, most: int) -> str:
    """Say at the end which items could be found, and what would find more."""
    count, share = len(heavy.candidates), reach(heavy)
    if share > 1.0:
        could = "so few steps are too few for any"
    else:
        could = f"found are items above about {percent(share)}"
    line = f"{names_of(count) if count else 'no name was found'}; {could}"
    if shown >= most:
        return line
    helps = _what_helps(heavy, share)
    return f"{line}: {helps} could show more" if helps else line


def cut_names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Say of names that were cut what the counts beside them are."""
    cut = sum(not row["complete"] for row in rows)
    if not cut:
        return []
    return [
        f"{names_of(cut)} cut at the end (…), with the estimate of the whole item and no interval"
    ]


def reach(heavy: HeavyHitters) -> float:
    """Return the share of the stream that was found so far with 95 % probability; may pass 1."""
    window = heavy.discovery_epoch or 1
    return heavy.smallest_share * max(window / max(heavy.step, 1), 1.0)


def percent(share: float) -> str:
    """Write a share with two digits.

    Example:
        >>> percent(0.0095), percent(0.1234)
        ('0.95 %', '12 %')
    """
    return f"{share * 100:.2g} %"


def names_of(count: int) -> str:
    """Return the number with its noun."""
    return f"{count:,} name" if count == 1 else f"{count:,} names"


def _what_helps(heavy: HeavyHitters, share: float) -> str:
    """Name the options that would find more, the least costly first."""
    window, steps = heavy.discovery_epoch or 1, max(heavy.step, 1)
    wanted = heavy.smallest_share
    if steps >= _SPARE * window:
        # Events needed in a window do not depend on its length: a long stream has long windows.
        least = max(_SPARE * wanted * window / steps, wanted / _LARGEST_STEP_DOWN)
        return f"--share {_two_digits_up(least * 100):g}%" if least < wanted / _SPARE else ""
    if steps >= window:
        return "a longer stream or a public list (--domain)"
    epsilon = _two_digits_up(heavy.privacy.epsilon * share / wanted)
    larger = f"--epsilon {epsilon:g}, " if epsilon <= _LARGEST_EPSILON else ""
    return f"{larger}a longer stream or a public list (--domain)"


def _two_digits_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / unit - 1e-9) * unit, 12)
