"""Messages about item discovery: the next publication, the detection threshold, what would help.

They depend on the number of steps, the settings and the published items only. The first message
appears before any item is discovered, to explain an empty table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.report import steps_of
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import HeavyHitters
    from lazysketch.releases.rows import ItemRow

_MAX_DECREASE: Final = 10  # of the advised share relative to the present one
_SPARE: Final = 2  # epochs in which an item of the advised share shall be seen
_MAX_ADVISED_EPSILON: Final = 10.0


def outlook(heavy: HeavyHitters) -> str:
    """Return when items are published next, and the threshold if there are none yet."""
    epoch = heavy.discovery_epoch or 1
    ahead = epoch - heavy.step % epoch
    number = len(heavy.candidates)
    if not number:
        return (
            f"discovered items are published every {steps_of(epoch)}, next in {ahead:,}; "
            f"{threshold(heavy.smallest_share)}{_of_rows(heavy)}"
        )
    return f"{items_of(number)} discovered, next in {steps_of(ahead)} (every {epoch:,})"


def final_outcome(heavy: HeavyHitters, *, most: int, advises: bool = True) -> str:
    """Return how many items were discovered, above which share, and what would discover more.

    The advice is for the next period: another run over the same people would spend more privacy.

    Args:
        heavy: What discovered the items.
        most: The number of rows that were asked for.
        advises: Whether options can be chosen for the next period.
    """
    number, share = len(heavy.candidates), reach(heavy)
    limit = threshold(share) + _of_rows(heavy)
    limit = "the stream is too short for any" if share > 1.0 else limit
    line = f"{discovered(number, most=most)}; {limit}"
    if number >= most or not advises:
        return line
    helps = _what_helps(heavy, share)
    return f"{line}; to discover more in the next period of the stream: {helps}" if helps else line


def discovered(number: int, *, most: int) -> str:
    """Return the number of discovered items, and of requested rows if it is larger.

    Example:
        >>> discovered(11, most=20), discovered(20, most=20)
        ('11 items discovered, 20 rows asked for', '20 items discovered')
    """
    line = f"{items_of(number) if number else 'no item'} discovered"
    return f"{line}, {most:,} rows asked for" if number < most else line


def truncated_items(rows: Sequence[ItemRow]) -> list[str]:
    """Return a message about truncated items, if there are any."""
    truncated = sum(not row["complete"] for row in rows)
    if not truncated:
        return []
    line = f"{items_of(truncated)} truncated (…); the estimate is that of the full item"
    return [f"{line}, without an interval"]


def reach(heavy: HeavyHitters) -> float:
    """Return the share that was discovered so far with 95 % probability; may exceed 1."""
    discovery = heavy.spec.discovery
    if discovery is not None and heavy.schedule == Single():
        return discovery.share_within(max(heavy.step, 1))
    epoch = heavy.discovery_epoch or 1
    return heavy.smallest_share * max(epoch / max(heavy.step, 1), 1.0)


def threshold(share: float) -> str:
    """Return the detection threshold, with two digits.

    Example:
        >>> threshold(0.0095), threshold(0.1234)
        ('detection threshold about 0.95 %', 'detection threshold about 12 %')
    """
    return f"detection threshold about {share * 100:.2g} %"


def _of_rows(heavy: HeavyHitters) -> str:
    """Return what the detection threshold is a share of, where weights count."""
    discovery = heavy.spec.discovery
    if discovery is None or discovery.counted_weight == 1:
        return ""
    return f" of the rows, if each weighs {discovery.counted_weight:,}"


def items_of(number: int) -> str:
    """Return the number with its noun."""
    return f"{number:,} item" if number == 1 else f"{number:,} items"


def _what_helps(heavy: HeavyHitters, share: float) -> str:
    """Return the options that would discover more, the least costly first."""
    epoch, steps = heavy.discovery_epoch or 1, max(heavy.step, 1)
    wanted = heavy.smallest_share
    if heavy.schedule == Single():
        # The rest of the share is the undercount of the table, which has more room for a lower one.
        events = share - wanted
        if events < wanted:
            return f"--share {_two_digits_up(max(2.0 * events, wanted / _MAX_DECREASE) * 100):g}%"
        wanted = max(wanted, min(heavy.spec.share, share / _SPARE))
    if steps >= _SPARE * epoch:
        # Discovery needs a number of events per epoch, so a longer epoch allows a lower share.
        least = max(_SPARE * wanted * epoch / steps, wanted / _MAX_DECREASE)
        return f"--share {_two_digits_up(least * 100):g}%" if least < wanted / _SPARE else ""
    if steps >= epoch:
        return "a longer stream or a public list (--domain)"
    epsilon = _two_digits_up(heavy.privacy.epsilon * share / wanted)
    larger = f"--epsilon {epsilon:g}, " if epsilon <= _MAX_ADVISED_EPSILON else ""
    return f"{larger}a longer stream or a public list (--domain)"


def _two_digits_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / unit - 1e-9) * unit, 12)
