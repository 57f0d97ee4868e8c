"""``lazysketch state``: what a state holds, and another key for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import output_option, state_place
from lazysketch.cli.run.state import State
from lazysketch.cli.run.state_keys import key_of, new_key, opened
from lazysketch.cli.view.output import Report, tell, write
from lazysketch.errors import ArgumentValueError
from lazysketch.sources.io.positions import FilePosition
from lazysketch.store.opening import is_store

if TYPE_CHECKING:
    from lazysketch.cli.view.output import Row

_COLUMNS: Final = ("file", "rows", "format")


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
    """Show what top and estimate keep in the directory of --state.

    Shown are the guarantee, the steps and the files with their rows, never a count of an item. The
    state must not be in use.

    \b
    Example:
      lazysketch state visits.state
    """
    if not is_store(folder):
        raise ArgumentValueError(f"DIR: expected a state, got {folder}")
    store = opened(folder, key=key_of(key_file, folder), anchor=anchor)
    with State(folder, store) as kept:
        if new_key is not None:
            _rotate(kept, new_key)
        write(_shown(kept), output=output)


def _rotate(kept: State, path: str) -> None:
    kept.store.rotate(new_key(path, kept.folder))
    tell(
        f"state: --key-file {path} opens {kept.folder} from now on; destroy the old key, which "
        "opens older copies"
    )


def _shown(kept: State) -> Report:
    rows: list[Row] = []
    for source in kept.store.sources:
        position = FilePosition.from_text(kept.store.note(source))
        rows.append({"file": position.name, "rows": position.rows, "format": position.format})
    size = sum(file.stat().st_size for file in Path(kept.folder).iterdir())
    stored, definition = kept.kept(), kept.definition
    summary: dict[str, object] = {"state": kept.folder, "bytes": size}
    lines = [f"{kept.folder}: {size:,} bytes on the disk"]
    if stored is not None and definition is not None:
        release, spent = stored.release(), kept.store.spent
        what = "items of a list" if definition.listed else "discovered items"
        end = "ended by --finish" if release.finished else "goes on"
        lines += [f"{release.step:,} steps, {what}; the stream {end}", str(spent)]
        summary |= {
            "steps": release.step,
            "finished": release.finished,
            "listed": definition.listed,
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
