"""The names of inputs, and failures of the operating system that name them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Generator

STANDARD_INPUT = "-"


@contextmanager
def naming(name: str) -> Generator[None, None, None]:
    """Turn an error of the operating system into a SourceError that names the input."""
    try:
        yield
    except IsADirectoryError:
        raise SourceError(f"{name}: expected a file, got a directory") from None
    except FileNotFoundError:
        raise SourceError(f"{name}: expected an existing file, got none") from None
    except PermissionError:
        raise SourceError(f"{name}: expected a readable file, got permission denied") from None
    except SourceError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"{name}: expected a readable file, got {reason!r}") from None
    except ValueError:  # a NUL in the name, a closed standard input
        raise SourceError(f"{name}: expected a readable file, got none") from None
