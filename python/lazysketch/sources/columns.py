"""Several fields of the same files, row by row.

Each field has a source of its own, so a file is read once per field: the readers of all formats cut
one field out of a row, and the files of a run are in the cache of the system. Batches of different
fields may end at different rows; they are cut to the same ones here.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentValueError, SourceError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.source import Source

__all__ = ["ColumnBatch", "Columns"]


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    """The same rows of several fields.

    Attributes:
        columns: the rows by field; all have the same number.
    """

    columns: Mapping[str, RowBatch]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return next(iter(self.columns.values())).rows

    def first(self, rows: int) -> ColumnBatch:
        """Return the first rows.

        Args:
            rows: how many, at most all.
        """
        return ColumnBatch({name: one.first(rows) for name, one in self.columns.items()})


class Columns:
    """Sources of the same files, one per field, as one stream of rows.

    Args:
        sources: a source for each field, of the same regular files.

    Raises:
        ArgumentValueError: A pipe, which cannot be read more than once.
    """

    max_weight = 1  # rows have no weights here, and no people
    of_people = False

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = dict(sources)
        self._stopped = False
        if len(self.sources) > 1 and self.first.part_read is None:
            raise ArgumentValueError(
                "files: expected regular files for several fields, which are read once for each, "
                "got a pipe; save it first, or count one field"
            )

    @property
    def first(self) -> Source:
        """The source of the first field."""
        return next(iter(self.sources.values()))

    @property
    def reads_ahead(self) -> bool:
        """True if :meth:`stop` also ends a wait for input."""
        return all(source.reads_ahead for source in self.sources.values())

    def stop(self) -> None:
        """End the iteration before the next batch, as at the end of the files."""
        self._stopped = True
        for source in self.sources.values():
            source.stop()

    def __iter__(self) -> Generator[ColumnBatch, None, None]:
        """Yield the rows.

        Raises:
            SourceError: As of :class:`Source`; or a file that changed while it was read.
            ArgumentTypeError: As there.
            ArgumentValueError: As there.
        """
        with ExitStack() as stack:
            readers = {
                field: stack.enter_context(closing(iter(source)))
                for field, source in self.sources.items()
            }
            held: dict[str, RowBatch] = {}
            while True:
                for field, reader in readers.items():
                    batch = held.get(field) or next(reader, None)
                    if batch is not None:
                        held[field] = batch
                if len(held) < len(readers):
                    break
                rows = min(batch.rows for batch in held.values())
                # Batches mostly end at the same row; a part of one is a copy.
                same = {
                    field: batch if batch.rows == rows else batch.first(rows)
                    for field, batch in held.items()
                }
                yield ColumnBatch(same)
                held = {
                    field: batch.after(rows) for field, batch in held.items() if batch.rows > rows
                }
        if held and not self._stopped:
            raise SourceError(
                f"{self.first.name}: expected the same rows for every field, got a file that "
                "changed while it was read"
            )
