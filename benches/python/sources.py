"""End-to-end rows per second compared with the parsing library alone; peak memory.

Generates 10^7 rows as a CSV file, plain and compressed, an access log, lines, JSON lines, a
Parquet file and a capture (4.5 GB, in a temporary folder that is removed), and reads each in
separate processes:

- ``library``: the parsing library alone: pyarrow's streaming CSV reader with one column as
  text, in one thread and in all; pyarrow's Parquet batches; for the access log, whose parser
  is our own, only its lines, split and decoded; for JSON lines the json module, line by line;
  for the capture the native reader (pcap-parser and etherparse), by size and by address;
- ``source``: ``lazysketch.sources`` without a sketch, also with the time of each row;
- ``private``: the source into a LazyCountMin of 4 x 1024; ``names``: into HeavyHitters;
- ``..., ahead``: the same, reading ahead in a background thread;
- ``people, ...``: the source with the person of each row, alone and into a LazyCountMin that
  bounds people, next to the same field without people.

    python benches/python/sources.py [ROWS [PREFIX]]   # only measures with this prefix
"""

from __future__ import annotations

import itertools
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypedDict

import numpy as np

ROWS = 10_000_000
BLOCK = 100_000


def hosts(number: int, *, seed: int) -> list[str]:
    ranks = np.random.default_rng(seed).zipf(1.3, number) % (1 << 24)
    return [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in ranks.tolist()]


def blocks(rows: int) -> Iterator[list[str]]:
    for seed, begin in enumerate(range(0, rows, BLOCK)):
        yield hosts(min(BLOCK, rows - begin), seed=seed)


def packets(block: list[str]) -> bytes:
    """Return TCP packets to one server, 94 bytes each, with 20 bytes of payload."""
    frame = bytes(12) + b"\x08\0" + struct.pack(">BBHIBBH", 0x45, 0, 60, 0, 64, 6, 0)
    rest = bytes([203, 0, 113, 9]) + struct.pack(">HH", 40_000, 443) + bytes(36)
    record = struct.pack("<IIII", 1, 2, len(frame) + 4 + len(rest), 1500) + frame
    return b"".join(record + bytes(map(int, host.split("."))) + rest for host in block)


def generate(folder: Path, rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("host", pa.string()), ("bytes", pa.int64())])
    with (
        (folder / "rows.csv").open("w") as table,
        (folder / "rows.log").open("w") as log,
        (folder / "rows.txt").open("w") as lines,
        (folder / "rows.jsonl").open("w") as objects,
        (folder / "rows.pcap").open("wb") as capture,
        pa.CompressedOutputStream(str(folder / "rows.csv.zst"), "zstd") as zstd,
        pa.CompressedOutputStream(str(folder / "rows.csv.gz"), "gzip") as gzip,
        parquet.ParquetWriter(folder / "rows.parquet", schema) as columns,
    ):
        capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
        header = "time,host,method,path,bytes\n"
        table.write(header)
        zstd.write(header.encode())
        gzip.write(header.encode())
        for number, block in enumerate(blocks(rows)):
            stamp = f"2025-11-20T{number // 60 % 24:02}:{number % 60:02}:00"
            text = "".join(
                f"{stamp},{host},GET,/shop/{place % 997},{place}\n"
                for place, host in enumerate(block)
            )
            table.write(text)
            zstd.write(text.encode())
            gzip.write(text.encode())
            log.writelines(
                f"{host} - - [20/Nov/2025:{number // 60 % 24:02}:{number % 60:02}:00 +0000] "
                f'"GET /shop/{place % 997} HTTP/1.1" 200 {place} "-" "Mozilla/5.0 (X11)"\n'
                for place, host in enumerate(block)
            )
            lines.writelines(f"{host}\n" for host in block)
            objects.writelines(
                f'{{"time": "{stamp}", "host": "{host}", "method": "GET", '
                f'"path": "/shop/{place % 997}", "reply": {{"bytes": {place}}}}}\n'
                for place, host in enumerate(block)
            )
            capture.write(packets(block))
            batch = [pa.array(block), pa.array(range(len(block)), pa.int64())]
            columns.write_table(pa.Table.from_arrays(batch, schema=schema))


