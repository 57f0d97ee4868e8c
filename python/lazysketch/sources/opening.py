"""Inputs of any format as one source: what is checked before anything is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lazysketch.arguments import check_bools, check_texts
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources.formats.hints import missing_field
from lazysketch.sources.formats.registry import AUTO, FORMATS, check_format, find_format
from lazysketch.sources.io.byte_stream import open_bytes, size_of
from lazysketch.sources.io.naming import STANDARD_INPUT
from lazysketch.sources.io.paths import expand_paths
from lazysketch.sources.io.positions import Positions
from lazysketch.sources.request import checked_request
from lazysketch.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lazysketch.sources.formats.format import Format
    from lazysketch.sources.formats.selection import Selection

__all__ = ["open_source"]


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
    value: str | None = None,
    people_alone: bool = False,
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
            access logs have "host", "path", "status", "method", "user", "size", in the combined
            format also "agent" and "referrer".
        encoding: The text encoding; an item that does not decode is malformed.
        weight: The field that holds the weight of each row, an integer of at least 0;
            for captures and most logs "size".
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
        value: The field of a number of each row, for sums by item: text that is one, an integer or
            a float; for captures and most logs "size". ``batch.weights`` are then these numbers,
            float64 and without a limit. A row without one, or with NaN, is malformed. Not with
            ``weight``.
        people_alone: Whether ``user`` may be the field of the item, for a reader that takes
            the people of this source and the items of others.

    Returns:
        A source, which can be iterated over once.

    Raises:
        SourceError: An input is missing or a directory, or a file lacks the field of the person.
            While iterating: an input is
            unreadable, damaged or truncated or lacks the field, or there is no row.
        ArgumentTypeError: No input, a required field is missing, only one of ``weight`` and
            ``max_weight`` is given, or a value with a weight or times.
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
        >>> for batch in open_source(path, field="src", value="packets"):
        ...     print(list(map(str, batch.items)), batch.weights)
        ['a', 'a'] [2. 9.]
    """
    check_texts(format=format)
    check_bools(strict=strict, follow=follow, ahead=ahead, people_alone=people_alone)
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
        value=value,
    )
    request = replace(request, people_alone=people_alone)
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
