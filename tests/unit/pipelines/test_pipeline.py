"""Pipelines: each part counts as if alone, all or nothing, under one guarantee."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
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
    ItemError,
    LazySketchError,
    LiveStateError,
)
from lazysketch.testing import seeded_key

BINS = ls.Bins.linear(0, 10, number=30)
LEVELS = ls.ipv4_prefixes((8, 16))
PARTS = {
    "pages": ls.Part(ls.HeavyHitters, "path", share=0.1, discovery_epoch=50),
    "listed": ls.Part(ls.HeavyHitters, "path", domain=["/0", "/1"]),
    "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=4),
    "latency": ls.Part(ls.Distribution, "ms", bins=BINS),
    "networks": ls.Part(
        ls.HierarchicalHeavyHitters, "ip", levels=LEVELS, share=0.2, discovery_epoch=50
    ),
    "clients": ls.Part(ls.LazyCountMin, "client", depth=2, width=16),
    "signed": ls.Part(ls.PunctualCountSketch, "client", depth=2, width=16),
    "ports": ls.Part(ls.Ranges, "port", bits=10, width=16),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, step=0.5, depth=2, width=16),
}
ROWS = [
    {
        "path": None if number % 7 == 3 else f"/{number % 3}",
        "client": number % 11,
        "ms": None if number % 5 == 4 else number % 13 - 1.5,
        "port": number * number % 1_000,
        "ip": f"10.{number % 2}.0.{number % 200}",
        "unused": object(),
    }
    for number in range(200)
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ("path", "client", "ms", "ip", "port")}


def made(parts: dict[str, ls.Part] | None = None, **options: Any) -> ls.Pipeline:
    plain = {"epsilon": 2.0, "delta": 1e-6, "horizon": 1_000, "key": seeded_key(1)}
    return ls.Pipeline(PARTS if parts is None else parts, **{**plain, **options})


def published(pipeline: ls.Pipeline) -> dict[str, bytes]:
    found = {}
    for name, release in pipeline.release().items():
        levels = release if isinstance(release, tuple) else (release,)
        found[name] = b"".join(level.to_bytes() for level in levels)
    return found


@pytest.mark.parametrize("name", list(PARTS))
def test_a_part_is_what_it_would_be_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the pair that the pipeline gives it, and the same rows one by one."""
    pairs: dict[ls.Part, tuple[float, float]] = {}
    make = ls.Part.made

    def recorded(part: ls.Part, epsilon: float, delta: float, **options: Any) -> Any:
        pairs[part] = (epsilon, delta)
        return make(part, epsilon, delta, **options)

    monkeypatch.setattr(ls.Part, "made", recorded)
    with made() as pipeline:
        pipeline.update_many(COLUMNS)
        pipeline.finish()
        found = pipeline.release()[name]
    part: Any = make(
        PARTS[name], *pairs[PARTS[name]], relation="substitution", horizon=1_000, key=seeded_key(1)
    )
    for row in ROWS:
        values = [row[column] for column in PARTS[name].columns]
        part.tick() if None in values else part.update(*values)
    part.finish()
    if isinstance(found, tuple):
        assert [level.to_bytes() for level in found] == [
            part.release(level).to_bytes() for level in range(2)
        ]
    else:
        assert found.to_bytes() == part.release().to_bytes()


def _arrow(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    "convert",
    [
        _arrow,
        lambda columns: _arrow(columns).to_batches()[0],
        pl.DataFrame,
        pd.DataFrame,
        lambda columns: {name: np.array(cells, dtype=object) for name, cells in columns.items()},
        lambda columns: {name: iter(cells) for name, cells in columns.items()},
    ],
    ids=["table", "record-batch", "polars", "pandas", "arrays-of-objects", "iterators"],
)
def test_every_kind_of_rows_counts_the_same(convert: Callable[[Any], object]) -> None:
    with made() as by_row, made() as at_once:
        for row in ROWS:
            by_row.update(row)
        at_once.update_many(convert(COLUMNS))
        assert by_row.steps == at_once.steps == 200
        assert published(by_row) == published(at_once)


