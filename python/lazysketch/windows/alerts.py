"""Alerts: items whose count in a sliding window is above a threshold, with a stated rate of errors.

At the end of every slice the interval of each watched item is compared with its threshold. An item
is reported if its lower end is above: then its true count is, up to the false-alarm rate. The lower
the rate, the wider the intervals, and the further above the threshold a count must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.releases.items import Item, plain_item
from lazysketch.releases.public_table import LARGEST_CHOICE
from lazysketch.result_tables import Rows
from lazysketch.windows.published_slides import PublishedSlides
from lazysketch.windows.window import Window

__all__ = ["Alert", "AlertRule", "Alerts", "FiredAlerts", "Thresholds"]

_MOST_READINGS: Final = 2**20
_LEAST_RATE: Final = 1e-9


@dataclass(frozen=True)
class AlertRule:
    """A threshold for the counts of items in a sliding window.

    Args:
        above: a count of 0 or more; a larger count in the window is to be reported.
        item: the item; None for every name that was published, or every item of the domain.

    Raises:
        ArgumentTypeError: a threshold that is not a number.
        ArgumentValueError: a threshold below 0.
        ItemError: not a valid item.

    Example:
        >>> AlertRule(above=10_000, item="/login")
        AlertRule(above=10000.0, item='/login')
    """

    above: float
    item: Item | None = None

    def __post_init__(self) -> None:
        """Check both."""
        zero = not isinstance(self.above, bool) and self.above == 0
        object.__setattr__(self, "above", 0.0 if zero else checked_real("above", self.above))
        if self.item is not None:
            plain_item(self.item, name="item", where="")


@dataclass(frozen=True)
class Alert:
    """An item whose count in a window is above a threshold.

    Guarantee: post-processing of published tables; see :class:`Alerts` for the rate of errors.

    Attributes:
        item: the item.
        above: the threshold.
        estimate: its estimated count in the window.
        low: lower end of its interval, above the threshold.
        high: upper end of its interval.
        begin: begin of the window; with slices of steps the number of steps before it.
        end: end of the window, likewise.
    """

    item: Item
    above: float
    estimate: float
    low: float
    high: float
    begin: datetime | int
    end: datetime | int


class FiredAlerts(Rows[Alert]):
    """Alerts in the order of their windows: a frozen sequence of :class:`Alert`.

    Guarantee: post-processing of published tables.

    Args:
        rows: the alerts, in order.
    """

    __slots__ = ()

    _row = Alert


class Thresholds:
    """Rules and the rate of their errors: which counts of a window are above, by their intervals.

    Guarantee: post-processing; that of :class:`Alerts`, for any ``readings`` consecutive windows.

    Args:
        rules: one :class:`AlertRule` or more.
        false_alarm_rate: from 1e-9 to below 1/2.
        readings: number of windows for which the rate holds.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or no rules.

    Source: docs/theory.md, Lemma 12c.
    """

    def __init__(
        self, rules: Iterable[AlertRule], *, false_alarm_rate: float, readings: int
    ) -> None:
        if isinstance(rules, AlertRule) or not isinstance(rules, Iterable):
            raise ArgumentTypeError(
                f"rules: expected a list of AlertRule, got {type(rules).__name__}"
            )
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, AlertRule):
                got = type(rule).__name__
                raise ArgumentTypeError(f"rules: expected a list of AlertRule, got one of {got}")
        if not self.rules:
            raise ArgumentValueError("rules: expected one or more, got none")
        self.false_alarm_rate = checked_real("false_alarm_rate", false_alarm_rate)
        if not _LEAST_RATE <= self.false_alarm_rate < 0.5:
            raise ArgumentValueError(
                f"false_alarm_rate: expected a number from {_LEAST_RATE:g} to below 1/2, got "
                f"{self.false_alarm_rate:g}"
            )
        self.readings = checked_integer("readings", readings, most=_MOST_READINGS)

    def at(self, window: Window, listed: Sequence[Item] = ()) -> list[Alert]:
        """Return all items that are above their thresholds in a window.

        Args:
            window: an ended window, published completely.
            listed: the public list of items, of a window without names.

        Returns:
            The alerts, in the order of the rules and then of the names.
        """
        watched, release = self._watched(window, listed), window.release
        if not watched:
            return []
        names = list(dict.fromkeys(item for item, _ in watched))
        estimates = dict(zip(names, release.decode(names).tolist(), strict=True))
        # Intervals cover with all from which these were selected.
        near = [pair for pair in watched if estimates[pair[0]] > pair[1]]
        if not near:
            return []
        among = len(watched) * self.readings
        if among > LARGEST_CHOICE:  # no interval is so certain that it could tell
            return []
        items = [item for item, _ in near]
        found = release.interval_many(
            items, confidence=1.0 - 2.0 * self.false_alarm_rate, among=among, known=names
        )
        return [
            Alert(
                item=near[place][0],
                above=near[place][1],
                estimate=float(found.estimate[place]),
                low=float(found.low[place]),
                high=float(found.high[place]),
                begin=window.begin,
                end=window.end,
            )
            for place in range(len(near))
            if found.low[place] > near[place][1]
        ]

    def _watched(self, window: Window, listed: Sequence[Item]) -> list[tuple[Item, float]]:
        """Return the items that are compared in a window, and their thresholds."""
        names: Sequence[Item] = ()
        if any(rule.item is None for rule in self.rules):
            names = list(window.names) or list(listed)
        return [
            (item, rule.above)
            for rule in self.rules
            for item in (names if rule.item is None else (rule.item,))
        ]


class Alerts:
    """Rules that are checked at the end of every slice of sliding windows.

    Guarantee: post-processing; the data is not read again. In any ``readings`` consecutive ends of
    slices, the probability that any item is reported whose count in the window was not above its
    threshold is at most ``false_alarm_rate``, for all rules and items together, for every stream,
    if items of rules were chosen before the hash seed was drawn. A count is reported if it is above
    its threshold by about the width of its interval.

    Args:
        windows: a :class:`Sliding`, of this process or of a store.
        rules: one :class:`AlertRule` or more.
        false_alarm_rate: from 1e-9 to below 1/2.
        readings: number of ends of slices for which the rate holds, such as 1,440 for a day of
            minutes.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or no rules.

    Source: docs/theory.md, Lemma 12c; docs/windows.md.

    Example:
        >>> import lazysketch as ls
        >>> seconds = [0.0]
        >>> hour = ls.Sliding(
        ...     every="1min", span="1h", domain=["/login", "/"], epsilon=1.0, delta=1e-6,
        ...     clock=lambda: seconds[0],
        ... )
        >>> alerts = ls.Alerts(hour, [ls.AlertRule(above=20_000, item="/login")], readings=1_440)
        >>> for minute in range(60):
        ...     seconds[0] = 60.0 * minute
        ...     hour.update_many(["/login"] * (10 if minute < 30 else 2_000))
        ...     for alert in alerts.check():
        ...         print(alert.item, alert.end.strftime("%H:%M"))
        /login 00:40
    """

    def __init__(
        self,
        windows: PublishedSlides,
        rules: Iterable[AlertRule],
        *,
        false_alarm_rate: float = 0.01,
        readings: int = 1_440,
    ) -> None:
        """Check the rules; the first reading is that of the next slice that ends."""
        if not isinstance(windows, PublishedSlides):
            raise ArgumentTypeError(f"windows: expected Sliding, got {type(windows).__name__}")
        self._thresholds = Thresholds(rules, false_alarm_rate=false_alarm_rate, readings=readings)
        self._windows = windows
        now = windows.window()
        self._last = None if now is None else now.end
        self._on: frozenset[tuple[Item, float]] = frozenset()

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        """The rules, as given."""
        return self._thresholds.rules

    @property
    def false_alarm_rate(self) -> float:
        """Probability of a wrong report in :attr:`readings` readings, at most."""
        return self._thresholds.false_alarm_rate

    @property
    def readings(self) -> int:
        """Number of ends of slices for which the rate holds."""
        return self._thresholds.readings

    def check(self) -> FiredAlerts:
        """Return what is above its threshold since the slices that have ended since the last call.

        An item is reported once, at the first window for which it is, and again after a window for
        which it is not. Ends of slices that are no longer kept are not checked.

        Returns:
            The alerts that are new, the earliest window first.
        """
        fired: list[Alert] = []
        for window in self._windows.windows_after(self._last):
            found = self.at(window)
            now = {(alert.item, alert.above): alert for alert in found}
            fired += [alert for key, alert in now.items() if key not in self._on]
            self._on = frozenset(now)
            self._last = window.end
        return FiredAlerts(fired)

    def at(self, window: Window) -> list[Alert]:
        """Return all items that are above their thresholds in a window, new or not.

        Args:
            window: a window of these windows, such as ``windows.window()``.

        Returns:
            The alerts, in the order of the rules and then of the names.
        """
        return self._thresholds.at(window, self._windows._listed)
