"""Columns by name: of a schema, or inside of a column that has fields itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lazysketch.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_SHOWN = 20


def type_of(schema: Any, field: str, *, of: str, name: str) -> Any:
    """Return the type of a column, or of a field inside of one.

    Raises:
        SourceError: Neither is there, or several columns have the name.
    """
    top, *path = path_of(schema.names, field)
    if schema.names.count(top) > 1:
        raise SourceError(f"{name}: expected one column {top!r} for {of}, got several")
    found: Any = schema.field(top).type if top in schema.names else None
    for part in path:
        if found is None or not pa.types.is_struct(found) or found.get_field_index(part) < 0:
            found = None
            break
        found = found.field(found.get_field_index(part)).type
    if found is None:
        known = ", ".join(repr(column) for column in schema.names[:_MOST_SHOWN])
        more = ", ..." if len(schema.names) > _MOST_SHOWN else ""
        raise SourceError(f"{name}: expected one of {known}{more} for {of}, got {field!r}")
    return found


def column_of(batch: Any, field: str) -> Any:
    """Return a column of a record batch, or a field inside of one, which ``type_of`` found."""
    top, *path = path_of(batch.schema.names, field)
    column = batch.column(top)
    return pc.struct_field(column, path) if path else column


def path_of(names: Iterable[str], field: str) -> list[str]:
    """Return the column and, where no column has the whole name, the fields to go down.

    Example:
        >>> path_of(["user.id"], "user.id"), path_of(["user"], "user.id")
        (['user.id'], ['user', 'id'])
    """
    return [field] if field in names else field.split(".")
