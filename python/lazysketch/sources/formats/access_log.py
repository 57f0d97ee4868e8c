"""Web access logs in the common and the combined log format.

::

    host ident user [time] "METHOD path PROTOCOL" status bytes "referrer" "agent"
    `------------------- common ------------------------------'
    `------------------- combined --------------------------------------------'

The native core reads the rows: ``rust/text/src/access_log.rs`` defines what is malformed,
``rust/text/src/lib.rs`` says why the parser is our own. Cost: about 0.1 us per row, 0.3 us
with its time or its weight; linear in the bytes of any input.

Source: Apache HTTP Server documentation, mod_log_config, "Common Log Format" and
"Combined Log Format".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch._native import access_log_items, access_log_people, access_log_times, log_fields
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.described_rows import reader_of
from lazysketch.sources.formats.timestamps import times_of_text
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream

COMMON_FIELDS = tuple(log_fields("common"))
COMBINED_FIELDS = tuple(log_fields("combined"))
LOG_PEOPLE = ("host", "user")
LOG_WEIGHTS = ("size",)

_WITH_WEIGHTS = reader_of("combined")  # without an agent a row is one of the common format


def read_access_log(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield one field of each row, with its time, its person and its weight if selected."""
    if selection.weight is None and selection.value is None:
        return _without_weights(stream, selection)
    return _WITH_WEIGHTS(stream, selection)


def _without_weights(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    field = selection.field or COMMON_FIELDS[0]
    for block in row_blocks(stream, encoding=selection.encoding, skipped=stream.rows_skipped):
        users, without_user = None, ()
        if selection.user is None:
            column, malformed = access_log_items(block, field=field)
        else:
            column, names, malformed, lacking = access_log_people(
                block, field=field, user=selection.user
            )
            users, without_user = names, lacking.tolist()
        times = None
        if selection.times:  # also of rows that are malformed after the time
            times = times_of_text(access_log_times(block), unit=selection.time_unit)
        yield RowBatch(
            items=column,
            malformed=malformed.tolist(),
            times=times,
            users=users,
            without_user=without_user,
        )


def looks_common(head: Head) -> bool:
    """Tell whether more than half of the first rows follow the common log format."""
    return _mostly("host", head.rows)


def looks_combined(head: Head) -> bool:
    """Tell whether more than half of the first rows follow the combined log format."""
    return _mostly("agent", head.rows)


def _mostly(field: str, rows: tuple[str, ...]) -> bool:
    _, malformed = access_log_items("".join(row + "\n" for row in rows).encode(), field=field)
    return 2 * len(malformed) < len(rows)
