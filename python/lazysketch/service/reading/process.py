"""The process of readers: started by the one that counts, and ended with it.

It gets an open socket, so that it needs no right to open one, and the directory of publications. It
has neither the store nor its key.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from lazysketch.service.logs import log_as_json
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.servers import config_of

if TYPE_CHECKING:
    from lazysketch.service.settings import Listener

__all__ = ["ReadingTask", "run"]


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """What the process of readers serves.

    Attributes:
        public: the directory of publications.
        descriptor: the listening socket, inherited.
        certificate: file of the TLS certificate chain; None for plain HTTP.
        private_key: file of its private key.
    """

    public: str
    descriptor: int
    certificate: str | None = None
    private_key: str | None = None

    @classmethod
    def of(cls, listener: Listener, public: Path, descriptor: int) -> ReadingTask:
        """Return the task of a listener."""
        files = [
            None if one is None else str(one)
            for one in (listener.certificate, listener.private_key)
        ]
        return cls(str(public), descriptor, *files)


def run(task: ReadingTask) -> None:
    """Serve readers until standard input ends, which is when the other process does.

    Args:
        task: what to serve.
    """
    log_as_json()
    published = PublishedStreams(PublicationFiles(Path(task.public)))
    server = uvicorn.Server(
        config_of(
            reading_application(published),
            certificate=task.certificate,
            private_key=task.private_key,
        )
    )
    threading.Thread(target=_end_with_input, args=(server, published), daemon=True).start()
    server.run(sockets=[socket.socket(fileno=task.descriptor)])


def _end_with_input(server: uvicorn.Server, published: PublishedStreams) -> None:
    sys.stdin.buffer.read()
    published.end_soon()
    server.should_exit = True


if __name__ == "__main__":
    run(ReadingTask(**json.loads(sys.argv[1])))
