"""Streams to measure on: Zipf laws over 2^20 items, as integers and as 12-byte strings."""

from __future__ import annotations

import numpy as np

ITEMS = 1 << 20


def integers(length: int, *, skew: float, seed: int = 7) -> np.ndarray:
    """Items of a Zipf law, spread over 64 bits."""
    weights = np.arange(1, ITEMS + 1, dtype=np.float64) ** -skew
    cumulative = np.cumsum(weights)
    uniform = np.random.default_rng(seed).random(length) * cumulative[-1]
    ranks = np.searchsorted(cumulative, uniform).astype(np.uint64)
    spread: np.ndarray = (ranks * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    return spread


def texts(items: np.ndarray) -> list[str]:
    """The same items as strings of 12 characters."""
    return [f"{item % 10**12:012d}" for item in items.view(np.uint64).tolist()]
