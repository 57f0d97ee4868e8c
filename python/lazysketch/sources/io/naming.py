"""The names of inputs, and failures of the operating system that name them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Generator

STANDARD_INPUT = "-"

_MOST_COMPARED = 1_000  # names of a folder
_SIMILAR = 0.75  # the part of two names that has to agree


@contextmanager
def naming(name: str) -> Generator[None, None, None]:
    """Turn an error of the operating system into a SourceError that names the input."""
    try:
        yield
    except IsADirectoryError:
        raise SourceError(f"{name}: expected a file, got a directory") from None
    except FileNotFoundError:
        raise missing_file(name) from None
    except PermissionError:
        raise SourceError(f"{name}: expected a readable file, got permission denied") from None
    except SourceError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"{name}: expected a readable file, got {reason!r}") from None
    except ValueError:  # a NUL in the name, a closed standard input
        raise SourceError(f"{name}: expected a readable file, got none") from None


def missing_file(path: str) -> SourceError:
    """Return the error that a file is missing, with the most similar name of its folder.

    Example:
        >>> str(missing_file("no-such-folder/access.log"))
        'no-such-folder/access.log: expected an existing file, got none'
    """
    near = _similar_file(Path(path))
    also = f"; {near} is similar" if near else ""
    return SourceError(f"{path}: expected an existing file, got none{also}")


def _similar_file(path: Path) -> str:
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_COMPARED) if entry.is_file()]
    except (OSError, ValueError):
        return ""
    by_letters = {name.lower(): name for name in names if name.isprintable()}
    import difflib  # late: few names are misspelt

    found = difflib.get_close_matches(path.name.lower(), by_letters, n=1, cutoff=_SIMILAR)
    return str(path.with_name(by_letters[found[0]])) if found else ""
