"""Reading ahead: the same values and endings as without, and no thread is left over."""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.waiting import wait_until

from lazysketch.sources import open_source
from lazysketch.sources.io import interruptible, prefetch
from lazysketch.sources.io.interruptible import EndableWaits, Waits
from lazysketch.sources.io.prefetch import AHEAD, read_ahead

PATIENCE = 30.0  # seconds, for a busy machine
SOON = 5.0


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "reads ahead" in thread.name]


def wait_for_count(made: Made, most: int) -> None:
    wait_until(lambda: made.count == most)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    descriptors = Path("/proc/self/fd")
    gc.collect()  # what earlier tests left
    before = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    yield
    assert readers() == []
    gc.collect()  # resources of an abandoned thread
    if before:
        assert len(list(descriptors.iterdir())) == before


class Made:
    """A generator that records what it produced and the threads that ran and closed it."""

    def __init__(self, values: int, *, failure: Exception | None = None) -> None:
        self.count = 0
        self.made_in: set[int] = set()
        self.closed_in: int | None = None
        self._values = values
        self._failure = failure

    def __call__(self, waits: EndableWaits) -> Generator[int, None, None]:
        try:
            for value in range(self._values):
                self.made_in.add(threading.get_ident())
                self.count += 1
                yield value
            if self._failure is not None:
                raise self._failure
        finally:
            self.closed_in = threading.get_ident()

    def check_closed(self) -> None:
        assert self.made_in == {self.closed_in}
        assert self.closed_in != threading.get_ident()


@settings(deadline=None, max_examples=50)
@given(
    values=st.integers(1, 40),
    fails=st.booleans(),
    taken=st.integers(1, 50),
    slow=st.lists(st.integers(0, 40), max_size=3),
)
def test_values_and_the_failure_keep_their_order(
    values: int, fails: bool, taken: int, slow: list[int]
) -> None:
    made = Made(values, failure=ValueError("here") if fails else None)
    found: list[int] = []
    ahead = read_ahead(made)
    ending: BaseException | None = None
    try:
        for _ in range(taken):
            if len(found) in slow:
                time.sleep(0.002)
            found.append(next(ahead))
            assert made.count <= len(found) + AHEAD
    except (ValueError, StopIteration) as raised:
        ending = raised
    ahead.close()
    assert found == list(range(min(values, taken)))
    if taken <= values:
        assert ending is None
    else:
        assert type(ending) is (ValueError if fails else StopIteration)
    made.check_closed()
    assert readers() == []


def test_a_fast_producer_waits() -> None:
    made = Made(1000)
    ahead = read_ahead(made)
    for taken in range(1, 20):
        assert next(ahead) == taken - 1
        wait_for_count(made, taken + AHEAD)
        time.sleep(0.005)
        assert made.count == taken + AHEAD
    ahead.close()
    made.check_closed()


def test_a_value_is_available_before_the_next_one_is_made() -> None:
    go_on = threading.Event()
    guard = threading.Timer(PATIENCE, go_on.set)
    guard.start()

    def start(waits: EndableWaits) -> Generator[int, None, None]:
        for value in range(10):
            yield value
            assert go_on.wait()
            go_on.clear()

    found = []
    for value in read_ahead(start):
        assert not guard.finished.is_set()
        found.append(value)
        go_on.set()
    guard.cancel()
    assert found == list(range(10))


def test_nothing_starts_before_the_first_value_is_requested() -> None:
    made = Made(3)
    ahead = read_ahead(made)
    assert readers() == []
    ahead.close()
    assert made.count == 0


def test_a_failure_of_the_consumer_ends_the_reader() -> None:
    made = Made(1000)

    def use() -> None:
        for value in read_ahead(made):
            if value == 3:
                raise KeyError

    with pytest.raises(KeyError):
        use()
    assert readers() == []
    made.check_closed()


def test_a_signal_during_a_wait_ends_the_reader() -> None:
    made = Made(1000)
    ahead = read_ahead(made)
    next(ahead)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        ahead.throw(KeyboardInterrupt)
    assert interrupted.value.__traceback__  # it keeps all frames alive
    assert readers() == []
    made.check_closed()


def test_an_unreferenced_reader_ends() -> None:
    made = Made(1000)
    ahead = read_ahead(made)
    next(ahead)
    del ahead
    gc.collect()
    assert readers() == []
    made.check_closed()


