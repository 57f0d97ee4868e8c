"""A ledger charges a pipeline for everything that its parts publish."""

from __future__ import annotations

from pathlib import Path

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
