"""The live tables of heavy hitters: a sketch with a public list, or a sketch with discovery."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lazysketch import _native
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.private_table import PrivateTable

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DiscoveringTable", "HittersTable", "ListedTable", "table_for"]


class ListedTable(PrivateTable):
    """A sketch whose items are on a public list."""

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


class DiscoveringTable(_native.HeavySketch, PrivateTable):
    """A sketch and discovery that count the same events.

    Guarantee: the privacy parameters of the sketch and of discovery add up.

    Source: docs/guarantees.md.
    """

    @classmethod
    def of(
        cls,
        spec: HeavyHittersSpec,
        *,
        key: Key | None = None,
        state: _native.SavedState | None = None,
    ) -> Self:
        """Return an empty table with a given description.

        Args:
            spec: a description with discovery.
            key: master key; a fresh one when None.
            state: where the table goes on, for a store; empty when None.

        Returns:
            The live table.

        Raises:
            ArgumentTypeError: not a key.
            ArgumentValueError: a description without discovery.
        """
        if spec.discovery is None:
            raise ArgumentValueError("spec: expected one with discovery, got one with a domain")
        self = _native.HeavySketch.__new__(cls, spec, key=key_or_fresh(key), state=state)
        self._spec = spec.table
        return self

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


HittersTable: TypeAlias = ListedTable | DiscoveringTable


def table_for(
    spec: HeavyHittersSpec, *, key: Key | None, state: _native.SavedState | None = None
) -> HittersTable:
    """Return the empty live table of a description.

    Args:
        spec: description of heavy hitters.
        key: master key; a fresh one when None.
        state: where the table goes on, for a store; empty when None.

    Returns:
        A table with discovery, or with a public list.

    Raises:
        ArgumentTypeError: not a key.
    """
    if spec.discovery is None:
        return ListedTable._made(spec.table, key=key_or_fresh(key), state=state)
    return DiscoveringTable.of(spec, key=key, state=state)
