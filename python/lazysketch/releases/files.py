"""Releases as files: strict to read, whole or not at all to write.

Reading costs the file's size, or eight bytes where it is not a release; writing leaves
either the old file or the new one, also when the disk is full or a key stops it.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from lazysketch.errors import ArgumentTypeError, OverwriteError, ReleaseFormatError

__all__ = ["MAGIC", "read_release", "write_whole"]

MAGIC: Final = b"LAZYSKCH"  # the first bytes of a release


def read_release(path: object) -> bytes:
    """Return the bytes of a release.

    Args:
        path: the file.

    Returns:
        All of it, unchecked but for the first bytes.

    Raises:
        ArgumentTypeError: not a path.
        OSError: the file cannot be read.
        ReleaseFormatError: it does not begin like a release; then the rest is not read.
    """
    with _checked_path(path).open("rb") as file:
        data = file.read(len(MAGIC))
        if data == MAGIC:
            return data + file.read()
    found = "other data" if data else "an empty file"
    raise ReleaseFormatError(f"release: expected a lazysketch release, got {found}")


def write_whole(path: object, data: bytes, *, replaces: bytes | None = None) -> None:
    """Write a file, replacing it whole or not at all.

    Args:
        path: the file.
        data: what it shall hold.
        replaces: first bytes of a file that may be replaced; None to replace any.

    Raises:
        ArgumentTypeError: not a path.
        OverwriteError: a file that begins otherwise exists; it is unchanged.
        OSError: the file cannot be written.
    """
    target = _checked_path(path)
    # A name of its own, so that two writers of one file do not mix their bytes.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replaces is not None:
            _check_replaced(target, begins=replaces)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _check_replaced(target: Path, *, begins: bytes) -> None:
    """Raise OverwriteError if another kind of file exists; a pipe is not opened: it may block."""
    try:
        regular = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return
    if regular:
        with target.open("rb") as file:
            regular = file.read(len(begins)) == begins
    if not regular:
        raise OverwriteError(
            "path: expected a new file or a release to replace, got an existing file that is not a "
            "release (overwrite=True replaces it)"
        )


def _checked_path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}")
    return Path(path)
