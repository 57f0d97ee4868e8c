"""``lazysketch state``: what a state holds, and another key for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import output_option, state_place
from lazysketch.cli.run.state import OBJECT, State
from lazysketch.cli.run.state_definition import IN_WORDS, LISTED
from lazysketch.cli.run.state_keys import key_of, new_key, opened
from lazysketch.cli.view.output import Report, tell, write
from lazysketch.cli.view.window_words import length_in_words
from lazysketch.errors import ArgumentValueError
from lazysketch.sources.io.positions import FilePosition
from lazysketch.sources.topic_positions import TopicPosition, partition_shown
from lazysketch.store.opening import is_store
from lazysketch.store.stored_sliding import StoredSliding
from lazysketch.store.stored_windows import WindowsOfStore

if TYPE_CHECKING:
    from lazysketch.cli.run.state_counting import Kept
    from lazysketch.cli.run.state_definition import Definition
    from lazysketch.cli.view.output import Row
    from lazysketch.store import Store

_COLUMNS: Final = ("file", "rows", "format")
_COLUMNS_OF_STREAMS: Final = ("stream", "era", "epsilon", "delta")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@state_place[0]
@state_place[1]
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(),
    help="Make a key in a new file, which opens the state from now on.  [default: keep the key]",
)
@output_option
def state(
    folder: str,
    *,
    anchor: str | None,
    key_file: str | None,
    new_key: str | None,
    output: str,
) -> None:
    """Show what the verbs keep in the directory of --state, or serve in its part store.

    Shown are the guarantee, the steps and the files with their rows, of a service its streams,
    never a count of an item. The state must not be in use.

    \b
    Example:
      lazysketch state visits.state
    """
    if not is_store(folder):
        raise ArgumentValueError(f"DIR: expected a state, got {folder}")
    store = opened(folder, key=key_of(key_file, folder), anchor=anchor)
    with store:
        is_of_service = bool(store.names) and OBJECT not in store.names
        shown = _streams(folder, store) if is_of_service else _shown(State(folder, store))
        if new_key is not None:
            _rotate(store, folder, new_key)
        write(shown, output=output)


def _rotate(store: Store, folder: str, path: str) -> None:
    store.rotate(new_key(path, folder))
    tell(
        f"state: --key-file {path} opens {folder} from now on; destroy the old key, which opens "
        "older copies"
    )


def _streams(folder: str, store: Store) -> Report:
    """Return what a service keeps: its streams, and what each has spent."""
    size, spent = _size(folder), store.spent.parts
    return Report(
        rows=[
            {"stream": one.name, "era": one.era, "epsilon": one.epsilon, "delta": one.delta}
            for one in spent
        ],
        summary={"state": folder, "bytes": size, "streams": list(store.names)},
        lines=[f"{folder}: {size:,} bytes on the disk, the streams of a service"],
        name="streams",
        columns=_COLUMNS_OF_STREAMS,
        header=_COLUMNS_OF_STREAMS,
    )


def _size(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).iterdir())


def _how_far(stored: Kept, definition: Definition) -> tuple[str, Row]:
    """Return how far the stream has come, in words and as facts."""
    if isinstance(stored, WindowsOfStore):
        assert definition.length is not None, "it has windows"  # noqa: S101
        length = length_in_words(definition.length)
        number = stored.slices if isinstance(stored, StoredSliding) else len(stored.windows)
        known = f"{number:,} windows" if number != 1 else "1 window"
        facts: Row = {"windows": number, "steps": stored.step, "finished": stored.finished}
        return f"{known} of {length} kept", facts
    release = stored.release()
    return f"{release.step:,} steps", {"steps": release.step, "finished": release.finished}


def _shown(kept: State) -> Report:
    rows: list[Row] = []
    for source in kept.store.sources:
        note = kept.store.note(source)
        if (topic := partition_shown(source)) is not None:
            counted = TopicPosition.from_text(note).rows
            rows.append({"file": topic, "rows": counted, "format": "kafka"})
            continue
        position = FilePosition.from_text(note)
        rows.append({"file": position.name, "rows": position.rows, "format": position.format})
    size = _size(kept.folder)
    stored, definition = kept.kept(), kept.definition
    summary: dict[str, object] = {"state": kept.folder, "bytes": size}
    lines = [f"{kept.folder}: {size:,} bytes on the disk"]
    if stored is not None and definition is not None:
        spent, what = kept.store.spent, IN_WORDS[definition.counted]
        how_far, reached = _how_far(stored, definition)
        end = "ended by --finish" if reached["finished"] else "goes on"
        lines += [f"{how_far}, {what}; the stream {end}", str(spent)]
        summary |= {
            **reached,
            "listed": definition.counted == LISTED,
            "counted": definition.counted,
            "options": dict(definition.options),
            "privacy": dataclasses.asdict(stored.privacy),
            "eras": len(spent.parts),
            "epsilon": spent.epsilon,
            "delta": spent.delta,
        }
    return Report(
        rows=rows,
        summary=summary,
        lines=lines,
        name="files",
        columns=_COLUMNS if rows else (),
        header=_COLUMNS,
    )
