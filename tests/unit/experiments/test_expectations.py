"""Summaries over trials, and expectations: each kind can fail."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from experiments.definition import Expectation, Value, definitions
from experiments.expectations import exponent, student_quantile, verdicts
from experiments.settings import Settings
from experiments.summary import Estimate, Made, Result

KNOWN = definitions()


def made(lines: dict[tuple[str, str], dict[Value, list[float]]]) -> Result:
    numbers = {
        key: {x: Estimate.of(values) for x, values in line.items()} for key, line in lines.items()
    }
    circumstances: Made = {"date": "-", "machine": "-", "versions": "-", "seconds": 0}
    return Result("made", "digest", numbers, circumstances)


def test_estimates_and_records_round_trip(tmp_path: Path) -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    estimate = Estimate.of(values)
    assert estimate.mean == 3.75
    assert estimate.error == pytest.approx(np.std(values, ddof=1) / 2)
    assert math.exp(estimate.log_mean) == pytest.approx(math.sqrt(8))
    assert math.isnan(Estimate.of([0.0, 1.0]).log_mean)
    result = made({("s", "are"): {24: values, 0.3: [0.0, 1.0]}})
    again = Result.load(result.save(tmp_path))
    assert again.series == ["s"]
    for x, each in result.line("s", "are").items():
        for name, value in vars(each).items():
            assert vars(again.line("s", "are")[x])[name] == pytest.approx(
                value, rel=1e-5, nan_ok=True
            )


@pytest.mark.parametrize(
    ("tail", "degrees", "expected"),
    [(0.025, 19, 2.093024), (0.001, 3, 10.214532), (4e-7, 19, 7.182164), (0.05, 1, 6.313752)],
)
def test_student_quantile(tail: float, degrees: int, expected: float) -> None:
    """Against scipy.stats.t.isf."""
    assert student_quantile(tail, degrees=degrees) == pytest.approx(expected, rel=1e-5)


def test_exponent() -> None:
    line = {x: Estimate.of([3.0 * x**-0.5]) for x in (1, 2, 4, 8)}
    assert exponent(line, "are") == pytest.approx(-0.5)
    logs = {2**k: Estimate.of([float(k) ** 2]) for k in (4, 8, 16)}
    assert exponent(logs, "are", logarithmic=True) == pytest.approx(2)


GOOD: dict[tuple[str, str], dict[Value, list[float]]] = {
    ("a", "are"): {1: [1.0, 1.1, 0.9], 2: [0.5, 0.55, 0.45], 4: [0.25, 0.27, 0.23]},
    ("b", "are"): {1: [2.0, 2.1, 1.9], 2: [2.0, 2.1, 1.9], 4: [2.0, 2.1, 1.9]},
    ("a", "epsilon claimed"): {1: [5.0]},
    ("a", "epsilon audited"): {1: [6.0]},
}


@pytest.mark.parametrize(
    ("entry", "right", "wrong"),
    [
        ({"kind": "ratio", "series": "a", "than": "b"}, {"most": 0.6}, {"least": 0.6}),
        ({"kind": "slope", "series": "a"}, {"least": -1.1, "most": -0.9}, {"least": -0.9}),
        ({"kind": "falls", "series": "a", "from": 1, "to": 4}, {"most": 0.3}, {"least": 0.5}),
        ({"kind": "value", "series": "b"}, {"least": 1.5}, {"most": 1.5}),
        ({"kind": "value"}, {"least": 0.1}, {"most": 1.5}),
        ({"kind": "beyond", "series": "a", "at": [1]}, {"least": 1}, {"most": 1}),
    ],
)
def test_expectations_can_fail(
    entry: dict[str, object], right: dict[str, float], wrong: dict[str, float]
) -> None:
    metric = {} if entry["kind"] == "beyond" else {"metric": "are"}
    for band, passes in ((right, True), (wrong, False)):
        entries = (Expectation.of(Settings({"what": "w", **metric, **entry, **band})),)
        one = dataclasses.replace(KNOWN["error-skew"], expect=entries)
        (verdict,) = verdicts(one, made(GOOD), None)
        assert verdict.passed is passes, verdict