def test_the_thread_itself_may_close_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector may run there and close the consuming generator."""
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    held: list[Generator[int, None, None]] = []
    taken = threading.Event()

    def start(waits: EndableWaits) -> Generator[int, None, None]:
        yield 1
        assert taken.wait(PATIENCE)
        held.clear()
        yield 2

    held.append(read_ahead(start))
    assert next(held[0]) == 1
    taken.set()
    wait_until(lambda: not readers())
    assert complaints == []


def test_system_exit_in_the_producer_is_passed_on() -> None:
    def start(waits: EndableWaits) -> Generator[int, None, None]:
        yield 1
        raise SystemExit(3)

    ahead = read_ahead(start)
    assert next(ahead) == 1
    with pytest.raises(SystemExit):
        next(ahead)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are POSIX")
@pytest.mark.parametrize("waits_for", ["a pipe", "time"])
def test_a_waiting_reader_ends_immediately(waits_for: str) -> None:
    outlet, inlet = os.pipe()
    guard = threading.Timer(2 * SOON, os.write, [inlet, b"x"])
    guard.start()
    waiting = threading.Event()
    closed = threading.Event()

    def start(waits: EndableWaits) -> Generator[int, None, None]:
        try:
            yield 1
            waiting.set()
            if waits_for == "a pipe":
                waits.for_input(outlet)
            else:
                waits.pause(2 * SOON)
        finally:
            closed.set()

    ahead = read_ahead(start)
    next(ahead)
    assert waiting.wait(PATIENCE)
    time.sleep(0.02)
    begin = time.monotonic()
    ahead.close()
    assert time.monotonic() - begin < SOON
    assert closed.is_set()
    guard.cancel()
    os.close(outlet)
    os.close(inlet)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are POSIX")
def test_a_stuck_reader_is_abandoned_and_ends_after_its_call() -> None:
    go_on = threading.Event()
    guard = threading.Timer(2 * SOON, go_on.set)
    guard.start()
    continued: list[str] = []

    def start(waits: EndableWaits) -> Generator[int, None, None]:
        yield 1
        with waits.in_system():
            go_on.wait()
        waits.for_input(None)
        continued.append("yes")

    ahead = read_ahead(start)
    next(ahead)
    begin = time.monotonic()
    ahead.close()
    assert time.monotonic() - begin < SOON
    assert len(readers()) == 1
    guard.cancel()
    go_on.set()
    wait_until(lambda: not readers())
    assert continued == []


def test_waits_end_when_their_condition_holds_and_for_ever_once_ended() -> None:
    outlet, inlet = os.pipe()
    os.write(inlet, b"x")
    for waits in (Waits(), EndableWaits()):
        waits.for_input(outlet)
        waits.for_input(None)
        waits.pause(0.001)
        with waits.in_system():
            pass
    assert isinstance(waits, EndableWaits)
    waits.end()
    for wait in (
        lambda: waits.for_input(outlet),
        lambda: waits.for_input(None),
        lambda: waits.pause(PATIENCE),
        waits.check,
        lambda: waits.in_system().__enter__(),
    ):
        with pytest.raises(Exception, match="^$") as ended:
            wait()
        assert type(ended.value).__name__ == "ReadingEndedError"
    waits.end()
    os.close(outlet)
    os.close(inlet)


def test_waits_may_be_ended_from_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector may end them at any line."""
    wait, waits = interruptible._WakeupPipe.wait, EndableWaits()

    def end_then_wait(pipe: interruptible._WakeupPipe, *, seconds: float) -> None:
        waits.end()
        wait(pipe, seconds=seconds)

    monkeypatch.setattr(interruptible._WakeupPipe, "wait", end_then_wait)
    with pytest.raises(interruptible.ReadingEndedError):
        waits.pause(PATIENCE)


def test_closing_does_not_deadlock_with_a_thread_that_waits_for_the_closer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as a thread that waits for an import lock of the closing thread."""
    monkeypatch.setattr(prefetch, "_JOIN_LIMIT", 0.2)
    held = threading.Lock()

    def start(_: EndableWaits) -> Generator[int, None, None]:
        yield 1
        with held:
            yield 2

    with held:
        ahead = read_ahead(start)
        next(ahead)
        begin = time.monotonic()
        ahead.close()
        assert time.monotonic() - begin < SOON
    wait_until(lambda: not readers())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")
def test_the_exit_of_a_forked_child_does_not_end_its_parents_reader() -> None:
    outlet, inlet = os.pipe()

    def start(waits: EndableWaits) -> Generator[int, None, None]:
        yield 1
        waits.for_input(outlet)
        yield 2

    ahead = read_ahead(start)
    assert next(ahead) == 1
    child = os.fork()
    if child == 0:
        prefetch._end_all()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os.write(inlet, b"x")
    assert list(ahead) == [2]
    os.close(outlet)
    os.close(inlet)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
def test_input_taken_by_another_reader_does_not_block_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other reader has the data, so this read blocks, cannot be ended, and is abandoned."""
    outlet, inlet = os.pipe()
    os.write(inlet, b"a\n")
    with io.TextIOWrapper(io.BufferedReader(io.FileIO(outlet))) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        monkeypatch.setattr(EndableWaits, "for_input", lambda waits, _: waits.check())
        batches = iter(open_source("-", format="lines", ahead=True))
        assert next(batches).item_list == ["a"]
        begin = time.monotonic()
        batches.close()
        assert time.monotonic() - begin < SOON
        os.write(inlet, b"b\n")
        wait_until(lambda: not readers())
    os.close(inlet)
