"""A file that grows, is cut to nothing or gives way to another, as `tail -F` reads it.

What is there is read at once, then what comes, within PAUSE seconds. The file may be

- *replaced*: another file has its name, as after a log is rotated. The old one is read to
  its end, also what its writer adds until the new one has something in it;
- *cut short*, as copying rotators do. It is read again from its beginning; a row whose
  end has not been seen by then is lost, and no row;
- *away*: it is waited for.

Each of these files is a stream of its own, so that its header is read as one. Files that
come while another is being read are held open, so none is missed that has the name while
a block is read or at the end of a pause. What nobody can see any more is lost: a file that
came and went between two looks, rows that were written and cut off between them, and a
file that, once cut, is as long as before when it is looked at again.

Cost: one read and one look at the name per block or per pause; no threads.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError
from lazysketch.sources.io.byte_stream import ByteStream, naming
from lazysketch.sources.io.compression import READ_SIZE, is_compressed
from lazysketch.sources.io.interruptible import PLAIN_WAITS, Waits

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

PAUSE = 0.1  # seconds


@contextmanager
def follow_bytes(
    path: str | Path, *, waits: Waits = PLAIN_WAITS
) -> Generator[Iterator[ByteStream], None, None]:
    """Open a file to follow, as streams of bytes without an end; closed when the block ends.

    Each stream has to be read to its end before the next one. One whose last block is
    empty was cut: what was left open in it never ends.

    Args:
        path: A plain file. It has to be there when following begins.
        waits: How to wait for what has not been written.

    Raises:
        SourceError: Missing, unreadable, compressed, or no plain file.
    """
    files = _Files(Path(path), waits=waits)
    try:
        yield files.streams()
    finally:
        files.close()


class _Files:
    """The files that had the name, from the one that is being read to the newest."""

    def __init__(self, path: Path, *, waits: Waits) -> None:
        self._path = path
        self._waits = waits
        self._name = str(path)
        self._open: deque[BinaryIO] = deque()
        with naming(self._name):
            if not stat.S_ISREG(path.stat().st_mode):
                raise SourceError(
                    f"{self._name}: expected a plain file to follow, got another kind; "
                    "a pipe is read as it comes, without following"
                )
            self._open.append(path.open("rb", buffering=0))

    def close(self) -> None:
        while self._open:
            self._open.popleft().close()

    def streams(self) -> Iterator[ByteStream]:
        while True:
            stream = ByteStream(self._name, path=None, blocks=self._blocks())
            if is_compressed(stream.head()):
                raise SourceError(
                    f"{self._name}: expected a file that is not compressed to follow, "
                    "got a compressed one"
                )
            yield stream

    def _blocks(self) -> Iterator[bytes]:
        """Yield what the first of the files holds, until it is cut or another takes its place."""
        file = self._open[0]
        size = 0
        while True:
            replaced = self._is_replaced()  # asked before the read, which then gets all of it
            with naming(self._name):
                block = file.read(READ_SIZE)
                if not block and os.fstat(file.fileno()).st_size < size:
                    file.seek(0)
                    yield b""
                    return
            if block:
                size += len(block)
                yield block
            elif replaced:
                self._open.popleft().close()
                return
            else:
                self._waits.pause(PAUSE)

    def _is_replaced(self) -> bool:
        """Hold on to what now has the name, and tell whether the old file has ended."""
        try:
            status = self._path.stat()
            # Also an older one may have its name back: it is not read again.
            known = any(os.path.samestat(status, os.fstat(file.fileno())) for file in self._open)
            # Asked before it is opened: a pipe would wait for its writer.
            if not known and stat.S_ISREG(status.st_mode):
                self._take()
        except OSError:
            pass  # away, or not readable yet: what rotates a log may set its rights last
        following = list(self._open)[1:]
        return any(os.fstat(file.fileno()).st_size for file in following)

    def _take(self) -> None:
        file: BinaryIO = self._path.open("rb", buffering=0)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            self._open.append(file)
        else:
            file.close()
