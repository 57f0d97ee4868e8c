"""Descriptions of tables of values: weights, persons, and what the proof does not cover."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.value_matrix import matrix

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import Relation, table_sensitivity2
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows, ValueTree

STEPS, EDGES = 3, (0.0, 1.0, 2.0)
BINS = len(EDGES) + 1
# What happens at a step: nothing, or an event in a bin, of some weight.
Event = tuple[int, int] | None
Vector = npt.NDArray[np.int64]


def spec(relation: Relation, rows: ValueRows, mechanism: str, **changed: Any) -> ls.TableSpec:
    plain: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "schedule": ls.Punctual(horizon=STEPS)}
    return ls.TableSpec(
        kind="values",
        depth=1,
        width=BINS,
        edges=EDGES,
        relation=relation,
        mechanism=mechanism,  # type: ignore[arg-type]
        value_rows=rows,
        **{**plain, **changed},
    )


def query(stream: tuple[Event, ...], rows: ValueRows, mechanism: MechanismName) -> Vector:
    """All noisy queries by definition: the rows over pushes of the node sums after every push."""
    over_time, over_bins = strategy(mechanism, STEPS), matrix(ValueTree(rows, BINS))
    found = np.zeros((len(over_time.shift(1)), BINS), dtype=np.int64)
    for leaf, event in enumerate(stream, start=1):
        if event is not None:
            place, weight = event
            prefixes = (np.arange(BINS) >= place).astype(np.int64)
            found += weight * np.outer(over_time.shift(leaf), over_bins @ prefixes)
    return found


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_weights_move_the_query_no_further(relation: Relation, rows: ValueRows) -> None:
    """One step with every weight: the largest change is that of events of the largest weight."""
    events: list[Event] = [None, *itertools.product(range(BINS), range(4))]
    bound = spec(relation, rows, "haar", max_weight=3).noise.l2_sensitivity ** 2
    largest = 0
    for one, other in itertools.product(events, repeat=2):
        if other is None or relation == "substitution":
            moved = query((one,), rows, "haar") - query((other,), rows, "haar")
            largest = max(largest, int((moved**2).sum()))
    assert bound * (1 - 1e-9) <= largest <= bound


def test_more_events_of_a_person_need_as_many_times_the_noise() -> None:
    one = spec("substitution", "haar", "haar")
    five = spec("substitution", "haar", "haar", max_events_per_user=5)
    assert five.noise.l2_sensitivity == pytest.approx(5 * one.noise.l2_sensitivity)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schedule": ls.RoundRobin(horizon=9)}, "schedule: expected Punctual, Batch or Single"),
        ({"schedule": ls.Geometric()}, "schedule: expected Punctual, Batch or Single"),
        ({"person_bound": ls.PersonBound(cells=2)}, "person_bound: expected cells=1 for values"),
        ({"calibration": "classical", "epsilon": 0.5}, "calibration: expected 'analytic'"),
        ({"bits": 64}, "bits: expected 0 for 'values'"),
    ],
)
def test_descriptions_outside_of_the_proof_are_refused(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentValueError) as refused:
        spec("substitution", "haar", "haar", **changed)
    assert str(refused.value).startswith(message)


def test_the_change_of_values_has_no_closed_form() -> None:
    with pytest.raises(ArgumentValueError, match="kind: expected one whose change depends"):
        table_sensitivity2("values", depth=1, relation="substitution")
