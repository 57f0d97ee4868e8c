"""Thresholds of counts in the settings of a stream, and who is told when one is passed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.windows.alerts import AlertRule, Thresholds

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["ADDRESS", "FALSE_ALARMS", "check_alerts", "thresholds_of"]

ADDRESS: Final = re.compile(r"https?://[!-~]{1,2000}")
"""What may be called."""
FALSE_ALARMS: Final = 0.01
"""Probability of a wrong alert in a day, unless another is chosen."""
_DAY: Final = 86_400_000_000_000  # nanoseconds
_LONGEST: Final = 4_000  # the description of a stream is a note of the store


def check_alerts(settings: StreamSettings) -> None:
    """Raise unless the alerts of a stream go together.

    Args:
        settings: the stream.

    Raises:
        ArgumentTypeError: a wrong type, or alerts of what has no windows of items.
        ArgumentValueError: a value outside its range.
    """
    if not isinstance(settings.alerts, tuple):
        got = type(settings.alerts).__name__
        raise ArgumentTypeError(f"alerts: expected a list of tables, got {got}")
    if settings.alert_webhook is not None and not (
        isinstance(settings.alert_webhook, str) and ADDRESS.fullmatch(settings.alert_webhook)
    ):
        raise ArgumentValueError(
            "alert_webhook: expected an address that begins with http:// or https://, got another"
        )
    if not settings.alerts:
        if settings.alert_webhook is not None:
            raise ArgumentTypeError("alert_webhook: expected it with alerts, got it alone")
        if settings.false_alarms != FALSE_ALARMS:
            raise ArgumentTypeError("false_alarms: expected it with alerts, got it alone")
        return
    if settings.kind != "items":
        raise ArgumentTypeError(f"alerts: expected none for kind {settings.kind}, got some")
    if settings.levels is not None:
        raise ArgumentTypeError("alerts: expected none with levels, got both")
    thresholds_of(settings)
    if len(json.dumps(settings.alerts)) > _LONGEST:
        raise ArgumentValueError(
            f"alerts: expected rules of at most {_LONGEST:,} characters together, got more"
        )


def thresholds_of(settings: StreamSettings) -> Thresholds | None:
    """Return the rules of a stream, with the rate of their errors; None without any.

    The rate is that of the windows that end in a day.

    Args:
        settings: the stream.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.
    """
    if not settings.alerts:
        return None
    rules = [_rule(one) for one in settings.alerts]
    readings = -(-_DAY // settings.window_nanoseconds)  # of any day, wherever it begins
    try:
        return Thresholds(rules, false_alarm_rate=settings.false_alarms, readings=readings)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(str(error).replace("false_alarm_rate", "false_alarms", 1)) from None


def _rule(given: object) -> AlertRule:
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            "alerts: expected tables such as { above = 1000, item = '/login' }, got "
            f"{type(given).__name__}"
        )
    for name in given:
        if name not in ("above", "item"):
            raise ArgumentTypeError(f"alerts: expected above and item, got {shown(name)}")
    if "above" not in given:
        raise ArgumentTypeError("alerts: expected above, the threshold, got none")
    item = given.get("item")
    if item is not None and (isinstance(item, bool) or not isinstance(item, (str, int))):
        got = type(item).__name__
        raise ArgumentTypeError(f"alerts: expected a text or an integer as item, got {got}")
    try:
        return AlertRule(above=given["above"], item=item)
    except LazySketchError as error:
        raise ArgumentValueError(f"alerts: {error}") from None
