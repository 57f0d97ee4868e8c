"""The parent of a worker: it detects deaths and hangs, and goes on after them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fuzzing.verdicts import Finding
from tests.fuzzing.worker import STATUS
from tests.locations import ROOT

__all__ = ["Slice", "run_session", "run_slice"]

_POLL: Final = 0.02
_START: Final = 60.0  # seconds until the first beat: a process imports pandas and pyarrow first
_WAITS: Final = 5  # seconds of the clock for one of the processor: a busy machine is no hang
# One thread per library: address space is limited, and threads reserve some.
_ALONE: Final = {
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "RUST_BACKTRACE": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass
class Slice:
    """What a worker did: the next session, the number of cases, the defects."""

    following: int
    cases: int = 0
    findings: list[Finding] = field(default_factory=list)


def run_slice(campaign: str, *, seed: str, first: int, seconds: float, folder: Path) -> Slice:
    """Make sessions for some seconds, in as many processes as it takes.

    Args:
        campaign: name of the campaign.
        seed: seed of the run.
        first: number of the first session.
        seconds: how long, without the start of a process.
        folder: for the status and the standard error of the workers.

    Returns:
        What was done.
    """
    done, left = Slice(first), seconds
    while left > 0:
        begin = time.monotonic()
        part = _run(campaign, seed=seed, first=done.following, seconds=left, folder=folder)
        done.following, done.cases = part.following, done.cases + part.cases
        done.findings += part.findings
        ended_early = any(finding.kind in ("crash", "hang") for finding in part.findings)
        left = left - (time.monotonic() - begin) if ended_early else 0
    return done


def run_session(campaign: str, *, name: str, kept: list[int] | None, folder: Path) -> list[Finding]:
    """Make some parts of one session again, and return the defects."""
    seed, _, number = name.rpartition(".")
    chosen = None if kept is None else ",".join(map(str, kept))
    return _run(
        campaign, seed=seed, first=int(number), seconds=0, folder=folder, kept=chosen
    ).findings


def _run(
    campaign: str, *, seed: str, first: int, seconds: float, folder: Path, kept: str | None = None
) -> Slice:
    from tests.fuzzing.campaigns import EVERY

    plain = campaign.replace(": ", "-").replace(" ", "-")
    status, errors, output = (folder / f"{plain}.{kind}" for kind in ("status", "stderr", "found"))
    status.write_bytes(STATUS.pack(first, 0, 0, 0))
    command = [sys.executable, "-m", "tests.fuzzing.worker", campaign, seed, str(first)]
    command += [str(seconds), str(status), *(["--kept", kept] if kept is not None else [])]
    with errors.open("wb") as log, output.open("wb") as found:
        worker = subprocess.Popen(
            command,
            stdout=found,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **_ALONE},
        )
        hung = _watch(worker, status, patience=EVERY[campaign].patience)
    findings = [Finding(**json.loads(line)) for line in output.read_text().splitlines()]
    number, part, cases, _ = STATUS.unpack(status.read_bytes())
    if not hung and worker.returncode == 0:
        return Slice(number, cases, findings)
    told = errors.read_text(errors="replace")
    kind = "hang" if hung else "crash"
    ended = "no progress" if hung else f"ended with {worker.returncode}"
    finding = Finding(campaign, f"{seed}.{number}", part, kind, f"{ended}\n{_shown(told)}")  # type: ignore[arg-type]
    return Slice(number + 1, cases + 1, [*findings, finding])


def _watch(worker: subprocess.Popen[bytes], status: Path, *, patience: float) -> bool:
    """Wait for the end of a worker; kill it, and return True, if a case takes too long."""
    seen, since, used = 0, time.monotonic(), 0.0
    while worker.poll() is None:
        beats = STATUS.unpack(status.read_bytes())[3]
        waited = time.monotonic() - since
        most = patience if seen else _START
        if beats != seen:
            seen, since, used = beats, time.monotonic(), _processor_seconds(worker.pid)
        elif waited > _WAITS * most or (
            waited > most and _processor_seconds(worker.pid) - used > most
        ):
            worker.kill()
            worker.wait()
            return True
        time.sleep(_POLL)
    return False


def _processor_seconds(pid: int) -> float:
    """Return the time of the processor that a process used; that of the clock without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _shown(text: str) -> str:
    """Return the lines that say where a process ended."""
    lines = text.splitlines()
    wanted = [line for line in lines if "panicked" in line or "Fatal" in line or "File " in line]
    return "\n".join([*wanted[-12:], *lines[-3:]])[-3000:]
