"""One commit for all that wait: in a thread of its own, and only after it may a sender know."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lazysketch.errors import StoreError
from lazysketch.service.ingest.commits import GroupCommit
from lazysketch.service.ingest.counters import IngestCounters


class Commits:
    """Commits that say what they make durable, of batches that are numbers."""

    def __init__(self, commit: Callable[[], object] = lambda: None) -> None:
        self.counted: list[int] = []
        self.durable: list[list[int]] = []
        self.failures: list[BaseException] = []
        self.counters = IngestCounters()
        self._carry_out = commit
        self.group = GroupCommit(
            self._commit,
            count=self._count,  # type: ignore[arg-type]
            counters=self.counters,
            failed=self.failures.append,
        )

    def _count(self, batches: Sequence[int]) -> list[Any]:
        assert threading.current_thread() is not threading.main_thread()
        self.counted += batches
        return [ValueError(str(one)) if one < 0 else one for one in batches]

    def _commit(self) -> None:
        self._carry_out()
        done = sum(map(len, self.durable))
        self.durable.append(self.counted[done:])

    async def send(self, number: int) -> Any:
        found = await self.group.counted(number)  # type: ignore[arg-type]
        assert any(number in group for group in self.durable)
        return found


def test_an_outcome_comes_after_the_commit_of_its_batch() -> None:
    async def all_of_them() -> list[Any]:
        found = await asyncio.gather(
            *(commits.send(number) for number in (1, -2, 3)), return_exceptions=True
        )
        await commits.group.durable()
        return found

    commits = Commits()
    first, second, third = asyncio.run(all_of_them())
    assert (first, str(second), third) == (1, "-2", 3)
    assert commits.durable == [[1, -2, 3], []]
    assert commits.counters.commits == 2


def test_senders_that_send_again_share_their_next_commit_too() -> None:
    """Without a pause the first of them would have a commit of its own, and the others wait."""
    commits = Commits(lambda: time.sleep(0.1))

    async def sender(number: int) -> None:
        for turn in range(4):
            await commits.send(10 * turn + number)
            await asyncio.sleep(0.001 * number)

    async def all_of_them() -> None:
        await asyncio.gather(*map(sender, range(4)))

    asyncio.run(all_of_them())
    assert [len(group) for group in commits.durable] == [4] * 4


def test_one_sender_never_waits_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(lambda: time.sleep(0.002))
    pauses: list[float] = []

    async def sender() -> None:
        loop = asyncio.get_running_loop()
        plain = loop.call_later

        def call_later(delay: float, *rest: Any, **named: Any) -> Any:
            pauses.append(delay)
            return plain(delay, *rest, **named)

        monkeypatch.setattr(loop, "call_later", call_later)
        for number in range(5):
            await commits.send(number)

    asyncio.run(sender())
    assert pauses == []


def test_a_commit_does_not_wait_for_senders_that_are_gone() -> None:
    commits = Commits()

    async def all_of_them() -> None:
        await asyncio.gather(*(commits.send(number) for number in range(8)))
        await asyncio.wait_for(commits.send(8), 10)
        await asyncio.wait_for(commits.group.close(), 10)

    asyncio.run(all_of_them())
    assert [len(group) for group in commits.durable] == [8, 1]


def test_a_request_that_is_cancelled_leaves_the_others() -> None:
    commits = Commits(lambda: time.sleep(0.05))

    async def all_of_them() -> list[Any]:
        tasks = [asyncio.create_task(commits.send(number)) for number in range(3)]
        await asyncio.sleep(0.01)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(all_of_them())
    assert isinstance(found[1], asyncio.CancelledError)
    assert (found[0], found[2], commits.durable) == (0, 2, [[0, 1, 2]])


@pytest.mark.parametrize("where", ["commit", "elsewhere"])
def test_after_a_failure_nothing_is_acknowledged(where: str) -> None:
    def fail() -> None:
        raise OSError("full")

    commits = Commits(fail if where == "commit" else lambda: time.sleep(0.05))

    async def all_of_them() -> list[Any]:
        tasks = [asyncio.create_task(commits.send(number)) for number in range(3)]
        await asyncio.sleep(0.01)
        if where == "elsewhere":
            commits.group.fail(OSError("full"))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(StoreError):
            await commits.send(9)
        with pytest.raises(StoreError):
            await commits.group.durable()
        await commits.group.close()
        return found

    found = asyncio.run(all_of_them())
    assert [type(one) for one in found] == [StoreError] * 3
    assert [type(one) for one in commits.failures] == [OSError]
