"""Calls that tell another program of each alert, at least once."""

from __future__ import annotations

import json
import logging
import time
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LazySketchError, ReleaseFormatError
from lazysketch.service.webhooks import PublicationCalls, failure_of
from lazysketch.service.windows_view import alert_value

if TYPE_CHECKING:
    from lazysketch.service.publication import SignedPublication
    from lazysketch.service.publication_files import PublicationFiles
    from lazysketch.service.published_alerts import PublishedAlert
    from lazysketch.store import Store

__all__ = ["AlertDelivery"]

_LOG: Final = logging.getLogger("lazysketch.service")
_NOTE: Final = "service alerts "
_PAUSES: Final = (1.0, 4.0, 16.0, 60.0)  # before another attempt; the last one again and again


class AlertDelivery(PublicationCalls):
    """Calls an address for each alert of a stream, in a thread.

    Guarantee: each alert that is published is told, in order, until the address answers, also by a
    later life of the service: at least once, and never before the instant of its publication. It is
    told again if the service was killed before it noted the answer. An alert that leaves the
    publications before the address answers is not told.

    Args:
        name: the stream.
        address: what is called.
        files: the directory of publications.
        store: the open store, which keeps what was told.
        failed: called with what went wrong if the store cannot go on.
        clock: returns seconds since 1970.
        pauses: seconds before each further attempt; the last one is repeated.
    """

    def __init__(
        self,
        name: str,
        address: str,
        files: PublicationFiles,
        *,
        store: Store,
        failed: Callable[[BaseException], object],
        clock: Callable[[], float] = time.time,
        pauses: tuple[float, ...] = _PAUSES,
    ) -> None:
        super().__init__(f"alerts {name}", name, files, clock=clock)
        self._address, self._store, self._failed, self._pauses = address, store, failed, pauses

    def _last_before_start(self) -> int:
        """Return that no publication is known: what an earlier life left is told now."""
        return -1

    def _call(self, signed: SignedPublication, number: int) -> None:  # noqa: ARG002 -- of the alerts
        """Tell each alert of a publication that was not told before."""
        try:
            found, _ = signed.alerts()
            for one in () if found is None else found.raised:
                if one.id <= self._told():
                    continue
                if not self._deliver(one):
                    return  # the next life tells it
                self._store.keep_note(_NOTE + self._name, f"{one.number} {one.position}")
                self._store.commit()
        except ReleaseFormatError as error:
            _LOG.warning("%s: no alerts are told: %s", self._name, error)
        except LazySketchError as error:
            self._failed(error)

    def _told(self) -> tuple[int, int]:
        """Return the id of the last alert that was told."""
        number, _, position = self._store.note(_NOTE + self._name).partition(" ")
        return (int(number), int(position)) if number else (-1, -1)

    def _deliver(self, one: PublishedAlert) -> bool:
        """Call the address until it answers; return False if the service ends before."""
        content = {"stream": self._name, **alert_value(one)}
        request = urllib.request.Request(  # noqa: S310 -- the settings check the scheme
            self._address,
            data=json.dumps(content).encode(),
            headers={
                "Content-Type": "application/json",
                "Lazysketch-Stream": self._name,
                "Lazysketch-Alert": f"{one.number}-{one.position}",
            },
            method="POST",
        )
        attempt, said = 0, ""
        while not self._ended.is_set():
            failure = failure_of(request)
            if failure is None:
                return True
            if failure != said:
                _LOG.warning("%s: an alert was not told so far: %s", self._name, failure)
                said = failure
            self._ended.wait(self._pauses[min(attempt, len(self._pauses) - 1)])
            attempt += 1
        return False
