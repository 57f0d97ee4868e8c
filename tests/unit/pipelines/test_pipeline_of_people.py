"""Pipelines that protect people, and parts with weights: each as if alone, under one guarantee."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    LazySketchError,
)
from lazysketch.testing import seeded_key

BINS = ls.Bins.linear(0, 10, number=30)
SMALL: dict[str, Any] = {"depth": 2, "width": 16}
PARTS = {
    "pages": ls.Part(ls.HeavyHitters, "path", share=0.1, discovery_epoch=50),
    "listed": ls.Part(ls.HeavyHitters, "path", weight="bytes", max_weight=9, domain=["/0", "/1"]),
    "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=4),
    "latency": ls.Part(ls.Distribution, "ms", bins=BINS, person_bound=ls.PersonBound(events=5)),
    "networks": ls.Part(
        ls.HierarchicalHeavyHitters,
        "ip",
        weight="bytes",
        max_weight=9,
        levels=ls.ipv4_prefixes((8, 16)),
        share=0.2,
        discovery_epoch=50,
        person_bound=[ls.PersonBound(events=4), ls.PersonBound(cells=2)],
    ),
    "clients": ls.Part(ls.LazyCountMin, "path", weight="bytes", max_weight=9, **SMALL),
    "signed": ls.Part(
        ls.PunctualCountSketch, "path", person_bound=ls.PersonBound(cells=2, most_people=5), **SMALL
    ),
    "ports": ls.Part(ls.Ranges, "port", weight="bytes", max_weight=9, bits=10, width=16),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, step=0.5, **SMALL),
}
CHANCE = Random(5)
ROWS = [
    {
        "path": None if number % 7 == 3 else f"/{number % 3}",
        "client": None if number % 9 == 2 else f"client {CHANCE.randrange(11)}",
        "ms": None if number % 5 == 4 else number % 13 - 1.5,
        "port": number * number % 1_000,
        "ip": f"10.{number % 2}.0.{number % 200}",
        "bytes": None if number % 8 == 1 else number % 10,
    }
    for number in range(200)
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
OF_PEOPLE: dict[str, Any] = {"user": "client", "person_bound": ls.PersonBound(events=2)}


def made(parts: dict[str, ls.Part] | None = None, **options: Any) -> ls.Pipeline:
    plain = {"epsilon": 2.0, "delta": 1e-6, "horizon": 1_000, "key": seeded_key(1), **OF_PEOPLE}
    return ls.Pipeline(PARTS if parts is None else parts, **{**plain, **options})


def published(pipeline: ls.Pipeline) -> dict[str, bytes]:
    found = {}
    for name, release in pipeline.release().items():
        levels = release if isinstance(release, tuple) else (release,)
        found[name] = b"".join(level.to_bytes() for level in levels)
    return found


@pytest.mark.parametrize("of_people", [True, False])
@pytest.mark.parametrize("name", list(PARTS))
def test_a_part_is_what_it_would_be_alone(
    name: str, of_people: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the pair and the bound that the pipeline gives it, and the same rows one by one."""
    made_parts: dict[str, tuple[ls.Part, tuple[float, float]]] = {}
    make = ls.Part.made

    def recorded(part: ls.Part, epsilon: float, delta: float, **options: Any) -> Any:
        made_parts[f"{part.kind.__name__} {part.weight}"] = part, (epsilon, delta)
        return make(part, epsilon, delta, **options)

    monkeypatch.setattr(ls.Part, "made", recorded)
    described = PARTS[name] if of_people else PARTS[name].changed(person_bound=None)
    if name == "people":
        described = PARTS[name]
    options = {} if of_people else {"user": None, "person_bound": None}
    with made({name: described}, **options) as pipeline:
        pipeline.update_many(COLUMNS)
        pipeline.finish()
        found = pipeline.release()[name]
    part, pair = next(iter(made_parts.values()))
    alone: Any = make(part, *pair, relation="substitution", horizon=1_000, key=seeded_key(1))
    for row in ROWS:
        values = [row[column] for column in part.columns]
        user = {"user": row["client"]} if of_people and name != "people" else {}
        absent = None in values or (of_people and row["client"] is None)
        alone.tick() if absent else alone.update(*values, **user)
    alone.finish()
    if isinstance(found, tuple):
        levels = [alone.release(level).to_bytes() for level in range(2)]
        assert [level.to_bytes() for level in found] == levels
    else:
        assert found.to_bytes() == alone.release().to_bytes()


@pytest.mark.parametrize(
    "convert",
    [
        pa.table,
        pl.DataFrame,
        pd.DataFrame,
        lambda columns: {name: np.array(cells, dtype=object) for name, cells in columns.items()},
        lambda columns: {name: iter(cells) for name, cells in columns.items()},
    ],
    ids=["table", "polars", "pandas", "arrays-of-objects", "iterators"],
)
def test_every_kind_of_rows_counts_the_same(convert: Any) -> None:
    with made() as by_row, made() as at_once:
        for row in ROWS:
            by_row.update(row)
        at_once.update_many(convert(COLUMNS))
        assert by_row.steps == at_once.steps == 200
        assert published(by_row) == published(at_once)


