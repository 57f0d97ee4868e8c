"""The injector reaches every point once, only the package has points, and the counts are kept."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.faults import conftest
from tests.faults.injection import (
    ERRORS,
    HungError,
    Points,
    interrupted,
    is_injected,
    points_of,
    sample,
    watched,
)

import lazysketch as ls
from lazysketch.testing import seeded_key

_HERE = Points(modules=(__name__,))


def _three() -> list[int]:
    found = []
    found.append(1)
    found.append(2)
    found.append(3)
    return found


@pytest.mark.parametrize("error", ERRORS)
def test_each_point_is_reached_once_and_in_order(error: type[BaseException]) -> None:
    lines = Points(between="lines", modules=(__name__,))
    assert points_of(_three, points=lines) == 5
    places = []
    for at in range(1, 6):
        outcome = interrupted(_three, at=at, error=error, points=lines)
        assert type(outcome.error) is error
        assert is_injected(outcome.error)
        assert outcome.points == at
        places.append(outcome.place)
    assert places == sorted(set(places), key=lambda place: int(place.rpartition(":")[2]))
    complete = interrupted(_three, at=6, error=error, points=lines)
    assert (complete.error, complete.value, complete.place) == (None, [1, 2, 3], "")


def test_bytecodes_have_more_points_than_lines() -> None:
    assert points_of(_three, points=_HERE) > 15


def test_only_the_package_has_points_and_data_classes_belong_to_it() -> None:
    assert points_of(_three) == 0
    spec = ls.TableSpec(
        kind="count-min", depth=2, width=4, schedule=ls.Geometric(), epsilon=1.0, delta=1e-6
    )
    key = seeded_key(1)
    assert points_of(lambda: ls.LazyCountMin.from_spec(spec, key=key)) > 20
    assert points_of(lambda: ls.Geometric()) > 5


def test_other_errors_are_not_taken_for_injected_ones() -> None:
    assert not is_injected(None)
    assert not is_injected(ValueError("another"))
    none: list[int] = []
    outcome = interrupted(lambda: none[1], at=0)
    assert isinstance(outcome.error, IndexError)


def test_a_call_that_does_not_return_is_found() -> None:
    stop = threading.Event()
    with pytest.raises(HungError):
        watched(stop.wait, seconds=0.05)
    stop.set()
    assert watched(lambda: 7) == 7
    with pytest.raises(KeyError):
        watched(lambda: dict[str, int]()["missing"])


@pytest.mark.parametrize("last", [1, 7, 100, 1001])
@pytest.mark.parametrize("most", [1, 10, 5000])
def test_samples_are_even_and_within_the_points(last: int, most: int) -> None:
    for seed in (0, 3, 12345):
        chosen = sample(last, most=most, seed=seed)
        assert 1 <= len(chosen) <= most
        assert min(chosen) >= 1
        assert max(chosen) <= last
    if most >= last:
        assert list(sample(last, most=most, seed=9)) == list(range(1, last + 1))


def test_campaigns_that_found_something_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean: conftest.Row = ("C: update", "lines", 3, 9, {})
    found: conftest.Row = ("C: close", "lines", 3, 9, {"hangs": 1})
    some: conftest.Row = (
        "C: update",
        "allocations",
        1,
        1,
        {},
    )  # of all allocations, which are one test
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (clean, found, some, clean)))
    monkeypatch.setattr(conftest, "ROWS", path)
    assert [tuple(row) for row in conftest._earlier()] == [clean]
    assert list(conftest.table([clean, found]))[-1] == "| all | 2 | 18 | 0 | 0 | 0 | 1 |"
