"""``lazysketch serve`` that is killed again and again while many senders send."""

from __future__ import annotations

import random
import threading
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

import pytest
from tests.unit.cli.commands.test_serve import SETTINGS
from tests.unit.cli.serving import Serving

import lazysketch as ls
from lazysketch.service.settings import read_settings
from lazysketch.store.opening import open_store

SENDERS = 8
BODY = b"a\na\nb\n" * 100  # joins others of one commit
LARGE = b"a\na\nb\n" * 15_000  # has a change and a commit of its own
SEED = 20_261_125


class Senders:
    """Threads that send numbered batches, each again until it is acknowledged."""

    def __init__(self) -> None:
        self.serving: Serving | None = None
        self.acknowledged = [0] * SENDERS
        self.errors: list[str] = []
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=(number,)) for number in range(SENDERS)
        ]

    @staticmethod
    def body(number: int) -> bytes:
        """The batches of a sender are all small, or all large."""
        return LARGE if number == 0 else BODY

    def start(self) -> None:
        for one in self._threads:
            one.start()

    def end(self) -> None:
        """End after the batches that are under way, which need a service."""
        self._ended.set()
        for one in self._threads:
            one.join(60)
            assert not one.is_alive()

    def _send(self, number: int) -> None:
        body = self.body(number)
        while not self._ended.is_set() or self.acknowledged[number] == 0:
            key = f"web{number}:{self.acknowledged[number] + 1}"
            while not self._is_counted(key, body):
                time.sleep(0.01)
            self.acknowledged[number] += 1

    def _is_counted(self, key: str, body: bytes) -> bool:
        try:
            assert self.serving is not None
            answer = self.serving.send(key, body)
        except HTTPError as error:
            if error.code not in (429, 503):
                self.errors.append(f"status {error.code}")
            return False
        except (OSError, HTTPException, ValueError):  # killed, or not there again
            return False
        if answer["refused_events"]:
            self.errors.append("refused events")
        return True


@pytest.mark.parametrize("lives", [2, pytest.param(40, marks=pytest.mark.long)])
def test_kills_under_load_lose_no_batch_and_count_none_twice(tmp_path: Path, lives: int) -> None:
    """Senders repeat what was not acknowledged; the end is what each has sent, once."""
    (tmp_path / "service.toml").write_text(SETTINGS)
    options = ("--settings", str(tmp_path / "service.toml"))
    moments = random.Random(SEED)
    senders = Senders()
    for life in range(lives):
        senders.serving = Serving(tmp_path, *options)
        if life == 0:
            senders.start()
        before = sum(senders.acknowledged)
        deadline = time.monotonic() + 60.0
        while sum(senders.acknowledged) == before:  # they send to this life
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.4))
        senders.serving.process.kill()
        senders.serving.process.wait(60)
        time.sleep(moments.uniform(0.0, 0.1))
    senders.serving = Serving(tmp_path, *options)
    senders.end()
    assert not senders.errors
    assert senders.serving.end() == 0
    store = open_store(
        tmp_path / "state" / "store", key=ls.Key.from_file(tmp_path / "key"),
        anchor=tmp_path / "anchor",
    )  # fmt: skip
    with store:
        for number, sent in enumerate(senders.acknowledged):
            assert store.last_sequence(f" pages web{number}") == sent
        windows = (
            read_settings(tmp_path / "service.toml").streams[0].windows_of(store, clock=time.time)
        )
        windows.finish()
        lines = sum(
            sent * senders.body(number).count(b"\n")
            for number, sent in enumerate(senders.acknowledged)
        )
        for item, parts in (("a", 2), ("b", 1)):
            # A batch more or less, 200 and 100, would show: noise has a deviation of at most 10.
            assert abs(windows.estimate(item, last=10) - lines * parts / 3) < 100 * parts / 1.5
