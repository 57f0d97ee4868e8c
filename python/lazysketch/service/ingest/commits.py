"""One commit for all requests that wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lazysketch.errors import StoreError

if TYPE_CHECKING:
    from lazysketch.service.ingest.counters import IngestCounters

__all__ = ["GroupCommit"]


class GroupCommit:
    """Commits of a store that the requests of an event loop share.

    Guarantee: :meth:`durable` returns only after a commit that began after the call. After a
    failure it never returns again: each call raises.

    Args:
        commit: makes durable what was counted before its call.
        counters: counts the commits.
        failed: called once, with the first failure.
    """

    def __init__(
        self,
        commit: Callable[[], object],
        *,
        counters: IngestCounters,
        failed: Callable[[BaseException], object],
    ) -> None:
        self._commit, self._counters, self._failed = commit, counters, failed
        self._waiting: list[asyncio.Future[None]] = []
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self.failure: BaseException | None = None

    def check(self) -> None:
        """Raise StoreError after a failure."""
        if self.failure is not None:
            raise StoreError("store: expected one that can be written, got a failure before")

    async def durable(self) -> None:
        """Wait until all that was counted before the call is durable.

        Raises:
            StoreError: it may not be; nothing may be acknowledged any more.
        """
        self.check()
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiting)
        if self._running is None:
            self._running = loop.create_task(self._run())
        await waiting

    def fail(self, error: BaseException) -> None:
        """Refuse everything from here on, and report the first failure.

        Args:
            error: what went wrong.
        """
        if self.failure is not None:
            return
        self.failure = error
        self._end(self._waiting)
        self._waiting = []
        self._failed(error)

    async def close(self) -> None:
        """Wait for the commit that runs."""
        if self._running is not None:
            await self._running
        self._thread.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                begin = time.perf_counter()
                try:
                    await loop.run_in_executor(self._thread, self._commit)
                except BaseException as error:  # a commit that ended in any other way is none
                    self.fail(error)
                    self._end(group)
                    if not isinstance(error, Exception):
                        raise
                    return
                self._counters.commits += 1
                self._counters.commit_seconds += time.perf_counter() - begin
                self._end(group)
        finally:
            self._running = None

    def _end(self, group: list[asyncio.Future[None]]) -> None:
        for waiting in group:
            if waiting.done():  # the request was cancelled
                continue
            if self.failure is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(StoreError("store: expected a commit, got a failure"))
