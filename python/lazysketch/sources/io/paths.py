"""Input paths: patterns expanded, each path checked to exist."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.foreign_values import listed
from lazysketch.sources.io.byte_stream import check_path
from lazysketch.sources.io.naming import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_PATHS: Final = 1 << 16  # an iterable may never end


def expand_paths(paths: str | Path | Iterable[str | Path]) -> tuple[str | Path, ...]:
    """Return the inputs in order, after checking that each exists.

    Args:
        paths: One path or several. A ``str`` with ``*``, ``?`` or ``[`` that is not the
            name of a file is a pattern, for shells that have not expanded it. It is
            replaced by the matching files, sorted; ``**`` crosses folders.

    Raises:
        ArgumentTypeError: No path, or something that is not a path.
        MemoryError: An iterable of more than 2^16 paths.
        SourceError: A missing file, a directory, a pattern without a match, or
            standard input twice.

    Example:
        >>> expand_paths("-")
        ('-',)
    """
    try:
        given: list[object] = (
            [paths] if isinstance(paths, (str, Path)) else listed("paths", paths, most=_MOST_PATHS)
        )
    except (TypeError, ValueError):  # cannot be iterated
        got = type(paths).__name__
        raise ArgumentTypeError(f"paths: expected one path or several, got {got}") from None
    if not given:
        raise ArgumentTypeError("paths: expected at least one input, got none")
    found: list[str | Path] = []
    for path in given:
        if not isinstance(path, (str, Path)):
            raise ArgumentTypeError(f"paths: expected paths, got {type(path).__name__}")
        found.extend(_matches(path) if isinstance(path, str) and _is_pattern(path) else [path])
    if sum(str(path) == STANDARD_INPUT for path in found) > 1:
        raise SourceError("standard input: expected it once among the inputs, got it twice")
    for path in found:
        check_path(path)
    return tuple(found)


def _is_pattern(path: str) -> bool:
    try:
        return glob.has_magic(path) and not Path(path).exists()
    except (OSError, ValueError):
        return False  # opening it raises the right error


def _matches(pattern: str) -> list[str]:
    # Path.glob accepts no absolute pattern.
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207
    matches = sorted(match for match in found if not Path(match).is_dir())
    if not matches:
        raise SourceError(f"{pattern}: expected a pattern that matches a file, got none")
    return matches
