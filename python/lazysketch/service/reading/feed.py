"""Events that tell of each publication (server-sent events).

An event goes out when a publication is shown, and never else; between two, a comment at fixed times
keeps the connection open. A slow reader misses publications that were replaced in the meantime.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from lazysketch.service.windows_view import instant_text

if TYPE_CHECKING:
    from lazysketch.service.reading.published_streams import PublishedStream

__all__ = ["events_of"]

_SILENCE: Final = 15.0  # seconds


async def events_of(stream: PublishedStream, *, after: int) -> AsyncGenerator[bytes, None]:
    """Yield an event for each publication of a stream.

    Args:
        stream: the stream.
        after: number of the last publication that the reader has; -1 for none.

    Yields:
        The text of each event, until the process ends.
    """
    yield b"retry: 2000\n\n"
    while not stream.ended:
        changed = stream.changed
        answers = stream.answers
        if answers is not None and answers.publication.number > after:
            one = answers.publication
            after = one.number
            content = {
                "number": one.number,
                "at": instant_text(one.at),
                "next_at": instant_text(one.next_at),
            }
            data = json.dumps(content, separators=(",", ":"))
            yield f"id: {one.number}\nevent: publication\ndata: {data}\n\n".encode()
            continue
        try:
            await asyncio.wait_for(changed.wait(), _SILENCE)
        except asyncio.TimeoutError:
            yield b": \n\n"
