"""The options of the data source ``lazysketch``, which Spark hands over as texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources import checked_request
from lazysketch.sources.formats.registry import AUTO, check_format
from lazysketch.sources.formats.selection import Selection
from lazysketch.spark.topic_options import OF_TOPICS, TopicOptions
from lazysketch.workers import kept_spec

__all__ = ["SourceOptions"]

SETTLED: Final = 60.0
_OF_ROWS: Final = ("field", "encoding", "weight", "delimiter", "value")
_KNOWN: Final = (
    "path",
    "format",
    *_OF_ROWS,
    "max_weight",
    "item_type",
    "spec",
    "state",
    "settled",
    "part_bytes",
    "most_tasks",
    *OF_TOPICS,
)
_OF_FILES: Final = ("path", "settled", "part_bytes", "delimiter")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is read, and for whom it is counted.

    Args:
        path: A folder, a pattern or a file, under the same name on every machine.
        format: As for :func:`~lazysketch.sources.open_source`.
        request: What is read of each row.
        spec: The description of the store's object, for a batch; None for that in ``state``.
        state: The folder of the log of inputs and of the current description; None for a batch.
        settled: Files are taken that were modified at least that number of seconds ago.
        part_bytes: About how much of a file is read in one piece; None for a part of the input.
        most_tasks: Of one tick; None for a number that follows from the size of the table.
        topics: What is read in the place of files; None for files.
    """

    path: str
    format: str
    request: Selection
    spec: bytes | None
    state: str | None
    settled: float
    part_bytes: int | None
    most_tasks: int | None
    topics: TopicOptions | None = None

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> SourceOptions:
        """Return the options that the texts say.

        Raises:
            ArgumentTypeError: No path, or neither a description nor a state.
            ArgumentValueError: An unknown option, or a value outside its range.
        """
        given = {name.lower(): text for name, text in texts.items()}
        for name in given:
            if name not in _KNOWN:
                raise ArgumentValueError(
                    f"option: expected one of {', '.join(_KNOWN)}, got {shown(name)}"
                )
        topics = TopicOptions.of(given)
        if topics is not None:
            for name in _OF_FILES:
                if name in given:
                    raise ArgumentTypeError(f"{name}: expected none with the option kafka, got one")
        elif "path" not in given:
            raise ArgumentTypeError("path: expected a folder, a pattern or a file, got none")
        if ("spec" in given) == ("state" in given):
            raise ArgumentTypeError(
                "spec: expected partial_spec().hex() for a batch, or a state folder for a stream, "
                f"got {'both' if 'spec' in given else 'neither'}"
            )
        most = _number(given, "max_weight")
        request = checked_request(
            **{name: given[name] for name in _OF_ROWS if name in given},  # type: ignore[arg-type]
            max_weight=most,
            item_type=given.get("item_type"),
        )
        if topics is None:
            check_format(given.get("format", AUTO), request, follow=False)
        else:
            topics.check_format(given.get("format", AUTO), request)
        return cls(
            path=given.get("path", ""),
            format=given.get("format", AUTO),
            request=request,
            spec=_spec(given["spec"]) if "spec" in given else None,
            state=given.get("state"),
            settled=_seconds(given),
            part_bytes=_number(given, "part_bytes"),
            most_tasks=_number(given, "most_tasks"),
            topics=topics,
        )

    @property
    def current_spec(self) -> bytes:
        """The description under which tasks count now."""
        if self.spec is not None:
            return self.spec
        assert self.state is not None, "one of both is given"  # noqa: S101
        return kept_spec(self.state)


def _number(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    text = given[name]
    if not (text.isascii() and text.isdigit()) or not int(text):
        raise ArgumentValueError(f"{name}: expected an integer of at least 1, got {shown(text)}")
    return int(text)


def _seconds(given: Mapping[str, str]) -> float:
    text = given.get("settled", str(SETTLED))
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise ArgumentValueError(f"settled: expected seconds, at least 0, got {shown(text)}")
    return seconds


def _spec(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ArgumentValueError(
            "spec: expected partial_spec().hex(), got a text without that form"
        ) from None
