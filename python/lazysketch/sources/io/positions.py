"""Positions: how far each file was counted, and whether it is still the file that was counted.

A file is known by its device and inode. Its position is the number of rows that were counted, and
a keyed digest of the bytes that were read for them: the beginning of the file up to some byte. The
digest has a secret key, because a plain one would confirm guesses of the content.

Before anything is counted, the bytes before the position are digested again:

- the same bytes: the rows before the position are skipped, and the rest is new;
- other or fewer bytes: the file was rewritten or truncated. It is refused, unless the caller asks
  to count it anew, or another file had its name since: then the system gave its inode to a new
  file;
- an unknown inode, or one of another file: if it begins with the bytes of a counted file that is
  gone, it is a copy that took its place (cp, rsync, an editor), and goes on after them. Otherwise
  it is a new file, of which every row is new.

Pipes have no position.

Cost: one digest of every byte that is read, about 1 ns each, and one pass over the bytes before a
position when a file is opened again.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import SourceError
from lazysketch.sources.io.naming import STANDARD_INPUT, naming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

__all__ = ["FilePosition", "FileReading", "Place", "Positions"]

_PREFIX: Final = "file "
_BLOCK: Final = 1 << 20
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class FilePosition:
    """How far a file was counted.

    Args:
        name: The absolute path under which it was read.
        device: Its device.
        inode: Its inode.
        format: The format in which its rows were counted.
        rows: The rows that were counted.
        size: The number of bytes, from the beginning, that the digest covers.
        digest: The keyed digest of these bytes, in hexadecimal digits.
    """

    name: str
    device: int
    inode: int
    format: str
    rows: int
    size: int
    digest: str

    def to_text(self) -> str:
        """Return the position as text."""
        return json.dumps(dataclasses.astuple(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the position of a text.

        Raises:
            SourceError: Another text.
        """
        try:
            name, device, inode, form, rows, size, digest = json.loads(text)
            return cls(str(name), int(device), int(inode), str(form), int(rows), int(size), digest)
        except (TypeError, ValueError):
            raise SourceError("position: expected one of this version, got another") from None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a batch begins in its file.

    Args:
        source: The name of the file as the source of a store.
        before: Rows of the file before the batch.
        end: The position after all rows of the batch.
    """

    source: str
    before: int
    end: FilePosition

    def after(self, rows: int) -> FilePosition:
        """Return the position after some rows of the batch."""
        return dataclasses.replace(self.end, rows=self.before + rows)


class FileReading:
    """A file that is being read: its rows and bytes so far."""

    def __init__(
        self, source: str, status: os.stat_result, *, name: str, secret: bytes, form: str = ""
    ) -> None:
        self.source = source
        self.name = name
        self.rows = 0
        self.counted_before = 0
        self.size = 0
        self._form = form
        self._device, self._inode = status.st_dev, status.st_ino
        import hashlib  # late: few runs have positions

        self._hash = hashlib.blake2b(key=secret, digest_size=_DIGEST_BYTES)

    def saw(self, block: bytes, *, at: int) -> None:
        """Digest what is new of a block that was read at a byte of the file."""
        if at + len(block) > self.size:
            self._hash.update(memoryview(block)[max(self.size - at, 0) :])
            self.size = at + len(block)

    def saw_all(self, path: Path) -> None:
        """Digest the rest of a file that its reader does not read from beginning to end."""
        with naming(str(path)), path.open("rb", buffering=0) as file:
            file.seek(self.size)
            while block := file.read(_BLOCK):
                self.saw(block, at=self.size)

    def begin(self, form: str) -> int:
        """Begin to read the rows in a format; return how many were counted before.

        Raises:
            SourceError: They were counted in another format.
        """
        if self._form not in ("", form):
            raise SourceError(
                f"{self.name}: expected format {self._form}, in which its rows were counted, "
                f"got {form}"
            )
        self._form = form
        return self.rows

    def advance(self, rows: int) -> Place:
        """Take rows, and return their place."""
        before, self.rows = self.rows, self.rows + rows
        return Place(self.source, before, self.position)

    @property
    def position(self) -> FilePosition:
        """The position after what was read so far."""
        digest = self._hash.hexdigest()
        return FilePosition(
            self.name, self._device, self._inode, self._form, self.rows, self.size, digest
        )


class Positions:
    """The positions of all files that a store counted, and of those that are being read.

    Args:
        secret: The key of the digests, 32 bytes.
        notes: The last positions by the name of the source, in the form of
            :meth:`FilePosition.to_text`; other names are ignored.
        reread: Whether a file that was rewritten or truncated is counted anew.
    """

    def __init__(self, secret: bytes, notes: Mapping[str, str], *, reread: bool = False) -> None:
        self.messages: list[str] = []
        self._secret = secret
        self._reread = reread
        self._known = {
            _number(source): FilePosition.from_text(note)
            for source, note in notes.items()
            if source.startswith(_PREFIX)
        }
        self._last = max(self._known, default=0)
        self._readings: dict[tuple[int, int], FileReading] = {}

    @property
    def readings(self) -> tuple[FileReading, ...]:
        """The files of this run."""
        return tuple(self._readings.values())

    def check(self, paths: Iterable[str | Path]) -> None:
        """Digest the beginnings of all files that were counted before.

        Raises:
            SourceError: A file that was rewritten or truncated, or cannot be read.
        """
        for path in paths:
            if str(path) == STANDARD_INPUT:
                continue
            with naming(str(path)):
                # Checked before opening: opening a pipe would wait for its writer.
                if stat.S_ISREG(Path(path).stat().st_mode):
                    with Path(path).open("rb", buffering=0) as file:
                        self.reading(file.fileno(), path)

    def reading(
        self, descriptor: int, path: str | Path, *, anew: bool = False
    ) -> FileReading | None:
        """Return the reading of an open file, which goes on after what was counted of it.

        Args:
            descriptor: The open file, at its beginning.
            path: Its name.
            anew: Whether it was truncated while it was followed.

        Returns:
            The reading; None for what is not a regular file.

        Raises:
            SourceError: A file that was rewritten or truncated.
        """
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        identity = status.st_dev, status.st_ino
        reading = None if anew else self._readings.get(identity)
        if reading is None:
            number = None if anew else self._number_of(identity)
            if number is not None:
                reading = self._continued(number, descriptor, path, status)
            if reading is None and not (anew or self._reread):
                reading = self._copied(descriptor, path, status)
            if reading is None and number is not None:
                self._refuse(number, path, status)
            if reading is None:
                reading = self._new(path, status, anew=anew or number is not None)
            self._readings[identity] = reading
        return reading

    def _number_of(self, identity: tuple[int, int]) -> int | None:
        found = (n for n, p in self._known.items() if (p.device, p.inode) == identity)
        return max((n for n in found if n not in self._taken), default=None)

    @property
    def _taken(self) -> set[int]:
        """The numbers of the files of this run, of which a copy may have taken one."""
        return {_number(reading.source) for reading in self._readings.values()}

    def _continued(
        self, number: int, descriptor: int, path: str | Path, status: os.stat_result
    ) -> FileReading | None:
        """Return the reading after the position; None if the file does not begin with it."""
        known = self._known[number]
        reading = FileReading(
            f"{_PREFIX}{number}",
            status,
            name=_absolute(path),
            secret=self._secret,
            form=known.format,
        )
        with naming(str(path)):
            _digest(descriptor, reading, to=known.size)
            os.lseek(descriptor, 0, os.SEEK_SET)
        if reading.position.digest == known.digest:
            reading.rows = reading.counted_before = known.rows
            return reading
        return None

    def _copied(
        self, descriptor: int, path: str | Path, status: os.stat_result
    ) -> FileReading | None:
        """Return the reading after the position of a file that is gone and of which this is a copy.

        The longest one is taken: an earlier copy may have been counted less far. One that is being
        read has gone on since its position was noted, and is not gone.
        """
        taken = self._taken
        ends = sorted(
            (known.size, number)
            for number, known in self._known.items()
            if known.rows and known.size <= status.st_size and number not in taken
        )
        same: list[int] = []
        beginning = FileReading("", status, name="", secret=self._secret)
        with naming(str(path)):
            for size, number in ends:  # in one pass over the file
                _digest(descriptor, beginning, to=size)
                if beginning.position.digest == self._known[number].digest:
                    same.append(number)
            os.lseek(descriptor, 0, os.SEEK_SET)
        gone = next((number for number in reversed(same) if not self._is_there(number)), None)
        if gone is None:
            return None
        known = self._known[gone]
        self.messages.append(
            f"{path}: begins with the {known.rows:,} rows that were counted of {known.name}, which "
            "is gone; goes on after them (--reread counts all)"
        )
        return self._continued(gone, descriptor, path, status)

    def _is_there(self, number: int) -> bool:
        """Tell whether a counted file still begins with what was counted of it."""
        known = self._known[number]
        try:
            found = _file_of(known)
            if found is None:
                return False
            with Path(found.path).open("rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                return self._continued(number, file.fileno(), found.path, status) is not None
        except (OSError, SourceError):
            return False

    def _refuse(self, number: int, path: str | Path, status: os.stat_result) -> None:
        """Raise for a file that changed, unless it is to be counted anew."""
        if self._reread or self._had_a_successor(number):
            return
        known = self._known[number]
        short = status.st_size < known.size
        got = "a shorter one" if short else f"other content before byte {known.size:,}"
        raise SourceError(
            f"{path}: expected the file that was counted, at most with rows added, got {got}; "
            "with --reread all its rows are counted as new events"
        )

    def _had_a_successor(self, number: int) -> bool:
        """Tell whether another file had the name later: then this inode was free since."""
        name = self._known[number].name
        return any(other > number and p.name == name for other, p in self._known.items())

    def _new(self, path: str | Path, status: os.stat_result, *, anew: bool) -> FileReading:
        self._last += 1
        name = _absolute(path)
        if not anew and (line := self._predecessor(path, name)):
            self.messages.append(line)
        return FileReading(f"{_PREFIX}{self._last}", status, name=name, secret=self._secret)

    def _predecessor(self, path: str | Path, name: str) -> str:
        """Return a line about the file that had the name before, if it may have more rows."""
        number = max((n for n, p in self._known.items() if p.name == name), default=None)
        if number is None:
            return ""
        old = self._known[number]
        if (old.device, old.inode) in self._readings:
            return ""
        try:
            found = _file_of(old)
            more = found is not None and found.stat(follow_symlinks=False).st_size > old.size
        except OSError:
            found = None
        if found is None:
            return f"{path}: a new file; the one that was counted before is gone"
        return f"{path}: a new file; {found.path} was counted before" + (
            ", and has grown since: name it too, or its last rows are not counted" if more else ""
        )


def _digest(descriptor: int, reading: FileReading, *, to: int) -> None:
    """Digest an open file from where its reading is up to a byte, or to its end."""
    while left := to - reading.size:
        block = os.read(descriptor, min(_BLOCK, left))
        if not block:
            break
        reading.saw(block, at=reading.size)


def _file_of(known: FilePosition) -> os.DirEntry[str] | None:
    """Return a counted file, also under another name in its folder; None if it is gone."""
    with os.scandir(Path(known.name).parent) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            if (found.st_dev, found.st_ino) == (known.device, known.inode):
                return entry
    return None


def _absolute(path: str | Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 -- a link keeps its name


def _number(source: str) -> int:
    try:
        return int(source.removeprefix(_PREFIX))
    except ValueError:
        raise SourceError("position: expected one of this version, got another") from None
