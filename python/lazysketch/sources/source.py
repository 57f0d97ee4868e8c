"""One or more inputs as one stream of batches, with the count of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.sources.formats import AUTO, check_format, find_format
from lazysketch.sources.opening import STANDARD_INPUT, check_path, open_bytes
from lazysketch.sources.reader import Selection
from lazysketch.sources.text import check_encoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lazysketch.sources.batch import Batch

_POSITIONS_KEPT = 5


class Position(NamedTuple):
    """A row of an input: the input's name, and the row's number, counted from 1."""

    name: str
    row: int


@dataclass
class Tally:
    """What was read so far, for the operator alone: outside the privacy guarantee.

    Args:
        rows: Rows, readable or not; the steps of a sketch that was fed with them.
        malformed: Rows without an item.
        first_malformed: Where the first few of these are; never what they hold.
        formats: What each input was read as, e.g. ``"combined, field host"``.
    """

    rows: int = 0
    malformed: int = 0
    first_malformed: list[Position] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)


class Source:
    """The rows of some inputs, one input after the other.

    Iterating reads the inputs once, in bounded memory, and yields batches as soon as
    their bytes have arrived; ``tally`` grows with it. Made by :func:`open_source`.
    """

    def __init__(
        self, paths: tuple[str | Path, ...], *, form: str, field: str | None, encoding: str
    ) -> None:
        self.tally = Tally()
        self._paths = paths
        self._form = form
        self._field = field
        self._encoding = encoding

    @property
    def name(self) -> str:
        """What to call the source in a line of text."""
        if len(self._paths) > 1:
            return f"{len(self._paths)} inputs"
        path = str(self._paths[0])
        return "standard input" if path == STANDARD_INPUT else path

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches.

        Raises:
            SourceError: An input cannot be read, is damaged or cut short; or all
                inputs together have no row.
        """
        for path in self._paths:
            yield from self._batches_of(path)
        if not self.tally.rows:
            raise SourceError(f"{self.name}: expected at least one row, got an empty stream")

    def _batches_of(self, path: str | Path) -> Iterator[Batch]:
        with open_bytes(path) as stream:
            if not stream.head():
                return
            form = find_format(self._form, field=self._field, stream=stream)
            selection = Selection(field=form.field(self._field), encoding=self._encoding)
            what = f"{form.name}, field {selection.field}" if selection.field else form.name
            if what not in self.tally.formats:
                self.tally.formats.append(what)
            rows_before = 0
            for batch in form.read(stream, selection):
                self._count(batch, name=stream.name, rows_before=rows_before)
                rows_before += batch.rows
                yield batch

    def _count(self, batch: Batch, *, name: str, rows_before: int) -> None:
        tally = self.tally
        tally.rows += batch.rows
        tally.malformed += len(batch.malformed)
        missing = _POSITIONS_KEPT - len(tally.first_malformed)
        tally.first_malformed.extend(
            Position(name, rows_before + position + 1) for position in batch.malformed[:missing]
        )


def open_source(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str = AUTO,  # noqa: A002 -- the word that users know
    field: str | None = None,
    encoding: str = "utf-8",
) -> Source:
    """Open one or more inputs as one stream of rows.

    Guarantee:
        One row is one step. A row that cannot be read is still a step, without an
        event, so it shifts nothing. The tally and a guessed format are for the
        operator: outside the privacy guarantee.

    Args:
        paths: One path or several, read in this order; ``"-"`` is standard input.
            Plain or gzip, told by the first bytes.
        format: "lines", "common", "combined", or "auto" (by the first rows of each input).
        field: What to take from each row of an access log: "host" (default), "path",
            "status", "method", and of the combined format "agent" and "referrer".
        encoding: How bytes become text; a row that does not decode is malformed.

    Returns:
        A source to iterate over once.

    Raises:
        SourceError: An input is missing or a directory. While iterating: it is
            unreadable, damaged or cut short, or there is no row at all.
        ArgumentValueError: An unknown format, field or encoding, or a field that the
            format does not have.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "events.txt")
        >>> _ = path.write_text("a\\nb\\n\\na\\n")
        >>> source = open_source(path, format="lines")
        >>> [batch.items for batch in source]
        [['a', 'b', 'a']]
        >>> source.tally.rows, source.tally.malformed, source.tally.first_malformed[0].row
        (4, 1, 3)
    """
    inputs = (paths,) if isinstance(paths, (str, Path)) else tuple(paths)
    if not inputs:
        raise ArgumentTypeError("paths: expected at least one input, got none")
    if sum(str(path) == STANDARD_INPUT for path in inputs) > 1:
        raise SourceError("standard input: expected it once among the inputs, got it twice")
    check_format(format, field=field)
    encoding = check_encoding(encoding)
    for path in inputs:
        check_path(path)
    return Source(inputs, form=format, field=field, encoding=encoding)
