"""Releases, names and pictures on disk, with messages that name the file.

A file that is replaced must have been one of its kind: a slip of the hand costs neither the
input nor anything else that happens to lie there.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch import Release
from lazysketch.cli.view.output import tell
from lazysketch.errors import ReleaseFormatError, SourceError
from lazysketch.releases.files import MAGIC, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable


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


def check_target(
    path: str, *, option: str, replaces: bytes | None = MAGIC, kind: str = "a release"
) -> None:
    """Raise SourceError unless a file can be saved here; looks without writing.

    Told before the reading begins, because a run whose release cannot be saved has
    spent its privacy all the same.

    Args:
        path: Where the file shall be.
        option: What asked for it.
        replaces: How a file begins that may be replaced; None for new and empty files only.
        kind: What such a file is.
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
            head = file.read(len(replaces or b" "))
    except SourceError:
        raise
    except (OSError, ValueError) as error:
        raise SourceError(f"{option}: expected a writable file, got {_reason(error)}") from None
    if replaces is None:
        if head:
            raise SourceError(f"{option}: expected a new file, got {path}, which is there already")
    elif head != replaces:
        raise SourceError(
            f"{option}: expected a new file or {kind} to replace, got {path}, "
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
        raise _unwritten(path, error, option=option) from None
    tell(f"release saved to {path}")


def save_names(names: Iterable[str], path: str, *, option: str) -> None:
    """Save names, one per line, as --items and --domain read them, and say where.

    Raises:
        SourceError: They cannot be written.
    """
    check_target(path, option=option, replaces=None)
    wanted = list(names)
    # A line cannot hold what ends lines.
    lines = [name for name in wanted if "\n" not in name and not name.endswith("\r")]
    save_bytes("".join(f"{name}\n" for name in lines).encode(), path, option=option)
    left_out = f"; {len(wanted) - len(lines)} left out" if len(lines) < len(wanted) else ""
    tell(f"{len(lines)} names saved to {path}{left_out}")


def save_bytes(data: bytes, path: str, *, option: str) -> None:
    """Save data whole or not at all.

    Raises:
        SourceError: It cannot be written.
    """
    try:
        write_whole(path, data)
    except (OSError, ValueError) as error:
        raise _unwritten(path, error, option=option) from None


def _unwritten(path: str, error: OSError | ValueError, *, option: str) -> SourceError:
    return SourceError(f"{option}: expected to write {path}, got {_reason(error)}")


def _reason(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return repr(reason or type(error).__name__)