def test_numbers_in_arrays() -> None:
    parts = {"latency": PARTS["latency"], "clients": PARTS["clients"]}
    values = {"ms": np.linspace(0, 9, 50), "client": np.arange(50) % 5}
    with made(parts) as arrays, made(parts) as lists:
        arrays.update_many(values)
        lists.update_many({name: column.tolist() for name, column in values.items()})
        assert published(arrays) == published(lists)


def test_batches_and_their_end() -> None:
    options = {"schedule": ls.Batch(horizon=4)}
    parts = {
        "clients": ls.Part(ls.LazyCountMin, "client", depth=2, width=16, **options),
        "latency": ls.Part(ls.Distribution, "ms", bins=BINS, **options),
    }
    with made(parts) as pipeline:
        pipeline.update_batch({"client": [1, None, 1], "ms": [1.0, 2.0, None]})
        pipeline.update_batch({"client": [], "ms": []})
        pipeline.tick(2)
        assert pipeline.steps == 4
        with pytest.raises(HorizonError):
            pipeline.update_batch({"client": [1], "ms": [1.0]})
        assert pipeline.steps == 4


def test_epochs_end_on_request() -> None:
    with made() as pipeline:
        pipeline.update_many({name: cells[:20] for name, cells in COLUMNS.items()})
        pipeline.end_discovery_epoch()
        assert pipeline["pages"].step == 20


# All or nothing.

BAD: dict[str, tuple[str, object, type[LazySketchError]]] = {
    "item": ("client", 1.5, LazySketchError),
    "address": ("ip", "10.0.0", ItemError),
    "number": ("ms", "fast", ArgumentTypeError),
    "nan": ("ms", float("nan"), ArgumentValueError),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_value_in_one_part_counts_in_none(case: str) -> None:
    column, value, error = BAD[case]
    with made() as pipeline:
        pipeline.update_many(COLUMNS)
        before = published(pipeline)
        with pytest.raises(error):
            pipeline.update_many({**COLUMNS, column: [*COLUMNS[column][:-1], value]})
        with pytest.raises(error):
            pipeline.update({**ROWS[0], column: value})
        assert pipeline.steps == 200
        assert published(pipeline) == before


def test_a_horizon_of_one_part_holds_for_all() -> None:
    parts = {
        "clients": PARTS["clients"],
        "latency": ls.Part(ls.Distribution, "ms", bins=BINS, horizon=5),
    }
    with made(parts) as pipeline:
        with pytest.raises(HorizonError):
            pipeline.update_many({"client": range(6), "ms": [1.0] * 6})
        with pytest.raises(HorizonError):
            pipeline.tick(6)
        assert pipeline.steps == 0
        pipeline.update_many({"client": range(5), "ms": [1.0] * 5})
        assert pipeline.steps == 5


def test_a_part_that_counts_alone_is_noticed() -> None:
    with made() as pipeline:
        pipeline["clients"].update(3)
        with pytest.raises(ArgumentValueError, match="one that counted without the pipeline"):
            pipeline.update(ROWS[0])
        assert pipeline["people"].steps == 0


# The guarantee.


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-9), (1.0, 1e-6), (8.0, 1e-4)])
def test_all_parts_stay_within_the_guarantee(relation: str, epsilon: float, delta: float) -> None:
    with made(relation=relation, epsilon=epsilon, delta=delta, key=None) as pipeline:
        privacy = ls.compose(*(pipeline[name].privacy for name in pipeline))
        assert privacy.delta_at(epsilon) <= delta
        assert pipeline.privacy.delta_at(epsilon) == privacy.delta_at(epsilon)
        assert pipeline.privacy.relation == relation
        assert (pipeline.epsilon, pipeline.delta) == (epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-9), (1.0, 1e-6), (8.0, 1e-4)])
def test_little_of_the_privacy_is_left_over(epsilon: float, delta: float) -> None:
    """A part's noise has the deviation of the whole, by the root of its share, within 5 %."""
    parts = {name: PARTS[name] for name in ("latency", "clients", "people")}
    with made(parts, epsilon=epsilon, delta=delta) as pipeline:
        for name, part in parts.items():
            whole: Any = part.made(epsilon, delta, relation="substitution", horizon=1_000)
            found = pipeline[name]
            expected = whole.spec.sigma / pipeline.shares[name].share ** 0.5
            assert found.spec.sigma == pytest.approx(expected, rel=0.05)


