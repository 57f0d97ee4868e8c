"""Sources that read ahead: the same bits for every format; the tally of what was yielded."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import feather, parquet
from tests.oracle import captures
from tests.oracle.captures import ETHERNET, framed, ip

import lazysketch as ls
from lazysketch import testing
from lazysketch.cli.run.until_failure import UntilFailure
from lazysketch.errors import ArgumentTypeError, HorizonError, SourceError
from lazysketch.sources import RowBatch, Source, feed, open_source
from lazysketch.sources.formats import arrow_ipc
from lazysketch.sources.formats import parquet as parquet_format
from lazysketch.sources.io import byte_stream
from lazysketch.sources.io.prefetch import AHEAD

ROWS = 3000
PATIENCE = 30.0


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "reads ahead" in thread.name]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a few thousand rows many batches."""
    monkeypatch.setattr(byte_stream, "READ_SIZE", 4096)
    monkeypatch.setattr(parquet_format, "_ROWS", 100)
    monkeypatch.setattr(arrow_ipc, "_ROWS", 100)


# Every 50th row is malformed, in the way of its format; every 7th exceeds max_weight.
def _lines() -> bytes:
    return b"".join(b"\n" if n % 50 == 49 else b"item %d\n" % (n % 99) for n in range(ROWS))


def _delimited(between: str) -> bytes:
    rows = (
        "broken" if n % 50 == 49 else between.join([f"item {n % 99}", str(9 if n % 7 else 99)])
        for n in range(ROWS)
    )
    return "\n".join([between.join(["k", "n"]), *rows, ""]).encode()


def _objects() -> bytes:
    return b"".join(
        b"broken\n" if n % 50 == 49 else b'{"k": "item %d", "n": %d}\n' % (n % 99, n % 120)
        for n in range(ROWS)
    )


def _log(rest: bytes) -> bytes:
    row = b'h%d - - [20/Nov/2025:09:00:00 +0000] "GET / HTTP/1.1" 200 5' + rest + b"\n"
    return b"".join(b"broken\n" if n % 50 == 49 else row % (n % 99) for n in range(ROWS))


def _zeek() -> bytes:
    rows = [b"-\t1\n" if n % 50 == 49 else b"item %d\t%d\n" % (n % 99, n) for n in range(ROWS)]
    return b"#separator \\x09\n#fields\tk\tn\n" + b"".join(rows)


def _capture() -> bytes:
    packets = [framed(ip(f"10.0.0.{n}", "203.0.113.9", ports=(n, 443)), ETHERNET) for n in range(9)]
    packets += [captures.arp()]
    return captures.pcap([packets[n * n % 10] for n in range(ROWS)])


def _table() -> pa.Table:
    items = [None if n % 50 == 49 else f"item {n % 99}" for n in range(ROWS)]
    return pa.table({"k": items, "n": [n % 120 for n in range(ROWS)]})


def _as_parquet(path: Path) -> None:
    parquet.write_table(_table(), path, row_group_size=500)


def _as_arrow(path: Path) -> None:
    feather.write_feather(_table(), str(path), chunksize=500)


WEIGHTED: dict[str, object] = {"field": "k", "weight": "n", "max_weight": 50}
INPUTS: dict[str, tuple[bytes | Callable[[Path], None], dict[str, object]]] = {
    "lines": (_lines(), {"format": "lines"}),
    "lines.gz": (gzip.compress(_lines()), {"format": "lines"}),
    "lines.bz2": (bz2.compress(_lines()), {"format": "lines"}),
    "lines.xz": (lzma.compress(_lines()), {"format": "lines"}),
    "a.csv": (_delimited(","), WEIGHTED),
    "a.csv.gz": (gzip.compress(_delimited(",")), {"field": "k"}),
    "a.tsv": (_delimited("\t"), WEIGHTED),
    "a.jsonl": (_objects(), WEIGHTED),
    "common": (_log(b""), {}),
    "combined": (_log(b' "-" "agent"'), {"field": "agent"}),
    "zeek": (_zeek(), WEIGHTED),
    "pcap": (_capture(), {"weight": "size", "max_weight": 50}),
    "sport": (_capture(), {"field": "sport"}),
    "a.parquet": (_as_parquet, WEIGHTED),
    "a.arrow": (_as_arrow, WEIGHTED),
}


def made(folder: Path, name: str) -> tuple[Path, dict[str, object]]:
    content, asked = INPUTS[name]
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    return path, asked


