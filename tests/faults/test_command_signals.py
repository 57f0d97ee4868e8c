"""The command as a process under signals, full disks and closed outputs: nothing is lost."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.command_process import (
    NAMES,
    RELEASE,
    ROWS,
    STATUS,
    CountingProcess,
    Ended,
    hear_signals,
)

from lazysketch import Release

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")

SIGNALS = tuple(STATUS)
LARGE = [*NAMES[:-1], str(1 << 19), "--memory", "1GB"]  # 16 MiB of release
LESS_LARGE = [*NAMES[:-1], str(1 << 17), "--memory", "1GB"]  # 4 MiB
NAMES_TOO = ["--save-names", "names.txt"]
SAVED = (RELEASE, "names.txt")


def run(folder: Path, *arguments: str, act: Callable[[CountingProcess], None]) -> Ended:
    folder.mkdir(exist_ok=True)
    counting = CountingProcess(folder, *arguments)
    with counting.process:
        act(counting)
        return counting.ended()


def sends(*pairs: tuple[int, float]) -> Callable[[CountingProcess], None]:
    """Return what sends signals, each after some seconds."""

    def act(counting: CountingProcess) -> None:
        for number, seconds in pairs:
            time.sleep(seconds)
            counting.send(number)

    return act


def check_complete(ended: Ended, *, status: int, or_status: int | None = None) -> None:
    assert ended.lost(*SAVED) == [], ended.err
    assert ended.status in (status, or_status), ended.err


def two_signals(folder: Path, generator: random.Random, *arguments: str, most: float) -> None:
    first, second = generator.choices(SIGNALS, k=2)
    gap = generator.uniform(0.0, most)
    asked = [*arguments, *NAMES_TOO]
    ended = run(folder, *asked, act=sends((first, 0.0), (second, gap)))
    # The system delivers the lower number first if both are pending when the process runs again.
    check_complete(ended, status=STATUS[first], or_status=STATUS[second])


@pytest.mark.parametrize("gap", [0.03, 0.2])
def test_a_second_signal(tmp_path: Path, gap: float) -> None:
    act = sends((signal.SIGTERM, 0.0), (signal.SIGHUP, gap))
    ended = run(tmp_path, *NAMES, *NAMES_TOO, act=act)
    # As in two_signals, if the process did not run in between.
    check_complete(ended, status=143, or_status=129 if gap < 0.1 else None)


def test_signals_during_a_large_save_are_answered(tmp_path: Path) -> None:
    act = sends((signal.SIGINT, 0.0), *[(signal.SIGINT, 0.005)] * 20)
    ended = run(tmp_path, *LESS_LARGE, *NAMES_TOO, act=act)
    check_complete(ended, status=130)
    assert ended.err.count("the run is ending; it saves and prints the result first") == 1


@pytest.mark.long
@pytest.mark.parametrize("large", [False, True])
def test_two_signals_at_random_moments(tmp_path: Path, *, large: bool) -> None:
    generator = random.Random(18)
    for number in range(60 if large else 200):
        arguments, most = (LARGE, 0.5) if large else (NAMES, 0.2)
        two_signals(tmp_path / str(number), generator, *arguments, most=most)
        shutil.rmtree(tmp_path / str(number))


@pytest.mark.long
def test_one_signal_at_a_random_moment_of_a_run(tmp_path: Path) -> None:
    """Also while it counts: the release has some step, and the table the same."""
    generator = random.Random(81)
    (tmp_path / "rows.txt").write_text("a\nb\na\n" * 1_000_000)
    for _ in range(100):
        Path(tmp_path / RELEASE).unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "lazysketch", "top", "rows.txt", *NAMES],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "LAZYSKETCH_SAVE_RELEASE": RELEASE},
            preexec_fn=hear_signals,
        )
        time.sleep(generator.uniform(0.0, 1.5))
        number = generator.choice(SIGNALS)
        process.send_signal(number)
        out, err = process.communicate()
        if process.returncode == 1 and "lazysketch" not in err:
            continue  # Ctrl-C while the interpreter started
        assert process.returncode in (0, STATUS[number], -number), (number, err)
        if process.returncode >= 0 and "before the first row" not in err and out:
            step = Release.load(tmp_path / RELEASE).step
            assert f"{step:,} steps of rows.txt" in out


def test_a_closed_terminal(tmp_path: Path) -> None:
    """Standard error and the controlling terminal go away; the table goes to a file."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        import fcntl
        import termios

        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    with (tmp_path / "out.txt").open("w") as out:
        counting = CountingProcess(
            tmp_path, *NAMES, *NAMES_TOO, stdout=out.fileno(), stderr=theirs, before=take_terminal
        )
        os.close(theirs)
        os.close(ours)  # the system sends SIGHUP
        with counting.process:
            status = counting.process.wait(timeout=60)
    ended = Ended(status, (tmp_path / "out.txt").read_text(), "", tmp_path)
    check_complete(ended, status=129)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_module_is_imported(tmp_path: Path, number: signal.Signals) -> None:
    """Dataclasses are made by exec, of whose KeyboardInterrupt the interpreter makes a note."""
    (tmp_path / "imports.py").write_text(
        "import os, sys\n"
        "from lazysketch.cli import group, process\n"
        f"import_dataclass = 'os.kill(os.getpid(), {number})'\n"
        "group.lazysketch.invoke = lambda context: exec(import_dataclass)\n"
        "sys.exit(process())\n"
    )
    process = subprocess.run(
        [sys.executable, "-m", "imports", "top", "-"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=hear_signals,
        check=False,
    )
    assert (process.returncode, process.stderr.strip()) == (STATUS[number], b"")


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for its threads")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_another_thread_receives(tmp_path: Path, number: signal.Signals) -> None:
    """The main thread waits for a row that never comes; the system chose any other thread."""
    counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO)
    with counting.process as process:
        threads = {int(entry.name) for entry in Path(f"/proc/{process.pid}/task").iterdir()}
        others = sorted(threads - {process.pid})
        assert len(others) >= 2  # that of the saves, and that of the input
        assert ctypes.CDLL(None, use_errno=True).tgkill(process.pid, others[-1], number) == 0
        process.wait(timeout=60)
        ended = counting.ended()
    check_complete(ended, status=STATUS[number])


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """As under nohup; the output is then closed, and SIGINT and SIGHUP could not end the run."""

    def ignore() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO, before=ignore)
    with counting.process:
        for number in (signal.SIGHUP, signal.SIGINT):
            counting.send(number)
        time.sleep(0.1)
        assert counting.process.poll() is None
        counting.send(signal.SIGTERM)
        check_complete(counting.ended(), status=143)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_closed_output_still_saves(tmp_path: Path, number: int) -> None:
    counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO)
    with counting.process as process:
        assert process.stdout is not None
        process.stdout.close()
        counting.send(number)
        process.stdout = None
        ended = counting.ended()
    assert ended.lost(*SAVED) == ["table"]
    assert ended.status == 141


