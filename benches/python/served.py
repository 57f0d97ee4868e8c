"""What the service is compared with, as processes: itself without a log, and its server alone.

``python -m benches.python.served unlogged ...`` is ``lazysketch serve ...`` whose store neither
encrypts, writes nor syncs a record; ``python -m benches.python.served bare`` reads requests with
the same HTTP server, and answers.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

from lazysketch.store.journal import Journal
from lazysketch.store.store import Store


class Unlogged:
    """A native store that takes records and drops them."""

    def __init__(self, store: Any) -> None:
        self.last, self.largest_record = store.last, store.largest_record

    def append(self, parts: object) -> int:  # noqa: ARG002 -- the interface of the store
        self.last += 1
        return int(self.last)

    def commit(self) -> int:
        return int(self.last)


def serve_unlogged() -> None:
    """Run the command with a journal that drops its records."""
    from lazysketch.cli import process

    made = Journal.__init__

    def unlogged(journal: Any, store: Any) -> None:
        made(journal, Unlogged(store))  # type: ignore[arg-type]

    Journal.__init__ = unlogged  # type: ignore[assignment,method-assign]
    Store._is_checkpoint_due = property(lambda _: False)  # type: ignore[assignment]
    process()


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body", False):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


def serve_bare() -> None:
    """Answer every request, with the settings of the service's servers."""
    import uvicorn
    import uvloop

    from lazysketch.service.servers import config_of

    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = config_of(_answer, certificate=None, private_key=None, whole_answers=True)
    server = uvicorn.Server(config)
    print(f"events to http://127.0.0.1:{listening.getsockname()[1]}/", file=sys.stderr)
    print("try", file=sys.stderr, flush=True)

    async def served() -> None:
        await server.serve(sockets=[listening])

    uvloop.run(served())


if __name__ == "__main__":
    {"unlogged": serve_unlogged, "bare": serve_bare}[sys.argv.pop(1)]()
