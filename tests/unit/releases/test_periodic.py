"""Saves at regular times while a stream is counted."""

from __future__ import annotations

import threading
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, OverwriteError


def sketch() -> ls.LazyCountMin:
    return ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6)


def test_the_file_follows_the_stream_and_its_end(tmp_path: Path) -> None:
    path = tmp_path / "r.lzs"
    counting = sketch()
    with ls.PeriodicSaves(counting.release, path, seconds=0.01):
        counting.update_many(["a"] * 10)
        wait_until(lambda: path.exists() and ls.Release.load(path).step == 10)
        counting.update("a")
        wait_until(lambda: ls.Release.load(path).step == 11)
        counting.update("a")
    assert ls.Release.load(path).step == 12
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.lzs"]


def test_no_save_without_a_step(tmp_path: Path) -> None:
    """Neither before the first one, nor twice for the same one."""
    path = tmp_path / "r.lzs"
    counting, reads = sketch(), []

    def release() -> ls.Release:
        reads.append(1)
        return counting.release()

    with ls.PeriodicSaves(release, path, seconds=0.005):
        wait_until(lambda: len(reads) > 3)
        assert not path.exists()
        counting.update("a")
        wait_until(path.exists)
        path.unlink()
        already = len(reads)
        wait_until(lambda: len(reads) > already + 3)
    assert not path.exists()


def test_names_that_are_published_without_a_step_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "r.lzs"
    heavy = ls.HeavyHitters(share=0.2, epsilon=20.0, delta=1e-6, discovery_epoch=5_000)
    with ls.PeriodicSaves(heavy.release, path, seconds=0.01):
        heavy.update_many(["a"] * 1_000)
        wait_until(lambda: path.exists() and ls.Release.load(path).step == 1_000)
        assert ls.Release.load(path).names == ()
        heavy.end_discovery_epoch()
    assert ls.Release.load(path).names == ("a",)


def test_a_final_push_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "r.lzs"
    counting = sketch()
    with ls.PeriodicSaves(counting.release, path, seconds=0.01):
        counting.update_many(["a"] * 10)
        wait_until(lambda: path.exists() and ls.Release.load(path).step == 10)
        counting.finish()
    assert ls.Release.load(path).finished


def ids(release: ls.Release) -> frozenset[bytes]:
    return frozenset(part.sketch_id for part in release.parts)


def holds(path: Path, wanted: frozenset[bytes]) -> bool:
    return path.exists() and ids(ls.Release.load(path)) == wanted


def test_windows_are_saved_as_they_end(tmp_path: Path) -> None:
    path = tmp_path / "r.lzs"
    windows = ls.Windows(every=100, keep=2, domain=["a"], epsilon=1.0, delta=1e-6)
    saves = ls.PeriodicSaves(lambda: windows.release(2), path, seconds=0.005)
    with saves:
        wait_until(lambda: saves.failure is not None)  # no window has ended
        seen: set[frozenset[bytes]] = set()
        for _ in range(4):  # the number of kept windows stays, and the file changes
            windows.update_many(["a"] * 100)
            now = ids(windows.release(2))
            wait_until(partial(holds, path, now))
            seen.add(now)
        assert saves.failure is None
    assert len(seen) == 4


def test_an_error_in_the_block_saves_too(tmp_path: Path) -> None:
    counting = sketch()

    def run() -> None:
        with ls.PeriodicSaves(counting.release, tmp_path / "r.lzs", seconds=100.0):
            counting.update("a")
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert ls.Release.load(tmp_path / "r.lzs").step == 1


def test_a_failed_save_is_kept_and_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    counting = sketch()
    counting.update("a")
    saves = ls.PeriodicSaves(counting.release, folder / "r.lzs", seconds=0.005)
    with saves:
        wait_until(lambda: isinstance(saves.failure, FileNotFoundError))
        folder.mkdir()
        wait_until(lambda: saves.failure is None)
    (tmp_path / "other.txt").write_text("not a release")
    with pytest.raises(OverwriteError):
        ls.PeriodicSaves(counting.release, tmp_path / "other.txt").save()
    ls.PeriodicSaves(counting.release, tmp_path / "other.txt", overwrite=True).save()
    assert ls.Release.load(tmp_path / "other.txt").step == 1


def test_a_slow_save_lengthens_the_interval(tmp_path: Path) -> None:
    begins = []
    counting = sketch()

    def release() -> ls.Release:
        begins.append(time.monotonic())
        time.sleep(0.02)
        return counting.release()

    with ls.PeriodicSaves(release, tmp_path / "r.lzs", seconds=0.01):
        wait_until(lambda: len(begins) > 3)
    # Every 0.2 s, not every 0.03; the last save is that of the end.
    assert 0.19 < min(later - earlier for earlier, later in pairwise(begins[:4])) < 2.0


def test_the_thread_ends_with_the_block(tmp_path: Path) -> None:
    before = threading.enumerate()
    with ls.PeriodicSaves(sketch().release, tmp_path / "r.lzs"):
        (own,) = [thread for thread in threading.enumerate() if thread not in before]
        assert own.is_alive()
    assert not own.is_alive()


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="^release: expected a function"):
        ls.PeriodicSaves(sketch().release(), tmp_path / "r.lzs")  # type: ignore[arg-type]
    for seconds in ("60", True, None):
        with pytest.raises(ArgumentTypeError, match="^seconds: expected a number"):
            ls.PeriodicSaves(sketch().release, tmp_path / "r.lzs", seconds=seconds)  # type: ignore[arg-type]
    for number in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ArgumentValueError, match="^seconds: expected a number above 0"):
            ls.PeriodicSaves(sketch().release, tmp_path / "r.lzs", seconds=number)
