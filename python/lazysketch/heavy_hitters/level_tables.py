"""The descriptions and the tables of the levels of a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.hitters_spec import (
    DEPTH,
    ITEM_BYTES,
    HeavyHittersSpec,
    TableShape,
    checked_memory,
    checked_share,
)
from lazysketch.heavy_hitters.joint_privacy import Split, split_of
from lazysketch.heavy_hitters.levels_privacy import checked_level_weights, splits_of_levels
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.person_bound import PersonBound, bounds_of_levels
from lazysketch.sketches.keys import Key
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import NoiseOptions, TableSpec

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Origins", "specs_of_levels", "tables_of_levels"]

_HASH_SEEDS: Final = 2**64
# The key of the table of a level, and the state of a store where it goes on.
Origins: TypeAlias = Callable[[int], tuple[Key, _native.SavedState | None]]


def specs_of_levels(
    levels: int,
    schedule: Schedule,
    *,
    kind: SketchKind,
    level_weights: Sequence[float] | None,
    person_bound: object,
    discovery_epoch: int | None,
    share: float | None = None,
    memory: int | None = None,
    max_item_bytes: int = ITEM_BYTES,
    discovery_epsilon: float | None = None,
    discovery_delta: float | None = None,
    discovery_weight: int | None = None,
    depth: int = DEPTH,
    width: int | None = None,
    hash_seed: int | None = None,
    **table: Unpack[NoiseOptions],
) -> tuple[Split, list[HeavyHittersSpec]]:
    """Return the privacy of all levels together, and the description of each level."""
    if share is None:
        raise ArgumentTypeError("share: expected a share of the stream such as 0.01, got none")
    wanted = checked_share("share", share)
    room = checked_memory(memory, tables=levels)
    room //= levels
    whole = split_of(
        table["epsilon"],
        table["delta"],
        discovery_epsilon=discovery_epsilon,
        discovery_delta=discovery_delta,
    )
    shape = TableShape.of(
        wanted, schedule, kind=kind, memory=room // 2, depth=depth, width=width, seed=hash_seed
    )
    bounds = bounds_of_levels(person_bound, levels=levels)
    least = min((bound.counted_events for bound in bounds if bound is not None), default=None)

    @cache  # the default width depends on the noise, and so on the bound
    def shaped(bound: PersonBound | None) -> TableSpec:
        return shape.described(**table, person_bound=bound)

    @cache  # levels of the same weight and bound have the same calibration
    def described(epsilon: float, delta: float, bound: PersonBound | None) -> TableSpec:
        return shaped(bound).with_privacy(epsilon, delta)

    def privacy_of(level: int, epsilon: float, delta: float) -> Privacy:
        return described(epsilon, delta, bounds[level]).privacy

    parts = checked_level_weights(level_weights, levels=levels)
    splits = splits_of_levels(whole, parts, privacy_of=privacy_of)
    specs = [
        HeavyHittersSpec.discovering(
            described(split.sketch_epsilon, split.sketch_delta, bound),
            split,
            share=wanted,
            memory=room,
            epoch=discovery_epoch,
            max_item_bytes=max_item_bytes,
            counted_weight=discovery_weight,
            events_per_person=least,
        )
        for split, bound in zip(splits, bounds, strict=True)
    ]
    return whole, specs


def tables_of_levels(specs: Sequence[HeavyHittersSpec], origin: Origins) -> list[DiscoveringTable]:
    """Return the live tables, with consecutive hash seeds."""
    tables: list[DiscoveringTable] = []
    for at, spec in enumerate(specs):
        if tables:
            seed = (tables[0].hash_seed + at) % _HASH_SEEDS
            spec = replace(spec, table=spec.table.with_hash_seed(seed))
        key, state = origin(at)
        tables.append(DiscoveringTable.of(spec, key=key, state=state))
    return tables
