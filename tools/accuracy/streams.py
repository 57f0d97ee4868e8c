"""Streams with known counts: integers 0 .. distinct - 1 in order of arrival."""

from __future__ import annotations

import csv
import gzip
import lzma
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ABSENT", "REAL", "asked_items", "stream", "weights"]

Items = npt.NDArray[np.int64]

REAL = ("scarab_recs", "gutenberg_words", "orm-busy")
ABSENT = 1 << 40  # items from here on occur in no stream
_UNIVERSE = 1 << 20
_EVENTS = 1 << 20
_BOOKS = ("warandpeace", "countofmontecristo", "mobydick")


@lru_cache(maxsize=2)
def stream(name: str, data: Path) -> Items:
    """The events of a stream: a real one, or ``zipf-SKEW``."""
    if name.startswith("zipf-"):
        return _zipf(float(name.removeprefix("zipf-")))
    raw: npt.NDArray[Any]
    if name == "scarab_recs":
        raw = _trace(data / name / "scarab-recs.trace.xz", ">i8")
    elif name == "gutenberg_words":
        raw = np.array(_words(data / name))
    elif name == "zeek-dns":
        raw = np.array(_queries(data / "zeek_wrccdc" / "dns.log.gz"))
    elif name == "netflow":
        raw = np.array([source for source, _ in _flows(data)])
    else:
        raw = _trace(data / "cache2k_ecommerce" / f"{name}.trace.xz", ">i4")
    return np.unique(raw, return_inverse=True)[1].astype(np.int64).ravel()


def weights(name: str, data: Path) -> Items | None:
    """The weights of the events of a stream: packets of a flow, at most 100; None for 1 each."""
    if name != "netflow":
        return None
    return np.array([min(packets, 100) for _, packets in _flows(data)], dtype=np.int64)


def _zipf(skew: float) -> Items:
    weights = np.arange(1, _UNIVERSE + 1, dtype=np.float64) ** -skew
    shares = np.cumsum(weights / weights.sum())
    uniform = np.random.default_rng(20_250_703).random(_EVENTS)
    return np.minimum(np.searchsorted(shares, uniform), _UNIVERSE - 1).astype(np.int64)


def _trace(path: Path, dtype: str) -> npt.NDArray[Any]:
    with lzma.open(path) as packed:
        return np.frombuffer(packed.read(), dtype=dtype)


def _words(folder: Path) -> list[str]:
    words: list[str] = []
    for book in _BOOKS:
        with gzip.open(folder / f"{book}.txt.gz", "rt", encoding="utf-8") as text:
            words += re.findall(r"[a-z']+", text.read().lower())
    return words


def _queries(log: Path) -> list[str]:
    """The names asked for, where one was."""
    with gzip.open(log, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    (fields,) = [row[1:] for row in rows if row[0] == "#fields"]
    at = fields.index("query")
    return [row[at] for row in rows if not row[0].startswith("#") and row[at] != "-"]


@lru_cache(maxsize=1)
def _flows(data: Path) -> list[tuple[str, int]]:
    """Source and packets of every flow, in the order of the file."""
    path = data / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return [(row["SrcAddr"], int(row["TotPkts"])) for row in csv.DictReader(text)]


def asked_items(events: Items) -> dict[str, Items]:
    """The items asked about: the top 100, a random 1000 and 1000 that never occur."""
    counts = np.bincount(events)
    order = np.argsort(-counts, kind="stable")
    others = order[100 : np.count_nonzero(counts)]
    random = np.random.default_rng(1).choice(others, min(1000, len(others)), replace=False)
    return {
        "top 100": order[:100].astype(np.int64),
        "random 1000": random.astype(np.int64),
        "absent 1000": ABSENT + np.arange(1000, dtype=np.int64),
    }
