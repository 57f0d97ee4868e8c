"""Limits of what an input may take, in bytes: the time and the memory of reading it.

An item beyond a limit is an empty step, like a malformed row: judged alone, so it
changes nothing for the rows after it. Only a *container* that holds many rows (a page, a
record batch, a dictionary, a header) is refused, with the name of the limit; reading ends
there, which depends on the data and is outside the guarantee.

An input of n bytes holds at most MOST_EXPANSION * n + FREE_EXPANSION bytes and rows, once
decompressed and decoded: 2^28 rows of a constant column fit into a few hundred bytes.
"""

from __future__ import annotations

from typing import Final

from lazysketch.errors import SourceError

LONGEST_ITEM: Final = 1 << 16  # bytes: discovery keeps no more of an item
MOST_BATCH: Final = 1 << 27  # bytes of a record batch
MOST_PAGE: Final = 1 << 26  # bytes of a page, or of the pages of rows that are read together
MOST_DICTIONARY: Final = 1 << 25  # bytes of the dictionaries that are in use together
MOST_METADATA: Final = 1 << 24  # bytes of the description of a record batch
MOST_COLUMNS: Final = 1 << 14  # columns of a table of text
MOST_HEADERS: Final = 10_000  # times that the header of a log changes
MOST_EXPANSION: Final = 1100  # gzip cannot expand data more than 1032-fold
FREE_EXPANSION: Final = 1 << 26


def check_size(size: int, *, most: int, of: str, name: str) -> None:
    """Raise SourceError if a container is larger than the limit.

    Args:
        size: The size in bytes.
        most: The limit.
        of: The container, with its article.
        name: The name of the input.
    """
    if size > most:
        raise SourceError(
            f"{name}: expected {of} of at most {most >> 20} MiB (a limit of this reader), "
            f"got {size / (1 << 20):,.1f} MiB"
        )


def check_expansion(expanded: int, *, read: int, of: str, name: str) -> None:
    """Raise SourceError if an input expands more than the limit.

    Args:
        expanded: The bytes or rows that the bytes read so far hold.
        read: The bytes read so far.
        of: "bytes" or "rows".
        name: The name of the input.
    """
    if expanded > MOST_EXPANSION * read + FREE_EXPANSION:
        raise SourceError(
            f"{name}: expected at most {MOST_EXPANSION:,} {of} per byte of the input, beyond the "
            f"first {FREE_EXPANSION:,} (a limit of this reader), got more"
        )


def check_columns(columns: int, *, name: str) -> None:
    """Raise SourceError if a table of text has more columns than the limit."""
    if columns > MOST_COLUMNS:
        raise SourceError(
            f"{name}: expected at most {MOST_COLUMNS:,} columns (a limit of this reader), "
            f"got {columns:,}"
        )
