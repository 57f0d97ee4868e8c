"""Descriptions for the native core with values that the checked classes would refuse or replace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def table_spec(*, schedule: Any, mechanism: str, sigma: float, **values: Any) -> SimpleNamespace:
    """Return what the core reads of a TableSpec, with any sigma."""
    plain = {"max_changes": 1, "person_bound": None, "hash_seed": None, "bits": 0, "edges": ()}
    return SimpleNamespace(
        **{**plain, "chosen_value_rows": None, **values},
        schedule=SimpleNamespace(specification=schedule),
        chosen_mechanism=SimpleNamespace(name=mechanism),
        noise=SimpleNamespace(sigma=sigma),
    )


def discovery_spec(**values: Any) -> SimpleNamespace:
    """Return what the core reads of a DiscoverySpec."""
    return SimpleNamespace(**values)


def hitters_spec(table: dict[str, Any], discovery: dict[str, Any]) -> SimpleNamespace:
    """Return what the core reads of a HeavyHittersSpec."""
    return SimpleNamespace(table=table_spec(**table), discovery=discovery_spec(**discovery))
