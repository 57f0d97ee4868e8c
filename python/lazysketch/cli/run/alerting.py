"""Alerts of a run: a thread that reads ended slices, and tells people and programs of counts.

A command gets an alert as JSON on its standard input, and is started without a shell: no item is
ever a part of a command line. Nothing that a command or an address does, or does not do, has an
effect on what is counted or published.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from lazysketch.arguments import shown
from lazysketch.cli.quantities import STEPS
from lazysketch.cli.view.output import tell
from lazysketch.cli.view.window_words import instant_in_words
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.releases.rows import printable_item

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lazysketch import Alert, AlertRule, Alerts

__all__ = ["AlertSettings", "AlertWatch"]

_ANY: Final = "*"
_DAY: Final = 86_400.0
_MINUTE: Final = 60.0
_LONGEST_RUN: Final = 60.0  # seconds, of a command
_PAUSES: Final = (1.0, 4.0)  # seconds before another attempt
_LONGEST_VALUE: Final = 1 << 15  # bytes; systems limit what a variable may hold


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Thresholds of counts, and who is told.

    Args:
        alert: The rules, as ITEM > COUNT.
        alert_run: A command, split as a shell does, but run without one; or None.
        alert_post: An address, or None.
        false_alarms: The probability of a wrong alert in a day, or in as many windows of steps as a
            day has minutes.
    """

    alert: tuple[str, ...]
    alert_run: str | None
    alert_post: str | None
    false_alarms: float

    def check(self, *, in_spans: bool) -> None:
        """Raise unless the options go together."""
        if self.alert and not in_spans:
            raise ArgumentTypeError("--alert: expected --span too, got none")
        for option, given in (("--alert-run", self.alert_run), ("--alert-post", self.alert_post)):
            if given is not None and not self.alert:
                raise ArgumentTypeError(f"{option}: expected --alert too, got none")
        if self.alert_post is not None:
            parts = urlsplit(self.alert_post)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ArgumentValueError("--alert-post: expected an address http://... or https://")
        self._command()
        self.rules(whole_numbers=False)

    def _command(self) -> list[str]:
        if self.alert_run is None:
            return []
        import shlex  # late: few runs have alerts

        try:
            words = shlex.split(self.alert_run)
        except ValueError:
            raise ArgumentValueError("--alert-run: expected a command, got an open quote") from None
        if not words:
            raise ArgumentValueError("--alert-run: expected a command, got none")
        return words

    def rules(self, *, whole_numbers: bool) -> list[AlertRule]:
        """Return the rules.

        Args:
            whole_numbers: Whether the items of the public list are numbers.
        """
        if not self.alert:
            return []
        from lazysketch import AlertRule  # late: few runs have alerts

        found = []
        for text in self.alert:
            name, sign, written = (part.strip() for part in text.rpartition(">"))
            try:
                count = float(STEPS.convert(written, None, None)) if sign and name else None
            except click.BadParameter:
                count = None
            if count is None:
                raise ArgumentValueError(
                    f"--alert: expected ITEM > COUNT, such as '/login > 1000' or '* > 10000', got "
                    f"{shown(text)}"
                )
            item = int(name) if whole_numbers and name.lstrip("-").isdecimal() else name
            found.append(AlertRule(above=count, item=None if name == _ANY else item))
        return found

    def watch(self, alerts: Alerts, *, every: float | None) -> AlertWatch:
        """Return the thread that reads ended slices.

        Args:
            alerts: The rules and their windows.
            every: Seconds of a slice; None for slices of steps.
        """
        return AlertWatch(alerts, every=every, command=self._command(), address=self.alert_post)

    def readings(self, every: float | None) -> int:
        """Return the number of slices of a day; for slices of steps, that of its minutes."""
        return max(int(_DAY / (_MINUTE if every is None else every) + 0.5), 1)


class AlertWatch:
    """A thread that checks every ended slice, and delivers what is new.

    Args:
        alerts: The rules and their windows.
        every: Seconds of a slice; None for slices of steps.
        command: The words of a command; empty for none.
        address: What is called, or None.
    """

    def __init__(
        self, alerts: Alerts, *, every: float | None, command: Sequence[str], address: str | None
    ) -> None:
        self._alerts, self._command, self._address = alerts, list(command), address
        self._look_every = 1.0 if every is None else min(every / 4.0, 1.0)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what it delivers at this moment has some seconds to complete."""
        self._ended.set()
        self._thread.join(_LONGEST_RUN)

    def check(self) -> None:
        """Deliver what is above its threshold in slices that have ended since the last check."""
        with self._lock:
            try:
                found = list(self._alerts.check())
            except LazySketchError as error:
                if not self._ended.is_set():  # the run has ended, or tells of it
                    tell(f"--alert: {error}")
                return
            for alert in found:
                self._deliver(alert)

    def _run(self) -> None:
        while not self._ended.wait(self._look_every):
            self.check()

    def _deliver(self, alert: Alert) -> None:
        described = {
            "item": printable_item(alert.item),
            "above": alert.above,
            "estimate": round(alert.estimate, 1),
            "low": round(alert.low, 1),
            "high": round(alert.high, 1),
            "begin": _plain(alert.begin),
            "end": _plain(alert.end),
        }
        tell(
            f"alert: {described['item']} above {alert.above:,.0f}: {alert.low:,.0f} to "
            f"{alert.high:,.0f} from {_between(alert)}"
        )
        text = json.dumps(described)
        if self._command:
            failure = self._started(text)
            if failure is not None:
                tell(f"--alert-run: expected a command that succeeds, got {failure}")
        if self._address is not None:
            failure = self._posted(text, self._address)
            if failure is not None:
                tell(f"--alert-post: expected an address that answers, got {failure}")

    def _started(self, text: str) -> str | None:
        """Run the command, and return why it failed; None if it did not."""
        import subprocess  # late: few runs start a command

        variables = dict(os.environ)
        if len(text) <= _LONGEST_VALUE:
            variables["LAZYSKETCH_ALERT"] = text
        try:
            done = subprocess.run(  # noqa: S603 -- the operator's command, without a shell
                self._command,
                input=text.encode() + b"\n",
                env=variables,
                stdout=_standard_error(),
                timeout=_LONGEST_RUN,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"none after {_LONGEST_RUN:.0f} seconds"
        except OSError as error:
            return error.strerror or type(error).__name__
        return f"status {done.returncode}" if done.returncode else None

    def _posted(self, text: str, address: str) -> str | None:
        """Call the address until it answers, and return why it did not; None if it did."""
        import urllib.request  # late: few runs call an address

        from lazysketch.service.webhooks import failure_of

        request = urllib.request.Request(  # noqa: S310 -- the settings check the scheme
            address,
            data=text.encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        for pause in (*_PAUSES, None):
            failure = failure_of(request)
            if failure is None:
                return None
            if pause is None or self._ended.wait(pause):
                break
        return failure


def _plain(moment: datetime | int) -> str | int:
    return moment if isinstance(moment, int) else moment.isoformat()


def _between(alert: Alert) -> str:
    begin, end = alert.begin, alert.end
    if isinstance(begin, int) or isinstance(end, int):
        return f"{instant_in_words(begin)} to {instant_in_words(end)}"
    return f"{begin:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%SZ}"


def _standard_error() -> int:
    """Return where a command writes its output: never into the result of the run."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return -3  # as subprocess.DEVNULL
