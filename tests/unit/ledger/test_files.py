"""Files of a ledger: crashes, old copies, changed bytes, other keys, processes, failing disks."""

from __future__ import annotations

import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.locations import ROOT
from tests.unit.ledger.ledgers import KEY, Place

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    StoreDoubtError,
    StoreError,
    StoreInUseError,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def charged(place: Place, runs: int) -> None:
    with place.create() as ledger:
        for number in range(runs):
            ledger.charge((0.01, 1e-12), note=f"run {number + 1}", state=f"s{number + 1}")


def test_a_ledger_is_the_same_when_it_is_opened_again(place: Place) -> None:
    with place.create(period="1y", unit="person", relation="zero-out") as ledger:
        ledger.charge((0.1, 1e-9), note="first", state="s1")
        ledger.charge((0.2, 0.0)).close()
        terms, entries = ledger.terms, ledger.entries()
    for _ in range(2):
        with place.open() as ledger:
            assert (ledger.terms, ledger.entries()) == (terms, entries)


def killed(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Return the number of kills and of the runs that the ledger has after them."""
    command = [sys.executable, "-m", "tests.unit.ledger.killed", str(folder), str(kills), str(seed)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.match(r"(\d+) kills, (\d+) runs", done.stdout)
    assert counted is not None
    return int(counted[1]), int(counted[2])


def test_no_charge_that_returned_is_lost_when_a_process_is_killed(tmp_path: Path) -> None:
    kills, runs = killed(tmp_path, 25, seed=1)
    assert (kills, runs > 5) == (25, True)


def test_a_charge_is_in_the_files_when_it_returns(place: Place, tmp_path: Path) -> None:
    with place.create() as ledger:
        ledger.charge((0.01, 1e-12))
        copied = Place(tmp_path / "copied")
        copied.folder.mkdir()
        shutil.copytree(place.path, copied.path)
        shutil.copy(place.anchor, copied.anchor)
    with copied.open() as copy:
        assert len(copy.entries()) == 1


@pytest.mark.long
def test_no_charge_that_returned_is_lost_in_hundreds_of_kills(tmp_path: Path) -> None:
    kills, runs = killed(tmp_path, 500, seed=2)
    assert (kills, runs > 100) == (500, True)


def test_an_old_copy_that_was_put_back_is_refused(place: Place) -> None:
    charged(place, 2)
    shutil.copytree(place.path, place.folder / "copy")
    with place.open() as ledger:
        ledger.charge((0.01, 1e-12))
    shutil.rmtree(place.path)
    shutil.copytree(place.folder / "copy", place.path)
    with pytest.raises(StoreDoubtError, match="ledger: expected the newest state"):
        place.open()


def test_a_ledger_without_its_anchor_is_refused(place: Place) -> None:
    charged(place, 1)
    place.anchor.unlink()
    with pytest.raises(StoreDoubtError, match="anchor: expected the anchor of this ledger"):
        place.open()


def test_the_anchor_of_another_ledger_is_refused(place: Place, tmp_path: Path) -> None:
    charged(place, 1)
    other = tmp_path / "other"
    other.mkdir()
    charged(Place(other), 1)
    shutil.copy(other / "anchor", place.anchor)
    with pytest.raises(StoreDoubtError, match="anchor: expected one of this ledger"):
        place.open()


def end_of_records(log: bytes) -> int:
    """Return where the zeros after the last record begin; see docs/state-format.md."""
    end = 48
    while length := int.from_bytes(log[end : end + 4], "little"):
        end += 48 + length
    return end


def test_every_changed_byte_of_the_log_is_noticed(place: Place) -> None:
    charged(place, 3)
    log = max(place.path.glob("log-*"))
    whole = log.read_bytes()
    for at in range(0, end_of_records(whole), 61):
        changed = bytearray(whole)
        changed[at] ^= 0x10
        log.write_bytes(changed)
        with pytest.raises(StoreError, match=r"^(ledger|anchor): expected"):
            place.open()
    log.write_bytes(whole)
    with place.open() as ledger:
        assert len(ledger.entries()) == 3


def test_a_torn_tail_is_cut_only_where_nothing_had_returned(place: Place) -> None:
    charged(place, 3)
    log = max(place.path.glob("log-*"))
    whole = log.read_bytes()
    written = whole[: end_of_records(whole)]
    log.write_bytes(written[:-7])  # of a charge that had returned
    with pytest.raises(StoreError, match="expected"):
        place.open()
    log.write_bytes(written + b"\x07" * 33)  # of one that had not
    with place.open() as ledger:
        assert len(ledger.entries()) == 3


def test_another_key_does_not_open_it(place: Place) -> None:
    charged(place, 1)
    with pytest.raises(StoreError, match="key: expected the key"):
        place.open(key=ls.Key.generate())
    with pytest.raises(ArgumentTypeError, match="key: expected a Key, got bytes"):
        place.open(key=bytes(32))  # type: ignore[arg-type]


def test_two_processes_do_not_have_it_open(place: Place) -> None:
    with place.create() as ledger:
        with pytest.raises(StoreInUseError, match="ledger: expected a ledger that is not open"):
            place.open()
        later = threading.Timer(0.2, ledger.close)
        later.start()
        place.open(wait=30.0).close()
        later.join()


def test_a_ledger_is_made_once(place: Place) -> None:
    charged(place, 1)
    with pytest.raises(StoreError, match="which has one"):
        place.create()
    with place.open() as ledger:
        assert len(ledger.entries()) == 1
    with pytest.raises(StoreError, match="expected a ledger, got none"):
        ls.Ledger(place.folder / "other.db", key=KEY)
    with pytest.raises(ArgumentValueError, match="anchor: expected a file outside"):
        ls.Ledger(place.path, key=KEY, anchor=place.path / "anchor")


def test_a_store_is_no_ledger_and_a_ledger_no_store(place: Place) -> None:
    store = ls.open_store(place.path, key=KEY, anchor=place.anchor)
    store.keep_note("a", "note of a store")
    store.close()
    with pytest.raises(StoreError, match="expected a ledger, got another store"):
        place.open()
    ls.open_store(place.path, key=KEY, anchor=place.anchor).close()
    shutil.rmtree(place.path)
    place.anchor.unlink()
    charged(place, 1)
    with pytest.raises(StoreError, match="state: expected record version"):
        ls.open_store(place.path, key=KEY, anchor=place.anchor)


def test_a_charge_that_cannot_be_written_is_refused_and_so_is_the_next(place: Place) -> None:
    # A limit on the size of files fails a write as a full or read-only disk does.
    charged(place, 1)
    ledger = place.open()
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(place.path.glob("log-*")).stat().st_size, hard))
    try:
        with pytest.raises(StoreError, match="write log-"):
            ledger.charge((0.01, 1e-12), note="x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    with pytest.raises(StoreError, match="open it again"):
        ledger.charge((0.01, 1e-12))
    assert len(ledger.entries()) == 1
    del ledger
    with place.open() as again:
        assert len(again.entries()) == 1


def test_a_folder_that_cannot_be_made_is_named(place: Place) -> None:
    with pytest.raises(StoreError, match="ledger: expected a directory, got .*: /proc/people.db"):
        ls.Ledger.create(
            "/proc/people.db",
            key=KEY,
            population="p",
            unit="event",
            epsilon=1.0,
            delta=1e-6,
            anchor=place.anchor,
        )
