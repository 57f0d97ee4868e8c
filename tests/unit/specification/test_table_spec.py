"""TableSpec: its checks, its noise, and the private tables that are made from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

FIELDS: dict[str, Any] = {
    "kind": "count-min",
    "depth": 3,
    "width": 64,
    "schedule": ls.RoundRobin(horizon=1_000),
    "epsilon": 1.0,
    "delta": 1e-8,
}


def described(**changes: Any) -> ls.TableSpec:
    return ls.TableSpec(**{**FIELDS, **changes})


def test_it_is_frozen_and_has_no_other_attributes() -> None:
    spec = described()
    for field in fields(spec):
        with pytest.raises(FrozenInstanceError):
            setattr(spec, field.name, getattr(spec, field.name))
    assert not hasattr(spec, "__dict__")
    with pytest.raises((AttributeError, TypeError)):
        spec.rows = 3  # type: ignore[attr-defined]


def test_fields_are_keywords_and_the_first_six_are_required() -> None:
    with pytest.raises(TypeError, match="positional"):
        ls.TableSpec("count-min", 3, 64, ls.Geometric(), 1.0, 1e-8)  # type: ignore[misc]
    for name in FIELDS:
        rest = {other: value for other, value in FIELDS.items() if other != name}
        with pytest.raises(TypeError, match=name):
            ls.TableSpec(**rest)


@pytest.mark.parametrize(
    ("name", "types", "values"),
    [
        ("kind", [5, None], ["count-max", ""]),
        ("depth", ["3", 3.0, True, None], [0, 65]),
        ("width", ["64", 64.0, True, None], [0, 2**24 + 1]),
        ("schedule", ["punctual", None, 5, ls.Punctual], []),
        ("epsilon", ["1", True, None], [0, -1, 101, float("nan")]),
        ("delta", ["1e-8", True, None], [0, 1, float("nan")]),
        ("relation", [5, None], ["zero_out", ""]),
        ("mechanism", [5, None, ls.Mechanism], ["trees", ""]),
        ("calibration", [5, None], ["exact", ""]),
        ("max_weight", ["1", 1.0, True, None], [0, 2**32 + 1]),
        ("max_events_per_user", ["1", 1.0, True, None], [0, 2**20 + 1]),
        ("person_bound", [1, "1", (1, 1), ls.PersonBound], []),
        ("max_changes", ["1", 1.0, True, None, 2], [0, 2**28 + 1]),
        ("hash_seed", ["1", 1.0, True], [-1, 2**64]),
        ("bits", ["1", 1.0, True, None], [64, -1, 2**24 + 1]),
        ("edges", [], [(1.0,), 5, np.array([1.0, 2.0]), None]),
        ("value_rows", [], ["tree", 5]),
        ("moves", [1, "yes", None], [True]),
    ],
)
def test_every_field_is_checked(name: str, types: list[Any], values: list[Any]) -> None:
    for error, wrong in ((ArgumentTypeError, types), (ArgumentValueError, values)):
        for value in wrong:
            with pytest.raises(error, match=f"^{name}: expected "):
                described(**{name: value})


def test_the_table_of_checks_has_every_field() -> None:
    (mark,) = test_every_field_is_checked.pytestmark  # type: ignore[attr-defined]
    checked = [row[0] for row in mark.args[1]]
    assert checked == [field.name for field in fields(ls.TableSpec) if field.init]


def test_fields_of_one_kind_only() -> None:
    with pytest.raises(ArgumentTypeError, match="^depth: expected 1 for counters"):
        described(kind="counters")
    with pytest.raises(ArgumentValueError, match="^max_changes: expected an integer from 1 to 64"):
        described(kind="counters", depth=1, max_changes=65)
    assert described(kind="counters", depth=1, max_changes=64).noise.sigma > 0


def test_numpy_values_become_plain() -> None:
    spec = described(depth=np.int8(3), width=np.int64(64), epsilon=np.float64(1.0), hash_seed=None)
    assert [type(value) for value in (spec.depth, spec.width, spec.epsilon)] == [int, int, float]
    assert spec == described()


def test_replace_calibrates_anew() -> None:
    spec = described()
    for change in ({"epsilon": 0.5}, {"delta": 1e-9}, {"depth": 4}, {"max_weight": 2}):
        changed = replace(spec, **change)
        assert changed.sigma > spec.sigma
        assert changed == described(**change)
        assert changed.noise == described(**change).noise
    assert spec.with_privacy(0.5, 1e-9) == replace(spec, epsilon=0.5, delta=1e-9)
    assert spec.with_privacy(0.5, 1e-9).noise == described(epsilon=0.5, delta=1e-9).noise
    longer = replace(spec, schedule=ls.RoundRobin(horizon=10**6))
    assert longer.chosen_mechanism.leaves > spec.chosen_mechanism.leaves
    with pytest.raises(ArgumentValueError, match="^epsilon: "):
        replace(spec, epsilon=0.0)


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("events", [1, 3])
def test_the_numeric_account_has_every_draw_of_the_table(relation: str, events: int) -> None:
    """Counted by hand: 16 rows of 2^24 cells, each with the 8 nodes of a binary tree of 8 leaves.

    An event changes one cell per row, two under substitution; leaf 1 is in nodes 1, 2, 4 and 8.
    """
    spec = described(
        depth=16,
        width=2**24,
        schedule=ls.Punctual(horizon=8),
        mechanism="binary",
        relation=relation,
        max_events_per_user=events,
    )
    draws = 16 * 2**24 * 9  # eight nodes, and one for the final push
    changed = 16 * (2 if relation == "substitution" else 1) * 4 * events
    error = changed * 2.0**-47 * max(spec.sigma, 8.0)
    assert math.isclose(spec.noise.epsilon_numeric, 2 * error, rel_tol=1e-12)
    aimed = draws * (3.9e-28 + 2.1e-21 * 2.0**-37 * max(spec.sigma, 8.0))
    tails = (1 + math.e) * (changed * 2.1e-21 + aimed + draws**2 * 2.0**-129)
    expected = math.expm1(error) * spec.delta + tails
    assert math.isclose(spec.noise.delta_numeric, expected, rel_tol=1e-9)


def test_another_hash_seed_keeps_the_noise() -> None:
    spec = described()
    seeded = spec.with_hash_seed(5)
    assert (spec.hash_seed, seeded.hash_seed) == (None, 5)
    assert seeded == replace(spec, hash_seed=5) != spec
    assert seeded.noise == replace(spec, hash_seed=5).noise == spec.noise
    for wrong, error in ((-1, ArgumentValueError), (2**64, ArgumentValueError), (1.0, TypeError)):
        with pytest.raises(error, match="^hash_seed: "):
            spec.with_hash_seed(wrong)


def test_equality_and_hash_are_those_of_the_fields() -> None:
    assert described() == described()
    assert hash(described()) == hash(described())
    others = [
        described(**{name: value})
        for name, value in (
            ("kind", "count-sketch"),
            ("depth", 2),
            ("width", 32),
            ("schedule", ls.Geometric()),
            ("epsilon", 2.0),
            ("delta", 1e-9),
            ("relation", "zero-out"),
            ("mechanism", "haar"),
            ("max_weight", 3),
            ("max_events_per_user", 3),
            ("hash_seed", 7),
        )
    ]
    assert len({described(), *others}) == 1 + len(others)


# The classes with a constructor from a description, and one that each of them supports.
SUPPORTED: dict[Any, dict[str, Any]] = {
    ls.LazyCountMin: {},
    ls.LazyCountSketch: {"kind": "count-sketch"},
    ls.PunctualCountMin: {"schedule": ls.Punctual(horizon=50)},
    ls.PunctualCountSketch: {"kind": "count-sketch", "schedule": ls.Punctual(horizon=50)},
    ls.ContinualCounters: {"kind": "counters", "depth": 1, "max_changes": 2},
}
every_class = pytest.mark.parametrize("owner", SUPPORTED, ids=lambda owner: owner.__name__)


@every_class
def test_a_table_reports_its_description(owner: Any) -> None:
    spec = described(**SUPPORTED[owner], relation="zero-out", max_weight=3, hash_seed=0)
    with owner.from_spec(spec) as table:
        assert table.spec == spec
        assert (table.mechanism, table.schedule) == (spec.chosen_mechanism, spec.schedule)
        assert (table.sigma, table.horizon) == (spec.noise.sigma, spec.schedule.horizon)
        assert (table.width, table.private) == (spec.width, True)
        assert table.privacy == spec.privacy
        reported, noise = table.privacy, spec.noise
        assert reported.sigma == noise.sigma
        assert reported.noise_multiplier == noise.noise_multiplier
        assert reported.l2_sensitivity == noise.l2_sensitivity
        (part,) = table.release().parts
        assert part.privacy.sigma == noise.sigma


@every_class
def test_the_constructor_makes_the_same_description(owner: Any) -> None:
    spec = described(**SUPPORTED[owner], hash_seed=0)
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}
    if owner is ls.ContinualCounters:
        options |= {"counters": 64, "max_changes": 2}
    else:
        options |= {"depth": 3, "width": 64, "hash_seed": 0}
    options["horizon"] = spec.schedule.horizon
    with owner(**options) as table:
        assert table.spec == spec


@every_class
def test_descriptions_of_other_classes_are_refused(owner: Any) -> None:
    own = SUPPORTED[owner]
    kinds = {"count-min", "count-sketch", "counters"} - {own.get("kind", "count-min")}
    for kind in kinds:
        shape = {"depth": 1, "max_changes": 1, "kind": kind}
        with pytest.raises(ArgumentValueError, match=f"^spec: expected kind .* got '{kind}'"):
            owner.from_spec(described(**{**own, **shape}))
    for wrong in (None, "count-min", own, ls.TableSpec):
        with pytest.raises(ArgumentTypeError, match="^spec: expected a TableSpec, got "):
            owner.from_spec(wrong)
    with pytest.raises(ArgumentTypeError, match="^key: "):
        owner.from_spec(described(**own), key="secret")


@pytest.mark.parametrize("owner", [ls.PunctualCountMin, ls.PunctualCountSketch])
def test_punctual_sketches_refuse_other_schedules(owner: Any) -> None:
    kind = SUPPORTED[owner].get("kind", "count-min")
    for schedule in (ls.RoundRobin(horizon=50), ls.Geometric(), ls.Batch(50), ls.Single(50)):
        with pytest.raises(ArgumentValueError, match="^spec: expected the schedule 'punctual'"):
            owner.from_spec(described(kind=kind, schedule=schedule))


def test_heavy_hitters_from_their_description() -> None:
    first = ls.HeavyHitters(share=0.1, epsilon=1.0, delta=1e-8)
    second = ls.HeavyHitters.from_spec(first.spec)
    assert second.spec.table.hash_seed is not None
    assert second.spec == first.spec
    assert second.privacy == first.privacy
    assert second.discovery_epoch == first.discovery_epoch
    for wrong in (None, first.spec.table, first.spec.discovery, ls.HeavyHittersSpec):
        with pytest.raises(ArgumentTypeError, match="^spec: expected a HeavyHittersSpec, got "):
            ls.HeavyHitters.from_spec(wrong)


def test_a_description_read_back_makes_tables_that_merge() -> None:
    first = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8, horizon=1_000)
    second = ls.LazyCountMin.from_spec(first.spec)
    assert second.hash_seed == first.hash_seed == first.spec.hash_seed
    assert second.sketch_id != first.sketch_id
    first.update_many(["a"] * 500)
    second.update_many(["a"] * 500)
    merged = first.release().merge(second.release())
    assert len(merged.parts) == 2
    assert merged.table.sum() == (first.release().table + second.release().table).sum()


def test_a_classical_count_sketch_is_not_private() -> None:
    spec = described(kind="count-sketch", calibration="classical", epsilon=0.5)
    assert any("Count Sketch" in reason for reason in spec.not_private_because)
    assert not spec.privacy.private
    table = ls.LazyCountSketch.from_spec(spec)
    assert set(spec.not_private_because) <= set(table.not_private_because)
    assert not table.private
    for private in ({"relation": "zero-out"}, {"kind": "count-min"}):
        assert replace(spec, **private).not_private_because == ()


def test_a_mechanism_serves_the_leaves_of_the_schedule() -> None:
    leaves = FIELDS["schedule"].leaves(64)
    chosen = ls.Mechanism("binary", leaves=leaves)
    assert described(mechanism=chosen).chosen_mechanism is chosen
    assert described(mechanism=chosen).noise == described(mechanism="binary").noise
    for wrong in (leaves - 1, leaves + 1):
        with pytest.raises(ArgumentValueError, match=f"^mechanism: .* {leaves} leaves .* {wrong}$"):
            described(mechanism=ls.Mechanism("binary", leaves=wrong))
    options: dict[str, Any] = {"depth": 3, "width": 64, "epsilon": 1.0, "delta": 1e-8}
    for wrong in (leaves - 1, leaves + 1):
        mechanism = ls.Mechanism("haar", leaves=wrong)
        with pytest.raises(ArgumentValueError, match="^mechanism: "):
            ls.LazyCountMin(**options, horizon=1_000, mechanism=mechanism)


def lazy(**options: Any) -> ls.TableSpec:
    return ls.LazyCountMin(depth=3, width=64, hash_seed=1, **options).spec


def counters(**options: Any) -> ls.TableSpec:
    return ls.ContinualCounters(counters=5, **options).spec


def hitters(**options: Any) -> ls.HeavyHittersSpec:
    return ls.HeavyHitters(share=0.1, hash_seed=1, discovery_epoch=9, **options).spec


def hierarchical(**options: Any) -> list[ls.HeavyHittersSpec]:
    levels = ls.ipv4_prefixes((8, 32))
    found = ls.HierarchicalHeavyHitters(
        levels, share=0.1, hash_seed=1, discovery_epoch=9, **options
    )
    return list(found._specs)


@pytest.mark.parametrize("specs_of", [lazy, counters, hitters, hierarchical])
@pytest.mark.parametrize(
    ("name", "horizon", "schedule"),
    [
        ("round robin", 1_000, ls.RoundRobin(horizon=1_000)),
        ("punctual", 1_000, ls.Punctual(horizon=1_000)),
        ("batch", 1_000, ls.Batch(horizon=1_000)),
        ("single", 1_000, ls.Single(horizon=1_000)),
        ("punctual", None, ls.Punctual()),
        ("batch", None, ls.Batch()),
        ("geometric", None, ls.Geometric()),
        (None, 1_000, ls.RoundRobin(horizon=1_000)),
        (None, None, ls.Geometric()),
    ],
)
def test_a_schedule_by_name_equals_the_object(
    specs_of: Callable[..., object], name: str | None, horizon: int | None, schedule: Any
) -> None:
    privacy = {"epsilon": 1.0, "delta": 1e-8}
    by_name = specs_of(schedule=name, horizon=horizon, **privacy)
    assert by_name == specs_of(schedule=schedule, **privacy)
    assert repr(schedule) in repr(by_name)
    with pytest.raises(ArgumentTypeError, match="^horizon: expected None together with a schedule"):
        specs_of(schedule=schedule, horizon=1_000, **privacy)
