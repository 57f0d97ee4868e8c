"""``lazysketch serve`` as a process, and the addresses that it prints."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

__all__ = ["Serving"]


class Serving:
    """A process of the command, and the addresses that it printed."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "lazysketch", "serve", "--state", str(folder / "state")]
        command += ["--key-file", str(folder / "key"), "--anchor", str(folder / "anchor"), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        deadline = time.monotonic() + 60.0
        while not any("try" in line for line in self.lines):
            assert self.process.poll() is None, self.lines
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.02)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as printed:
            self.lines.extend(printed)

    def address(self, of: str) -> str:
        line = next(line for line in self.lines if of in line)
        found = re.search(r"http://[0-9.:]+", line)
        assert found is not None
        return found[0]

    def send(self, key: str, body: bytes) -> dict[str, object]:
        request = urllib.request.Request(
            f"{self.address('events to')}/v1/streams/pages/events",
            data=body,
            headers={"Content-Type": "text/plain", "Idempotency-Key": key},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: dict[str, object] = json.load(answer)
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        self._reader.join(10)
        return status
