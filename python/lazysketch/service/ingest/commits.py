"""One change and one commit for all requests that wait.

The event loop never waits for the store: while a checkpoint holds it, all other requests go on.
Senders that were just answered are about to send again, so a commit first waits for as many as the
last one served, for at most half of the time that it took: a single sender never waits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from lazysketch.errors import StoreError

if TYPE_CHECKING:
    from lazysketch.service.ingest.counters import IngestCounters
    from lazysketch.service.ingest.counting import Batch, Counted

__all__ = ["GroupCommit"]

_LONGEST_PATIENCE: Final = 0.005  # seconds: a disk that was slow once delays no later commits


class _Waiting(NamedTuple):
    """A request that waits: its end, and its batch if that is to be counted with the others."""

    end: asyncio.Future[Counted | None]
    batch: Batch | None


class GroupCommit:
    """Commits of a store that the requests of an event loop share.

    Guarantee: :meth:`counted` and :meth:`durable` return only after a commit that began after the
    call. After a failure they never return again: each call raises.

    Args:
        commit: makes durable what was counted before its call.
        count: counts batches, and returns what is said of each, in a thread of its own.
        counters: counts the commits.
        failed: called once, with the first failure.
    """

    def __init__(
        self,
        commit: Callable[[], object],
        *,
        count: Callable[[Sequence[Batch]], Sequence[Counted | Exception]],
        counters: IngestCounters,
        failed: Callable[[BaseException], object],
    ) -> None:
        self._commit, self._count = commit, count
        self._counters, self._failed = counters, failed
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._served, self._patience = 0, 0.0
        self._gathered: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self.failure: BaseException | None = None

    def check(self) -> None:
        """Raise StoreError after a failure."""
        if self.failure is not None:
            raise StoreError("store: expected one that can be written, got a failure before")

    async def durable(self) -> None:
        """Wait until all that was counted before the call is durable.

        Raises:
            StoreError: the store failed; nothing is acknowledged any more.
        """
        await self._end_of(None)

    async def counted(self, batch: Batch) -> Counted:
        """Count a batch, together with others, and wait until it is durable.

        Args:
            batch: what was sent.

        Raises:
            RefusedRequestError: nothing of it was counted.
            StoreError: the store failed; nothing is acknowledged any more.
        """
        found = await self._end_of(batch)
        assert found is not None, "batches have an outcome"  # noqa: S101
        return found

    async def _end_of(self, batch: Batch | None) -> Counted | None:
        self.check()
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Counted | None] = loop.create_future()
        self._waiting.append(_Waiting(waiting, batch))
        if self._gathered is not None and len(self._waiting) >= self._served:
            self._end_gathering(self._gathered)
        if self._running is None:
            self._running = loop.create_task(self._run())
        return await waiting

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
                await self._gather()
                group, self._waiting = self._waiting, []
                try:
                    outcomes = await loop.run_in_executor(self._thread, self._carried_out, group)
                except BaseException as error:  # a commit that ended in any other way is none
                    self.fail(error)
                    self._end(group)
                    if not isinstance(error, Exception):
                        raise
                    return
                self._served = len(group)
                self._end(group, outcomes)
        finally:
            self._running = None

    async def _gather(self) -> None:
        """Wait for as many requests as the last commit served, for a short time."""
        if len(self._waiting) >= self._served:
            return
        loop = asyncio.get_running_loop()
        self._gathered = loop.create_future()
        timer = loop.call_later(self._patience, self._end_gathering, self._gathered)
        try:
            await self._gathered
        finally:
            timer.cancel()
            self._gathered = None

    @staticmethod
    def _end_gathering(gathered: asyncio.Future[None]) -> None:
        if not gathered.done():
            gathered.set_result(None)

    def _carried_out(self, group: Sequence[_Waiting]) -> Sequence[Counted | Exception]:
        """Count the batches of a group, and commit."""
        batches = [one.batch for one in group if one.batch is not None]
        outcomes = self._count(batches) if batches else ()
        begin = time.perf_counter()
        self._commit()
        took = time.perf_counter() - begin
        self._patience = min(took / 2, _LONGEST_PATIENCE)
        self._counters.commits += 1
        self._counters.commit_seconds += took
        return outcomes

    def _end(self, group: Sequence[_Waiting], outcomes: Sequence[Counted | Exception] = ()) -> None:
        """Answer the requests of a group; each with a batch has the next outcome."""
        following = iter(outcomes)
        for one in group:
            found: Counted | Exception | None = None
            if self.failure is not None:
                found = StoreError("store: expected a commit, got a failure")
            elif one.batch is not None:
                found = next(following)
            if one.end.done():  # the request was cancelled
                continue
            if isinstance(found, Exception):
                one.end.set_exception(found)
            else:
                one.end.set_result(found)
