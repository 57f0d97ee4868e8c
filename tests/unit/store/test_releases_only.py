"""Releases only: each life has a fresh sketch, and its public release is summed in one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import CANARY, NOISE, hitters, table

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    LiveStateError,
    ReleaseFormatError,
    StoreError,
)

SPECS: dict[str, Any] = {
    "count-min": table(),
    "count-sketch": table("count-sketch", ls.RoundRobin(horizon=900)),
    "punctual": table("count-min", ls.Punctual(horizon=900)),
    "punctual count-sketch": table("count-sketch", ls.Punctual(horizon=900)),
    "counters": table("counters", ls.RoundRobin(horizon=900)),
    "heavy hitters": hitters(),
    "listed": ls.HeavyHittersSpec.of(schedule=ls.Geometric(), domain=[1, 2], width=8, **NOISE),
}


@pytest.mark.parametrize("name", SPECS)
def test_lives_are_summed(name: str, tmp_path: Path) -> None:
    path, ids = tmp_path / "counts.lzs", set()
    published: list[ls.Release] = []
    for life in range(3):
        with ls.ReleasesOnly(path, SPECS[name]) as lives:
            assert len(ls.Release.load(path).parts) == life + 1  # before anything is counted
            lives.sketch.update_many([1] * 150)
            if life == 2:
                lives.sketch.finish()
            published.append(lives.sketch.release())
            ids.add(published[-1].sketch_id)
            expected = lives.release()
            spent = lives.spent
        found = ls.Release.load(path)
        assert found.to_bytes() == expected.to_bytes()
        assert (found.table == sum(release.table for release in published)).all()
        assert found.step == 150 * (life + 1)
        assert len(spent.parts) == life + 1
    assert len(ids) == 3
    one = SPECS[name].privacy
    assert one.epsilon < spent.epsilon <= 3 * one.epsilon * (1 + 1e-9)
    assert spent.delta == pytest.approx(3 * one.delta)
    assert spent.complete
    with pytest.raises(ClosedError):
        lives.sketch.update_many([1])


def test_a_killed_life_is_in_the_account(tmp_path: Path) -> None:
    """What it published before it was killed may have been seen by anyone."""
    path = tmp_path / "counts.lzs"
    program = f"""
import lazysketch as ls, os
spec = ls.TableSpec(kind="count-min", depth=2, width=8, schedule=ls.Geometric(),
                    hash_seed=None, epsilon=1.0, delta=1e-6)
lives = ls.ReleasesOnly({str(path)!r}, spec).__enter__()
lives.sketch.update_many(["x"] * 99)
print(lives.release().step, flush=True)
os.kill(os.getpid(), 9)
"""
    for life in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.returncode) == ("99\n", -9), done.stderr
        assert len(ls.Release.load(path).parts) == life + 1
    with ls.ReleasesOnly(path, table()) as lives:
        assert len(lives.spent.parts) == 3
        assert lives.release().step == 0  # nothing was saved


def test_the_file_is_public_and_no_other_is_made(tmp_path: Path) -> None:
    with ls.ReleasesOnly(tmp_path / "counts.lzs", table()) as lives:
        lives.sketch.update_many([CANARY] * 50)
        lives.save()
        assert lives.failure is None
        with pytest.raises(LiveStateError):
            lives.__reduce_ex__(2)
    (file,) = tmp_path.iterdir()
    assert CANARY.encode() not in file.read_bytes()


def test_another_process_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "counts.lzs"
    one = ls.ReleasesOnly(path, table())
    with ls.ReleasesOnly(path, table()) as other:
        other.sketch.update_many(["x"] * 50)
    one.sketch.update_many(["x"] * 50)
    with pytest.raises(StoreError, match="path: expected the file that this process wrote"):
        one.save()
    with pytest.raises(StoreError, match="path: expected the file that this process wrote"):
        one.close()
    assert ls.Release.load(path).step == 50
    with pytest.raises(ClosedError):
        one.sketch.update("x")


def test_other_descriptions_and_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.lzs"
    ls.ReleasesOnly(path, table()).close()
    for other in (table(epsilon=2.0), table("count-sketch"), hitters()):
        with pytest.raises(ArgumentValueError, match="expected the description of the lives in"):
            ls.ReleasesOnly(path, other)
    assert len(ls.Release.load(path).parts) == 1
    with pytest.raises(ArgumentTypeError, match="spec: expected a TableSpec or a HeavyHitters"):
        ls.ReleasesOnly(path, 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="seconds: expected"):
        ls.ReleasesOnly(path, table(), seconds=-1.0)
    (tmp_path / "text").write_text("hello, this is no release")
    with pytest.raises(ReleaseFormatError):
        ls.ReleasesOnly(tmp_path / "text", table())
