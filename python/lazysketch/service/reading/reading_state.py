"""What the handlers of addresses share: the streams that are shown, computed answers, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.responses import Response

from lazysketch.service.reading.exposition import Exposition
from lazysketch.service.reading.page_files import page_files
from lazysketch.service.reading.views import PublicationView
from lazysketch.service.windows_view import instant_text

if TYPE_CHECKING:
    from starlette.requests import Request

    from lazysketch.service.reading.answers import Answer, Answers
    from lazysketch.service.reading.published_streams import PublishedStream, PublishedStreams

__all__ = ["Reading", "computed", "error_of", "sent"]

Kind = TypeVar("Kind")
# Answers that are computed in parallel, and that wait: what readers ask for beyond it is refused.
_COMPUTED_AT_ONCE: Final = 2
_WAITING: Final = 64


class Reading:
    """The state of the application."""

    def __init__(self, published: PublishedStreams) -> None:
        self.published = published
        self.assets = page_files()
        self._computing = asyncio.Semaphore(_COMPUTED_AT_ONCE)
        self._waiting = 0
        self.exposition = Exposition()

    def stream(self, request: Request) -> PublishedStream:
        """Return the stream of an address."""
        name = request.path_params["name"]
        found = self.published.streams.get(name)
        if found is None:
            raise error_of(404, "stream", "the name of a stream, see /v1/streams", "another")
        return found

    def answers(self, request: Request) -> Answers:
        """Return the answers of the stream of an address."""
        stream = self.stream(request)
        if stream.answers is None:
            following = self.next_at(stream)
            when = "its first tick" if following is None else following
            raise error_of(404, "stream", "one that was published", f"none before {when}")
        return stream.answers

    def next_at(self, stream: PublishedStream) -> str | None:
        """Return when the next publication of a stream is due, as text; None after the last."""
        if stream.answers is None:
            following = self.published.next_shown(stream.name)
            return None if following is None else instant_text(following)
        shown = stream.answers.publication
        return None if shown.finished else instant_text(shown.next_at)

    def of_items(self, request: Request) -> PublicationView:
        """Return the view of the stream of an address, if it counts items."""
        return self.of_kind(request, PublicationView, "frequent items")

    def of_kind(self, request: Request, kind: type[Kind], counted: str) -> Kind:
        """Return the view of the stream of an address, if it is of a kind."""
        view = self.answers(request).view
        if not isinstance(view, kind):
            raise error_of(404, "stream", f"one of {counted}", "one of another kind")
        return view

    def levels(self, request: Request) -> int:
        """Return the number of levels of the stream of an address; 0 without a hierarchy."""
        return len(self.answers(request).publication.facts.levels)

    async def computed(
        self, answers: Answers, key: tuple[object, ...], make: Callable[[], Answer | None]
    ) -> Answer | None:
        """Return an answer that may take a while, without holding up the others."""
        kept = answers.kept(key)
        if kept is not None:
            return kept
        if self._waiting >= _WAITING:
            raise error_of(503, "service", "fewer readers at once", "more", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._computing:
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1


async def computed(
    state: Reading,
    request: Request,
    key: tuple[object, ...],
    content: Callable[[], object],
) -> Response:
    """Return an answer in JSON that the first reader who asks for it waits for.

    Args:
        state: of the application.
        request: what was sent.
        key: what is asked.
        content: computes the answer.
    """
    answers = state.answers(request)
    found = await state.computed(answers, key, lambda: answers.json(key, content))
    return sent(request, found, answers)


def sent(request: Request, answer: Answer | None, answers: Answers) -> Response:
    """Return an answer, or that the reader has it.

    Args:
        request: what was sent.
        answer: what is asked for; None for what is not published.
        answers: of the publication that is shown.
    """
    if answer is None:
        raise error_of(404, "window", "one that is published", "another")
    headers = {
        "ETag": f"W/{answer.etag}",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
        "Lazysketch-Publication": str(answers.publication.number),
    }
    if answer.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = answer.body
    if "gzip" in request.headers.get("accept-encoding", "") and answer.compressed is not None:
        body = answer.compressed
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=answer.media_type, headers=headers)


def error_of(
    status: int,
    argument: str,
    expected: str,
    got: str,
    headers: Mapping[str, str] | None = None,
) -> HTTPException:
    """Return what is raised for a question without an answer.

    Args:
        status: of HTTP.
        argument: the name of what is wrong.
        expected: what it should be.
        got: what came, without its content.
        headers: of the answer.
    """
    return HTTPException(status, f"{argument}: expected {expected}, got {got}", headers)
