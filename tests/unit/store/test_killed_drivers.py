"""A driver that is killed around a commit: each step is counted once, and published as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.unit.store.lives import KEY, Lives
from tests.unit.store.partials import OPENED, bytes_of, leveled, sealed

STEPS = 4

# Sends the steps that its store has not acknowledged, and dies at one point of one of them.
DRIVER = """
import os, signal, sys
from pathlib import Path
import lazysketch as ls
from tests.unit.store.lives import Lives
from tests.unit.store import lives
from tests.unit.store.partials import OPENED, leveled, sealed
from lazysketch.releases.release import Release

folder, point, at, kind = Path(sys.argv[1]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
lives.KEY = ls.Key.from_bytes(bytes.fromhex(sys.argv[2]))
store = Lives(folder).open()
live = leveled(store) if kind == "levels" else OPENED[kind](store)
native, step, appended = store._native, 0, 0

class Native:
    def __getattr__(self, name):
        found = getattr(native, name)
        if name not in ("append", "commit"):
            return found
        def call(*arguments):
            global appended
            # Reads commit too: the commit that counts is that of the appended step.
            counts = step == at and (name == "append" or appended == step)
            if point == f"before {name}" and counts:
                os.kill(os.getpid(), signal.SIGKILL)
            result = found(*arguments)
            if name == "append":
                appended = step
            if point == f"after {name}" and counts:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return call

store._journal.native = Native()
made = Release.to_bytes
def to_bytes(release):
    data = made(release)
    if point == "after release" and step == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return data
Release.to_bytes = to_bytes
begin = max(store.last_sequence("driver"), 1)  # what was committed last is sent again
for step in range(begin, 5):
    spec = live.partial_spec()
    parts = [sealed(spec, ["x"] * step, [f"{step}"]), sealed(spec, [f"item.{step}"])]
    if point == "middle" and step == at:
        parts = iter([parts[0], lambda: os.kill(os.getpid(), signal.SIGKILL)])
        parts = (part if isinstance(part, bytes) else part() for part in parts)
    release = store.add_partials("driver", step, parts, into=live, positions=f"offset {step}")
    releases = release if isinstance(release, tuple) else (release,)
    print(step, "-".join(made(it).hex() for it in releases), flush=True)
"""


def drive(folder: Path, point: str, at: int, kind: str) -> tuple[int, list[str]]:
    """Run a driver; return its exit status and the lines of the steps that were acknowledged."""
    arguments = [str(folder), KEY.to_bytes().hex(), point, str(at), kind]
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        timeout=120,
    )
    assert run.returncode in (0, -signal.SIGKILL), run.stderr
    return run.returncode, run.stdout.splitlines()


@pytest.mark.parametrize(
    "point",
    ["middle", "before append", "after append", "before commit", "after commit", "after release"],
)
@pytest.mark.parametrize("kind", ["count-min", "names", "levels"])
def test_a_killed_driver_counts_each_step_once(
    kind: str, point: str, lives: Lives, tmp_path: Path
) -> None:
    """Two copies of a store: one driver is never killed, the other one at each of its steps."""
    opened = leveled if kind == "levels" else OPENED[kind]
    with lives.open() as store:
        opened(store)
    others = lives.copied_to(tmp_path / "copy")
    status, expected = drive(tmp_path, "never", 0, kind)
    assert (status, len(expected)) == (0, STEPS)
    found: set[str] = set()
    for at in range(1, STEPS + 1):
        status, lines = drive(tmp_path / "copy", point, at, kind)
        assert status == -signal.SIGKILL
        found |= set(lines)
    status, lines = drive(tmp_path / "copy", "never", 0, kind)
    assert status == 0
    assert found | set(lines) == set(expected)
    with others.open() as store:
        live = opened(store)
        assert (live.step, store.note("driver")) == (STEPS, f"offset {STEPS}")
        spec = live.partial_spec()
        last = [sealed(spec, ["x"] * STEPS, [f"{STEPS}", f"item.{STEPS}"])]
        releases = bytes_of(
            store.add_partials("driver", STEPS, last, into=live, positions=f"offset {STEPS}")
        )
        assert f"{STEPS} {'-'.join(release.hex() for release in releases)}" == expected[-1]


def test_drivers_killed_at_any_moment_lose_nothing(lives: Lives, tmp_path: Path) -> None:
    """SIGKILL by a clock, with checkpoints: no line that was printed is ever another one."""
    with lives.open() as store:
        OPENED["count-min"](store)
    chance = Random(11)
    seen: dict[int, str] = {}
    code = DRIVER.replace("range(begin, 5)", "range(begin, 100_000)").replace(
        "Lives(folder).open()", "Lives(folder).open(checkpoint_bytes=4_000)"
    )
    for _ in range(4):
        arguments = [sys.executable, "-c", code, str(tmp_path), KEY.to_bytes().hex(), "never", "0"]
        arguments.append("count-min")
        root = Path(__file__).parents[3]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(1, 40))]
            process.kill()
            lines += process.stdout.read().splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):
                step, release = line.split()
                assert seen.setdefault(int(step), release) == release
    assert sorted(seen) == [*range(1, max(seen) + 1)]
    with lives.open() as store:
        live = OPENED["count-min"](store)
        found = store.last_sequence("driver")
        assert found in (max(seen), max(seen) + 1)
        assert live.step == found
        if found == max(seen):
            assert live.release().to_bytes().hex() == seen[found]
