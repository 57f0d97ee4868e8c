"""Plans of distributions: errors in ranks that are measured, and the rows that are chosen."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.specification.value_tree import VALUE_ROWS
from lazysketch.testing import seeded_key

GUARANTEE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
BINS = ls.Bins.linear(0, 100, number=62)


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": ls.Single()},
        {"horizon": 1_024, "steps": 1_024},
        {"horizon": 1_024, "steps": 1_024, "relation": "zero-out", "max_events_per_user": 3},
        {"steps": 1_024, "value_rows": "haar"},
    ],
    ids=["single", "horizon", "zero-out", "endless"],
)
def test_the_predicted_error_is_the_measured_one(options: dict[str, Any]) -> None:
    """Seeded: 60 distributions, read 16 times each on the way; the errors of all edges.

    They are read at steps that have nothing to do with powers of two, where noise is less.
    """
    steps = np.random.default_rng(41)
    found = ls.plan_distribution(bins=BINS, values=1_024, **options, **GUARANTEE)
    values = np.arange(1_024) * 37 % 101
    squares = []
    for number in range(60):
        key = seeded_key(29, sketch_id=number.to_bytes(16, "big"))
        with found.distribution(key=key) as counted:
            before = 0
            for step in [*np.sort(steps.choice(1_023, 16, replace=False)) + 1, 1_024]:
                counted.update_many(values[before:step])
                before = step
                if options.get("schedule") is None and step < 1_024:
                    squares.append(_errors(counted.release(), values[:step]))
            if options.get("schedule") is not None:
                counted.finish()
                squares.append(_errors(counted.release(), values))
    measured = float(np.sqrt(np.mean(squares)))
    assert measured == pytest.approx(found.standard_error, rel=0.1)
    assert found.standard_error <= found.largest_error
    assert found.rank_error == pytest.approx(min(1.959964 * found.standard_error / 1_024, 1.0))


def _errors(release: ls.DistributionRelease, values: Any) -> Any:
    """Return the squared errors of the counts below the edges less half of all."""
    counts = release._counts._prefixes
    edges = np.array(release.bins.edges)
    true = (values[None, :] < edges[:, None]).sum(axis=1) - len(values) / 2.0
    return (counts[1 : len(edges) + 1] - counts[-1] / 2.0 - true) ** 2


def test_intervals_of_medians_have_the_predicted_width_in_ranks() -> None:
    """Seeded: as many values in every bin, so that edges are ranks."""
    found = ls.plan_distribution(
        bins=ls.Bins.linear(0, 1), values=100_000, schedule=ls.Single(), **GUARANTEE
    )
    widths = []
    values = (np.arange(100_000) + 0.5) / 100_000
    for number in range(20):
        key = seeded_key(31, sketch_id=number.to_bytes(16, "big"))
        with found.distribution(key=key) as counted:
            counted.update_many(values)
            counted.finish()
            median = counted.quantile(0.5)
            widths.append((median.high - median.low) / 2.0)
    bin_width = 1 / 1022
    assert found.rank_error <= np.mean(widths) <= 1.5 * found.rank_error + bin_width


def test_more_privacy_and_more_bins_have_larger_errors() -> None:
    def error(**changed: Any) -> float:
        plain = {"bins": BINS, "values": 10_000, "horizon": 10_000, **GUARANTEE}
        return ls.plan_distribution(**{**plain, **changed}).rank_error

    assert error(epsilon=0.5) > error() > error(relation="zero-out")
    assert error(bins=ls.Bins.linear(0, 1)) > error()
    assert error(max_events_per_user=2) == pytest.approx(2 * error(), rel=0.02)
    assert error(values=20_000) == pytest.approx(error() / 2)
    assert error(confidence=0.99) > error()
    assert error(horizon=None, schedule=ls.Single()) < error()


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("options", [{"horizon": 512}, {"horizon": 100_000}, {"steps": 100_000}])
@pytest.mark.parametrize("number", [62, 1022])
def test_the_chosen_rows_have_about_the_least_predicted_error(
    epsilon: float, options: dict[str, Any], number: int
) -> None:
    """Of all pairs of rows over steps and over bins that can serve the guarantee.

    With 1,024 bins no pair has less; with 64 bins "haar" over them has 3 % less for medians.
    """
    plain: dict[str, Any] = {
        "bins": ls.Bins.linear(0, 1, number=number),
        "values": 100_000,
        "epsilon": epsilon,
        "delta": 1e-6,
        **options,
    }
    chosen = ls.plan_distribution(**plain)
    others = []
    for mechanism in ("tree", "tree-log", "tree-deep", "haar", "binary"):
        for rows in VALUE_ROWS:
            with suppress(ArgumentValueError):  # a pair that cannot serve this guarantee
                other = ls.plan_distribution(**plain, mechanism=mechanism, value_rows=rows)
                others.append(other.standard_error)
    assert len(others) >= 2
    worse = 1.001 if number > 1_000 else 1.05
    assert chosen.standard_error <= worse * min(others)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"values": 0}, ArgumentValueError, "values: expected an integer from 1"),
        ({"values": 1.5}, ArgumentTypeError, "values: expected an integer from 1"),
        ({"steps": 0}, ArgumentValueError, "steps: expected an integer from 1"),
        ({"bins": [1, 2]}, ArgumentTypeError, "bins: expected Bins, got list"),
        ({"confidence": 1.0}, ArgumentValueError, "confidence: expected"),
        ({"epsilon": 0}, ArgumentValueError, "epsilon: expected"),
        ({"horizon": 5, "schedule": ls.Single()}, ArgumentTypeError, "horizon: expected none"),
    ],
)
def test_wrong_arguments_are_named(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refused:
        ls.plan_distribution(**{"bins": BINS, "values": 1_000, **GUARANTEE, **wrong})
    assert str(refused.value).startswith(message)
