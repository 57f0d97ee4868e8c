"""Opening a ledger for the command line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run.state_keys import key_of
from lazysketch.errors import LazySketchError, StoreError
from lazysketch.ledger import Ledger
from lazysketch.store.opening import is_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["named_errors", "opened_ledger"]

# What the library calls the place of a ledger, on the command line of ledgers.
_OF_A_LEDGER: Final = {"ledger": "LEDGER", "anchor": "--anchor", "key": "--key-file"}


def opened_ledger(
    path: str, key_file: str | None, anchor: str | None, *, names: Mapping[str, str] = _OF_A_LEDGER
) -> Ledger:
    """Return the open ledger of the command line; errors name the options.

    Args:
        path: Its directory.
        key_file: The file of its key; None for the default.
        anchor: Its anchor; None for the default.
        names: Of the arguments on the command line.

    Raises:
        LazySketchError: A ledger or key that cannot be used.
    """
    with named_errors(names):
        if not is_store(path):
            raise StoreError(
                f"ledger: expected a ledger, got none: {path}; lazysketch ledger init makes one"
            )
        return Ledger(path, key=key_of(key_file, path), anchor=anchor)


@contextmanager
def named_errors(names: Mapping[str, str] = _OF_A_LEDGER) -> Iterator[None]:
    """Rename what errors of a ledger begin with.

    Args:
        names: Of the arguments on the command line.

    Raises:
        LazySketchError: The error, with the name of an option.
    """
    try:
        yield
    except LazySketchError as error:
        name, colon, rest = str(error).partition(": ")
        if rest.startswith("expected the key ") and ", got none" not in rest:
            rest = f"{rest}; the key belongs to another ledger, or its file was changed"
        raise type(error)(f"{names.get(name, name)}{colon}{rest}") from None
