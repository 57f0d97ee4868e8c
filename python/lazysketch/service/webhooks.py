"""Calls that tell another program of each publication.

A call has the signed manifest, which is public, and goes out after the instant of the publication,
never before. It is read from the directory of publications, as readers do: nothing that a called
program does, or does not do, has an effect on what is published, or when.
"""

from __future__ import annotations

import logging
import time
import urllib.error
import urllib.request
from abc import abstractmethod
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LazySketchError
from lazysketch.service.background import Background

if TYPE_CHECKING:
    from typing_extensions import Self

    from lazysketch.service.publication import SignedPublication
    from lazysketch.service.publication_files import PublicationFiles

__all__ = ["PublicationCalls", "Webhook", "failure_of"]

_LOG: Final = logging.getLogger("lazysketch.service")
_LOOK_EVERY: Final = 0.5  # seconds
_TIMEOUT: Final = 10.0
_PAUSES: Final = (1.0, 4.0, 16.0)  # before another attempt


class PublicationCalls(Background):
    """Base of calls after each publication of a stream, in a thread.

    Args:
        thread: name of the thread.
        name: the stream.
        files: the directory of publications.
        clock: returns seconds since 1970.
    """

    def __init__(
        self, thread: str, name: str, files: PublicationFiles, *, clock: Callable[[], float]
    ) -> None:
        self._name, self._files, self._clock = name, files, clock
        self._last = -1
        super().__init__(thread, longest_end=_TIMEOUT)

    @abstractmethod
    def _call(self, signed: SignedPublication, number: int) -> None:
        """Tell of a publication, whose instant has come."""

    def _last_before_start(self) -> int:
        """Return the number of the last publication that is not told of."""
        return self._number()

    def __enter__(self) -> Self:
        # Not in the thread: what is published from now on is told, however late the thread begins.
        self._last = self._last_before_start()
        return super().__enter__()

    def _run(self) -> None:
        last, awaited, publish_at = self._last, -1, 0.0
        while not self._ended.wait(_LOOK_EVERY):
            found = self._read()
            if found is None or found[1] <= last:
                continue
            signed, number = found
            if number != awaited:
                instant = self._instant(signed)
                if instant is None:
                    continue
                awaited, publish_at = number, instant
            if publish_at > self._clock():
                continue
            last = number
            self._call(signed, number)

    def _instant(self, signed: SignedPublication) -> float | None:
        """Return the instant from which readers see a publication; None for a damaged one.

        One that is found after its instant is posted at a multiple of the delay, as readers see it,
        so that a call does not say how long its files took.
        """
        now = self._clock()
        try:
            instant = signed.publish_at.timestamp()
            if instant >= now:
                return instant
            return signed.tick.shown_at(signed.number, ready=int(now * 1e9)) / 1e9
        except LazySketchError:
            return None

    def _read(self) -> tuple[SignedPublication, int] | None:
        """Return the last publication with its number; None for none, or a wrong one.

        A file that is replaced at this moment, or damaged, must not end the calls.
        """
        try:
            signed = self._files.read_signed(self._name)
            if signed is None:
                return None
            return signed, signed.number
        except (OSError, LazySketchError):
            return None

    def _number(self) -> int:
        found = self._read()
        return -1 if found is None else found[1]


class Webhook(PublicationCalls):
    """Calls an address after each publication of a stream, in a thread.

    Guarantee: each call has the bytes that readers get from ``/publication`` at that time. A call
    that fails is repeated three times, unless there is a later publication, and then given up.

    Args:
        name: the stream.
        address: what is called.
        files: the directory of publications.
        clock: returns seconds since 1970.
        pauses: seconds before each further attempt.
    """

    def __init__(
        self,
        name: str,
        address: str,
        files: PublicationFiles,
        *,
        clock: Callable[[], float] = time.time,
        pauses: tuple[float, ...] = _PAUSES,
    ) -> None:
        super().__init__(f"webhook {name}", name, files, clock=clock)
        self._address, self._pauses = address, pauses

    def _call(self, signed: SignedPublication, number: int) -> None:
        """Call the address until it answers, at most once more than there are pauses."""
        request = urllib.request.Request(  # noqa: S310 -- the settings check the scheme
            self._address,
            data=signed.to_bytes(),
            headers={
                "Content-Type": "text/plain; charset=utf-8",
                "Lazysketch-Stream": self._name,
                "Lazysketch-Publication": str(number),
            },
            method="POST",
        )
        for pause in (*self._pauses, None):
            failure = failure_of(request)
            if failure is None:
                return
            if pause is None or self._ended.wait(pause):
                break
            if self._number() > number:
                break
        _LOG.warning("%s: the webhook was not told of a publication: %s", self._name, failure)


def failure_of(request: urllib.request.Request) -> str | None:
    """Return why a call failed, without the address, which may be secret; None if it did not.

    Args:
        request: the call.
    """
    try:
        # What is answered is not read: it could take for ever.
        _OPENER.open(request, timeout=_TIMEOUT).close()
    except urllib.error.HTTPError as error:
        error.close()
        return f"status {error.code}"
    except (HTTPException, OSError, ValueError) as error:
        return type(error).__name__
    return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes a redirect a failure: what follows it is a GET without what was to be told."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow none."""


_OPENER: Final = urllib.request.build_opener(_NoRedirect)
