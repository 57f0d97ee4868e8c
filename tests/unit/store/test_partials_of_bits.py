"""Partial counts of distinct items, of which a store takes the union, and of values."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.store.lives import CANARY, Lives, distinct
from tests.unit.store.partials import BATCHES, OPENED, sealed

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError


def test_bits_of_distinct_items_are_nowhere_in_clear(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A level whose 64 bits are all set is 8 bytes of ones: in no sealed bits, record or file."""
    with lives.open() as store:
        live = OPENED["distinct"](store)
        native, parts = store._native, []

        class Native:
            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

            def append(self, record: list[Any]) -> int:
                parts.extend(record)
                return native.append(record)

        monkeypatch.setattr(store._journal, "native", Native())
        spec = live.partial_spec()
        blob = sealed(spec, [f"{CANARY} {number}" for number in range(5_000)])
        store.add_partials("s", 1, [blob, sealed(spec, [CANARY])], into=live)
        store.checkpoint()
        files = [path.read_bytes() for path in lives.folder.iterdir() if path.is_file()]
        assert len(parts) == 2
        for data in (spec, blob, *parts, *files):
            assert CANARY.encode() not in data
            assert b"\xff" * 8 not in data


def test_items_of_several_workers_and_steps_count_once(lives: Lives) -> None:
    """A union that comes again takes a step, and changes no count; also after a restart."""
    items = [f"item {number}" for number in range(300)]
    with lives.open() as store:
        OPENED["distinct"](store)
    others = lives.copied_to(lives.folder.parent / "copy")
    with lives.open() as store:
        live = OPENED["distinct"](store)
        parts = [sealed(live.partial_spec(), items) for _ in range(3)]
        store.add_partials("s", 1, parts, into=live)
    with lives.open() as store:
        live = OPENED["distinct"](store)
        spec = live.partial_spec()
        again = store.add_partials("s", 2, [sealed(spec, items[:100])], into=live)
    with others.open() as store:
        local = OPENED["distinct"](store)
        local.update_batch(items)
        local.update_batch([])
        assert again.to_bytes() == local.release().to_bytes()
        assert type(again) is ls.DistinctRelease


def test_a_worker_of_a_distribution_needs_numbers_and_the_bins(lives: Lives) -> None:
    with lives.open() as store:
        live = OPENED["values"](store)
        spec = live.partial_spec()
        worker = ls.PartialCounts(spec)
        for wrong, error in ((["1.5"], ArgumentTypeError), ([float("nan")], ArgumentValueError)):
            with pytest.raises(error, match="^values: expected numbers"):
                worker.update_many(wrong)
        with pytest.raises(ArgumentValueError, match="^spec: expected edges: those of the digest"):
            ls.PartialCounts(spec[:-8] + b"\0\0\0\0\0\0\x40\x40")
        release = store.add_partials("s", 1, [worker.seal()], into=live)
        assert type(release) is ls.DistributionRelease
        people = store.distinct("b", distinct(BATCHES))
        with pytest.raises(ArgumentValueError, match="^weights: expected none"):
            ls.PartialCounts(people.partial_spec()).update_many(["x"], [1])
