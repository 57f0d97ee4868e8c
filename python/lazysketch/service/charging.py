"""What streams spend, charged to a ledger before they take an event."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lazysketch.ledger import Ledger
    from lazysketch.service.stream_settings import StreamPrivacy

__all__ = ["StreamCharges"]

_LOG: Final = logging.getLogger("lazysketch.service")


class StreamCharges:
    """The places of the streams of a store in a ledger.

    Guarantee: a stream is charged once in each era of its store, however often the service starts.

    Args:
        opened: opens the ledger; it is open for a charge and for an end only, so that other runs
            can be charged in the meantime.
        store_id: id of the store in its era.
    """

    def __init__(self, opened: Callable[[], Ledger], store_id: str) -> None:
        self._opened, self._store_id = opened, store_id

    def charge(self, name: str, privacy: StreamPrivacy) -> None:
        """Charge a stream, unless it was charged before.

        Args:
            name: the stream.
            privacy: everything that it ever publishes.

        Raises:
            CapError: it does not fit.
            ArgumentValueError: a stream of another relation or unit than the ledger's, or one that
                protects a person within one window: a person in k windows is k changes.
            StoreError: the ledger cannot be used.
        """
        with self._opened() as ledger:
            self._charge(ledger, name, privacy)

    @contextmanager
    def charged_after(self, name: str, privacy: StreamPrivacy) -> Iterator[None]:
        """Charge a new stream after a block has made it; refuse before it is made.

        Guarantee: a stream that is refused, or cannot be made, is not charged. The ledger is open
        during the block, so no other run takes the room. After a crash the stream may be made
        without a charge; the next start charges it before it takes an event.

        Args:
            name: the stream.
            privacy: everything that it ever publishes.

        Raises:
            CapError: it does not fit.
            ArgumentValueError: as of :meth:`charge`.
            StoreError: the ledger cannot be used.
        """
        with self._opened() as ledger:
            if ledger.rest(privacy) < 1:
                self._charge(ledger, name, privacy)  # raises, unless it was charged before
            yield
            self._charge(ledger, name, privacy)

    def _charge(self, ledger: Ledger, name: str, privacy: StreamPrivacy) -> None:
        run = ledger.charge(privacy, note=f"stream {name}", state=self._state(name))
        share = ledger.spent().share
        done = "charged" if run.is_new else "goes on, charged before"
        _LOG.info(
            "%s: run %d of the ledger %s; %.1f %% of the cap is spent",
            name,
            run.entry.run,
            done,
            100 * share,
        )

    def end(self, name: str) -> None:
        """Close the run of a stream, which takes no more events.

        Args:
            name: the stream.

        Raises:
            StoreError: the ledger cannot be used.
        """
        with self._opened() as ledger:
            for entry in ledger.entries():
                if entry.state == self._state(name) and entry.closed is None:
                    ledger.close_run(entry.run)

    def _state(self, name: str) -> str:
        return f"{self._store_id} {name}"
