"""Event streams: Zipf distributions, five recorded data sets, and any file that the library reads.

A stream is an int64 array of item numbers from 0, in order of arrival. The data sets are read from
a folder that is not part of the repository. Drawing 2^20 Zipf events by inversion of the
distribution function takes a tenth of a second.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch.sources import open_source

__all__ = [
    "ABSENT",
    "DATA",
    "REAL",
    "UNTUNED",
    "Items",
    "asked_items",
    "heaviest",
    "named",
    "weights",
    "zipf",
]

DATA = Path("../shared/data")
REAL = ("scarab_recs", "gutenberg_words", "orm-busy")
# Not used for any choice in the code.
UNTUNED = ("web07", "web12", "netflow", "zeek-dns")
ABSENT = 1 << 40  # items from here on occur in no stream
_CACHE_TRACES = ("orm-busy", "web07", "web12")
_BOOKS = ("warandpeace", "countofmontecristo", "mobydick")
_LARGEST_WEIGHT = 100
_FIXED_SEED = 20_250_703  # of the streams named ``zipf-SKEW``
_FIXED_SIZE = 1 << 20

Items: TypeAlias = npt.NDArray[np.int64]


@lru_cache(maxsize=4)
def _cumulated(skew: float, items: int) -> npt.NDArray[np.float64]:
    weights = np.arange(1, items + 1, dtype=np.float64) ** -skew
    shares: npt.NDArray[np.float64] = np.cumsum(weights / weights.sum())
    return shares


def zipf(generator: np.random.Generator, *, skew: float, items: int, events: int) -> Items:
    """Draw events; item number r has a probability proportional to (r + 1)^-skew.

    Args:
        generator: source of randomness.
        skew: at least 0.
        items: number of different items.
        events: number of events.

    Returns:
        int64 array of item numbers from 0.
    """
    drawn = np.searchsorted(_cumulated(skew, items), generator.random(events))
    return np.minimum(drawn, items - 1).astype(np.int64)


def heaviest(counts: Items, number: int) -> Items:
    """Return the items with the largest counts; of equal counts the smaller item comes first."""
    return np.argsort(-counts, kind="stable")[:number].astype(np.int64)


def asked_items(events: Items) -> dict[str, Items]:
    """Return three groups of items to query: the top 100, a random 1000 others, 1000 absent."""
    counts = np.bincount(events)
    order = np.argsort(-counts, kind="stable")
    others = order[100 : np.count_nonzero(counts)]
    random = np.random.default_rng(1).choice(others, min(1000, len(others)), replace=False)
    return {
        "top 100": order[:100].astype(np.int64),
        "random 1000": random.astype(np.int64),
        "absent 1000": ABSENT + np.arange(1000, dtype=np.int64),
    }


@lru_cache(maxsize=8)
def named(name: str, folder: Path) -> Items:
    """Return a stream by name.

    Args:
        name: a data set, ``zipf-SKEW`` with a fixed seed, or ``FILE`` or ``FILE:FIELD`` as
            lazysketch.sources reads it; for a capture the field is such as ``src``.
        folder: folder of the data sets.

    Returns:
        int64 array of item numbers from 0, in order of arrival.

    Raises:
        SourceError: a file that cannot be read.
    """
    if fixed := re.fullmatch(r"zipf-(\d+(?:\.\d+)?)", name):
        generator = np.random.default_rng(_FIXED_SEED)
        return zipf(generator, skew=float(fixed[1]), items=_FIXED_SIZE, events=_FIXED_SIZE)
    if name == "scarab_recs":
        return _ranked(_trace(folder / name / "scarab-recs.trace.xz", ">i8"))
    if name in _CACHE_TRACES:
        return _ranked(_trace(folder / "cache2k_ecommerce" / f"{name}.trace.xz", ">i4"))
    if name == "gutenberg_words":
        return _ranked(np.array(_words(folder / name)))
    if name == "zeek-dns":
        return _ranked(np.array(_queries(folder / "zeek_wrccdc" / "dns.log.gz")))
    if name == "netflow":
        return _ranked(np.array([source for source, _ in _flows(folder)]))
    path, _, field = name.partition(":")
    source = open_source(path, field=field) if field else open_source(path)
    return _numbered(item for batch in source for item in batch.item_list)


def weights(name: str, folder: Path) -> Items | None:
    """Return the weights of a stream: packets of a flow, at most 100; None if all are 1."""
    if name != "netflow":
        return None
    return np.array(
        [min(packets, _LARGEST_WEIGHT) for _, packets in _flows(folder)], dtype=np.int64
    )


def _ranked(raw: npt.NDArray[np.generic]) -> Items:
    """Number the items in sorted order."""
    _, numbers = np.unique(raw, return_inverse=True)
    ranks: Items = numbers.astype(np.int64).ravel()
    return ranks


def _numbered(items: Iterable[object]) -> Items:
    """Number the items in order of first occurrence."""
    numbers: dict[object, int] = {}
    events = [numbers.setdefault(item, len(numbers)) for item in items]
    return np.array(events, dtype=np.int64)


def _trace(path: Path, dtype: str) -> npt.NDArray[np.generic]:
    with lzma.open(path) as packed:
        return np.frombuffer(packed.read(), dtype=dtype)


def _words(folder: Path) -> list[str]:
    words: list[str] = []
    for book in _BOOKS:
        with gzip.open(folder / f"{book}.txt.gz", "rt", encoding="utf-8") as text:
            words += re.findall(r"[a-z']+", text.read().lower())
    return words


def _queries(log: Path) -> list[str]:
    """Return the queried names; rows without one are left out."""
    with gzip.open(log, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    (fields,) = [row[1:] for row in rows if row[0] == "#fields"]
    at = fields.index("query")
    return [row[at] for row in rows if not row[0].startswith("#") and row[at] != "-"]


@lru_cache(maxsize=1)
def _flows(folder: Path) -> list[tuple[str, int]]:
    """Return source and packets of every flow, in the order of the file."""
    path = folder / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return [(row["SrcAddr"], int(row["TotPkts"])) for row in csv.DictReader(text)]
