"""Windows of sums of a store: ids of both tables, the log, parameters, batches of sources."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.store.kinds_of_windows import SUMMED, Clock
from tests.unit.store.lives import CANARY, Lives

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

STEPS: dict[str, Any] = {"every": 100}
CUTS: dict[str, dict[str, Any]] = {
    "steps": STEPS,
    "clock": {"every": "1h", "slices": 2},
    "range": {"every": "1h", "begin": "2024-01-01", "end": "2024-01-01T04:00"},
}


@pytest.mark.parametrize("cut", CUTS)
def test_every_table_has_an_id_of_its_own(cut: str, lives: Lives) -> None:
    """Also after a restart; and all have one hash seed."""
    clock = Clock()
    options = CUTS[cut] | ({"clock": clock} if cut == "clock" else {})
    ids: list[bytes] = []
    for _ in range(2):
        with lives.open() as store:
            live = store.sums_windows("a", **SUMMED | options)
            if cut == "steps":
                live.tick(200)
            clock.seconds += 7_200
            if cut == "range" and not live.finished:
                live.finish()
            tables = [table for window in live.windows for table in window.release.tables]
            ids = [table.sketch_id for table in tables]
            assert len({table.hash_seed for table in tables}) == 1
            assert live.private
            store.checkpoint()
    assert len(set(ids)) == len(ids) == 8


def test_other_parameters_are_refused(lives: Lives) -> None:
    """Also bounds with as many steps between them."""
    with lives.open() as store:
        store.sums_windows("a", **SUMMED | STEPS).update_many(["x"] * 150, range(150))
    for checkpoint in (False, True):
        with lives.open() as store:
            for other in ({"every": 50}, {"keep": 5}, {"epsilon": 8.0}, {"high": 18}):
                with pytest.raises(ArgumentValueError, match="the parameters that 'a' was made"):
                    store.sums_windows("a", **SUMMED | STEPS | other)
            live = store.sums_windows("a", **SUMMED | STEPS)
            assert (live.step, len(live.windows)) == (150, 1)
            if checkpoint:
                store.checkpoint()


def test_the_log_has_fingerprints_in_place_of_items(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sums_windows("a", **SUMMED | STEPS)
        (logged,) = live._batches([f"{CANARY} 1", "x"])
        with pytest.raises(ArgumentTypeError, match="got fingerprints of a sketch"):
            logged.tolist()


def test_batches_of_a_source_are_counted_once(lives: Lives) -> None:
    for _ in range(2):
        with lives.open() as store:
            live = store.sums_windows("a", **SUMMED | STEPS)
            for number in (1, 2):
                rows = {"weights": [9] * 70, "empty_rows": [0, 5]}
                store.ingest("web", number, ["x"] * 70, into=live, **rows)
            with pytest.raises(ArgumentTypeError, match="^weights: expected one value per item"):
                store.ingest("web", 3, ["x"], into=live)
            with pytest.raises(ArgumentValueError, match="^values: expected one per item"):
                store.ingest("web", 3, ["x"], into=live, weights=[1, 2])
            with pytest.raises(ArgumentTypeError, match="^times: "):
                store.ingest("web", 3, ["x"], into=live, weights=[1], times=[1])
            assert (live.step, len(live.windows)) == (144, 1)
    with lives.open() as store:
        live = store.sums_windows("a", **SUMMED | STEPS)
        live.tick(56)
        found = live.sum("x", last=2, confidence=1 - 1e-9)
        assert found.low <= 9 * 140 <= found.high


def test_the_account_is_that_of_one_window(lives: Lives) -> None:
    for _ in range(2):
        with lives.open() as store:
            live = store.sums_windows("a", **SUMMED | STEPS)
            live.tick(250)
            assert store.spent.epsilon == pytest.approx(live.privacy.epsilon, rel=1e-3)
            assert len(store.spent.parts[0].counts) == 2
            assert len(live._last_published()) == 1
