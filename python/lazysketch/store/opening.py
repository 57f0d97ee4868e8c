"""Opening a store: the directory, the key, and the anchor that lies outside of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.sketches.keys import Key
from lazysketch.store.store import Store

__all__ = ["anchor_of", "open_store"]

_CHECKPOINT_BYTES: Final = 64 << 20
_LEAST_BYTES: Final = 1 << 10


def open_store(
    folder: str | os.PathLike[str],
    *,
    key: Key | Callable[[], Key],
    anchor: str | os.PathLike[str] | None = None,
    checkpoint_bytes: int = _CHECKPOINT_BYTES,
) -> Store:
    """Open the store in a directory, or make one there.

    Guarantee: one process at a time has it open. What was committed is there; an older copy of the
    directory that was put back is refused, as the anchor states how far the store has come.

    Args:
        folder: the directory; made if it is missing.
        key: the key that opens the store, or a function that returns it, such as one that asks a
            key management service. It is not in the directory; without it the store cannot be
            read. See also :meth:`Key.from_file` and :meth:`Key.from_environment`.
        anchor: a file outside of the directory, which is not copied or backed up together with it;
            by default one in the state directory of the user, found by the path of the directory.
        checkpoint_bytes: the log is replaced by a checkpoint when it has this many bytes.

    Returns:
        The open store.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a key of tests, or an anchor inside the directory.
        StoreError: a store that is open elsewhere, damaged, older than its anchor, of another key
            or version; or a store without its anchor. Nothing was changed.

    Source: docs/operations.md.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> store = open_store(folder / "s", key=Key.generate(), anchor=folder / "anchor")
        >>> store.names
        ()
        >>> store.close()
    """
    path = _path("folder", folder)
    chosen = key() if callable(key) else key
    if not isinstance(chosen, Key):
        raise ArgumentTypeError(f"key: expected a Key, got {type(chosen).__name__}")
    most = checked_integer("checkpoint_bytes", checkpoint_bytes, least=_LEAST_BYTES)
    place = anchor_of(path) if anchor is None else _path("anchor", anchor)
    if place.resolve().is_relative_to(path.resolve()):
        raise ArgumentValueError(
            "anchor: expected a file outside of the store, whose copies would contain it, got one "
            "inside"
        )
    _make(path)
    _make(place.parent)
    if not place.exists() and any(path.glob("keys-*")):
        raise StoreError(
            f"anchor: expected the anchor of this store, {place}, got none; an older copy of the "
            "store cannot be told from the newest state. Give the file with anchor= if it has moved"
        )
    # Absolute: the working directory may change, and a bare name has no folder to be synced.
    native = _native.Store(str(path.absolute()), key=chosen, anchor=str(place.absolute()))
    return Store(native, checkpoint_bytes=most)


def anchor_of(folder: str | os.PathLike[str]) -> Path:
    """Return where the anchor of a directory is by default.

    Args:
        folder: the directory of a store.

    Returns:
        A path in ``$XDG_STATE_HOME/lazysketch``, or ``~/.local/state/lazysketch``.
    """
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if home else Path.home() / ".local" / "state"
    resolved = str(_path("folder", folder).resolve())
    name = hashlib.sha256(resolved.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return base / "lazysketch" / f"{name}.anchor"


def _path(argument: str, value: object) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{argument}: expected a path, got {type(value).__name__}")
    try:
        return Path(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{argument}: expected a path of text, got {type(value).__name__}"
        ) from None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"folder: expected a directory, got {error.strerror}") from None
