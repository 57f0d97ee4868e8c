"""Feeding: one step per row for every kind of batch; strict mode stops at the right row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch import testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import Position, RowBatch, feed, open_source

EVENTS = st.one_of(st.none(), st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9)))


def private(*, max_weight: int = 9) -> ls.LazyCountMin:
    return ls.LazyCountMin(
        depth=2,
        width=4,
        epsilon=1.0,
        delta=1e-6,
        horizon=1000,
        max_weight=max_weight,
        hash_seed=1,
        key=testing.seeded_key(1),
    )


@given(st.lists(EVENTS, max_size=80))
def test_feeding_equals_one_call_per_row(rows: list[tuple[str, int] | None]) -> None:
    one_by_one, fed = private(), private()
    for row in rows:
        if row is None:
            one_by_one.tick()
        else:
            one_by_one.update(*row)
    batch = RowBatch(
        items=[row[0] for row in rows if row],
        malformed=[place for place, row in enumerate(rows) if not row],
        weights=[row[1] for row in rows if row],
    )
    feed(fed, [batch])
    assert fed.step == one_by_one.step == len(rows)
    assert (fed.release().table == one_by_one.release().table).all()


def test_an_exact_sketch_skips_malformed_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,n\na,3\nb,x\na,0\n")
    sketch = ls.CountMin(depth=3, width=64, hash_seed=1)
    feed(sketch, open_source(path, field="k", weight="n", max_weight=5))
    assert (sketch.step, sketch.estimate("a"), sketch.estimate("b")) == (2, 3.0, 0.0)


def test_a_smaller_max_weight_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,n\na,3\n")
    source = open_source(path, field="k", weight="n", max_weight=10)
    with pytest.raises(ArgumentValueError, match="sketch: expected max_weight of at least 10"):
        feed(private(), source)
    assert source.tally.rows == 0
    feed(private(max_weight=10), source)
    assert source.tally.total_weight == 3


def test_strict_mode_stops_at_the_first_malformed_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,n\na,3\nb,99\nsecret,x\nc,1\n")
    source = open_source(path, field="k", weight="n", max_weight=5, strict=True)
    sketch = private()
    with pytest.raises(SourceError, match="got one in row 3$") as caught:
        feed(sketch, source)
    assert "secret" not in str(caught.value)
    assert sketch.step == 2
    tally = source.tally
    assert (tally.rows, tally.malformed, tally.clipped, tally.total_weight) == (2, 0, 1, 8)


def test_strict_mode_changes_nothing_for_valid_rows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("a\nb\n")
    source = open_source(path, strict=True)
    assert [batch.item_list for batch in source] == [["a", "b"]]


def test_weight_and_max_weight_require_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,n\na,3\n")
    with pytest.raises(ArgumentTypeError, match="max_weight: expected with weight"):
        open_source(path, field="k", weight="n")
    with pytest.raises(ArgumentTypeError, match="max_weight: expected none without weight"):
        open_source(path, field="k", max_weight=3)
    for wrong in (0, -1, 1 << 63):
        with pytest.raises(ArgumentValueError, match=r"max_weight: expected an integer from 1 to"):
            open_source(path, field="k", weight="n", max_weight=wrong)
    for wrong_type in (True, 1.0, "1"):
        with pytest.raises(
            ArgumentTypeError,
            match="max_weight: expected an integer from 1 to 9223372036854775807, got",
        ):
            open_source(path, field="k", weight="n", max_weight=wrong_type)


@pytest.mark.parametrize(
    ("form", "weights"), [("lines", "none"), ("common", "size"), ("combined", "size")]
)
def test_formats_refuse_weights_that_they_do_not_have(
    tmp_path: Path, form: str, weights: str
) -> None:
    path = tmp_path / "a"
    path.write_text("a\n")
    with pytest.raises(ArgumentValueError, match=f"weight: expected {weights} for format '{form}'"):
        open_source(path, format=form, weight="n", max_weight=3)


def test_weights_of_several_inputs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,n\na,3\n\n")
    (tmp_path / "b.jsonl").write_text('{"n": 70, "k": "a"}\n{"k": "a"}\n')
    source = open_source(str(tmp_path / "*"), field="k", weight="n", max_weight=9)
    sketch = private()
    feed(sketch, source)
    assert sketch.step == 4
    tally = source.tally
    assert (tally.malformed, tally.clipped, tally.total_weight) == (2, 1, 12)
    places = [(str(tmp_path / "a.csv"), 2), (str(tmp_path / "b.jsonl"), 2)]
    assert tally.first_malformed == [Position(*place) for place in places]
    assert tally.formats == ["csv, field k, weight n", "jsonl, field k, weight n"]


def test_feed_does_not_bypass_overridden_updates() -> None:
    class Seen(ls.LazyCountMin):
        seen = 0

        def update_many(self, items: object, *arguments: object, **options: object) -> None:
            self.seen += len(items)
            super().update_many(items, *arguments, **options)

    class SeenAndFed(Seen):
        def update_rows(self, items: object, *arguments: object, **options: object) -> None:
            self.seen += len(items)
            super().update_rows(items, *arguments, **options)

    for made in (Seen, SeenAndFed):
        sketch = made(depth=2, width=4, epsilon=1.0, delta=1e-6)
        feed(sketch, [RowBatch(["a", "b"], malformed=[1]), RowBatch(["a", "b"])])
        assert (sketch.seen, sketch.step) == (4, 5)


def test_people_of_a_source_are_those_of_the_sketch(tmp_path: Path) -> None:
    """Every object with a bound takes them; without one they are refused."""
    path = tmp_path / "rows.csv"
    path.write_text("item,who\n" + "".join(f"10.0.0.{n % 7},u{n % 3}\n" for n in range(60)))
    noise: dict[str, Any] = {"share": 0.2, "epsilon": 1.0, "delta": 1e-6}
    bound = ls.PersonBound(cells=2)
    levels = ls.ipv4_prefixes((8, 32))
    for make in (
        lambda **more: ls.LazyCountMin(depth=2, width=16, epsilon=1.0, delta=1e-6, **more),
        lambda **more: ls.HeavyHitters(**noise, **more),
        lambda **more: ls.HierarchicalHeavyHitters(levels, **noise, **more),
    ):
        source = open_source(path, field="item", user="who")
        sketch: Any = make(person_bound=bound)
        feed(sketch, source)
        assert sketch.step == 60
        with pytest.raises(ArgumentValueError, match="^sketch: expected a person_bound"):
            feed(make(), open_source(path, field="item", user="who"))


def test_people_of_sums_are_those_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("item,value,who\n" + "".join(f"i{n % 7},{n},u{n % 3}\n" for n in range(60)))
    noise: dict[str, Any] = {"low": 0, "high": 60, "epsilon": 1.0, "delta": 1e-6}
    source = open_source(path, field="item", value="value", user="who")
    sums = ls.Sums(**noise, person_bound=ls.PersonBound(cells=2))
    feed(sums, source)
    assert sums.steps == 60
    with pytest.raises(ArgumentValueError, match="^sketch: expected a person_bound"):
        feed(ls.Sums(**noise), source)
