"""Every available real data set, read by the sources, against plain counting.

The data are not part of the repository; without them the tests are skipped. To print a
table of the figures: ``python -m pytest tests/real_streams/test_sources.py -s``.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.locations import DATA

from lazysketch import CountMin
from lazysketch.cli import main
from lazysketch.sources import feed, open_source

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="no real streams: ../shared/data does not exist"
)


class Case(NamedTuple):
    """An input, how to read it, and its plain counts."""

    path: Path
    settings: dict[str, object]
    rows: int
    truth: Counter[object]  # weights by item
    readable: int


def plain(
    path: Path, rows: Iterable[tuple[object, object] | None], *, most: int = 1, **settings: object
) -> Case:
    """Count (item, weight) pairs; None is a malformed row."""
    truth: Counter[object] = Counter()
    number = readable = 0
    for row in rows:
        number += 1
        if row is not None:
            readable += 1
            truth[row[0]] += min(row[1], most)
    return Case(path, settings, number, truth, readable)


def weighted(field: str, weight: str, most: int) -> dict[str, object]:
    return {"field": field, "weight": weight, "max_weight": most}


def netflow(_: Path, *, weight: str | None, most: int) -> Case:
    path = DATA / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
    with gzip.open(path, "rt", newline="") as text:
        flows = [
            (row["SrcAddr"], int(row[weight]) if weight else 1) for row in csv.DictReader(text)
        ]
    settings = weighted("SrcAddr", weight, most) if weight else {"field": "SrcAddr"}
    return plain(path, flows, most=most, **settings)


def zeek(_: Path, *, log: str, field: str) -> Case:
    path = DATA / "zeek_wrccdc" / f"{log}.log.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    names = next(line for line in lines if line.startswith("#fields")).split("\t")[1:]
    place = names.index(field)
    values = [line.split("\t")[place] for line in lines if not line.startswith("#")]
    rows = [None if value in ("-", "(empty)", "") else (value, 1) for value in values]
    return plain(path, rows, field=field)


def web_log(_: Path, *, name: str, field: str) -> Case:
    path = DATA / "weblogs" / f"{name}.gz"
    pattern = re.compile(r'^(\S+) \S+ \S+ \[[^\]]*\] "(.*?)" (\d{3}|-) (?:\d+|-)')
    rows: list[tuple[str, int] | None] = []
    for line in gzip.decompress(path.read_bytes()).decode("latin-1").splitlines():
        found = pattern.match(line)
        request = found[2].split(" ") if found else []
        values = {"host": found and found[1], "path": request[1] if len(request) > 1 else None}
        value = values[field]
        rows.append((value, 1) if value else None)
    return plain(path, rows, field=field, encoding="latin-1")


def words(folder: Path) -> Case:
    found: list[str] = []
    for book in sorted((DATA / "gutenberg_words").glob("*.txt.gz")):
        text = gzip.decompress(book.read_bytes()).decode().lower()
        found += re.findall(r"[a-z']+", text)
    path = folder / "words.txt.xz"
    path.write_bytes(lzma.compress("".join(word + "\n" for word in found).encode(), preset=0))
    return plain(path, ((word, 1) for word in found))


def properties(_: Path, *, weight: str) -> Case:
    path = DATA / "wikidata_props" / "counts.csv"
    most = 1 << 40
    with path.open(newline="") as text:
        rows = [(row["property"], int(row[weight])) for row in csv.DictReader(text)]
    return plain(path, rows, most=most, **weighted("property", weight, most))


def trace(folder: Path, *, source: str, dtype: str, form: str) -> Case:
    with lzma.open(DATA / source) as data:
        keys = np.frombuffer(data.read(), dtype=dtype)
    native = keys.astype(dtype.replace(">", "="))
    path = folder / f"{Path(source).name}.{form}"
    table = pa.table({"key": native})
    if form == "parquet":
        pq.write_table(table, path)
        return plain(path, ((key, 1) for key in keys.tolist()), field="key")
    if form == "arrow":
        sink = pa.OSFile(str(path), "wb")
        with sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return plain(path, ((key, 1) for key in keys.tolist()), field="key")
    text = "".join(f"{key}\n" for key in keys.tolist())
    if form == "csv.zst":
        with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd") as stream:
            stream.write(b"key\n" + text.encode())
        return plain(path, ((str(key), 1) for key in keys.tolist()), field="key")
    path.write_text(text)
    return plain(path, ((str(key), 1) for key in keys.tolist()))


SCARAB = {"source": "scarab_recs/scarab-recs.trace.xz", "dtype": ">i8"}
CACHE = "cache2k_ecommerce/{}.trace.xz"
CASES: dict[str, tuple[Callable[..., Case], dict[str, object]]] = {
    "NetFlow, flows by source": (netflow, {"weight": None, "most": 1}),
    "NetFlow, packets": (netflow, {"weight": "TotPkts", "most": 1 << 30}),
    "NetFlow, packets up to 100": (netflow, {"weight": "TotPkts", "most": 100}),
    "NetFlow, bytes": (netflow, {"weight": "TotBytes", "most": 1 << 40}),
    "Zeek dns, query": (zeek, {"log": "dns", "field": "query"}),
    "Zeek dns, id.orig_h": (zeek, {"log": "dns", "field": "id.orig_h"}),
    "Zeek ssl, server_name": (zeek, {"log": "ssl", "field": "server_name"}),
    "apache_logs, host": (web_log, {"name": "apache_logs", "field": "host"}),
    "apache_logs, path": (web_log, {"name": "apache_logs", "field": "path"}),
    "nasa_short, host": (web_log, {"name": "nasa_short", "field": "host"}),
    "nasa_aug95_head, path": (web_log, {"name": "nasa_aug95_head", "field": "path"}),
    "Gutenberg words, lines.xz": (words, {}),
    "Wikidata, total": (properties, {"weight": "total"}),
    "Wikidata, organic": (properties, {"weight": "organic"}),
    "scarab, Parquet int64": (trace, {**SCARAB, "form": "parquet"}),
    "scarab, csv.zst": (trace, {**SCARAB, "form": "csv.zst"}),
    "web07, Arrow int32": (
        trace,
        {"source": CACHE.format("web07"), "dtype": ">i4", "form": "arrow"},
    ),
    "web12, lines": (trace, {"source": CACHE.format("web12"), "dtype": ">i4", "form": "txt"}),
    "orm-busy, Parquet int32": (
        trace,
        {"source": CACHE.format("orm-busy"), "dtype": ">i4", "form": "parquet"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_malformed_rows_weights_and_items_equal_plain_counting(
    tmp_path: Path, name: str
) -> None:
    make, how = CASES[name]
    case = make(tmp_path, **how)
    source = open_source(case.path, **case.settings)
    sketch = CountMin(depth=2, width=1 << 10)
    counted: Counter[object] = Counter()

    def counting() -> object:
        for batch in source:
            items = batch.item_list
            weights = [1] * len(items) if batch.weights is None else map(int, batch.weights)
            for item, weight in zip(items, weights, strict=True):
                counted[item] += weight
            yield batch

    feed(sketch, counting())
    tally = source.tally
    assert tally.rows == case.rows
    assert tally.malformed == case.rows - case.readable
    assert tally.total_weight == case.truth.total()
    assert counted == case.truth
    assert (sketch.table.sum(axis=1) == case.truth.total()).all()
    ((item, weight),) = case.truth.most_common(1)
    sys.stdout.write(
        f"\n{name:28}{tally.rows:>10,} rows {tally.malformed:>7,} malformed "
        f"{tally.clipped:>6,} clipped"
        f"{tally.total_weight:>15,} weight{len(counted):>8,} items, top {weight:,}"
    )
    assert counted[item] == weight


def test_the_command_line_counts_packets_of_flows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    case = netflow(tmp_path, weight="TotPkts", most=100)
    domain = tmp_path / "addresses.txt"
    domain.write_text("".join(f"{item}\n" for item in sorted(map(str, case.truth))))
    asked = ["top", str(case.path), "--field", "SrcAddr", "--weight", "TotPkts"]
    asked += ["--max-weight", "100", "--domain", str(domain), "-k", "3", "--epsilon", "12"]
    assert main([*asked, "--kind", "count-sketch", "--width", "256", "--output", "csv"]) == 0
    captured = capsys.readouterr()
    (item, weight), *_ = case.truth.most_common(1)
    rank, best, estimate, *_ = captured.out.splitlines()[1].split(",")
    assert (rank, best) == ("1", item)
    assert abs(float(estimate) - weight) < 0.1 * weight
    assert f"total weight {case.truth.total():,}" in captured.err
