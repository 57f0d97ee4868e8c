"""Where the 32 bytes of a key are kept: a file for its owner only, or the environment."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["secret_in_environment", "secret_in_file", "write_secret"]

_FORM: Final = re.compile(r"[0-9a-fA-F]{64}\s*")
_EXPECTED: Final = "64 hexadecimal digits"
_READ_AT_MOST: Final = 128
_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def secret_in_file(path: str | os.PathLike[str]) -> bytes:
    """Return the secret of a file, if its owner alone can read it.

    Args:
        path: the file.

    Raises:
        ArgumentTypeError: not a path.
        ArgumentValueError: not a regular file, one of another user, one that others can use, or
            another content.
        OSError: the file cannot be read.
    """
    # Opening a pipe would wait for its writer.
    descriptor = os.open(_path(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        _check_access(os.fstat(file.fileno()))
        content = file.read(_READ_AT_MOST)
    return _secret("path", content.decode("ascii", "replace"), f"a file of {_EXPECTED}")


def write_secret(path: str | os.PathLike[str], secret: bytes) -> None:
    """Write a secret to a new file of mode 0600.

    Args:
        path: the file; it must not exist.
        secret: 32 bytes.

    Raises:
        ArgumentTypeError: not a path.
        OSError: the file exists, or cannot be written.
    """
    descriptor = os.open(_path(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def secret_in_environment(variable: str) -> bytes:
    """Return the secret of an environment variable.

    Args:
        variable: its name.

    Raises:
        ArgumentTypeError: not a name.
        ArgumentValueError: it is not set, or has another content.
    """
    if not isinstance(variable, str):
        raise ArgumentTypeError(f"variable: expected a str, got {type(variable).__name__}")
    expected = f"an environment variable of {_EXPECTED}"
    try:
        value = os.environ.get(variable)
    except ValueError:
        value = None
    if value is None:
        raise ArgumentValueError(f"variable: expected {expected}, got one that is not set")
    return _secret("variable", value, expected)


def _path(value: object) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected a path, got {type(value).__name__}")
    return Path(value)


def _check_access(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ArgumentValueError("path: expected a regular file, got another kind of file")
    if os.name != "posix":
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OF_OTHERS:
        raise ArgumentValueError(
            f"path: expected a file that its owner alone can use (mode 0600), got mode {mode:04o}; "
            "others may have read the key"
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise ArgumentValueError("path: expected a file of this user, got one of another user")


def _secret(argument: str, text: str, expected: str) -> bytes:
    if _FORM.fullmatch(text) is None:
        raise ArgumentValueError(f"{argument}: expected {expected}, got another content")
    return bytes.fromhex(text.strip())