def test_rows_of_one_step() -> None:
    options: dict[str, Any] = {"schedule": ls.Batch(horizon=4), "depth": 2, "width": 16}
    parts = {
        "pages": ls.Part(ls.LazyCountMin, "path", weight="bytes", max_weight=9, **options),
        "people": ls.Part(ls.DistinctCount, "client", schedule=ls.Batch(horizon=4)),
    }
    with made(parts) as pipeline:
        alone = ls.LazyCountMin.from_spec(pipeline["pages"].spec, key=seeded_key(1))
        for steps in (ROWS[:90], [], ROWS[90:]):
            pipeline.update_batch({name: [row[name] for row in steps] for name in ROWS[0]})
            whole = [row for row in steps if None not in (row["path"], row["client"], row["bytes"])]
            alone.update_batch(
                [row["path"] for row in whole],
                [row["bytes"] for row in whole],
                user=[row["client"] for row in whole],
            )
        assert pipeline.steps == 3
        assert pipeline["pages"].release().to_bytes() == alone.release().to_bytes()


@pytest.mark.parametrize(
    "column", [("client", 1.5), ("client", [1]), ("bytes", -1), ("bytes", 1.5), ("ip", "10.0.0")]
)
def test_a_bad_value_counts_in_no_part_and_of_no_person(column: tuple[str, object]) -> None:
    name, value = column
    with made() as pipeline, made() as clean:
        for one in (pipeline, clean):
            one.update_many(COLUMNS)
        before = published(pipeline)
        for row in (0, 12):
            rows = {**COLUMNS, name: [*COLUMNS[name]]}
            rows[name][row] = value
            with pytest.raises(LazySketchError):
                pipeline.update_many(rows)
        assert published(pipeline) == before
        for one in (pipeline, clean):  # what people may still contribute is what it was
            one.update_many(COLUMNS)
            one.finish()
        assert published(pipeline) == published(clean)


def test_a_horizon_of_one_part_holds_for_all_and_for_their_people() -> None:
    parts = {**PARTS, "latency": ls.Part(ls.Distribution, "ms", bins=BINS, horizon=30)}
    with made(parts) as pipeline, made(parts) as clean:
        with pytest.raises(HorizonError):
            pipeline.update_many(COLUMNS)
        rows = {name: cells[:30] for name, cells in COLUMNS.items()}
        for one in (pipeline, clean):
            one.update_many(rows)
        assert published(pipeline) == published(clean)


def test_the_column_of_people_is_needed() -> None:
    rows = {name: cells for name, cells in COLUMNS.items() if name != "client"}
    with made({"pages": PARTS["pages"]}) as pipeline:
        with pytest.raises(ArgumentValueError, match="rows: expected a column 'client'"):
            pipeline.update_many(rows)
        with pytest.raises(ArgumentValueError, match="rows: expected columns of one length"):
            pipeline.update_many({**rows, "client": ["a"]})
        assert pipeline.steps == 0
        pipeline.update({"path": "/"})
        assert pipeline.steps == 1
        pipeline.close()
        with pytest.raises(ClosedError):
            pipeline.update({"path": "/", "client": "a"})


# The guarantee.


def test_no_person_moves_all_parts_by_more_than_the_guarantee() -> None:
    """The squares of the shifts of all tables, each in its own noise, add up to at most mu^2.

    With one publication the shift of a table is the difference of what two runs under one key
    publish. The person sends all that every part admits in one of the streams.
    """
    bound = ls.PersonBound(cells=2, events=2)
    size: dict[str, Any] = {"depth": 2, "width": 8, "schedule": ls.Single(), "hash_seed": 1}
    parts = {
        "pages": ls.Part(ls.LazyCountSketch, "path", weight="bytes", max_weight=3, **size),
        "plain": ls.Part(ls.LazyCountMin, "page", person_bound=ls.PersonBound(events=3), **size),
    }
    options: dict[str, Any] = {"person_bound": bound, "relation": "zero-out", "horizon": None}
    chance = Random(3)
    attaining = [("a", f"/{number // 8}", f"/{number // 8}", 3) for number in range(64)]
    others = [
        [
            (chance.choice("aab"), f"/{chance.randrange(9)}", "/", chance.randrange(4))
            for _ in range(chance.randrange(1, 30))
        ]
        for _ in range(12)
    ]
    largest = 0.0
    with made(parts, key=None, **options) as private:  # noise from a seed has no guarantee
        mu = private.privacy.mu
    for stream in (attaining, *others):
        shift = 0.0
        with made(parts, **options) as whole, made(parts, **options) as without:
            for pipeline, absent in ((whole, None), (without, "a")):
                users = [None if user == absent else user for user, _, _, _ in stream]
                pipeline.update_many(
                    {
                        "client": users,
                        "path": [path for _, path, _, _ in stream],
                        "page": [page for _, _, page, _ in stream],
                        "bytes": [size for _, _, _, size in stream],
                    }
                )
                pipeline.finish()
            for name in parts:
                tables = [np.asarray(one[name].release().table) for one in (whole, without)]
                spec = whole[name].spec
                moved = float(((tables[0] - tables[1]) ** 2).sum())
                shift += moved * spec.chosen_mechanism.sensitivity2 / spec.sigma**2
            largest = max(largest, shift / mu**2)
            assert shift <= mu**2 * (1 + 1e-9)
    assert largest > 0.99


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_all_parts_stay_within_the_guarantee_of_a_person(relation: str) -> None:
    with made(relation=relation, key=None) as pipeline:
        privacy = pipeline.privacy
        assert privacy.delta_at(2.0) <= 1e-6
        assert privacy.protects_people
        assert privacy.relation == relation
        bounded = [pipeline[name].privacy for name in pipeline if name != "people"]
        alone = ls.compose(*bounded)
        people = pipeline["people"].privacy
        assert privacy.mu == pytest.approx(np.hypot(alone.mu, people.mu))
        assert pipeline.user == "client"
        with pytest.raises(ArgumentValueError, match="parts: expected one unit"):
            ls.compose(*bounded, people)


