"""One or more inputs as one stream of batches, with the count of its rows."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources.formats.registry import AUTO, Format, check_format, find_format
from lazysketch.sources.formats.selection import Selection, check_delimiter
from lazysketch.sources.formats.timestamps import check_time_unit
from lazysketch.sources.io.byte_stream import STANDARD_INPUT, ByteStream, open_bytes, size_of
from lazysketch.sources.io.interruptible import CAN_END, PLAIN_WAITS
from lazysketch.sources.io.paths import expand_paths
from lazysketch.sources.io.prefetch import read_ahead
from lazysketch.sources.io.tail import follow_bytes
from lazysketch.sources.io.text_blocks import check_encoding

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.io.interruptible import Waits

_LARGEST_WEIGHT = (1 << 63) - 1
_POSITIONS_KEPT = 5


class Position(NamedTuple):
    """A row of an input: the input's name, and the row's number, counted from 1.

    A header is not a row.
    """

    name: str
    row: int


@dataclass
class Tally:
    """What was read so far, for the operator alone: outside the privacy guarantee.

    Args:
        rows: Rows, readable or not; the steps of a sketch that was fed with them.
        malformed: Rows without an item, or with a weight that is none.
        absent: Sound rows of a kind that has no such field, counted apart from these.
        first_malformed: Where the first few of these are; never what they hold.
        clipped: Rows whose weight was larger than allowed, and was counted as that.
        total_weight: The sum of the weights as they were counted; without weights, the
            number of rows with an item.
        formats: What each input was read as, e.g. ``"combined, field host"``.
    """

    rows: int = 0
    malformed: int = 0
    absent: int = 0
    first_malformed: list[Position] = field(default_factory=list)
    clipped: int = 0
    total_weight: int = 0
    formats: list[str] = field(default_factory=list)

    def add(self, batch: RowBatch, *, name: str, rows_before: int) -> None:
        """Count a batch of the input of that name, of which so many rows came before."""
        self.rows += batch.rows
        self.malformed += len(batch.malformed)
        self.absent += len(batch.absent)
        self.clipped += len(batch.clipped)
        self.total_weight += batch.total_weight
        missing = _POSITIONS_KEPT - len(self.first_malformed)
        self.first_malformed.extend(
            Position(name, rows_before + position + 1) for position in batch.malformed[:missing]
        )


class _Part(NamedTuple):
    """What was read of an input: first that it begins, then batches of its rows."""

    name: str
    read_as: str
    batch: RowBatch | None


class Source:
    """The rows of some inputs, one input after the other.

    Iterating reads the inputs once, in bounded memory, and yields batches as soon as
    their bytes have arrived; ``tally`` grows with it, by each batch when it is yielded. Made by
    :func:`open_source`.
    """

    def __init__(
        self,
        paths: tuple[str | Path, ...],
        *,
        form: str,
        asked: Selection,
        strict: bool,
        follow: bool,
        ahead: bool,
    ) -> None:
        self.tally = Tally()
        self.paths = paths
        self._form = form
        self._asked = asked
        self._strict = strict
        self._follow = follow
        self._sizes = [None if follow else size_of(path) for path in paths]
        self._ahead = ahead and (CAN_END or follow or None not in self._sizes)
        self._bytes_before = 0  # of the inputs that are finished
        self._current: ByteStream | None = None

    @property
    def name(self) -> str:
        """What to call the source in a line of text."""
        if len(self.paths) > 1:
            return f"{len(self.paths)} inputs"
        path = str(self.paths[0])
        return "standard input" if path == STANDARD_INPUT else path

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self._asked.weight is not None

    @property
    def max_weight(self) -> int:
        """The largest weight that a row can have; 1 without weights."""
        return self._asked.max_weight

    @property
    def part_read(self) -> float | None:
        """Which part of the bytes was read so far, 0 to 1; None if it has no end: of a pipe.

        Bytes count as soon as they are read, also those of batches that were read ahead.
        """
        sizes = [size for size in self._sizes if size is not None]
        if len(sizes) < len(self._sizes):
            return None
        current = self._current  # which the thread that reads may change
        done = self._bytes_before + (current.bytes_read if current else 0)
        return min(1.0, done / sum(sizes)) if sum(sizes) else 1.0

    def __iter__(self) -> Generator[RowBatch, None, None]:
        """Yield the batches.

        Raises:
            SourceError: An input cannot be read, is damaged or cut short, or lacks the
                field; all inputs together have no row; or, if the source is strict, a
                row is malformed: the rows before it have been yielded.
            ArgumentTypeError: An input turns out to be of a format that needs a field.
            ArgumentValueError: It turns out to be of one that lacks what is asked for, or
                that cannot be followed.
        """
        parts = read_ahead(self._parts) if self._ahead else self._parts(PLAIN_WAITS)
        with closing(parts):
            yield from self._counted(parts)
        if not self.tally.rows:
            raise SourceError(f"{self.name}: expected at least one row, got an empty stream")

    def _counted(self, parts: Iterable[_Part]) -> Iterator[RowBatch]:
        """Count into the tally what is yielded, and nothing that was read ahead of it."""
        rows_before = 0
        for name, read_as, batch in parts:
            if batch is None:
                rows_before = 0
                if read_as not in self.tally.formats:
                    self.tally.formats.append(read_as)
                continue
            sound = batch.before_malformed() if self._strict else batch
            self.tally.add(sound, name=name, rows_before=rows_before)
            rows_before += sound.rows
            if sound.rows:
                yield sound
            if sound.rows < batch.rows:
                raise SourceError(
                    f"{name}: expected no malformed row, since the reading is strict, "
                    f"got one in row {rows_before + 1:,}"
                )

    # What follows may run ahead, in a thread of its own.

    def _parts(self, waits: Waits) -> Generator[_Part, None, None]:
        for path in self.paths:
            yield from self._followed(path, waits) if self._follow else self._read(path, waits)

    def _read(self, path: str | Path, waits: Waits) -> Iterator[_Part]:
        with open_bytes(path, waits=waits) as stream:
            self._current = stream
            if stream.head():
                form = find_format(self._form, self._asked, stream=stream)
                yield from self._rows(stream, form)
            # What a reader need not look at, such as the end of a Parquet file, is read too.
            self._bytes_before += size_of(path) or stream.bytes_read
            self._current = None

    def _followed(self, path: str | Path, waits: Waits) -> Iterator[_Part]:
        form: Format | None = None
        with follow_bytes(path, waits=waits) as streams:
            for stream in streams:
                if not stream.head():
                    continue
                if form is None:  # which is kept: what comes later is the same log
                    form = find_format(self._form, self._asked, stream=stream)
                    form.check_follow()
                yield from self._rows(stream, form)

    def _rows(self, stream: ByteStream, form: Format) -> Iterator[_Part]:
        selection = form.select(self._asked)
        columns = [f"{of} {field}" for of, field in selection.columns()]
        read_as = ", ".join([form.name, *columns])
        yield _Part(stream.name, read_as, None)
        for batch in form.read(stream, selection):
            yield _Part(stream.name, read_as, batch)


def open_source(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str = AUTO,  # noqa: A002 -- the word that users know
    field: str | None = None,
    encoding: str = "utf-8",
    weight: str | None = None,
    max_weight: int | None = None,
    delimiter: str | None = None,
    item_type: str | None = None,
    strict: bool = False,
    times: bool = False,
    time: str | None = None,
    time_unit: str = "s",
    follow: bool = False,
    ahead: bool = False,
) -> Source:
    """Open one or more inputs as one stream of rows.

    Guarantee:
        One row is one step. A row that cannot be read is still a step, without an
        event, so it shifts nothing. The tally and a guessed format are for the
        operator: outside the privacy guarantee, as is where a strict reading stops.

    Args:
        paths: One path or several, read in this order; ``"-"`` is standard input, and a
            ``str`` with ``*``, ``?`` or ``[`` a pattern. Plain, gzip, xz, zstd or bz2,
            told by the first bytes.
        format: "lines", "csv", "tsv", "jsonl", "parquet", "arrow", "common",
            "combined", "zeek", "pcap" (which is also pcapng), or "auto": told by the name
            and the first rows of each.
        field: What to take from each row: the name of a column, a key or a path of
            keys ("user.id"); of an access log "host" (default), "path", "status",
            "method", and in the combined format "agent" and "referrer"; of a capture
            "src" (default), "dst", "sport", "dport", "proto", "flow", "size".
        encoding: How bytes become text; an item that does not decode is malformed.
        weight: The field that holds the weight of each row, an integer from 0 on; of a
            capture "size".
        max_weight: What larger weights are clipped to, 1 .. 2^63 - 1; goes with ``weight``.
        delimiter: What separates the columns of a CSV file: one ASCII character, or
            "tab". By default the one of ``, tab ; |`` by which the header has the field.
        item_type: "str" or "int" to take items of this type only: a column of another
            type is refused, a JSON value of another type malformed. By default all.
        strict: Whether to stop at the first malformed row.
        times: Whether batches tell when their rows happened (captures always do).
        time: The field that holds it: a column, a key or a path of keys; asks for times
            too. Zeek logs have ``ts``, access logs and captures a place of their own.
        time_unit: "s", "ms", "us" or "ns": the unit of times that are numbers, since
            1970. Text is ISO 8601 or as in access logs; without an offset it is UTC.
        follow: Whether to read one plain file for ever, as it grows, and those that take
            its name after it, as ``tail -F`` does; none of Parquet or Arrow.
        ahead: Whether iterating reads up to four batches ahead, in a thread of its own that
            ends with it: faster where a sketch counts meanwhile. The same batches in the
            same order; of standard input more may be taken than was yielded.

    Returns:
        A source to iterate over once.

    Raises:
        SourceError: An input is missing or a directory. While iterating: it is
            unreadable, damaged or cut short, lacks the field, or has no row at all.
        ArgumentTypeError: No input, a field that is needed, or ``weight`` without
            ``max_weight``, or the reverse.
        ArgumentValueError: An unknown format, field, encoding, delimiter, type or unit,
            or one that the format does not have.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "flows.csv")
        >>> _ = path.write_text("src,packets\\na,2\\nb,x\\na,9\\n")
        >>> source = open_source(path, field="src", weight="packets", max_weight=5)
        >>> [(list(map(str, batch.items)), list(map(int, batch.weights))) for batch in source]
        [(['a', 'a'], [2, 5])]
        >>> source.tally.rows, source.tally.malformed, source.tally.first_malformed[0].row
        (3, 1, 2)
        >>> source.tally.clipped, source.tally.total_weight
        (1, 7)
    """
    found = expand_paths(paths)
    asked = Selection(
        field=field,
        encoding=check_encoding(encoding),
        weight=weight,
        max_weight=_check_max_weight(max_weight, weight=weight),
        delimiter=check_delimiter(delimiter),
        item_type=item_type,
        times=times or time is not None,
        time=time,
        time_unit=check_time_unit(time_unit),
    )
    check_format(format, asked, follow=follow)
    if follow:
        _check_follow(found)
    return Source(found, form=format, asked=asked, strict=strict, follow=follow, ahead=ahead)


def _check_follow(paths: tuple[str | Path, ...]) -> None:
    if len(paths) > 1:
        raise ArgumentValueError(f"follow: expected one input, got {len(paths)}")
    if str(paths[0]) == STANDARD_INPUT:
        raise ArgumentValueError(
            "follow: expected a file, got standard input, which is read as it comes anyway"
        )


def _check_max_weight(max_weight: int | None, *, weight: str | None) -> int:
    if weight is None:
        if max_weight is not None:
            raise ArgumentTypeError(
                "max_weight: expected none without weight, which it bounds: it adds noise, got one"
            )
        return 1
    if max_weight is None:
        raise ArgumentTypeError(
            "max_weight: expected with weight, since the largest weight sets the noise, got none"
        )
    if isinstance(max_weight, bool) or not isinstance(max_weight, int):
        raise ArgumentTypeError(f"max_weight: expected an integer, got {type(max_weight).__name__}")
    if not 1 <= max_weight <= _LARGEST_WEIGHT:
        raise ArgumentValueError(f"max_weight: expected 1 to 2^63 - 1, got {max_weight}")
    return max_weight
