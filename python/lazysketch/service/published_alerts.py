"""The alerts of a publication: which counts were above their thresholds, and for how long.

An alert is raised at the first window in which the interval of an item lies above, and lasts until
a window in which it does not. Each publication has those of the one before, and tests the windows
that have ended since: after a crash the next life goes on from what was published, so that no
window is left out, and none is tested in two ways.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lazysketch.service.manifest_values import (
    instant_read,
    instant_written,
    item_read,
    item_written,
)
from lazysketch.windows.alerts import Alert, AlertRule

if TYPE_CHECKING:
    from lazysketch.releases.items import Item
    from lazysketch.windows.alerts import Thresholds
    from lazysketch.windows.window import Window

__all__ = ["PublishedAlert", "PublishedAlerts"]

_MOST_ENDED: Final = 1_000


@dataclass(frozen=True, slots=True)
class PublishedAlert:
    """An item whose count was above a threshold.

    Attributes:
        number: number of the first window in which it was.
        position: its place among those of this window, from 0.
        alert: what the first window said.
        until: end of the first window in which it was not any more; None so far.
    """

    number: int
    position: int
    alert: Alert
    until: datetime | None = None

    @property
    def id(self) -> tuple[int, int]:
        """What no other alert of the stream has; that of a later one is larger."""
        return self.number, self.position

    def described(self) -> dict[str, object]:
        """Return the alert as a manifest has it."""
        alert = self.alert
        return {
            "number": self.number,
            "position": self.position,
            "item": item_written(alert.item),
            "above": alert.above,
            "estimate": alert.estimate,
            "low": alert.low,
            "high": alert.high if math.isfinite(alert.high) else None,
            "begin": instant_written(alert.begin),
            "end": instant_written(alert.end),
            "until": None if self.until is None else instant_written(self.until),
        }

    @classmethod
    def read(cls, one: Mapping[str, Any]) -> PublishedAlert:
        """Return the alert of a manifest.

        Args:
            one: as :meth:`described` returns it.

        Raises:
            KeyError: a part is missing.
            TypeError: a part of another type.
            ValueError: a part of another form.
        """
        alert = Alert(
            item=item_read(one["item"]),
            above=float(one["above"]),
            estimate=float(one["estimate"]),
            low=float(one["low"]),
            high=math.inf if one["high"] is None else float(one["high"]),
            begin=instant_read(one["begin"]),
            end=instant_read(one["end"]),
        )
        until = None if one["until"] is None else instant_read(one["until"])
        return cls(int(one["number"]), int(one["position"]), alert, until)


@dataclass(frozen=True, slots=True)
class PublishedAlerts:
    """The alerts of a publication.

    Guarantee: post-processing of published windows; see :class:`lazysketch.Alerts` for the rate of
    errors.

    Attributes:
        rules: the thresholds.
        false_alarm_rate: probability of a wrong alert in ``readings`` windows, at most.
        readings: number of windows for which the rate holds.
        raised: all that last, and those that ended within the kept windows, 1,000 at most; in the
            order in which they were raised.
    """

    rules: tuple[AlertRule, ...]
    false_alarm_rate: float
    readings: int
    raised: tuple[PublishedAlert, ...] = ()

    @classmethod
    def tested(
        cls,
        thresholds: Thresholds,
        before: PublishedAlerts | None,
        windows: Sequence[Window],
        *,
        listed: Sequence[Item],
        since: datetime | None,
    ) -> PublishedAlerts:
        """Return the alerts after some more windows.

        Args:
            thresholds: the rules of the stream.
            before: the alerts of the publication before; None for none.
            windows: those that have ended since, the earliest first.
            listed: the public list of items.
            since: alerts that ended before are left out; None for none.
        """
        last = {} if before is None else {_key(one.alert): one for one in before.raised}
        lasting = {key: one for key, one in last.items() if one.until is None}
        ended = [] if before is None else [one for one in before.raised if one.until is not None]
        for window in windows:
            end = window.end
            assert isinstance(end, datetime), "windows of a service are those of a clock"  # noqa: S101
            found = {_key(alert): alert for alert in thresholds.at(window, listed)}
            over = [key for key in lasting if key not in found]
            ended += [replace(lasting.pop(key), until=end) for key in over]
            new = [key for key in found if key not in lasting]
            for position, key in enumerate(new):
                lasting[key] = PublishedAlert(window.number, position, found[key])
        kept = [one for one in ended if since is None or (one.until or since) >= since]
        kept.sort(key=_id)
        raised = sorted([*kept[-_MOST_ENDED:], *lasting.values()], key=_id)
        return cls(
            thresholds.rules, thresholds.false_alarm_rate, thresholds.readings, tuple(raised)
        )

    def described(self) -> dict[str, object]:
        """Return the alerts as a manifest has them."""
        return {
            "rules": [
                {"above": one.above, "item": None if one.item is None else item_written(one.item)}
                for one in self.rules
            ],
            "false_alarm_rate": self.false_alarm_rate,
            "readings": self.readings,
            "raised": [one.described() for one in self.raised],
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> PublishedAlerts | None:
        """Return the alerts of a manifest; None for one without any.

        Args:
            content: the values of the manifest.

        Raises:
            KeyError: a part is missing.
            TypeError: a part of another type.
            ValueError: a part of another form.
        """
        found = content.get("alerts")
        if found is None:
            return None
        return cls(
            tuple(
                AlertRule(
                    above=one["above"],
                    item=None if one["item"] is None else item_read(one["item"]),
                )
                for one in found["rules"]
            ),
            float(found["false_alarm_rate"]),
            int(found["readings"]),
            tuple(map(PublishedAlert.read, found["raised"])),
        )


def _key(alert: Alert) -> tuple[Item, float]:
    return alert.item, alert.above


def _id(one: PublishedAlert) -> tuple[int, int]:
    return one.id