def csv_alone(path: Path, *, threads: bool) -> int:
    import pyarrow as pa
    from pyarrow import csv

    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(use_threads=threads),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=["host"], column_types={"host": pa.string()}
        ),
    )
    return sum(batch.num_rows for batch in reader)


def parquet_alone(path: Path) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        return sum(batch.num_rows for batch in file.iter_batches(columns=["host"]))


def json_alone(path: Path) -> int:
    from lazysketch.sources.formats.json_lines import row_decoder
    from lazysketch.sources.formats.selection import Selection

    decode = row_decoder(Selection(field="host", encoding="utf-8"))
    total = 0
    with path.open() as text:
        while rows := [row.rstrip("\n") for row in itertools.islice(text, BLOCK)]:
            total += decode(rows).rows
    return total


def lines_alone(path: Path) -> int:
    from lazysketch.sources import open_source

    return sum(batch.rows for batch in open_source(path, format="lines"))


def capture_alone(path: Path, *, field: str) -> int:
    from lazysketch._native import CaptureReader

    reader = CaptureReader(field=field)
    with path.open("rb", buffering=0) as file:
        while data := file.read(1 << 19):
            reader.feed(data)
    return reader.packets


def source_alone(path: Path, *, field: str = "host", time: str | None = None) -> int:
    from lazysketch.sources import open_source

    return sum(batch.rows for batch in open_source(path, field=field, time=time))


def log_with_times(path: Path) -> int:
    from lazysketch.sources import open_source

    batches = open_source(path, times=True)
    return sum(0 if batch.item_times is None else len(batch.item_times) for batch in batches)


def private(
    path: Path, *, field: str | None = "host", weight: str | None = None, ahead: bool = False
) -> int:
    from lazysketch import LazyCountMin
    from lazysketch.sources import feed, open_source

    most = 1000 if weight else None
    source = open_source(path, field=field, weight=weight, max_weight=most, ahead=ahead)
    with LazyCountMin(
        depth=4, width=1024, epsilon=1.0, delta=1e-8, max_weight=source.max_weight
    ) as sketch:
        feed(sketch, source)
        return sketch.step


def names(path: Path, *, field: str | None = "host", ahead: bool = False) -> int:
    from lazysketch import HeavyHitters
    from lazysketch.sources import feed, open_source

    with HeavyHitters(share=0.001, epsilon=1.0, delta=1e-8) as heavy:
        feed(heavy, open_source(path, field=field, ahead=ahead))
        return heavy.step


MEASURES: dict[str, tuple[str, Callable[[Path], int]]] = {
    "csv: library, one thread": ("rows.csv", lambda path: csv_alone(path, threads=False)),
    "csv: library, all threads": ("rows.csv", lambda path: csv_alone(path, threads=True)),
    "csv: source": ("rows.csv", source_alone),
    "csv: source with times": ("rows.csv", lambda path: source_alone(path, time="time")),
    "log: lines alone": ("rows.log", lines_alone),
    "log: source": ("rows.log", source_alone),
    "log: source with times": ("rows.log", log_with_times),
    "json: standard library": ("rows.jsonl", json_alone),
    "json: source": ("rows.jsonl", source_alone),
    "json: source by integer": (
        "rows.jsonl",
        lambda path: source_alone(path, field="reply.bytes"),
    ),
    "json: source with times": ("rows.jsonl", lambda path: source_alone(path, time="time")),
    "lines: source": ("rows.txt", lines_alone),
    "parquet: library": ("rows.parquet", parquet_alone),
    "capture: reader by size": ("rows.pcap", lambda path: capture_alone(path, field="size")),
    "capture: reader by src": ("rows.pcap", lambda path: capture_alone(path, field="src")),
    "capture: source by src": ("rows.pcap", lambda path: source_alone(path, field="src")),
}
# Each is measured without and with reading ahead.
INTO: dict[str, tuple[str, Callable[..., int]]] = {
    "csv: private": ("rows.csv", private),
    "csv: private, weighted": ("rows.csv", partial(private, weight="bytes")),
    "csv: names": ("rows.csv", names),
    "csv.zst: private": ("rows.csv.zst", private),
    "csv.gz: private": ("rows.csv.gz", private),
    "csv.gz: names": ("rows.csv.gz", names),
    "log: private": ("rows.log", private),
    "log: names": ("rows.log", names),
    "lines: private": ("rows.txt", partial(private, field=None)),
    "lines: names": ("rows.txt", partial(names, field=None)),
    "json: private": ("rows.jsonl", private),
    "json: names": ("rows.jsonl", names),
    "parquet: private": ("rows.parquet", private),
    "capture: private by src": ("rows.pcap", partial(private, field="src")),
    "capture: private by flow": ("rows.pcap", partial(private, field="flow")),
    "capture: private by sport": ("rows.pcap", partial(private, field="sport")),
    "capture: private, weighted": ("rows.pcap", partial(private, field="src", weight="size")),
    "capture: names by src": ("rows.pcap", partial(names, field="src")),
}
for _label, (_file, _into) in INTO.items():
    MEASURES[_label] = (_file, _into)
    MEASURES[f"{_label}, ahead"] = (_file, partial(_into, ahead=True))