def test_one_part_has_the_whole_privacy() -> None:
    with made({"clients": PARTS["clients"]}) as pipeline:
        assert pipeline.shares["clients"] == ls.PrivacyShare(share=1.0, error_growth=1.0)
        assert pipeline["clients"].spec.epsilon == pytest.approx(2.0, rel=0.01)


def test_given_shares_and_importance() -> None:
    parts = {name: PARTS[name] for name in ("latency", "people")}
    with made(parts, shares={"people": 3, "latency": 1}) as pipeline:
        assert pipeline.shares["people"].share == 0.75
        assert pipeline.shares["latency"].error_growth == 2.0
    heavier = {**parts, "people": ls.Part(ls.DistinctCount, "client", importance=5.0)}
    with made(parts) as equal, made(heavier) as uneven:
        assert uneven.shares["people"].share > equal.shares["people"].share


# What it is, and errors.


def test_it_is_a_mapping_of_its_parts() -> None:
    with made() as pipeline:
        assert list(pipeline) == list(PARTS)
        assert len(pipeline) == len(PARTS)
        assert isinstance(pipeline["latency"], ls.Distribution)
        with pytest.raises(ArgumentValueError, match="name: expected one of 'pages'"):
            pipeline["nothing"]
        text = repr(pipeline)
        assert "pages=HeavyHitters (" in text
        assert "epsilon=2, delta=1e-06, steps used=0" in text


def test_live_state_is_not_copied_and_ends() -> None:
    pipeline = made()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LiveStateError):
            attempt(pipeline)
    assert not pipeline.finished
    pipeline.finish()
    pipeline.finish()
    assert pipeline.finished
    with pytest.raises(LazySketchError):
        pipeline.update_many(COLUMNS)
    pipeline.close()
    pipeline.close()
    assert pipeline.closed
    assert "closed" in repr(pipeline)
    with pytest.raises(ClosedError):
        pipeline.update_many(COLUMNS)
    with pytest.raises(ClosedError):
        pipeline.release()


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"path": ["/"]}, ArgumentValueError, "rows: expected a column 'client', got none"),
        ({**COLUMNS, "ms": [1.0]}, ArgumentValueError, "rows: expected columns of one length"),
        (ROWS, ArgumentTypeError, "rows: expected a mapping from names to columns"),
        (3, ArgumentTypeError, "rows: expected a mapping .* got int"),
    ],
)
def test_rows_that_cannot_be_counted(rows: object, error: type[Exception], message: str) -> None:
    with made() as pipeline:
        with pytest.raises(error, match=message):
            pipeline.update_many(rows)
        with pytest.raises(ArgumentTypeError, match="row: expected a mapping, got list"):
            pipeline.update([1])  # type: ignore[arg-type]
        assert pipeline.steps == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": {}}, "parts: expected at least one"),
        ({"parts": [PARTS["pages"]]}, "parts: expected a mapping, got list"),
        ({"parts": {1: PARTS["pages"]}}, "parts: expected names, got int"),
        ({"parts": {"pages": ls.HeavyHitters}}, "parts: expected Part, got type"),
        ({"epsilon": 0.0}, "epsilon: expected"),
        ({"delta": 1.0}, "delta: expected"),
        ({"relation": "both"}, "relation: expected"),
        ({"rows": 0}, "rows: expected"),
        ({"shares": [1.0]}, "shares: expected a mapping, got list"),
        ({"shares": {"pages": 1.0}}, "shares: expected one for each part"),
        ({"shares": dict.fromkeys(PARTS, -1.0)}, "shares: expected"),
        ({"key": "secret"}, "key: expected"),
    ],
)
def test_arguments_of_a_pipeline(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LazySketchError, match=message):
        made(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": ls.ContinualCounters}, "kind: expected one of .* got ContinualCounters"),
        ({"kind": "distinct"}, "kind: expected one of .* got str"),
        ({"column": 3}, "column: expected a text"),
        ({"column": None}, "column: expected a text"),
        ({"importance": 0.0}, "importance: expected"),
        ({"epsilon": 1.0}, "epsilon: expected none for a part"),
        ({"key": None}, "key: expected none for a part"),
        ({"max_weight": 2}, "max_weight: expected none without weight"),
    ],
)
def test_arguments_of_a_part(options: dict[str, Any], message: str) -> None:
    plain: dict[str, Any] = {"kind": ls.DistinctCount, "column": "client"}
    with pytest.raises(LazySketchError, match=message):
        ls.Part(**{**plain, **options})


