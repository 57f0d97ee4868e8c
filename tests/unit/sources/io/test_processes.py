"""Inputs that change or end while another process reads them, with real processes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import open_source
from lazysketch.sources.io.compression import READ_SIZE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of Unix")

READER = """
import sys
from lazysketch.sources import open_source
for batch in open_source(sys.argv[1], follow=True, format="lines"):
    print(*batch.items, sep="\\n", flush=True)
"""
PATIENCE = 60  # seconds, for a busy machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("a\nb\n")
    return tmp_path


@pytest.fixture
def reader(folder: Path) -> Iterator[subprocess.Popen[str]]:
    Path("log").write_text("0\n")
    process = subprocess.Popen(
        [sys.executable, "-c", READER, "log"], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    guard = threading.Timer(PATIENCE, process.kill)  # a row held back fails the test
    guard.start()
    yield process
    guard.cancel()
    process.kill()
    process.wait()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def estimate(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lazysketch", "estimate", *arguments]
    command += ["--items", "items.txt", "--format", "lines", "--output", "json"]
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options
    )


def test_a_log_that_a_writer_fills_and_rotates(reader: subprocess.Popen[str]) -> None:
    """Ten files of a hundred rows, written at full speed, with a check between two files."""
    assert line(reader) == "0"
    number = 1
    for generation in range(10):
        with Path("log").open("a") as file:
            for _ in range(100):
                file.write(f"{number}\n")
                file.flush()
                number += 1
        if generation % 3 == 2:  # as copying rotators do, which lose rows written meanwhile
            for expected in range(number - 300, number):
                assert line(reader) == str(expected)
            os.truncate("log", 0)
        else:
            Path("log").rename(f"log.{generation}")
            Path("log").touch()
        time.sleep(0.5)
    with Path("log").open("a") as file:
        file.write("end\n")
    assert line(reader) == str(number - 100)
    assert [line(reader) for _ in range(100)][-1] == "end"


def test_rows_arrive_promptly_and_waiting_costs_no_cpu_time(reader: subprocess.Popen[str]) -> None:
    assert line(reader) == "0"
    delays = []
    for number in range(10):
        with Path("log").open("a") as file:
            file.write(f"x{number}\n")
        begin = time.perf_counter()
        assert line(reader) == f"x{number}"
        delays.append(time.perf_counter() - begin)
    assert sorted(delays)[5] < 1.0
    times = Path(f"/proc/{reader.pid}/stat")
    if not times.exists():
        pytest.skip("no account of processor time here")

    def ticks() -> int:
        return sum(map(int, times.read_text().rpartition(")")[2].split()[11:13]))

    before = ticks()
    time.sleep(2)
    assert (ticks() - before) / os.sysconf("SC_CLK_TCK") < 0.5


def test_ctrl_c_ends_following_with_a_result(folder: Path) -> None:
    Path("log").write_text("a\n" * 3000 + "b\n")
    main, terminal = pty.openpty()
    command = "estimate log --follow --items items.txt --format lines --output json --width 16"
    process = subprocess.Popen(
        [sys.executable, "-m", "lazysketch", *command.split()],
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(terminal)
    guard = threading.Timer(PATIENCE, process.kill)
    guard.start()
    seen = b""
    while b"3,001" not in seen:
        seen += os.read(main, 4096)
    with Path("log").open("a") as file:
        file.write("b\n" * 1000 + "half a row")
    while b"4,001" not in seen:
        seen += os.read(main, 4096)
    drain = threading.Thread(
        target=_drain, args=[main]
    )  # otherwise the process would wait for the test
    drain.start()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    guard.cancel()
    drain.join()
    os.close(main)
    assert process.returncode == 130
    found = json.loads(out)
    assert found["steps"] == 4001


def _drain(main: int) -> None:
    try:
        while os.read(main, 4096):
            pass
    except OSError:  # Linux raises it for a terminal closed at the other end
        pass


def test_a_writer_that_is_killed_within_a_row(folder: Path) -> None:
    script = "import os, sys; os.write(1, b'a\\nb\\na'); os.kill(os.getpid(), 9)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as writer:
        done = estimate("-", stdin=writer.stdout)
    assert writer.returncode == -9
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"] == 3


def test_a_fifo_is_read_until_its_writer_closes_it(folder: Path) -> None:
    os.mkfifo("fifo")
    writer = threading.Thread(target=Path("fifo").write_text, args=["a\nb\na"])
    writer.start()
    done = estimate("fifo")
    writer.join()
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"] == 3
    refused = estimate("fifo", "--follow")
    assert refused.returncode == 2
    assert refused.stderr.startswith("lazysketch: fifo: expected a plain file to follow, got")


def test_a_closed_standard_input_is_a_one_line_error(folder: Path) -> None:
    command = f"{sys.executable} -m lazysketch estimate - --items items.txt <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "lazysketch: standard input: expected an open stream, got a closed one\n"
    )


def test_an_input_that_vanishes_between_others_fails_in_its_turn(folder: Path) -> None:
    os.mkfifo("fifo")
    Path("second").write_text("b\n")

    def write() -> None:
        with Path("fifo").open("w") as fifo:  # opens after both inputs have been checked
            Path("second").unlink()
            fifo.write("a\na\n")

    writer = threading.Thread(target=write)
    writer.start()
    done = estimate("fifo", "second")
    writer.join()
    assert done.returncode == 2
    assert json.loads(done.stdout)["steps"] == 2
    assert done.stderr == "lazysketch: second: expected an existing file, got none\n"


def test_a_file_removed_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"row\n" * READ_SIZE)
    source = open_source(path, format="lines")
    batches = iter(source)
    next(batches)
    path.unlink()
    assert sum(1 for _ in batches) > 1
    assert source.tally.rows == READ_SIZE


def test_a_file_truncated_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"row\n" * READ_SIZE)
    source = open_source(path, format="lines")
    batches = iter(source)
    next(batches)
    os.truncate(path, 6)
    with pytest.raises(SourceError, match="log: expected a file that does not shrink while it is"):
        list(batches)
    assert 0 < source.tally.rows < READ_SIZE
    assert source.tally.malformed == 0


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"row\n" * READ_SIZE)
    source = open_source(path, format="lines")
    batches = iter(source)
    next(batches)
    with path.open("ab") as file:
        file.write(b"row\n")
    list(batches)
    assert source.tally.rows == READ_SIZE + 1


def test_a_file_without_a_size_is_read() -> None:
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no files without a size here")
    assert sum(batch.rows for batch in open_source(path, format="lines")) > 10


CUTTER = """
import gzip, os, sys
from pathlib import Path
import pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as pq
from lazysketch.errors import SourceError
from lazysketch.sources import open_source

path, kept = Path(sys.argv[1]), float(sys.argv[2])
keys = [f"item {n * 7919 % 100_003}" for n in range(300_000)]
text = "".join(f"{key}\\n" for key in keys).encode()
if path.suffix == ".arrow":
    feather.write_feather(pa.table({"k": keys}), str(path), chunksize=20_000)
elif path.suffix == ".parquet":
    pq.write_table(pa.table({"k": keys}), path, row_group_size=20_000)
else:
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
source = open_source(path, field="k" if path.suffix in (".arrow", ".parquet") else None)
batches = iter(source)
next(batches)
os.truncate(path, int(path.stat().st_size * kept))
try:
    list(batches)
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz", "rows.arrow", "rows.parquet"])
@pytest.mark.parametrize("kept", ["0", "0.6"])
def test_no_format_silently_loses_rows_of_a_truncated_file(
    tmp_path: Path, name: str, kept: str
) -> None:
    """In a separate process, which truncating a memory-mapped file would kill."""
    command = [sys.executable, "-c", CUTTER, name, kept]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
    )
    expected = "a file that does not shrink"
    if name == "rows.parquet":
        expected = "a Parquet file, got damaged"
    assert done.stdout.startswith(f"{name}: expected {expected}")
