"""A gate takes each offset once, in order, and the store commits it with its counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from tests.unit.store.lives import Lives, table
from tests.unit.store.partials import BATCHES, OPENED, sealed

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.workers import OffsetGate

P0, P1 = ("topic", 0), ("topic", 1)


def test_ranges_follow_one_another(lives: Lives) -> None:
    """Those of a member that has lost its partition, or sends again, are refused whole."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        assert gate.next_offset(*P0) is None
        gate.take({P0: (5, 9), P1: (0, 3)}, sealed(gate.spec(), ["x"] * 7))
        for wrong in (
            {P0: (5, 9)},  # sent again
            {P0: (8, 12)},  # two members have read offset 8
            {P0: (10, 12)},  # offset 9 would never be counted
            {P0: (9, 8)},
            {P1: (3, 4), P0: (0, 9)},
            {("new", 0): (-1, 3)},
        ):
            with pytest.raises(ArgumentValueError, match="begin again there"):
                gate.take(wrong, sealed(gate.spec(), ["y"]))
        assert (gate.next_offset(*P0), gate.next_offset(*P1)) == (9, 3)
        gate.take({P0: (9, 10)}, sealed(gate.spec(), ["x"]))
        with pytest.raises(ArgumentTypeError, match="sealed"):
            gate.take({}, "text")
        assert gate.tick().step == 1
        assert gate.tick().step == 2  # without counts
        assert (live.step, store.last_sequence("group")) == (2, 2)


def test_a_gate_goes_on_where_the_store_is(lives: Lives) -> None:
    """What was taken and not committed is read again; what was committed is not."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        gate.take({P0: (0, 4)}, sealed(gate.spec(), ["x"] * 4))
        gate.tick()
        late = sealed(gate.spec(), ["x"])
        gate.take({P0: (4, 5), P1: (7, 8)}, late)
        expected = live.release().to_bytes()
    with lives.open() as store:
        live = OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)
        assert (gate.next_offset(*P0), gate.next_offset(*P1)) == (4, None)
        with pytest.raises(ArgumentValueError, match="begins at 4, got 5 to 6"):
            gate.take({P0: (5, 6)}, late)  # a member that has outlived the process of the store
        assert live.release().to_bytes() == expected


def test_counts_that_the_store_refuses_are_read_again(lives: Lives) -> None:
    with lives.open() as store:
        live = OPENED["count-min"](store)
        other = store.sketch("b", table(schedule=BATCHES))
        gate = OffsetGate(store, "group", into=live)
        gate.take({P0: (0, 1)}, sealed(gate.spec(), ["x"]))
        gate.take({P1: (0, 1)}, sealed(other.partial_spec(), ["x"]))
        with pytest.raises(ArgumentValueError, match="sealed: expected partial counts of this"):
            gate.tick()
        assert (live.step, gate.next_offset(*P0)) == (0, None)
        assert gate.tick().step == 1
        store.keep_note("other", "no offsets")
        with pytest.raises(StoreError, match="whose note is of offsets"):
            OffsetGate(store, "other", into=live)


def test_members_of_threads_count_each_offset_once(lives: Lives, tmp_path: object) -> None:
    """Eight members claim the same ranges; one of each is taken."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        gate = OffsetGate(store, "group", into=live)

        def member(number: int) -> int:
            chance, taken = Random(number), 0
            for begin in range(30):
                try:
                    gate.take({P0: (begin, begin + 1)}, sealed(gate.spec(), ["x"]))
                    taken += 1
                except ArgumentValueError:
                    pass
                if chance.random() < 0.1:
                    gate.tick()
            return taken

        with ThreadPoolExecutor(8) as pool:
            taken = sum(pool.map(member, range(8)))
        gate.tick()
        assert (taken, gate.next_offset(*P0)) == (30, 30)
