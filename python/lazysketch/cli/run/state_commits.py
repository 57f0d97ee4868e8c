"""Commits of a state at regular times while a run reads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LazySketchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.store import Store

__all__ = ["COMMIT_SECONDS", "Commits"]

COMMIT_SECONDS: Final = 1.0


class Commits:
    """Commits at regular times, also while the input is silent.

    Args:
        store: What is committed.
        end: Ends the run after a failure; called from the thread.
    """

    def __init__(self, store: Store, *, end: Callable[[], object]) -> None:
        self.failure: LazySketchError | None = None
        self._store = store
        self._end = end
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lazysketch commits", daemon=True)

    def start(self) -> None:
        """Begin to commit."""
        self._thread.start()

    def stop(self) -> None:
        """Commit once more, and no more afterwards.

        Raises:
            LazySketchError: A commit that failed, this one or an earlier one.
        """
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self.failure is None:
            try:
                self._store.commit()
            except LazySketchError as failure:
                self.failed(failure)
        if self.failure is not None:
            raise self.failure

    def failed(self, failure: LazySketchError) -> None:
        """Keep the first failure, which has the reason; later ones say only that there was one.

        Args:
            failure: What a change or a commit raised.
        """
        if self.failure is None:
            self.failure = failure

    def _run(self) -> None:
        while not self._done.wait(COMMIT_SECONDS):
            try:
                self._store.commit()
            except LazySketchError as failure:  # raised where the run ends
                self.failed(failure)
                self._end()
                return
