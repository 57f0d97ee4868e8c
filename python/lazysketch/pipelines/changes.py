"""One change of all parts of a pipeline: of all or of none, with errors that name the part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError, ItemError
from lazysketch.heavy_hitters import HierarchicalHeavyHitters
from lazysketch.pipelines.columns import tables_of
from lazysketch.pipelines.part import Live, in_part

__all__ = ["change_parts"]

# What one part refuses; what is closed, or was forked, is so as a whole.
_OF_A_PART: Final = (ArgumentTypeError, ArgumentValueError, HorizonError, ItemError)


def change_parts(parts: Mapping[str, Live], change: Callable[..., None], *args: object) -> None:
    """Change all parts in one call of the core, which no interrupt divides.

    Args:
        parts: by name.
        change: a function of the core, which says in an error at which of all tables it is.
        args: its arguments.

    Raises:
        LazySketchError: of the change, with the name of the part whose table refuses it.
    """
    work: Callable[..., object] = change
    for live in parts.values():  # nobody reads a hierarchy at levels of different steps
        if isinstance(live, HierarchicalHeavyHitters):
            work = partial(_locked, live, work)
    try:
        work(*args)
    except _OF_A_PART as error:
        at: int | None = getattr(error, "_table", None)
        if at is None:
            raise
        names = [name for name, live in parts.items() for _ in tables_of(live)]
        with in_part(names[at]):
            raise


def _locked(live: HierarchicalHeavyHitters, work: Callable[..., object], *args: object) -> object:
    return _native.call_locked(live._lock, work, args, {})
