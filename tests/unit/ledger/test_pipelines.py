"""A ledger charges a pipeline for everything that its parts publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.ledger.ledgers import Place

import lazysketch as ls


def test_a_pipeline_is_charged_for_all_its_parts(tmp_path: Path) -> None:
    parts = {
        "pages": ls.Part(ls.HeavyHitters, "path", share=0.1),
        "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 1, number=10)),
    }
    with (
        Place(tmp_path).create() as ledger,
        ls.Pipeline(parts, epsilon=1.0, delta=1e-7) as pipeline,
    ):
        ledger.charge(pipeline)
        spent = ledger.spent().total
        assert spent.delta_at(1.0) <= 1.05e-7
        assert spent.mu_squared >= ls.compose(pipeline["pages"].privacy).mu ** 2
        assert spent.mu_squared >= ls.compose(pipeline["latency"].privacy).mu ** 2


def test_a_pipeline_of_people_is_charged_to_people(tmp_path: Path) -> None:
    """Its distinct items are people there, whom a composition of the parts alone would refuse."""
    parts = {
        "people": ls.Part(ls.DistinctCount, "client"),
        "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 1, number=10)),
    }
    people: dict[str, Any] = {"user": "client", "person_bound": ls.PersonBound(events=3)}
    with (
        Place(tmp_path).create(unit="person") as ledger,
        ls.Pipeline(parts, epsilon=1.0, delta=1e-7, **people) as pipeline,
    ):
        ledger.charge(pipeline)
        spent = ledger.spent().total
        assert spent.delta_at(1.0) <= 1.2e-7
        for name in parts:
            assert spent.mu_squared >= ls.compose(pipeline[name].privacy).mu ** 2