def sketch(*, max_weight: int = 50, **settings: object) -> ls.LazyCountMin:
    return ls.LazyCountMin(
        depth=3,
        width=8,
        epsilon=1.0,
        delta=1e-6,
        max_weight=max_weight,
        hash_seed=1,
        key=testing.seeded_key(1),
        **settings,
    )


def fed(batches: object, **settings: object) -> tuple[int, NDArray[np.int64]]:
    with sketch(**settings) as counter:
        feed(counter, batches)
        return counter.step, counter.release().table


def listed(batch: RowBatch) -> tuple[list[object], list[int], list[int]]:
    as_list: object = batch.items
    items = as_list.to_pylist() if hasattr(as_list, "to_pylist") else list(as_list)
    return items, list(map(int, batch.malformed)), list(map(int, batch.absent))


def slowly_listed(batch: RowBatch) -> tuple[list[object], list[int], list[int]]:
    time.sleep(0.001)  # lets the reader get ahead
    return listed(batch)


@pytest.mark.parametrize("name", INPUTS)
def test_the_same_batches_tally_and_bits(tmp_path: Path, name: str) -> None:
    path, asked = made(tmp_path, name)
    plain, ahead = open_source(path, **asked), open_source(path, **asked, ahead=True)
    assert list(map(slowly_listed, ahead)) == list(map(listed, plain))
    assert ahead.tally == plain.tally
    assert plain.tally.rows == ROWS
    assert plain.tally.malformed or plain.tally.absent
    assert ahead.part_read == plain.part_read == 1.0
    step, table = fed(open_source(path, **asked, ahead=True))
    expected_step, expected = fed(open_source(path, **asked))
    assert step == expected_step == ROWS
    assert (table == expected).all()
    assert readers() == []


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("horizon", [1, 777, ROWS - 1])
def test_the_same_bits_up_to_the_horizon(tmp_path: Path, name: str, horizon: int) -> None:
    path, asked = made(tmp_path, name)
    results = []
    for ahead in (False, True):
        source = open_source(path, **asked, ahead=ahead)
        batches = UntilFailure(source, horizon=horizon)
        results.append((*fed(batches, horizon=horizon), source.tally))
        assert isinstance(batches.failure, HorizonError)
        assert readers() == []
    (plain_step, plain, plain_tally), (step, table, tally) = results
    assert step == plain_step == horizon
    assert (table == plain).all()
    assert tally == plain_tally


@pytest.mark.parametrize("name", INPUTS)
def test_strict_mode_stops_at_the_same_row(tmp_path: Path, name: str) -> None:
    path, asked = made(tmp_path, name)
    endings = []
    for ahead in (False, True):
        source = open_source(path, **asked, strict=True, ahead=ahead)
        with sketch() as counter:
            try:
                feed(counter, source)
                endings.append(("", counter.step, source.tally))
            except SourceError as failure:
                endings.append((str(failure), counter.step, source.tally))
        assert readers() == []
    assert endings[0] == endings[1]
    assert ("got one in row 50" in endings[0][0]) == (name not in ("pcap", "sport"))


def test_the_tally_counts_what_was_yielded(tmp_path: Path) -> None:
    """Not what is queued: here whole inputs are queued, and with them their formats."""
    paths = [tmp_path / "first", tmp_path / "second"]
    paths[0].write_text("a\n\n")
    sound = 'h - - [t] "GET / HTTP/1.0" 200 5\n'
    paths[1].write_text(f"{sound}broken\n{sound}")
    source = open_source(paths, ahead=True)
    batches = iter(source)
    first = next(batches)
    end = time.monotonic() + PATIENCE
    while source.part_read != 1.0:  # until the reader has read everything
        assert time.monotonic() < end
        time.sleep(0.001)
    assert (source.tally.rows, source.tally.malformed) == (first.rows, 1) == (2, 1)
    assert source.tally.formats == ["lines"]
    assert [place.name for place in source.tally.first_malformed] == [str(paths[0])]
    assert [batch.rows for batch in batches] == [3]
    assert (source.tally.rows, source.tally.malformed) == (5, 2)
    assert source.tally.formats == ["lines", "common, field host"]


def test_the_tally_grows_with_each_yielded_batch(tmp_path: Path) -> None:
    path, asked = made(tmp_path, "a.csv")
    source = open_source(path, **asked, ahead=True)
    rows = malformed = weight = 0
    for batch in source:
        time.sleep(0.002)  # lets the reader get ahead
        rows += batch.rows
        malformed += len(batch.malformed)
        weight += batch.total_weight
        tally = source.tally
        assert (tally.rows, tally.malformed, tally.total_weight) == (rows, malformed, weight)
    assert rows == ROWS


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"0123456\n" * 100_000)
    source = open_source(path, format="lines", ahead=True)
    for number, _ in enumerate(source):
        if number < 5:
            time.sleep(0.05)
            assert source._current is not None
            assert source._current.bytes_read <= (number + 2 + AHEAD) * 4096
    assert source.tally.rows == 100_000