def test_an_output_that_was_never_open_still_saves(tmp_path: Path) -> None:
    counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO, before=lambda: os.close(1))
    with counting.process:
        counting.send(signal.SIGTERM)
        ended = counting.ended()
    assert ended.lost(*SAVED) == ["table"]
    assert ended.status == 2
    assert "standard output: expected to write, got Bad file descriptor" in ended.err


def test_a_reader_that_does_not_read_still_saves(tmp_path: Path) -> None:
    """The saves come before the table, which waits for its reader."""
    with contextlib.ExitStack() as stack:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(1 << 16))
        os.set_blocking(writer, True)
        counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO, stdout=writer)
        os.close(writer)
        stack.callback(os.close, reader)
        process = stack.enter_context(counting.process)
        counting.send(signal.SIGINT)
        end = time.monotonic() + 60
        while not all((tmp_path / name).exists() for name in SAVED):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert process.poll() is None
        data = b""
        while chunk := os.read(reader, 1 << 16):
            data += chunk
        _, err = process.communicate(timeout=60)
    ended = Ended(process.returncode, data.replace(b"\0", b"").decode(), err, tmp_path)
    check_complete(ended, status=130)


def test_a_limit_of_file_size(tmp_path: Path) -> None:
    """The disk is full for the release, not for the names; the table is printed."""
    counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO)
    with counting.process:
        resource.prlimit(counting.process.pid, resource.RLIMIT_FSIZE, (64, 64))
        counting.send(signal.SIGTERM)
        ended = counting.ended()
    assert ended.lost(*SAVED) == [RELEASE]
    assert ended.status == 2
    assert "--save-release: expected to write r.lzs, got 'File too large'" in ended.err
    assert "saved to names.txt" in ended.err


def test_a_directory_that_vanishes(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    counting = CountingProcess(tmp_path, *NAMES, "--save-names", "gone/names.txt")
    with counting.process:
        (tmp_path / "gone").rmdir()
        counting.send(signal.SIGINT)
        ended = counting.ended()
    assert ended.lost(RELEASE) == []
    assert ended.status == 2
    assert "--save-names: expected an existing directory, got gone" in ended.err


def test_a_full_output_still_saves(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        counting = CountingProcess(tmp_path, *NAMES, *NAMES_TOO, stdout=full.fileno())
        with counting.process:
            counting.send(signal.SIGTERM)
            ended = counting.ended()
    assert ended.lost(*SAVED) == ["table"]
    assert ended.status == 2
    assert "standard output: expected to write, got No space left on device" in ended.err


def test_a_kill_loses_the_last_interval_only(tmp_path: Path) -> None:
    counting = CountingProcess(tmp_path, *NAMES)
    with counting.process as process:
        assert process.stdin is not None
        process.stdin.write("a\n" * ROWS)
        process.stdin.flush()
        end = time.monotonic() + 60
        while not (tmp_path / RELEASE).exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        counting.send(signal.SIGKILL)
        process.wait()
    release = Release.load(tmp_path / RELEASE)
    assert ROWS < release.step <= 2 * ROWS
    assert release.names == ("a", "b")
