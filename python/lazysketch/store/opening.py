"""Opening a store: the directory, the key, and the anchor that lies outside of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final, Literal, TypeAlias

from lazysketch import _native
from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreDoubtError, StoreError
from lazysketch.sketches.keys import Key
from lazysketch.store.store import Store

__all__ = [
    "NO_ANCHOR",
    "NoAnchor",
    "OnDoubt",
    "anchor_of",
    "has_no_record",
    "is_store",
    "open_store",
]

OnDoubt: TypeAlias = Literal["refuse", "new-era"]


class NoAnchor(Enum):
    """The choice of no anchor."""

    NO_ANCHOR = "no anchor"


NO_ANCHOR: Final = NoAnchor.NO_ANCHOR
"""No anchor outside of the directory: each opening of the store is a new era with its cost."""

_CHECKPOINT_BYTES: Final = 64 << 20
_KEY_FILES: Final = ("keys-0", "keys-1")
_LOG_HEADER_BYTES: Final = 48
_LEAST_BYTES: Final = 1 << 10


def open_store(
    folder: str | os.PathLike[str],
    *,
    key: Key | Callable[[], Key],
    anchor: str | os.PathLike[str] | NoAnchor | None = None,
    on_doubt: OnDoubt = "refuse",
    checkpoint_bytes: int = _CHECKPOINT_BYTES,
) -> Store:
    """Open the store in a directory, or make one there.

    Guarantee: one process at a time has it open. What was committed is there; an older copy of the
    directory that was put back is refused, as the anchor states how far the store has come, or
    goes on with fresh noise, as a new era whose cost :attr:`Store.spent` adds.

    Args:
        folder: the directory; made if it is missing.
        key: the key that opens the store, or a function that returns it, such as one that asks a
            key management service. It is not in the directory; without it the store cannot be
            read. See also :meth:`Key.from_file` and :meth:`Key.from_environment`.
        anchor: a file outside of the directory, which is not copied or backed up together with it;
            by default one in the state directory of the user, found by the path of the directory.
            With ``NO_ANCHOR`` there is none, and every opening begins a new era.
        on_doubt: what to do where nothing shows that the directory is in its newest state:
            ``"refuse"``, or ``"new-era"`` to begin every object anew, with a fresh id, fresh noise
            and its full cost; see :meth:`Store.earlier_release`.
        checkpoint_bytes: the log is replaced by a checkpoint when it has this many bytes.

    Returns:
        The open store.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a key of tests, or an anchor inside the directory.
        StoreDoubtError: a store that is older than its anchor, that has another one or none, or
            that was open without one. Nothing was changed.
        StoreError: a store that is open elsewhere, damaged, of another key or version. Nothing was
            changed.

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
    if on_doubt not in ("refuse", "new-era"):
        raise ArgumentValueError(
            f"on_doubt: expected 'refuse' or 'new-era', got {shown(str(on_doubt))}"
        )
    if isinstance(anchor, NoAnchor):
        _make(path)
        return _in_new_era(path, chosen, anchored=False, checkpoint_bytes=most)
    place = anchor_of(path) if anchor is None else _path("anchor", anchor)
    if place.resolve().is_relative_to(path.resolve()):
        raise ArgumentValueError(
            "anchor: expected a file outside of the store, whose copies would contain it, got one "
            "inside"
        )
    _make(path)
    _make(place.parent)
    try:
        return _in_this_era(path, chosen, place, checkpoint_bytes=most)
    except StoreDoubtError:
        # A store whose files are lost is no copy of it, and no account says what it spent.
        if not is_store(path):
            raise
        # A crash before the anchor was first written leaves a store without a record.
        was_cut_short = not place.exists() and has_no_record(path)
        if on_doubt == "refuse" and not was_cut_short:
            raise
    begun = _in_new_era(path, chosen, anchored=True, checkpoint_bytes=most)
    begun.close()  # the era is durable before the anchor says that all is well
    native = _native.Store(
        str(path.absolute()), key=chosen, anchor=str(place.absolute()), renew=True
    )
    store = Store(native, checkpoint_bytes=most)
    if store._eras.id != begun._eras.id:
        native.close()
        raise StoreError("state: expected a store that no other process opens, got one that is")
    return store


def _in_this_era(path: Path, key: Key, place: Path, *, checkpoint_bytes: int) -> Store:
    """Return the store as its anchor states it."""
    if not place.exists() and is_store(path):
        raise StoreDoubtError(
            f"anchor: expected the anchor of this store, {place}, got none; an older copy of the "
            "store cannot be told from the newest state. Give the file with anchor= if it has moved"
        )
    # Absolute: the working directory may change, and a bare name has no folder to be synced.
    native = _native.Store(str(path.absolute()), key=key, anchor=str(place.absolute()))
    store = Store(native, checkpoint_bytes=checkpoint_bytes)
    if not store._eras.anchored:
        # The anchor does not know what another copy published meanwhile.
        native.close()
        raise StoreDoubtError(
            "anchor: expected a store that was always open with its anchor, got one that was last "
            "open without"
        )
    return store


def _in_new_era(path: Path, key: Key, *, anchored: bool, checkpoint_bytes: int) -> Store:
    """Return the store in an era that has just begun, whatever its anchor states."""
    is_new = not is_store(path)
    native = _native.Store(str(path.absolute()), key=key, anchor=None)
    store = Store(native, checkpoint_bytes=checkpoint_bytes)
    store._begin_era(anchored=anchored, copied=not is_new)
    store.commit()
    return store


def is_store(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a directory has a store; one whose making was cut short has none.

    Args:
        folder: the directory.
    """
    return any((Path(folder) / name).exists() for name in _KEY_FILES)


def has_no_record(path: Path) -> bool:
    """Tell whether a store, whose making may have been cut short, has no record.

    Args:
        path: its directory.
    """
    sizes = [file.stat().st_size for file in path.glob("log-*")]
    return max(sizes, default=0) <= _LOG_HEADER_BYTES and not any(path.glob("slot-*"))


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
    except FileExistsError:
        raise StoreError("folder: expected a directory, got a file") from None
    except OSError as error:
        raise StoreError(f"folder: expected a directory, got {error.strerror}") from None