def test_bounds_cost_what_they_cost_alone() -> None:
    """A part's noise has the deviation of the whole with its bound, by the root of its share."""
    parts = {"latency": PARTS["latency"], "spent": PARTS["spent"]}
    with made(parts) as pipeline:
        share = pipeline.shares["latency"].share
        whole = ls.Distribution(
            bins=BINS, epsilon=2.0, delta=1e-6, horizon=1_000, person_bound=ls.PersonBound(events=5)
        )
        found = pipeline["latency"].spec
        assert found.sigma == pytest.approx(whole.spec.sigma / share**0.5, rel=0.05)
        assert found.person_bound == ls.PersonBound(events=5)
        assert pipeline["spent"].spec.counts.person_bound == ls.PersonBound(events=2)


def test_what_is_said_of_a_person() -> None:
    with made({"people": PARTS["people"]}, key=None) as only:
        assert str(only.privacy.person_bound) == "of whom each is counted once"
        assert "any one person, of whom each is counted once," in only.privacy.sentence
    with made({"people": PARTS["people"], "latency": PARTS["latency"]}, key=None) as values:
        assert str(values.privacy.person_bound) == "of whom 5 events are counted"
    with made({"people": PARTS["people"]}, user=None, person_bound=None, key=None) as rows:
        assert not rows.privacy.protects_people
        assert rows.user is None


def test_distinct_items_are_the_people() -> None:
    message = "parts: expected distinct items of the column of people, 'client', got those of 'ip'"
    with pytest.raises(ArgumentValueError, match=message):
        made({"networks": ls.Part(ls.DistinctCount, "ip")})


PAGES = ls.Part(ls.LazyCountMin, "path", **SMALL)
BOUND = ls.PersonBound()


@pytest.mark.parametrize(
    ("parts", "options", "error", "message"),
    [
        (PAGES, {"person_bound": None}, ArgumentTypeError, "person_bound: expected one for the"),
        (PAGES, {"person_bound": 3}, ArgumentTypeError, "person_bound: expected a PersonBound"),
        (PAGES, {"user": None}, ArgumentTypeError, "user: expected the column of the people"),
        (PAGES, {"user": 3}, ArgumentTypeError, "user: expected a text, got int"),
        (
            PAGES.changed(person_bound=BOUND),
            {"user": None, "person_bound": None},
            ArgumentTypeError,
            "user: expected the column of the people",
        ),
        (PARTS["people"].changed(person_bound=BOUND), {}, LazySketchError, "person_bound"),
        (PAGES.changed(max_events_per_user=2), {}, LazySketchError, "max_events_per_user"),
        (
            PARTS["latency"].changed(person_bound=ls.PersonBound(cells=2)),
            {},
            LazySketchError,
            "cells",
        ),
    ],
)
def test_arguments_of_people(
    parts: ls.Part, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        made({"one": parts}, **options)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (ls.DistinctCount, {"weight": "bytes"}, "weight: expected none for a part of Distinct"),
        (ls.Sums, {"weight": "bytes", "value": "ms"}, "weight: expected none for a part of Sums"),
        (ls.LazyCountMin, {"weight": 3}, "weight: expected a text, got int"),
        (ls.LazyCountMin, {"max_weight": 3}, "max_weight: expected none without weight"),
    ],
)
def test_arguments_of_weights(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        ls.Part(kind, "path", **options)


def test_a_part_names_its_weight() -> None:
    part = ls.Part(ls.LazyCountMin, "path", weight="bytes", max_weight=9)
    assert part.weight == "bytes"
    assert part.columns == ("path", "bytes")
    assert repr(part) == "<Part LazyCountMin of 'path', weight='bytes', max_weight=9>"
    changed = part.changed(max_weight=3)
    assert (changed.weight, dict(changed.options)) == ("bytes", {"max_weight": 3})
