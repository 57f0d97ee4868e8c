"""Files other than the stream: public lists, releases, discovered items, plots.

Errors name the file. A file is replaced only if it is of the same kind, so that a mistyped path
destroys neither the input nor any other file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch.cli.run.topics import is_topic
from lazysketch.cli.view.plot import checked_plot_kind
from lazysketch.errors import ReleaseFormatError, SourceError
from lazysketch.releases.any_release import any_release
from lazysketch.releases.files import BEGINNINGS, read_release, write_whole
from lazysketch.sources import expand_paths, open_source
from lazysketch.sources.io.naming import missing_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lazysketch.cli.settings import InputSettings
    from lazysketch.releases.any_release import AnyRelease


def read_list(path: str, *, option: str, encoding: str = "utf-8") -> list[str]:
    """Return the distinct lines of a list, in its order.

    Raises:
        SourceError: The file is unreadable, empty, or has a row that does not decode.
    """
    source = open_source(path, format="lines", encoding=encoding)
    items: dict[str, None] = {}
    for batch in source:
        items.update(dict.fromkeys(map(str, batch.item_list)))  # an item of lines is a str
    if not items:
        raise SourceError(f"{option}: expected at least one item, got an empty list")
    return list(items)


def read_public_list(
    path: str, *, option: str, inputs: tuple[str, ...], reading: InputSettings
) -> list[str] | list[int]:
    """Return the distinct items of a public list, in its order, of the type that is counted.

    Raises:
        SourceError: The file is unreadable, empty, has a row that does not decode, or is one of
            the inputs: a list taken from the private stream would reveal what occurs in it.
    """
    files = [given for given in inputs if not is_topic(given)]
    if files and any(_same_file(path, str(other)) for other in expand_paths(files)):
        raise SourceError(
            f"{option}: expected a public list, got one of the inputs; "
            "a list taken from the stream would reveal what occurs in it"
        )
    items = read_list(path, option=option, encoding=reading.encoding)
    if reading.items_type != "int":
        return items
    try:
        # Distinct again: "7" and "07" are one integer.
        return list(dict.fromkeys(int(item) for item in items))
    except ValueError:
        raise SourceError(
            f"{option}: expected an integer per line with --items-type int, got another line"
        ) from None


def load(path: str) -> AnyRelease:
    """Return the release in a file.

    Raises:
        SourceError: The file cannot be read.
        ReleaseFormatError: It is not a release, or damaged.
    """
    try:
        return any_release(read_release(path))
    except ReleaseFormatError as error:
        raise ReleaseFormatError(f"{path}: {str(error).removeprefix('release: ')}") from None
    except IsADirectoryError:
        raise SourceError(f"{path}: expected a release, got a directory") from None
    except FileNotFoundError:
        raise missing_file(path) from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: expected a readable file, got {reason_of(error)}") from None


def check_release_target(path: str, *, option: str) -> bool:
    """Return whether a release would be replaced here; writes nothing.

    Raises:
        SourceError: None can be saved here.
    """
    return _check_target(path, option=option, replaces=BEGINNINGS, kind="a release")


def check_names_target(path: str, *, option: str) -> None:
    """Raise SourceError unless items can be saved here; only an empty file is replaced."""
    _check_target(path, option=option, replaces=None, kind="")


def check_plot_target(path: str, *, option: str) -> None:
    """Raise unless a plot can be drawn and saved here; writes nothing.

    Raises:
        MissingPackageError: matplotlib is not installed.
        SourceError: Another suffix, no such directory, or a file that is not such a plot.
    """
    beginning = checked_plot_kind(path, option=option)
    _check_target(path, option=option, replaces=beginning, kind="a plot of that kind")


def save(release: AnyRelease, path: str, *, option: str) -> str:
    """Save a release atomically, and return a sentence that says where.

    Raises:
        SourceError: It cannot be written.
    """
    check_release_target(path, option=option)
    try:
        release.save(path)
    except (OSError, ValueError) as error:
        raise _unwritten(path, error, option=option) from None
    return f"release saved to {path}"


def save_names(names: Iterable[str], path: str, *, option: str) -> str:
    """Save items, one per line, as --items and --domain read them; return where.

    Raises:
        SourceError: They cannot be written.
    """
    wanted = list(names)
    # A line cannot contain a line ending.
    lines = [name for name in wanted if "\n" not in name and not name.endswith("\r")]
    data = "".join(f"{name}\n" for name in lines).encode()
    if not _holds(path, data):  # else an earlier attempt failed after it had written them
        check_names_target(path, option=option)
    _write(data, path, option=option)
    omitted = f"; {len(wanted) - len(lines)} omitted" if len(lines) < len(wanted) else ""
    return f"{len(lines)} {'item' if len(lines) == 1 else 'items'} saved to {path}{omitted}"


def save_plot(plot: bytes, path: str, *, option: str) -> str:
    """Save a plot atomically, and return a sentence that says where.

    Raises:
        SourceError: It cannot be written.
    """
    check_plot_target(path, option=option)
    _write(plot, path, option=option)
    return f"plot saved to {path}"


def _check_target(
    path: str, *, option: str, replaces: bytes | tuple[bytes, ...] | None, kind: str
) -> bool:
    """Return whether a file with content would be replaced here; writes nothing.

    It runs before the stream is read: a run spends its privacy even if its release is lost.

    Args:
        path: Where to save.
        option: The option that requested it.
        replaces: The first bytes of a file that may be replaced, or several of the same length;
            None for empty files only.
        kind: The kind of such a file.

    Raises:
        SourceError: No file can be saved here, or another kind of file is here.
    """
    begins = (replaces,) if isinstance(replaces, bytes) else replaces or (b" ",)
    target = Path(path)
    if path == "-":
        raise SourceError(f"{option}: expected a file, got standard output")
    try:
        if not target.parent.is_dir():
            raise SourceError(f"{option}: expected an existing directory, got {target.parent}")
        if not os.access(target.parent, os.W_OK | os.X_OK):  # files are made next to the target
            raise SourceError(f"{option}: expected a directory to write, got {target.parent}")
        if not target.exists():
            return False
        if not stat.S_ISREG(target.stat().st_mode):
            raise SourceError(f"{option}: expected a regular file, got {path}")
        with target.open("rb") as file:
            head = file.read(len(begins[0]))
    except SourceError:
        raise
    except (OSError, ValueError) as error:
        raise SourceError(f"{option}: expected a writable file, got {reason_of(error)}") from None
    if replaces is None:
        if head:
            raise SourceError(f"{option}: expected a new file, got the existing {path}")
    elif head not in begins:
        raise SourceError(
            f"{option}: expected a new file or {kind} to replace, got another kind of file: {path}"
        )
    return bool(head)


def _write(data: bytes, path: str, *, option: str) -> None:
    try:
        write_whole(path, data)
    except (OSError, ValueError) as error:
        raise _unwritten(path, error, option=option) from None


def _holds(path: str, data: bytes) -> bool:
    """Return whether a file has this content."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(data) + 1) == data
    except (OSError, ValueError):
        return False


def _same_file(path: str, other: str) -> bool:
    if path == other:
        return True
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return False  # opening the files reports the error


def _unwritten(path: str, error: OSError | ValueError, *, option: str) -> SourceError:
    return SourceError(f"{option}: expected to write {path}, got {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Return why a file could not be read or written, in quotes."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return repr(reason or type(error).__name__)
