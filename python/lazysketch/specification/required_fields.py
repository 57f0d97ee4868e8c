"""Fields of a description that the proof of its kind fixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentValueError

if TYPE_CHECKING:
    from lazysketch.specification.table_spec import TableSpec

__all__ = ["check_required"]


def check_required(spec: TableSpec, wanted: Mapping[str, object], *, of: str) -> None:
    """Raise unless fields of a description have the values that a proof is for.

    Args:
        spec: the description.
        wanted: the values by the names of the fields.
        of: what the description counts, for the message.

    Raises:
        ArgumentValueError: a field has another value.
    """
    for name, value in wanted.items():
        got = getattr(spec, name)
        if got != value:
            raise ArgumentValueError(f"{name}: expected {value!r} for {of}, got {got!r}")
