"""Where the key of a state is, and opening a state with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import (
    ArgumentValueError,
    LazySketchError,
    StoreDoubtError,
    StoreError,
)
from lazysketch.sketches.keys import Key
from lazysketch.store.opening import anchor_of, is_store, open_store

if TYPE_CHECKING:
    from lazysketch.store import Store

_IN_DOUBT: Final = (
    "without the newest directory and its anchor, top, estimate and serve go on with --new-era: "
    "with fresh noise, whose cost is added"
)

__all__ = ["default_key_file", "key_for", "key_of", "new_key", "opened"]


def opened(folder: str, *, key: Key, anchor: str | None, new_era: bool = False) -> Store:
    """Open the store of a state; errors name the options.

    Args:
        folder: The directory.
        key: Its key.
        anchor: Its anchor; None for the default.
        new_era: Whether a new era begins in doubt.
    """
    try:
        return open_store(
            folder, key=key, anchor=anchor, on_doubt="new-era" if new_era else "refuse"
        )
    except LazySketchError as error:
        name, colon, rest = str(error).partition(": ")
        option = {"folder": "--state", "anchor": "--anchor", "key": "--key-file"}.get(name, name)
        rest = rest.replace("with anchor= if", "with --anchor if")
        if isinstance(error, StoreDoubtError) and is_store(folder):
            rest = f"{rest}; {_IN_DOUBT}"
        elif name == "key" and isinstance(error, StoreError):
            rest = f"{rest}; if the key was rotated, give the file of the new one"
        elif isinstance(error, StoreDoubtError):
            place = anchor_of(folder) if anchor is None else anchor
            rest = (
                f"{rest}, {place}: put its directory back, or, if that is gone for ever, remove "
                "this file; what was published of it stays spent"
            )
        raise type(error)(f"{option}{colon}{rest}") from None


def new_key(path: str, folder: str) -> Key:
    """Return a fresh key in a new file.

    Args:
        path: The file.
        folder: The directory of the state that it shall open.

    Raises:
        StoreError: The file exists or cannot be made.
        ArgumentValueError: It is inside the directory.
    """
    _check_outside(Path(path), folder, option="--new-key")
    key = Key.generate()
    try:
        key.to_file(path)
    except OSError as error:
        raise StoreError(
            f"--new-key: expected a new file that can be made, got {error.strerror}: {path}"
        ) from None
    return key


def default_key_file(folder: str) -> Path:
    """Return where the key of a state is by default.

    Args:
        folder: The directory of the state.
    """
    home = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(home) if home else Path.home() / ".config"
    return base / "lazysketch" / f"{anchor_of(folder).stem}.key"


def key_of(key_file: str | None, folder: str) -> Key:
    """Return the key of a state that exists.

    Args:
        key_file: Its file; None for the default.
        folder: The directory of the state.

    Raises:
        StoreError: There is no such file.
        ArgumentValueError: It is not the file of a key, or others can use it.
    """
    path = default_key_file(folder) if key_file is None else Path(key_file)
    try:
        return Key.from_file(path)
    except FileNotFoundError:
        raise StoreError(f"--key-file: expected the key of {folder}, {path}, got none") from None
    except OSError as error:
        raise StoreError(
            f"--key-file: expected a readable file, got {error.strerror}: {path}"
        ) from None
    except ArgumentValueError as error:
        raise ArgumentValueError(f"--key-file: {str(error).partition(': ')[2]}: {path}") from None


def key_for(key_file: str | None, folder: str) -> tuple[Key, Path | None]:
    """Return the key of a state, and its file if it was made now.

    Args:
        key_file: Its file; None for the default.
        folder: The directory of the state, which may be new.

    Raises:
        StoreError: There is a state but no such file, or the file cannot be made.
        ArgumentValueError: It is not the file of a key, or others can use it.
    """
    path = default_key_file(folder) if key_file is None else Path(key_file)
    _check_outside(path, folder, option="--key-file")
    if path.exists() or is_store(folder):
        return key_of(key_file, folder), None
    key = Key.generate()
    try:
        if key_file is None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        key.to_file(path)
    except FileExistsError:  # made by another process since
        return key_of(key_file, folder), None
    except OSError as error:
        raise StoreError(
            f"--key-file: expected a file that can be made, got {error.strerror}: {path}"
        ) from None
    return key, path


def _check_outside(path: Path, folder: str, *, option: str) -> None:
    if path.resolve().is_relative_to(Path(folder).resolve()):
        raise ArgumentValueError(
            f"{option}: expected a file outside of {folder}, which it opens, got one inside"
        )
