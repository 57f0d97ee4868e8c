"""Checks of where the result of a run goes, before anything is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.cli.run import files
from lazysketch.cli.run.finishing import PLOT, SAVE, SAVE_EVERY, SAVE_NAMES
from lazysketch.cli.view.output import tell
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError

if TYPE_CHECKING:
    from lazysketch.cli.settings import ResultSettings

__all__ = ["check_interval", "check_overwrite", "check_replaced", "check_result"]

_MIN_INTERVAL: Final = 0.05  # seconds
_SPENT: Final = (
    "Another run over the same people adds to the privacy that the earlier one has spent"
)


def check_interval(name: str, seconds: float) -> None:
    """Raise ArgumentValueError for an interval that would keep the command from counting."""
    if seconds < _MIN_INTERVAL:
        raise ArgumentValueError(
            f"{name}: expected a time of at least {_MIN_INTERVAL * 1000:.0f}ms, "
            f"got {seconds * 1000:g}ms"
        )


def check_result(result: ResultSettings, *, ends_early: bool = True, goes_on: bool = False) -> None:
    """Raise unless every file of the result can be saved; reads nothing of the stream.

    Args:
        result: Where the result goes.
        ends_early: Whether there is something to save before the end of the input.
        goes_on: Whether a state is kept, so that the release may be of an earlier run with it;
            :func:`check_replaced` decides then.

    Raises:
        ArgumentTypeError: An option without the one that it needs.
        ArgumentValueError: Saves at too short intervals.
        SourceError: A file cannot be saved, or must not be replaced.
    """
    path = result.save_release
    if result.save_every is not None:
        check_interval("save_every", result.save_every)
        if path is None:
            raise ArgumentTypeError(f"{SAVE_EVERY}: expected {SAVE} too, got none")
        if not ends_early:
            raise ArgumentTypeError(
                f"{SAVE_EVERY}: expected no --from and --to, whose windows end with the input, got "
                "a range"
            )
    if path is not None and files.check_release_target(path, option=SAVE) and not goes_on:
        check_overwrite(path, overwrite=result.overwrite)
    if result.save_names is not None:
        files.check_names_target(result.save_names, option=SAVE_NAMES)
    if result.plot is not None:
        files.check_plot_target(result.plot, option=PLOT)


def check_replaced(result: ResultSettings, tables: frozenset[bytes], *, in_windows: bool) -> None:
    """Raise unless the release that would be replaced is one of the same state.

    Args:
        result: Where the result goes.
        tables: The ids of the tables that the state has published.
        in_windows: Whether they are windows, of which a later release has some more and lacks the
            oldest ones.

    Raises:
        SourceError: A release of other tables, without ``--overwrite``.
    """
    path = result.save_release
    if path is None or not files.check_release_target(path, option=SAVE):
        return
    there = {part.sketch_id for part in files.load(path).parts}
    if there.isdisjoint(tables) if in_windows else there != tables:
        check_overwrite(path, overwrite=result.overwrite)


def check_overwrite(path: str, *, overwrite: bool, option: str = SAVE) -> None:
    """Raise for a release of an earlier run, or with ``--overwrite`` tell that it is replaced.

    Args:
        path: The release.
        overwrite: Whether it may be replaced.
        option: What it would be replaced by, for messages.

    Raises:
        SourceError: It must not be replaced.
    """
    if not overwrite:
        raise SourceError(
            f"{option}: expected a new file, got {path}, a release of an earlier run. {_SPENT}: "
            "query that release instead, or replace it by --overwrite"
        )
    tell(f"{option}: replaces {path}, a release of an earlier run. {_SPENT}")
