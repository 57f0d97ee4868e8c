"""Which files belong to which tick, kept on disk before a tick is begun.

A tick that is tried again, after any crash, gets the same files, however many have arrived since. A
file belongs to one tick for ever. One that has another size or time than it had is refused: its new
rows cannot be told from those that were counted.

The log is an SQLite file. Like the store it belongs on a disk that survives the machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import SourceError
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.sources.io.naming import naming
from lazysketch.workers.file_tasks import ListedFile, input_digest

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Selection

__all__ = ["InputLog"]

_NAME: Final = "input-log.sqlite"
_TABLES: Final = """
create table if not exists input (id integer primary key check (id = 1), path text not null);
create table if not exists ticks (tick integer primary key, digest text not null);
create table if not exists files (
    path text primary key, size integer not null, modified integer not null,
    tick integer not null references ticks (tick)
) without rowid;
create index if not exists files_of_tick on files (tick);
"""


class InputLog(ClosedByBlock):
    """The ticks of one input.

    Args:
        folder: Where the log is kept; made if missing.
        path: The folder or pattern that is listed. A log is of one.
        request: What is read of each row.

    Raises:
        SourceError: A folder that cannot be written, a damaged log, or that of another input.
    """

    def __init__(self, folder: str | Path, *, path: str, request: Selection) -> None:
        self._name = str(Path(folder, _NAME))
        self._request = request
        with naming(str(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
        try:
            self._log = sqlite3.connect(self._name, isolation_level=None)
            self._log.execute("pragma synchronous = full")
            self._log.executescript(_TABLES)
            self._log.execute("insert or ignore into input values (1, ?)", (path,))
            (known,) = self._log.execute("select path from input").fetchone()
        except sqlite3.Error:
            raise SourceError(f"{self._name}: expected a log of inputs, got another file") from None
        if known != path:
            self._log.close()
            raise SourceError(f"{self._name}: expected the path whose ticks it has, got another")

    @property
    def last_tick(self) -> int:
        """The number of the last tick; 0 before the first."""
        (last,) = self._log.execute("select coalesce(max(tick), 0) from ticks").fetchone()
        return int(last)

    def begin(self, tick: int, found: Iterable[ListedFile]) -> str:
        """Give a tick all files that no tick has; return its digest. A known tick stays as it is.

        Args:
            tick: The last one, or the one after it.
            found: All files of the input that are there now.

        Raises:
            SourceError: A file that has changed since it was given to a tick.
            ArgumentValueError: Another tick.
        """
        if tick <= self.last_tick:
            return self.digest(tick)
        if tick != self.last_tick + 1:
            raise SourceError(
                f"{self._name}: expected tick {self.last_tick + 1}, got {tick}: the log is older "
                "than the checkpoint of the query"
            )
        new: list[ListedFile] = []
        for file in found:
            row = self._log.execute(
                "select size, modified, tick from files where path = ?", (file.path,)
            ).fetchone()
            if row is None:
                new.append(file)
            elif row[:2] != (file.size, file.modified):
                raise SourceError(
                    f"{file.path}: expected the file of tick {row[2]} as it was, got one of "
                    "another size or modification time"
                )
        digest = input_digest(new, self._request, tick=tick)
        with self._log:
            self._log.execute("begin immediate")
            self._log.execute("insert into ticks values (?, ?)", (tick, digest))
            self._log.executemany(
                "insert into files values (?, ?, ?, ?)",
                [(file.path, file.size, file.modified, tick) for file in new],
            )
        return digest

    def digest(self, tick: int) -> str:
        """Return the digest of the input of a tick.

        Raises:
            SourceError: An unknown tick, or one in which other fields were read.
        """
        row = self._log.execute("select digest from ticks where tick = ?", (tick,)).fetchone()
        if row is None:
            raise SourceError(f"{self._name}: expected the files of tick {tick}, got none of them")
        if row[0] != input_digest(self.files(tick), self._request, tick=tick):
            raise SourceError(
                f"{self._name}: expected the fields that tick {tick} was begun with, got others"
            )
        return str(row[0])

    def files(self, tick: int) -> list[ListedFile]:
        """Return the files of a tick."""
        rows = self._log.execute(
            "select path, size, modified from files where tick = ? order by path", (tick,)
        )
        return [ListedFile(*row) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._log.close()
