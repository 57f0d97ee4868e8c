"""Batches of values that a store counts once: the values are put into bins, whatever their type."""

from __future__ import annotations

from pathlib import Path

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError


def test_values_are_not_taken_for_numbers_of_bins(tmp_path: Path) -> None:
    bins = ls.Bins.linear(0, 100, number=10)
    spec = ls.Distribution(bins=bins, epsilon=8.0, delta=1e-3, horizon=4_096).spec
    with ls.open_store(
        tmp_path / "state", key=ls.Key.generate(), anchor=tmp_path / "anchor"
    ) as store:
        kept = store.distribution("values", spec)
        for sequence, values in enumerate(([5] * 1_000, [55.5] * 1_000, [5] * 1_000), start=1):
            assert store.ingest("sender", sequence, values, into=kept, empty_rows=[0])
            assert not store.ingest("sender", sequence, values, into=kept)
        assert kept.steps == 3_003
        for low, high, number in ((0, 10, 2_000), (50, 60, 1_000), (60, 100, 0)):
            found = kept.count_between(low, high, confidence=1 - 1e-9)
            assert found.low <= number <= found.high < number + 900
        with pytest.raises(ArgumentTypeError, match="column: expected none for values, got one"):
            store.ingest("sender", 9, [1.0], into=kept, column="a")
