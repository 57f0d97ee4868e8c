"""A fault at every point of the end of a run of the command: its result is not lost.

The end begins when the last row is counted. A point is the next line that is executed there for
the first time, in the code that prints and saves, or the next call that writes, renames or flushes
a file or writes to standard output.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.faults.injection import Points, sample

from lazysketch import Release
from lazysketch.cli import main
from lazysketch.cli.run import controller
from lazysketch.releases.files import MAGIC
from lazysketch.sources import feed

ROWS = 600
OLD = MAGIC + b" of an earlier run"
ASKED = ["top", "rows.txt", "--epsilon", "20", "--names-every", "200", "--width", "16"]
SAVED = ["--save-release", "r.lzs", "--overwrite", "--save-names", "names.txt"]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclass
class Fault:
    """What happens at one point of the end.

    Args:
        at: The number of the point, from 1.
        act: Is called there, and may raise.
        lasting: Whether it is called at every later point too.
        places: The names of the points; None for all.
        passed: How many points the run has passed.
        happened: Where it was called first.
    """

    at: int
    act: Callable[[], None]
    lasting: bool = False
    places: tuple[str, ...] | None = None
    passed: int = 0
    happened: str = ""
    on: bool = False

    def point(self, place: str) -> None:
        if not self.on or (self.places is not None and place not in self.places):
            return
        self.passed += 1
        if self.passed == self.at or (self.lasting and self.passed > self.at):
            self.happened = self.happened or place
            self.act()


@dataclass
class Ended:
    """What a run left."""

    status: int
    out: str
    err: str
    fault: Fault
    files: dict[str, bytes] = field(default_factory=dict)


def raises(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


class Output(io.RawIOBase):
    """Standard output; each write is a point, and takes a part of the bytes only."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.fault.point("stdout")
        part = bytes(data)[:64]
        self.data += part
        return len(part)


class File(io.FileIO):
    """A file that is written; each write is a point."""

    fault: Fault

    def write(self, data: Any) -> int:
        self.fault.point("write")
        return super().write(data)


@pytest.fixture(autouse=True)
def _hears_signals() -> Iterator[None]:
    """The tests may run under nohup, or in the background of a script, which ignores SIGINT."""
    usual = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def end_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Return a function that runs the command with a fault at its end."""
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("most\nsome\nmost\n" * (ROWS // 3))

    def run(fault: Fault, *arguments: str, lines: bool) -> Ended:
        Path("r.lzs").write_bytes(OLD)
        Path("names.txt").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            raw = Output(fault)
            errors = io.StringIO()
            patch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(raw), "utf-8"))
            patch.setattr(sys, "stderr", errors)
            (_trace_lines if lines else _watch_calls)(patch, fault)
            status = main([*ASKED, *SAVED, *arguments])
            fault.on = False
            sys.stdout.flush()
        ended = Ended(status, raw.data.decode(errors="replace"), errors.getvalue(), fault)
        ended.files = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
        return ended

    return run


def _starts_at_the_end(patch: pytest.MonkeyPatch, start: Callable[[], None]) -> None:
    counting = feed

    def counted(*arguments: Any) -> None:
        counting(*arguments)
        start()

    patch.setattr("lazysketch.cli.run.controller.feed", counted)


def _trace_lines(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Make every line from the last row to the return of ``count`` a point."""
    points = Points(between="lines", modules=("lazysketch.cli", "lazysketch.releases"))
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not points.has(frame):
            return None
        line = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and (line not in seen or fault.lasting):
            seen.add(line)
            fault.point(f"{Path(line[0]).name}:{line[1]}")
        return trace

    def start() -> None:
        fault.on = True
        frame = sys._getframe(2)  # the callers of the counting
        while frame.f_code is not count.__code__:
            frame.f_trace = trace
            assert frame.f_back is not None
            frame = frame.f_back
        sys.settrace(trace)

    inner = controller.count

    def count(*arguments: Any, **settings: Any) -> int:
        try:
            return inner(*arguments, **settings)
        finally:
            sys.settrace(None)
            fault.on = False

    patch.setattr(controller, "count", count)
    _starts_at_the_end(patch, start)