@pytest.mark.parametrize("name", ["lines.gz", "lines.xz", "pcap", "a.arrow"])
def test_a_truncated_input_fails_after_its_rows(tmp_path: Path, name: str) -> None:
    path, asked = made(tmp_path, name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    endings = []
    for ahead in (False, True):
        source = open_source(path, **asked, ahead=ahead)
        found: list[object] = []
        with pytest.raises(SourceError) as failure:
            found.extend(map(slowly_listed, source))
        endings.append((str(failure.value), found, source.tally))
    assert endings[0] == endings[1]
    assert endings[0][1]


def test_failures_before_the_first_row_are_the_same(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    text = tmp_path / "text.csv"
    text.write_text("a,b\n1,2\n")
    for path, asked in ((empty, {}), (text, {"field": "k"}), (text, {"format": "csv"})):
        messages = []
        for ahead in (False, True):
            with pytest.raises((SourceError, ArgumentTypeError)) as failure:
                list(open_source(path, **asked, ahead=ahead))  # type: ignore[arg-type]
            messages.append((type(failure.value), str(failure.value)))
        assert messages[0] == messages[1]


def test_without_ahead_there_is_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = made(tmp_path, "a.csv")

    def starts(_: object) -> None:
        raise AssertionError("a thread")

    monkeypatch.setattr(threading.Thread, "start", starts)
    assert fed(open_source(path, **asked))[0] == ROWS
    with pytest.raises(AssertionError, match="a thread"):
        list(open_source(path, **asked, ahead=True))


class Refuses:
    """A sketch that fails after some batches."""

    def __init__(self, batches: int) -> None:
        self._left = batches

    def update_many(self, items: object, weights: object = None) -> None:
        self._left -= 1
        if self._left < 0:
            raise HorizonError("enough")


def test_a_failure_of_the_sketch_leaves_no_thread(tmp_path: Path) -> None:
    path, _ = made(tmp_path, "lines")
    source = open_source(path, format="lines", ahead=True)
    with pytest.raises(HorizonError) as failure:
        feed(Refuses(3), source)
    # The failure is still referenced and keeps all frames alive.
    assert failure.value.args
    assert readers() == []


def test_feed_does_not_close_the_callers_generator(tmp_path: Path) -> None:
    path, _ = made(tmp_path, "lines")
    batches = iter(open_source(path, format="lines", ahead=True))
    with pytest.raises(HorizonError):
        feed(Refuses(3), batches)
    assert next(batches).rows
    batches.close()
    assert readers() == []


def test_a_source_that_is_abandoned_in_the_middle(tmp_path: Path) -> None:
    path, _ = made(tmp_path, "lines")
    for batch in open_source(path, format="lines", ahead=True):
        assert batch.rows
        break
    assert readers() == []


def check_closed_soon(batches: Generator[RowBatch, None, None]) -> None:
    closing = threading.Thread(target=batches.close, daemon=True)  # a defect might block it
    closing.start()
    closing.join(5.0)
    assert not closing.is_alive()
    assert readers() == []


def test_following_a_silent_log_ends_immediately(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a\nb\n")
    batches = iter(open_source(path, format="lines", follow=True, ahead=True))
    assert next(batches).item_list == ["a", "b"]
    with path.open("a") as file:
        file.write("c\n")
    assert next(batches).item_list == ["c"]
    check_closed_soon(batches)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are POSIX")
def test_reading_a_silent_pipe_ends_immediately(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    keeps_open = os.open(path, os.O_RDWR)
    os.write(keeps_open, b"a\nb\n")
    guard = threading.Timer(PATIENCE, os.write, [keeps_open, b"c\n"])
    guard.start()
    batches = iter(open_source(path, format="lines", ahead=True))
    assert next(batches).item_list == ["a", "b"]
    check_closed_soon(batches)
    guard.cancel()
    os.close(keeps_open)


def test_without_poll_pipes_are_not_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazysketch.sources.source.CAN_END", False)

    def reads_ahead(path: str | Path) -> bool:
        source: Source = open_source(path, format="lines", ahead=True)
        return source._ahead

    path, _ = made(tmp_path, "lines")
    assert reads_ahead(path)
    assert not reads_ahead("-")
