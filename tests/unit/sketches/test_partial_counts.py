"""Partial counts of workers: they can be added, merged and sealed, and nothing else."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.store.lives import Lives, table
from tests.unit.store.partials import BATCHES

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ItemError,
    LiveStateError,
)


@pytest.fixture
def spec(tmp_path: Path) -> bytes:
    with Lives(tmp_path).open() as store:
        live: Any = store.sketch("a", table(schedule=BATCHES, max_weight=5))
        described: bytes = live.partial_spec(most_events=100)
        return described


def test_nothing_reads_them(spec: bytes) -> None:
    """The public names are all that there is, and no representation has a count."""
    partial = ls.PartialCounts(spec)
    partial.update_many(["x"] * 77)
    assert {name for name in dir(partial) if not name.startswith("_")} == {
        "update_many",
        "merge",
        "seal",
    }
    assert repr(partial) == str(partial) == "<PartialCounts of count-min, 2 x 8>"
    for name in ("table", "estimate", "release", "events", "close", "_table"):
        assert not hasattr(partial, name)
    assert vars(partial) == {"_grid": None}  # of values by item, and public


def test_they_have_one_life(spec: bytes) -> None:
    partial = ls.PartialCounts(spec)
    for attempt in (
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda it: pickle.dumps(it, protocol=0),
    ):
        with pytest.raises(
            LiveStateError, match=r"partial: expected one live state, got \w+ing; e"
        ):
            attempt(partial)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        found, own = [], ls.PartialCounts(spec)
        for call in (partial.seal, lambda: partial.update_many(["x"]), lambda: partial.merge(own)):
            try:
                call()
                found.append("worked")
            except LiveStateError as error:
                found.append(str(error).split(":")[0])
        own.update_many(["x"])
        found.append(str(len(own.seal())))
        os.write(write, " ".join(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == f"partial partial partial {185 + 4 * 16}"
    os.waitpid(child, 0)
    assert len(partial.seal()) == 185 + 4 * 16


def test_sealed_or_merged_counts_are_closed(spec: bytes) -> None:
    partial, other = ls.PartialCounts(spec), ls.PartialCounts(spec)
    other.merge(partial)
    for closed in (partial, other):
        if closed is other:
            other.seal()
        for call in (
            closed.seal,
            lambda closed=closed: closed.update_many([]),
            lambda closed=closed: closed.merge(ls.PartialCounts(spec)),
            lambda closed=closed: ls.PartialCounts(spec).merge(closed),
        ):
            with pytest.raises(ArgumentValueError, match="partial: expected partial counts that a"):
                call()


def test_a_refused_batch_counts_nothing(spec: bytes, tmp_path: Path) -> None:
    with Lives(tmp_path).open() as store:
        live: Any = store.sketch("a", table(schedule=BATCHES, max_weight=5))
        partial, other = ls.PartialCounts(spec), ls.PartialCounts(live.partial_spec())
        for error, call in [
            (ItemError, lambda: partial.update_many(["x", None])),
            (ArgumentTypeError, lambda: partial.update_many("x")),
            (ArgumentTypeError, lambda: partial.update_many(["x"], [1.5])),
            (ArgumentValueError, lambda: partial.update_many(["x"], [6])),
            (ArgumentValueError, lambda: partial.update_many(["x"], [1, 1])),
            (ArgumentValueError, lambda: partial.update_many(["x"] * 101)),
            (ArgumentValueError, lambda: partial.merge(partial)),
            (ArgumentValueError, lambda: partial.merge(other)),
            (ArgumentTypeError, lambda: partial.merge(spec)),  # type: ignore[arg-type]
        ]:
            with pytest.raises(error):
                call()
        partial.update_many(np.array([3, 4]), np.array([5, 0]))
        partial.update_many(["x"] * 98)
        with pytest.raises(ArgumentValueError, match="at most 100 events of partial counts; seal"):
            partial.update_many(["x"])
        assert store.add_partials("s", 1, [partial.seal(), other.seal()], into=live).step == 1


@pytest.mark.parametrize("wrong", [None, "spec", 3, bytearray(100)])
def test_a_description_is_bytes(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="spec: expected bytes, got"):
        ls.PartialCounts(wrong)


def test_other_bytes_are_no_description(spec: bytes) -> None:
    for wrong in (b"", spec[:-1], spec + b"x", b"x" + spec[1:], spec[:8] + b"\x02" + spec[9:]):
        with pytest.raises(ArgumentValueError, match="spec: expected"):
            ls.PartialCounts(wrong)
