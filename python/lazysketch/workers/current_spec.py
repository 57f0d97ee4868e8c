"""The description that workers use, from the process that has the store to the one that plans.

An engine may plan in another process than the one that holds the store, which no second process can
open. A description is public and serves for 1,024 steps, so the process that has the store writes a
new one after each step, and the one that plans reads the last.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from lazysketch.errors import SourceError
from lazysketch.sources.io.naming import naming

__all__ = ["keep_spec", "kept_spec"]

_NAME: Final = "partial-spec"


def keep_spec(folder: str | Path, spec: bytes) -> None:
    """Write a description, in whole or not at all.

    Args:
        folder: Made if missing.
        spec: Result of ``partial_spec()``.

    Raises:
        SourceError: A folder that cannot be written.
    """
    with naming(str(folder)):
        Path(folder).mkdir(parents=True, exist_ok=True)
        new = Path(folder, f".{_NAME}-{os.getpid()}")
        new.write_bytes(spec)
        new.replace(Path(folder, _NAME))


def kept_spec(folder: str | Path) -> bytes:
    """Return the last description.

    Args:
        folder: As for :func:`keep_spec`.

    Raises:
        SourceError: No description was written yet.
    """
    try:
        return Path(folder, _NAME).read_bytes()
    except FileNotFoundError:
        raise SourceError(
            f"{folder}: expected the description of a store's object, got none; make the sink of "
            "the store before the query is started"
        ) from None
