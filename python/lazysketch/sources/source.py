"""One or more inputs as one stream of batches, with a tally of what was read."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.errors import SourceError
from lazysketch.sources.formats.hints import guess_shown, hint_on, missing_field
from lazysketch.sources.formats.registry import AUTO, find_format
from lazysketch.sources.io.byte_stream import ByteStream, open_bytes, size_of
from lazysketch.sources.io.interruptible import CAN_END, PLAIN_WAITS, Stop
from lazysketch.sources.io.naming import STANDARD_INPUT
from lazysketch.sources.io.positions import Positions
from lazysketch.sources.io.prefetch import read_ahead
from lazysketch.sources.io.tail import follow_bytes
from lazysketch.sources.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from pathlib import Path

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.format import Format
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.interruptible import Waits
    from lazysketch.sources.io.positions import FileReading, Place
    from lazysketch.sources.places import BatchPlace


class _Part(NamedTuple):
    """A batch of an input; None as the batch marks the beginning of the input."""

    name: str
    read_as: str
    batch: RowBatch | None
    hint: str = ""
    place: BatchPlace | None = None
    field: str | None = None
    guess: str = ""


class Source:
    """The rows of one or more inputs, one input after the other.

    Iterating reads the inputs once, in bounded memory, and yields each batch as soon as
    its bytes have arrived; ``tally`` then includes that batch. Made by :func:`open_source`.
    ``check_field``, if set, gets each input's name and field, None for whole rows, before a row.
    """

    def __init__(
        self,
        paths: tuple[str | Path, ...],
        *,
        form: str,
        request: Selection,
        strict: bool,
        follow: bool,
        ahead: bool,
        positions: Positions | None = None,
    ) -> None:
        self.tally = Tally()
        self.place: BatchPlace | None = None  # of the last batch that was yielded
        self.check_field: Callable[[str, str | None], None] | None = None
        self._positions = positions
        self._may_be_empty = positions is not None
        self.paths = paths
        self._form = form
        self._request = request
        self._strict = strict
        self._follow = follow
        self._sizes = [None if follow else size_of(path) for path in paths]
        self._ahead = ahead and (CAN_END or follow or None not in self._sizes)
        self._stop = Stop()
        self._bytes_before = 0  # of all finished inputs
        self._current: ByteStream | None = None

    @property
    def name(self) -> str:
        """A name of the source for messages."""
        if len(self.paths) > 1:
            return f"{len(self.paths)} inputs"
        path = str(self.paths[0])
        return "standard input" if path == STANDARD_INPUT else path

    @property
    def weighted(self) -> bool:
        """True if rows have weights."""
        return self._request.weight is not None

    @property
    def user(self) -> str | None:
        """The field of the person, None without people."""
        return self._request.user

    @property
    def of_people(self) -> bool:
        """True if each item has its person."""
        return self._request.user is not None

    @property
    def max_weight(self) -> int:
        """The largest possible weight of a row; 1 without weights."""
        return self._request.max_weight

    @property
    def part_read(self) -> float | None:
        """The fraction of the bytes read so far, 0 to 1; None if an input's size is unknown.

        The size of a pipe is unknown. Bytes of batches that were read ahead count as read.
        """
        sizes = [size for size in self._sizes if size is not None]
        if len(sizes) < len(self._sizes):
            return None
        current = self._current  # read once: the thread that reads ahead may change it
        done = self._bytes_before + (current.bytes_read if current else 0)
        return min(1.0, done / sum(sizes)) if sum(sizes) else 1.0

    @property
    def reads_ahead(self) -> bool:
        """True if a background thread reads, so that :meth:`stop` also ends a wait for input."""
        return self._ahead

    def stop(self) -> None:
        """End the iteration before the next batch, as at the end of the input.

        Any thread and a signal handler may call it. Without ``reads_ahead`` an iteration that
        waits for input ends when the input arrives.
        """
        self._stop.request()

    def __iter__(self) -> Generator[RowBatch, None, None]:
        """Yield the batches.

        Raises:
            SourceError: An input cannot be read, is damaged or truncated, or lacks the
                field; all inputs together have no row; or, if the source is strict, a
                row is malformed (after the rows before it have been yielded).
            ArgumentTypeError: The recognised format of an input requires a field.
            ArgumentValueError: The recognised format lacks what was requested or cannot be
                followed.
        """
        ahead = self._ahead
        parts = read_ahead(self._parts, stop=self._stop) if ahead else self._parts(PLAIN_WAITS)
        with closing(parts):
            yield from self._counted(parts)
        if not (self.tally.rows or self._stop.requested or self._may_be_empty):
            raise SourceError(f"{self.name}: expected at least one row, got an empty stream")

    def _counted(self, parts: Iterable[_Part]) -> Iterator[RowBatch]:
        """Add each batch to the tally when it is yielded, not when it is read ahead."""
        rows_before = 0
        for name, read_as, batch, hint, place, counted, guess in parts:
            if self._stop.requested:
                return
            if batch is None:
                rows_before = 0
                if hint:
                    self.tally.hints.append(f"{name}: {hint}")
                if read_as not in self.tally.formats:
                    self.tally.formats.append(read_as)
                    if guess:
                        self.tally.guesses.append(f"{name}: {guess}")
                if counted is not None and counted not in self.tally.fields:
                    self.tally.fields.append(counted)
                continue
            kept = batch.before_malformed() if self._strict else batch
            self.place = place
            rows_before = rows_before if place is None else place.before
            self._tell(kept, name=name, rows_before=rows_before)
            rows_before += kept.rows
            if kept.rows:
                yield kept
            if kept.rows < batch.rows:
                raise SourceError(
                    f"{name}: expected no malformed row in strict mode, "
                    f"got one in row {rows_before + 1:,}"
                )

    def _tell(self, kept: RowBatch, *, name: str, rows_before: int) -> None:
        self.tally.add(kept, name=name, rows_before=rows_before)

    # With ahead=True the methods below run in the background thread.

    def _parts(self, waits: Waits) -> Generator[_Part, None, None]:
        for path in self.paths:
            yield from self._followed(path, waits) if self._follow else self._read(path, waits)

    def _read(self, path: str | Path, waits: Waits) -> Iterator[_Part]:
        with open_bytes(path, waits=waits, positions=self._positions) as stream:
            self._current = stream
            if stream.head():
                form = find_format(self._form, self._request, stream=stream)
                yield from self._rows(stream, form)
            # Count the whole file, also bytes that its reader skips (as in Parquet).
            self._bytes_before += size_of(path) or stream.bytes_read
            self._current = None

    def _followed(self, path: str | Path, waits: Waits) -> Iterator[_Part]:
        form: Format | None = None
        with follow_bytes(path, waits=waits, positions=self._positions) as streams:
            for stream in streams:
                if not stream.head():
                    continue
                if form is None:  # kept for later files: they continue the same log
                    form = find_format(self._form, self._request, stream=stream)
                    form.check_follow()
                yield from self._rows(stream, form)

    def _rows(self, stream: ByteStream, form: Format) -> Iterator[_Part]:
        if form.needs_field and not self._request.field:
            raise missing_field(form, stream=stream)
        selection = form.select(self._request)
        if self.check_field is not None:
            self.check_field(stream.name, selection.field)
        columns = [f"{of} {field}" for of, field in selection.columns()]
        read_as = ", ".join([form.name, *columns])
        guessed = self._form == AUTO and selection.regex is None
        hint = hint_on(form, selection, stream=stream, guessed=guessed)
        guess = guess_shown(form, selection) if guessed and not hint else ""
        yield _Part(stream.name, read_as, None, hint, field=selection.field, guess=guess)
        if stream.reading is None:
            for batch in form.batches(stream, selection):
                yield _Part(stream.name, read_as, batch)
            return
        for batch, place in _new_rows(stream, stream.reading, form, selection):
            yield _Part(stream.name, read_as, batch, place=place)


def _new_rows(
    stream: ByteStream, reading: FileReading, form: Format, selection: Selection
) -> Iterator[tuple[RowBatch, Place]]:
    """Yield the rows that were not counted before, with their places."""
    left = reading.begin(form.name)
    if form.skips:
        stream.rows_skipped, left = left, 0
    if stream.path is not None and not form.grows:
        reading.saw_all(stream.path)
    for batch in form.batches(stream, selection):
        skipped = min(left, batch.rows)
        left -= skipped
        if skipped < batch.rows:
            rest = batch.after(skipped) if skipped else batch
            yield rest, reading.advance(rest.rows)
    if left:
        raise SourceError(
            f"{stream.name}: expected the rows that were counted, and more, got {left:,} fewer"
        )
