"""Files of settings: ``NAME=VALUE`` in each line, whose values are in no error."""

from __future__ import annotations

from pathlib import Path

from lazysketch.errors import ArgumentValueError, SourceError

__all__ = ["read_properties"]


def read_properties(path: str | Path) -> dict[str, str]:
    """Return the settings of a file with a line ``NAME=VALUE`` for each.

    Empty lines and lines that begin with ``#`` are skipped. No error has a value.

    Args:
        path: the file.

    Raises:
        SourceError: a file that cannot be read.
        ArgumentValueError: another line, or a name that occurs twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{path}: expected a readable file, got {error.strerror}") from None
    except UnicodeDecodeError:
        raise SourceError(f"{path}: expected text in UTF-8, got other bytes") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        name, equals, value = content.partition("=")
        key = name.strip()
        if not equals or not key or key in found:
            got = "a name that occurs twice" if key in found else "another text"
            raise ArgumentValueError(f"{path}: expected NAME=VALUE in line {number}, got {got}")
        found[key] = value.strip()
    return found