# The counted field where ``host`` (in the capture ``src``) is the person.
PEOPLE = {
    "csv": ("rows.csv", "path"),
    "log": ("rows.log", "path"),
    "json": ("rows.jsonl", "reply.bytes"),
    "parquet": ("rows.parquet", "bytes"),
    "capture": ("rows.pcap", "dport"),
}


def of_people(path: Path, *, field: str, user: str | None, counts: bool) -> int:
    from lazysketch import LazyCountMin, PersonBound
    from lazysketch.sources import feed, open_source

    source = open_source(path, field=field, user=user)
    if not counts:
        return sum(batch.rows for batch in source)
    bound = None if user is None else PersonBound(cells=10)
    with LazyCountMin(depth=4, width=1024, epsilon=1.0, delta=1e-8, person_bound=bound) as sketch:
        feed(sketch, source)
        return sketch.step


for _label, (_file, _field) in PEOPLE.items():
    _person = "src" if _label == "capture" else "host"
    for _user in (None, _person):
        for _counts in (False, True):
            _name = f"{'private' if _counts else 'source'}{' of people' if _user else ''}"
            MEASURES[f"people, {_label}: {_name}"] = (
                _file,
                partial(of_people, field=_field, user=_user, counts=_counts),
            )


class Run(TypedDict):
    """One measurement: seconds of the clock and of the CPU, KiB of memory."""

    rows: int
    seconds: float
    cpu: float
    peak: int
    before: int


def measure(folder: Path, name: str) -> Run:
    """Return the time after imports and the peak resident memory of this process."""
    file, read = MEASURES[name]
    small = folder / f"small.{file.partition('.')[2]}"
    if small.exists():
        read(small)  # the imports
    before = peak_memory()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    rows = read(folder / file)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {"rows": rows, "seconds": seconds, "cpu": cpu, "peak": peak_memory(), "before": before}


def peak_memory() -> int:
    """Return the peak resident memory in KiB, on Linux; getrusage would include the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def main(rows: int, *, beginning: str = "") -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, 1000)
        for path in list(folder.iterdir()):
            path.rename(path.with_name("small" + path.name.removeprefix("rows")))
        generate(folder, rows)
        for path in sorted(folder.glob("rows.*")):
            print(f"{path.name:14}{path.stat().st_size / 1e6:10,.0f} MB")
        labels = [label for label in MEASURES if label.startswith(beginning)]
        runs: dict[str, list[Run]] = {label: [] for label in labels}
        # Three processes for each: the best time and the worst peak count. They run in rounds,
        # so that other load on the machine affects all labels alike.
        for label in labels * 3:
            command = [sys.executable, __file__, label, name]
            runs[label].append(json.loads(subprocess.check_output(command)))
        print(f"{'':34}{'rows/s':>12}{'seconds':>10}{'CPU s':>8}{'peak MB':>10}{'imports MB':>12}")
        for label, done in runs.items():
            best = min(done, key=lambda run: run["seconds"])
            assert {run["rows"] for run in done} == {rows}, label
            print(
                f"{label:34}{rows / best['seconds']:12,.0f}{best['seconds']:10.2f}"
                f"{min(run['cpu'] for run in done):8.2f}"
                f"{max(run['peak'] for run in done) / 1024:10,.0f}{best['before'] / 1024:12,.0f}"
            )


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in MEASURES:
        print(json.dumps(measure(Path(sys.argv[2]), sys.argv[1])))
    else:
        asked = dict(enumerate(sys.argv))
        main(int(asked.get(1, ROWS)), beginning=asked.get(2, ""))
