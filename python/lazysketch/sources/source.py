"""One or more inputs as one stream of batches, with a tally of what was read."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.arguments import check_bools, check_texts
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources.formats.hints import guess_shown, hint_on, missing_field
from lazysketch.sources.formats.registry import AUTO, FORMATS, check_format, find_format
from lazysketch.sources.io.byte_stream import ByteStream, open_bytes, size_of
from lazysketch.sources.io.interruptible import CAN_END, PLAIN_WAITS, Stop
from lazysketch.sources.io.naming import STANDARD_INPUT
from lazysketch.sources.io.paths import expand_paths
from lazysketch.sources.io.positions import Positions
from lazysketch.sources.io.prefetch import read_ahead
from lazysketch.sources.io.tail import follow_bytes
from lazysketch.sources.request import checked_request
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


def open_source(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str = AUTO,  # noqa: A002 -- the usual word
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
    user: str | None = None,
    follow: bool = False,
    ahead: bool = False,
    positions: Positions | None = None,
    regex: str | None = None,
    trusted_hops: int | None = None,
) -> Source:
    """Open one or more inputs as one stream of rows.

    Guarantee:
        One row is one step. An unreadable row is a step without an event, so it does not
        shift later rows. The tally, a guessed format and the row at which strict mode
        stops are for the operator: outside the privacy guarantee.

    Args:
        paths: One path or several, read in this order. ``"-"`` is standard input; a
            ``str`` with ``*``, ``?`` or ``[`` is a pattern. Plain, gzip, xz, zstd or bz2,
            detected by the first bytes.
        format: "auto" detects it by the name and the first rows of each input. One of
            ``lazysketch.sources.FORMATS``: tables ("csv", "tsv", "parquet", "arrow", "jsonl"),
            "lines", "pcap" (also pcapng), "zeek", logs of web servers ("common", "combined",
            "nginx", "caddy", ...) and of services ("syslog", "haproxy", "w3c", ...), "logfmt",
            "regex".
        field: The field that holds the item: a column, a key or a path of keys
            ("user.id"). Of logs and captures ``FORMATS[format].fields``, the first by default:
            access logs have "host", "path", "status", "method", in the combined format also
            "agent" and "referrer".
        encoding: The text encoding; an item that does not decode is malformed.
        weight: The field that holds the weight of each row, an integer of at least 0;
            for captures and some logs "size".
        max_weight: Larger weights are clipped to this, 1 .. 2^63 - 1; required with
            ``weight``.
        delimiter: The delimiter of a CSV file: one ASCII character, or "tab". By default
            the first of ``, tab ; |`` with which the header contains the field.
        item_type: "str" or "int" to accept items of this type only: a column of another
            type is an error, a JSON value of another type is malformed. By default all. "float"
            for numbers, also as text, and "key32" for keys of 32 bits: all else is malformed.
        strict: Whether to stop at the first malformed row.
        times: Whether batches have the times of their rows (captures always do).
        time: The field that holds the time: a column, a key or a path of keys; implies
            ``times``. Zeek logs default to ``ts``; access logs and captures need none.
        time_unit: "s", "ms", "us" or "ns": the unit of numeric times, since 1970. Text is
            ISO 8601 or as in access logs; without an offset it is UTC.
        user: The field that holds the person of each row, text or an integer: 7 and "7" are one
            person. A row without one is malformed. Access logs: "host" or "user" (who has logged
            in; "-" is no one). Captures: "src" or "dst". Not the field of the item. Files are
            checked for it before any row is read.
        follow: Whether to read one plain file as it grows, without end, and its
            successors of the same name, as ``tail -F`` does; not Parquet or Arrow.
        ahead: Whether a background thread reads up to four batches ahead while iterating:
            faster if a sketch counts meanwhile. The batches and their order are the same;
            more of standard input may be consumed than was yielded.
        positions: What was counted of each file before: these rows are left out, and
            ``source.place`` is the place of each batch. No row at all is then no error.
        regex: A regular expression whose named groups are the fields, for the format "regex".
            The item is the first group, unless a field is named.
        trusted_hops: For the field "client" of the format "nginx": how many proxies before the
            server are trusted, 0 .. 1,000. Each appended an address to X-Forwarded-For, so the
            client is the N-th from its end, the server's own neighbour with 0. None: the first,
            which a client may have written.

    Returns:
        A source, which can be iterated over once.

    Raises:
        SourceError: An input is missing or a directory, or a file lacks the field of the person.
            While iterating: an input is
            unreadable, damaged or truncated or lacks the field, or there is no row.
        ArgumentTypeError: No input, a required field is missing, or only one of ``weight``
            and ``max_weight`` is given.
        ArgumentValueError: An unknown format, field, encoding, delimiter, type or unit,
            or one that the format does not support.

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
    check_texts(format=format)
    check_bools(strict=strict, follow=follow, ahead=ahead)
    request = checked_request(
        field=field,
        encoding=encoding,
        weight=weight,
        max_weight=max_weight,
        delimiter=delimiter,
        item_type=item_type,
        times=times,
        time=time,
        time_unit=time_unit,
        user=user,
        regex=regex,
        trusted_hops=trusted_hops,
    )
    found = expand_paths(paths)
    if format in FORMATS and FORMATS[format].needs_field and not field:
        raise _missing_field(FORMATS[format], found[0])
    check_format(format, request, follow=follow)
    if follow:
        _check_follow(found)
    if positions is not None:
        if not isinstance(positions, Positions):
            got = type(positions).__name__
            raise ArgumentTypeError(f"positions: expected Positions or None, got {got}")
        positions.check(found)
    if user is not None and not follow:
        _check_people(found, request, form=format)
    return Source(
        found,
        form=format,
        request=request,
        strict=strict,
        follow=follow,
        ahead=ahead,
        positions=positions,
    )


def _missing_field(form: Format, path: str | Path) -> ArgumentTypeError:
    if size_of(path) is None:  # a pipe: a preview would wait for it
        return missing_field(form, stream=None)
    with open_bytes(path) as stream:
        return missing_field(form, stream=stream)


def _check_people(paths: tuple[str | Path, ...], request: Selection, *, form: str) -> None:
    """Raise unless the beginning of each file can be read with its people; pipes are not read."""
    for path in paths:
        if size_of(path) is None:
            continue
        with open_bytes(path) as stream:
            if not stream.head():
                continue
            found = find_format(form, request, stream=stream)
            if found.needs_field and not request.field:
                raise missing_field(found, stream=stream)
            next(found.batches(stream, found.select(request)), None)


def _check_follow(paths: tuple[str | Path, ...]) -> None:
    if len(paths) > 1:
        raise ArgumentValueError(f"follow: expected one input, got {len(paths)}")
    if str(paths[0]) == STANDARD_INPUT:
        raise ArgumentValueError(
            "follow: expected a file, got standard input, which is read as it arrives anyway"
        )