def _watch_calls(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Make every call that changes a file or writes to standard output a point."""

    def watched(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def call(*arguments: Any, **settings: Any) -> Any:
            fault.point(name)
            return inner(*arguments, **settings)

        patch.setattr(owner, name, call)

    def opened(path: Path, mode: str = "r", **settings: Any) -> Any:
        if "x" not in mode:
            return inner_open(path, mode, **settings)
        fault.point("open")
        file = File(path, "x")
        file.fault = fault
        return file

    inner_open = Path.open
    patch.setattr(Path, "open", opened)
    watched(os, "fsync")
    watched(Path, "replace")

    def start() -> None:
        fault.on = True

    _starts_at_the_end(patch, start)


def check(ended: Ended, *, printed: bool = True, named: tuple[str, ...] = ()) -> None:
    """Check the rule: printed, every save tried, no file in part, each failure named."""
    at = ended.fault.happened
    assert (f"{ROWS} steps of rows.txt" in ended.out) == printed, at
    assert ended.out.count("guarantee") <= 1, at  # nothing is printed twice
    assert not [name for name in ended.files if name.endswith(".partial")], at
    release = ended.files["r.lzs"]
    if release != OLD:
        assert Release.from_bytes(release).step == ROWS, at
    if "names.txt" in ended.files:
        assert ended.files["names.txt"] == b"most\nsome\n", at
    for option in named:
        assert f"{option}: expected " in ended.err, at
    if ended.status == 0:
        assert (release != OLD, "names.txt" in ended.files, printed) == (True, True, True), at
    else:
        assert ended.err, at


def in_full(ended: Ended) -> bool:
    return ended.files["r.lzs"] != OLD and "names.txt" in ended.files


def signalled(number: int) -> Callable[[], None]:
    return lambda: signal.raise_signal(number)


class Campaign:
    """Runs with a fault at one point each: at all of them, or at a sample."""

    def __init__(
        self,
        end_of: Callable[..., Ended],
        *,
        lines: bool = False,
        places: tuple[str, ...] | None = None,
        most: int | None = None,
    ) -> None:
        self._end = end_of
        self._lines, self._places = lines, places
        self._run(0, lambda: None, lasting=False)  # fills caches, which changes the lines
        whole = self._run(0, lambda: None, lasting=False)
        check(whole)
        assert whole.status == 0, whole.err
        assert in_full(whole)
        self.points = whole.fault.passed
        self._most = most or self.points

    def ends(self, act: Callable[[], None], *, lasting: bool = False) -> Iterator[Ended]:
        for at in sample(self.points, most=self._most, seed=self.points // 2):
            ended = self._run(at, act, lasting=lasting)
            assert ended.fault.happened, at
            yield ended

    def _run(self, at: int, act: Callable[[], None], *, lasting: bool) -> Ended:
        fault = Fault(at, act, lasting=lasting, places=self._places)
        return self._end(fault, lines=self._lines)


@pytest.fixture(params=[6, pytest.param(None, marks=pytest.mark.long)], ids=["sample", "all"])
def most(request: pytest.FixtureRequest) -> int | None:
    """The number of points of a campaign; None for all."""
    number: int | None = request.param
    return number


@pytest.fixture
def at_lines(most: int | None, end_of: Callable[..., Ended]) -> Campaign:
    return Campaign(end_of, lines=True, most=most)


@pytest.fixture
def at_calls(most: int | None, end_of: Callable[..., Ended]) -> Campaign:
    return Campaign(end_of, most=most)


def test_the_end_has_points(end_of: Callable[..., Ended]) -> None:
    assert Campaign(end_of, lines=True).points > 300
    assert Campaign(end_of).points > 10


@pytest.mark.parametrize("error", [MemoryError("injected"), OSError(errno.EIO, "injected")])
def test_an_error_at_a_line(at_lines: Campaign, error: BaseException) -> None:
    """A second attempt, or a second call of the end, completes what a single error cut short."""
    for ended in at_lines.ends(raises(error)):
        check(ended)
        assert in_full(ended), ended.fault.happened
        assert ended.status in (0, 2), ended.fault.happened


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_at_a_line(at_lines: Campaign, number: int, status: int) -> None:
    for ended in at_lines.ends(signalled(number)):
        check(ended)
        assert in_full(ended), ended.fault.happened
        assert ended.status == status, ended.fault.happened


def test_a_signal_at_every_line_from_one_on(at_lines: Campaign) -> None:
    for ended in at_lines.ends(signalled(signal.SIGINT), lasting=True):
        check(ended)
        assert in_full(ended), ended.fault.happened
        assert ended.status == 130, ended.fault.happened


@pytest.mark.parametrize("error", [MemoryError("injected"), FULL, OSError(errno.EIO, "injected")])
def test_an_error_at_a_call(at_calls: Campaign, error: BaseException) -> None:
    for ended in at_calls.ends(raises(error)):
        check(ended)
        assert in_full(ended), ended.fault.happened
        assert ended.status == 0, ended.fault.happened


@pytest.mark.parametrize("error", [FULL, OSError(errno.EIO, "injected")])
def test_a_disk_that_stays_broken(
    end_of: Callable[..., Ended], most: int | None, error: OSError
) -> None:
    """Each file that is not written is named, and the table is printed."""
    failures = 0
    disk = Campaign(end_of, places=("open", "write", "fsync", "replace"), most=most)
    for ended in disk.ends(raises(error), lasting=True):
        missing = {"--save-names"} if "names.txt" not in ended.files else set()
        missing |= {"--save-release"} if ended.files["r.lzs"] == OLD else set()
        check(ended, named=tuple(missing))
        assert ended.status == 2, ended.fault.happened
        failures += len(missing)
    assert failures > 5


@pytest.mark.parametrize(
    ("error", "status"), [(BrokenPipeError(errno.EPIPE, "closed"), 141), (FULL, 2)]
)
def test_an_output_that_stays_closed(
    end_of: Callable[..., Ended], most: int | None, error: OSError, status: int
) -> None:
    closed = Campaign(end_of, places=("stdout",), most=most)
    for ended in closed.ends(raises(error), lasting=True):
        assert in_full(ended)
        assert ended.status == status
        assert ("standard output: expected to write" in ended.err) == (status == 2)
