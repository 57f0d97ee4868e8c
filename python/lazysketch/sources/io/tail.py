"""Following a file that grows, is truncated or is replaced, as `tail -F` does.

The present content is read first, then new content within PAUSE seconds. The file may be

- *replaced*: another file takes its name, as in log rotation. The old file is read to its
  end, including what its writer adds until the new file has content;
- *truncated*, as copying log rotators do. The file is read again from its beginning; a
  row without a seen end is lost and does not count as a row;
- *missing*: the reader waits for it.

Each of these files is a separate stream, so its header is read as a header. New files are
held open while an older one is read, so no file is missed that has the name while a block
is read or at the end of a pause. Changes between two checks are lost: a file that appeared
and disappeared, rows that were written and truncated, and a truncation after which the
file has grown to its old length again.

Cost: one read and one stat of the name per block or per pause; no threads.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError
from lazysketch.sources.io.byte_stream import ByteStream
from lazysketch.sources.io.compression import READ_SIZE, is_compressed
from lazysketch.sources.io.interruptible import PLAIN_WAITS, Waits
from lazysketch.sources.io.naming import naming

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

    from lazysketch.sources.io.positions import FileReading, Positions

PAUSE = 0.1  # seconds


@contextmanager
def follow_bytes(
    path: str | Path, *, waits: Waits = PLAIN_WAITS, positions: Positions | None = None
) -> Generator[Iterator[ByteStream], None, None]:
    """Open a file to follow, as an endless sequence of streams; closed when the block ends.

    Each stream must be read to its end before the next one. If its last block is empty,
    the file was truncated and the last row of the stream is incomplete.

    Args:
        path: A plain file. It must exist when following begins.
        waits: How to wait for data that has not been written yet.
        positions: What was counted of each file before; None if that does not matter.

    Raises:
        SourceError: Missing, unreadable, compressed, or not a plain file.
    """
    files = _Files(Path(path), waits=waits, positions=positions)
    try:
        yield files.streams()
    finally:
        files.close()


class _Files:
    """The open files that have had the name, from the one being read to the newest."""

    def __init__(self, path: Path, *, waits: Waits, positions: Positions | None) -> None:
        self._path = path
        self._positions = positions
        self._truncated = False
        self._waits = waits
        self._name = str(path)
        self._open: deque[BinaryIO] = deque()
        with naming(self._name):
            if not stat.S_ISREG(path.stat().st_mode):
                raise SourceError(
                    f"{self._name}: expected a plain file to follow, got another kind; "
                    "a pipe is read as it arrives, without following"
                )
            self._open.append(path.open("rb", buffering=0))

    def close(self) -> None:
        while self._open:
            self._open.popleft().close()

    def streams(self) -> Iterator[ByteStream]:
        while True:
            reading = self._reading()
            stream = ByteStream(
                self._name, path=None, blocks=self._blocks(reading), reading=reading
            )
            if is_compressed(stream.head()):
                raise SourceError(
                    f"{self._name}: expected a file that is not compressed to follow, "
                    "got a compressed one"
                )
            yield stream

    def _reading(self) -> FileReading | None:
        if self._positions is None:
            return None
        anew, self._truncated = self._truncated, False
        return self._positions.reading(self._open[0].fileno(), self._path, anew=anew)

    def _blocks(self, reading: FileReading | None) -> Iterator[bytes]:
        """Yield the content of the first file, until it is truncated or replaced."""
        file = self._open[0]
        size = 0
        while True:
            replaced = self._is_replaced()  # before the read, so that the read gets the rest
            with naming(self._name):
                block = file.read(READ_SIZE)
                if not block and os.fstat(file.fileno()).st_size < size:
                    file.seek(0)
                    self._truncated = True
                    yield b""
                    return
            if block:
                if reading is not None:
                    reading.saw(block, at=size)
                size += len(block)
                yield block
            elif replaced:
                self._open.popleft().close()
                return
            else:
                self._waits.pause(PAUSE)

    def _is_replaced(self) -> bool:
        """Open the file that now has the name, and return whether the old file has ended."""
        try:
            status = self._path.stat()
            # An older file may get its name back; it is not read again.
            known = any(os.path.samestat(status, os.fstat(file.fileno())) for file in self._open)
            # Checked before opening: opening a pipe would wait for its writer.
            if not known and stat.S_ISREG(status.st_mode):
                self._open_newest()
        except OSError:
            pass  # missing, or not readable yet: a rotator may set permissions last
        following = list(self._open)[1:]
        return any(os.fstat(file.fileno()).st_size for file in following)

    def _open_newest(self) -> None:
        file: BinaryIO = self._path.open("rb", buffering=0)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            self._open.append(file)
        else:
            file.close()