def test_a_part_describes_itself() -> None:
    part = ls.Part(ls.HeavyHitters, "path", importance=2, share=0.01)
    assert (part.kind, part.column, part.importance) == (ls.HeavyHitters, "path", 2.0)
    assert dict(part.options) == {"share": 0.01}
    assert repr(part) == "<Part HeavyHitters of 'path', share=0.01>"


def test_too_many_parts_for_the_privacy() -> None:
    parts = {str(number): PARTS["clients"] for number in range(3)}
    with pytest.raises(ArgumentValueError):
        made(parts, epsilon=1e-7, delta=1e-12)


ROWS_OF_SUMS = {
    "shop": ["a", None, "b", "c", None, "a"],
    "price": [1.0, 2.0, None, 8.5, None, 3.0],
}


@pytest.mark.parametrize(
    "convert",
    [
        dict,
        pa.table,
        pl.DataFrame,
        pd.DataFrame,
        lambda rows: {name: np.array(cells, dtype=object) for name, cells in rows.items()},
    ],
    ids=["lists", "arrow", "polars", "pandas", "arrays-of-objects"],
)
@pytest.mark.parametrize("in_one_step", [False, True])
def test_sums_count_rows_that_have_both_an_item_and_a_number(
    convert: Callable[[Any], object], in_one_step: bool
) -> None:
    """The share is that of one part, so its privacy is nearly that of the pipeline."""
    schedule = ls.Batch(horizon=9) if in_one_step else ls.Punctual(horizon=9)
    size: dict[str, Any] = {"low": 0, "high": 10, "width": 16, "hash_seed": 3, "schedule": schedule}
    parts = {"spent": ls.Part(ls.Sums, "shop", value="price", **size)}
    with made(parts, horizon=None) as pipeline:
        part = pipeline["spent"]
        alone = ls.Sums.from_spec(part.spec, key=seeded_key(1))
        if in_one_step:
            pipeline.update_batch(convert(ROWS_OF_SUMS))
            alone.update_batch(["a", "c", "a"], [1.0, 8.5, 3.0])
        else:
            pipeline.update_many(convert(ROWS_OF_SUMS))
            alone.update_rows(["a", "c", "a"], [1.0, 8.5, 3.0], empty_rows=[1, 2, 4])
        assert pipeline.steps == alone.steps
        assert part.release().to_bytes() == alone.release().to_bytes()


def test_a_part_of_sums_names_both_columns() -> None:
    bounds: dict[str, Any] = {"low": 0, "high": 1}
    part = ls.Part(ls.Sums, "shop", value="price", **bounds)
    assert part.columns == ("shop", "price")
    assert repr(part) == "<Part Sums of 'shop', value='price', low=0, high=1>"
    for value in (None, 3):
        with pytest.raises(ArgumentTypeError, match=r"^value: expected the name of the column"):
            ls.Part(ls.Sums, "shop", value=value, **bounds)
    with pytest.raises(ArgumentTypeError, match=r"^value: expected none for a part that is no"):
        ls.Part(ls.Ranges, "port", value="price")
    with (
        made({"spent": part}) as pipeline,
        pytest.raises(ArgumentValueError, match=r"^rows: expected a column 'price'"),
    ):
        pipeline.update_many({"shop": ["a"]})
    with made({"spent": part}) as pipeline, pytest.raises(ArgumentValueError, match="NaN"):
        pipeline.update_many({"shop": ["a"], "price": [float("nan")]})


@pytest.mark.parametrize("name", ["ports", "spent"])
def test_a_share_costs_what_the_noise_says(name: str) -> None:
    """Less privacy, more error, and never less than with all of it."""
    two = {"first": PARTS["people"], name: PARTS[name]}
    with made(two, rows=1_000) as pipeline:
        share = pipeline.shares[name]
        assert 1.0 < share.error_growth <= share.share**-0.5 * (1 + 1e-9)
