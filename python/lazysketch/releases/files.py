"""Release files: strict reading and atomic writing.

A file that is not a release is rejected after its first eight bytes. Writing leaves either the old
file or the complete new one, also if the disk is full, Ctrl-C interrupts it or the power fails: the
content reaches the disk before the new name does, and the name before the call returns.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    OverwriteError,
    ReleaseFormatError,
)

__all__ = ["BEGINNINGS", "MAGIC", "SUMS_MAGIC", "read_release", "write_whole"]

MAGIC: Final = b"LAZYSKCH"  # the first bytes of a release of one table
SUMS_MAGIC: Final = b"LAZYSUMS"  # of two tables, of events and of their values; as many bytes
BEGINNINGS: Final = (MAGIC, SUMS_MAGIC)  # of all releases
# Answers of a file system that has no fsync of directories.
_NO_FSYNC: Final = frozenset(
    {errno.EINVAL, errno.EBADF, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EISDIR}
)


def read_release(path: object) -> bytes:
    """Return the bytes of a release.

    Args:
        path: the file.

    Returns:
        The whole content; only its first bytes are checked.

    Raises:
        ArgumentTypeError: not a path.
        ArgumentValueError: a path that no file has, such as an empty one.
        OSError: the file cannot be read.
        ReleaseFormatError: it does not begin with the magic bytes; the rest is not read.
    """
    with _checked_path(path).open("rb") as file:
        data = file.read(len(MAGIC))
        if data in BEGINNINGS:
            return data + file.read()
    found = "other data" if data else "an empty file"
    raise ReleaseFormatError(f"release: expected a lazysketch release, got {found}")


def write_whole(
    path: object, data: bytes, *, replaces: bytes | tuple[bytes, ...] | None = None
) -> None:
    """Write a file atomically.

    Args:
        path: the file.
        data: its new content.
        replaces: an existing file is replaced only if it begins with these bytes, or with one of
            several of the same length; None replaces any file.

    Raises:
        ArgumentTypeError: not a path.
        ArgumentValueError: a path that no file has, such as an empty one.
        OverwriteError: a file with another beginning exists; it is unchanged.
        OSError: the file cannot be written.
    """
    target = _checked_path(path)
    # A random name, so that two writers of one file do not mix their bytes.
    unfinished = target.with_name(f".{target.name}.{os.urandom(4).hex()}.partial")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replaces is not None:
            _check_replaced(target, begins=replaces)
        unfinished.replace(target)
        _fsync_directory(target.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _fsync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on the disk, where the system can do that."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:  # a directory that is not readable, or Windows, which opens none
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise
    finally:
        os.close(descriptor)


def _check_replaced(target: Path, *, begins: bytes | tuple[bytes, ...]) -> None:
    """Raise OverwriteError if another file exists. A pipe is not opened, because that may block."""
    try:
        regular = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return
    if regular:
        with target.open("rb") as file:
            each = (begins,) if isinstance(begins, bytes) else begins
            regular = file.read(len(each[0])) in each
    if not regular:
        raise OverwriteError(
            "path: expected a new file or a release to replace, got an existing file that is not a "
            "release (overwrite=True replaces it)"
        )


def _checked_path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}")
    try:
        named = os.fspath(path)
    except TypeError:  # a __fspath__ that returns something else
        raise ArgumentTypeError(f"path: expected a path, got {type(path).__name__}") from None
    if not isinstance(named, str):
        raise ArgumentTypeError(f"path: expected a path of text, got {type(named).__name__}")
    try:
        fits = b"\0" not in os.fsencode(named)
    except UnicodeEncodeError:
        fits = False
    target = Path(named)
    if not (fits and target.name):
        raise ArgumentValueError("path: expected the path of a file, got one that no file has")
    return target
