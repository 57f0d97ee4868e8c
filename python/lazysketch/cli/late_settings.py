"""Settings whose modules are imported when a command runs, not for its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from lazysketch.cli.run.alerting import AlertSettings
    from lazysketch.cli.run.windows import WindowSettings

__all__ = ["alert_settings", "cut_settings", "window_settings"]


def window_settings(
    length: timedelta | int | None,
    keep: int,
    begin: str | None,
    end: str | None,
    span: timedelta | int | None,
    *,
    changes: bool,
) -> WindowSettings:
    """Return the settings of windows."""
    from lazysketch.cli.run.windows import WindowSettings  # late, as all that only a run needs

    return WindowSettings(
        length=length, keep=keep, begin=begin, end=end, changes=changes, span=span
    )


def cut_settings(
    length: timedelta | int | None, keep: int, begin: str | None, end: str | None
) -> WindowSettings:
    """Return the settings of windows that are listed one by one."""
    return window_settings(length, keep, begin, end, None, changes=False)


def alert_settings(
    alert: tuple[str, ...], alert_run: str | None, alert_post: str | None, false_alarms: float
) -> AlertSettings:
    """Return the settings of alerts."""
    from lazysketch.cli.run.alerting import AlertSettings

    return AlertSettings(
        alert=alert, alert_run=alert_run, alert_post=alert_post, false_alarms=false_alarms
    )
