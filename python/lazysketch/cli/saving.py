"""Releases on disk: loading and saving them, with messages that name the file.

A file that is replaced must have been a release: a slip of the hand costs neither the
input nor anything else that happens to lie there.
"""

from __future__ import annotations

import stat
from pathlib import Path

from lazysketch import Release
from lazysketch.cli.display import tell
from lazysketch.errors import ReleaseFormatError, SourceError
from lazysketch.files import MAGIC


def load(path: str) -> Release:
    """Return the release in a file.

    Raises:
        SourceError: The file cannot be read.
        ReleaseFormatError: It is no release, or damaged.
    """
    try:
        return Release.load(path)
    except ReleaseFormatError as error:
        raise ReleaseFormatError(f"{path}: {str(error).removeprefix('release: ')}") from None
    except IsADirectoryError:
        raise SourceError(f"{path}: expected a release, got a directory") from None
    except FileNotFoundError:
        raise SourceError(f"{path}: expected an existing file, got none") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: expected a readable file, got {_reason(error)}") from None


def check_target(path: str, *, option: str) -> None:
    """Raise SourceError unless a release can be saved here; looks without writing.

    Told before the reading begins, because a run whose release cannot be saved has
    spent its privacy all the same.
    """
    target = Path(path)
    if path == "-":
        raise SourceError(f"{option}: expected a file, got standard output")
    try:
        if not target.parent.is_dir():
            raise SourceError(f"{option}: expected an existing directory, got {target.parent}")
        if not target.exists():
            return
        if not stat.S_ISREG(target.stat().st_mode):
            raise SourceError(f"{option}: expected a file, got {path}, which is none")
        with target.open("rb") as file:
            head = file.read(len(MAGIC))
    except SourceError:
        raise
    except (OSError, ValueError) as error:
        raise SourceError(f"{option}: expected a writable file, got {_reason(error)}") from None
    if head != MAGIC:
        raise SourceError(
            f"{option}: expected a new file or a release to replace, got {path}, "
            "which is something else"
        )


def save(release: Release, path: str, *, option: str) -> None:
    """Save a release whole or not at all, and say where.

    Raises:
        SourceError: It cannot be written.
    """
    check_target(path, option=option)
    try:
        release.save(path)
    except (OSError, ValueError) as error:
        raise SourceError(f"{option}: expected to write {path}, got {_reason(error)}") from None
    tell(f"release saved to {path}")


def _reason(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return repr(reason or type(error).__name__)
