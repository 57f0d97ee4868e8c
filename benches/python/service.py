"""Events per processor second of ``lazysketch serve``, next to itself without a log and its server.

The service runs as its command does: store, discovery, commits, the process of readers. What is
counted is the user and system time of all its processes; the senders are others.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from .measuring import Results, Row, integers, texts
from .senders import Load, Sent, send

SERVICE, UNLOGGED, BARE = "lazysketch serve", "the same without a log", "its HTTP server alone"
COMMANDS = {
    SERVICE: ("lazysketch", "serve"),
    UNLOGGED: ("benches.python.served", "unlogged", "serve"),
    BARE: ("benches.python.served", "bare"),
}
SETTINGS = """
[streams.events]
every = "10min"
[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""
# All windows that readers see are there after ten minutes; each minute one more ends.
SHORT_WINDOWS = SETTINGS.replace('every = "10min"', 'every = "1min"\nkeep = 10')
# Media type, events of a batch, senders.
LOADS = (
    ("JSON lines", 100, 1),
    ("JSON lines", 100, 32),
    ("JSON lines", 100, 128),
    ("JSON array", 100, 32),
    ("JSON lines", 10_000, 8),
    ("Arrow", 10_000, 8),
    ("Arrow", 100_000, 8),
)
MEDIA_TYPES = {
    "JSON lines": "application/x-ndjson",
    "JSON array": "application/json",
    "Arrow": "application/vnd.apache.arrow.stream",
}
BODIES = 16
SEQUENCES = 10**9  # more than a sender sends in a minute
PACKAGES = ("starlette", "uvicorn", "httptools", "uvloop", "cryptography", "prometheus_client")


class Serving:
    """A process of one of the commands, until it is closed."""

    def __init__(self, name: str, folder: Path, settings: str = SETTINGS) -> None:
        (folder / "service.toml").write_text(settings)
        module, *words = COMMANDS[name]
        options = ["--state", "state", "--key-file", "key", "--anchor", "anchor"]
        options += ["--settings", "service.toml"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *words, *(options if name != BARE else [])],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        while not any("try" in line for line in self._lines):
            if self.process.poll() is not None:
                raise RuntimeError("".join(self._lines))
            time.sleep(0.02)
        (found,) = (re.search(r":([0-9]+)/", line) for line in self._lines if "events to" in line)
        assert found is not None, "the line has the address"
        self.port = int(found[1])

    def _read(self) -> None:
        assert self.process.stderr is not None, "it is a pipe"
        self._lines.extend(self.process.stderr)

    def close(self) -> None:
        """End the process in order."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def processes(self) -> list[Path]:
        """Return the process and its children, as directories of /proc."""
        found, following = [], [self.process.pid]
        while following:
            place = Path(f"/proc/{following.pop()}")
            with contextlib.suppress(OSError):
                for children in place.glob("task/*/children"):
                    following += map(int, children.read_text().split())
                found.append(place)
        return found

    def cpu_seconds(self) -> float:
        """Return the user and system time of all processes."""
        ticks = 0
        for place in self.processes():
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # its own, and those of ended children
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> list[int]:
        """Return the resident memory of each process."""
        texts_of = [(place / "status").read_text() for place in self.processes()]
        return [int(text.split("VmRSS:")[1].split()[0]) * 1024 for text in texts_of]


@dataclass(frozen=True)
class Measured:
    """One load on one server."""

    answers: int
    seconds: float
    cpu_seconds: float


def body_of(kind: str, items: Sequence[str]) -> bytes:
    """Return a batch: objects of about 60 bytes, or a column of Arrow."""
    if kind == "Arrow":
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        table = pa.table({"item": pa.array(items)})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        content: bytes = sink.getvalue().to_pybytes()
        return content
    rows = [json.dumps({"item": item, "status": 200, "size": len(items) * 37}) for item in items]
    if kind == "JSON array":
        return f"[{', '.join(rows)}]".encode()
    return "".join(f"{row}\n" for row in rows).encode()


def load_of(kind: str, *, events: int, senders: int) -> Load:
    """Return what some senders send."""
    items = texts(integers(events * BODIES, skew=1.3))
    parts = (items[start : start + events] for start in range(0, len(items), events))
    return Load(
        path="/v1/streams/events/events",
        media_type=MEDIA_TYPES[kind],
        bodies=[body_of(kind, part) for part in parts],
        senders=senders,
        name="",
    )


@contextlib.contextmanager
def sending() -> Iterator[ProcessPoolExecutor]:
    """Yield the process of the senders."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield process


def measured(
    serving: Serving, process: ProcessPoolExecutor, load: Load, seconds: float
) -> Measured:
    """Return what a load costs a server."""
    before = serving.cpu_seconds()
    sent: Sent = process.submit(send, serving.port, load, seconds=seconds).result()
    return Measured(sent.answers, sent.seconds, serving.cpu_seconds() - before)


def service(*, rounds: int, seconds: float = 1.5) -> Results:
    """Measure all loads on all servers, one after the other in each round.

    Args:
        rounds: how often each is measured; the result is the median.
        seconds: length of one measurement.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing or not Path("/proc/self/stat").exists():
        return []
    found: dict[tuple[str, str, int, int], list[Measured]] = {}
    with ExitStack() as closing:
        process = closing.enter_context(sending())
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for number, name in enumerate(COMMANDS):
            (folder / str(number)).mkdir()
            servers[name] = Serving(name, folder / str(number))
            closing.callback(servers[name].close)
        loads = {key: load_of(key[0], events=key[1], senders=key[2]) for key in LOADS}
        for turn in range(rounds + 1):  # the first warms up
            for place, (key, load) in enumerate(loads.items()):
                named = replace(load, name=f"{turn} {place}")
                for name, serving in servers.items():
                    one = measured(serving, process, named, seconds if turn else seconds / 5)
                    if turn:
                        found.setdefault((name, *key), []).append(one)
    return [row_of(*key, ones) for key, ones in found.items()]


def row_of(name: str, kind: str, events: int, senders: int, ones: Sequence[Measured]) -> Row:
    """Return the result of the rounds of one load."""
    return {
        "group": "service",
        "name": name,
        "items": kind,
        "batch": events,
        "senders": senders,
        "ns": median(one.seconds / one.answers / events for one in ones) * 1e9,
        "cpu_ns": median(one.cpu_seconds / one.answers / events for one in ones) * 1e9,
        "call_ns": median(one.cpu_seconds / one.answers for one in ones) * 1e9,
    }


def memory_under_load(*, minutes: float) -> Iterator[Row]:
    """Yield the memory of the service's processes while 32 senders send, minute by minute.

    The senders are the same all the time, and windows of a minute soon are as many as readers see:
    each new sender and each further window adds to what the service keeps.

    Args:
        minutes: how long to send.
    """
    with ExitStack() as closing:
        process = closing.enter_context(sending())
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        serving = Serving(SERVICE, folder, SHORT_WINDOWS)
        closing.callback(serving.close)
        load = load_of("JSON lines", events=100, senders=32)
        begin, answers, turn = time.monotonic(), 0, 0
        while (passed := time.monotonic() - begin) < minutes * 60:
            pause = min(60.0, minutes * 60 - passed)
            going_on = replace(load, name="host", after=turn * SEQUENCES)
            sent: Sent = process.submit(send, serving.port, going_on, seconds=pause).result()
            answers, turn = answers + sent.answers, turn + 1
            resident = serving.resident_bytes()
            yield {
                "group": "service under load",
                "name": f"after {answers * 100:,} events",
                "seconds": round(time.monotonic() - begin, 1),
                "bytes": float(sum(resident)),
                "each_bytes": resident,
            }
