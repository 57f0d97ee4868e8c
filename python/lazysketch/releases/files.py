"""Releases as files: strict to read, whole or not at all to write.

Reading costs the file's size, or eight bytes where it is not a release; writing leaves
either the old file or the new one, also when the disk is full or a key stops it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from lazysketch.errors import ArgumentTypeError, ReleaseFormatError

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


def write_whole(path: object, data: bytes) -> None:
    """Write a file, replacing it whole or not at all.

    Args:
        path: the file.
        data: what it shall hold.

    Raises:
        ArgumentTypeError: not a path.
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
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _checked_path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}")
    return Path(path)
