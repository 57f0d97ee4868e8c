"""The command-line options that verbs share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Final, TypeAlias

import click

from lazysketch.cli.people_options import OF_CELLS
from lazysketch.cli.quantities import DURATION
from lazysketch.cli.settings import (
    KINDS,
    PrivacySettings,
    ResultSettings,
    SketchSettings,
    StateSettings,
)

__all__ = [
    "PRIVACY",
    "RESULT",
    "discovering_sketch_options",
    "gathered",
    "hash_seed_option",
    "listed_sketch_options",
    "once_option",
    "option_with_default",
    "output_option",
    "privacy_options",
    "result_options",
    "rows_option",
    "sketch_options",
    "state_options",
    "state_place",
]

Command: TypeAlias = "Callable[..., int | None]"
Decorator: TypeAlias = "Callable[[Command], Command]"

option_with_default = functools.partial(click.option, show_default=True)


def gathered(settings: Callable[..., object], name: str, *options: Decorator) -> Decorator:
    """Return a decorator that adds options and passes their values on as one object.

    Args:
        settings: The dataclass; its fields are named like the options.
        name: The parameter of the command that gets the object.
        *options: What ``click.option`` returns, in the order of the help.
    """
    fields = list(inspect.signature(settings).parameters)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(**values: object) -> int | None:
            own = {field: values.pop(field) for field in fields if field in values}
            return command(**values, **{name: settings(**own)})

        decorated: Command = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def privacy_options(command: Command) -> Command:
    """Add the options of the guarantee; the command gets them as ``privacy``."""
    return gathered(PrivacySettings, "privacy", *PRIVACY)(command)


def sketch_options(command: Command) -> Command:
    """Add the options of a sketch; the command gets them as ``sketch``."""
    return _sketch_options("by predicted error")(command)


def listed_sketch_options(command: Command) -> Command:
    """Add the options of a sketch that may bound people, as ``sketch`` too."""
    return _sketch_options("by predicted error", of_people=True)(command)


def discovering_sketch_options(command: Command) -> Command:
    """Add the options of such a sketch with or without discovery, as ``sketch`` too."""
    width = "by predicted error, and without --domain by --share"
    return _sketch_options(width, of_people=True)(command)


def result_options(command: Command) -> Command:
    """Add the options of a run's result; the command gets them as ``result``."""
    return gathered(ResultSettings, "result", *RESULT)(command)


def state_options(command: Command) -> Command:
    """Add the options of a state; the command gets them as ``kept``."""
    return gathered(
        StateSettings,
        "kept",
        click.option(
            "--state",
            metavar="DIR",
            type=click.Path(),
            help="Keep the counts in this directory, so that the next run goes on.  "
            "[default: not kept]",
        ),
        *state_place,
        click.option(
            "--reread",
            is_flag=True,
            help="With --state: count a file that was rewritten or truncated anew.  "
            "[default: refuse it]",
        ),
        click.option(
            "--finish",
            is_flag=True,
            help="With --state: publish everything pending at the end; nothing can be counted "
            "afterwards.  [default: the next run goes on]",
        ),
        click.option(
            "--new-era",
            is_flag=True,
            help="With --state: go on in an older copy, or without its anchor, with fresh noise, "
            "whose cost is added.  [default: refuse it]",
        ),
    )(command)


state_place: Final = (
    click.option(
        "--anchor",
        metavar="FILE",
        type=click.Path(),
        help="File outside of the state that tells an old copy of it.  "
        "[default: in ~/.local/state/lazysketch]",
    ),
    click.option(
        "--key-file",
        metavar="FILE",
        type=click.Path(),
        help="File with the key of the state, made if there is no state yet.  "
        "[default: in ~/.config/lazysketch]",
    ),
)
output_option = option_with_default(
    "--output",
    type=click.Choice(("table", "csv", "json", "jsonl")),
    default="table",
    help="Output format.",
)
once_option = click.option(
    "--once",
    is_flag=True,
    help="End as soon as something is published, with one table and no display; for a pipe "
    "without an end.  [default: read on]",
)
rows_option = option_with_default(
    "-k",
    "rows_shown",
    type=click.IntRange(min=1),
    default=20,
    metavar="N",
    help="Number of rows to show.",
)
RESULT: Final = (
    click.option(
        "--save-release",
        metavar="PATH",
        type=click.Path(),
        help="Save the release for later queries, also after Ctrl-C.  [default: not saved]",
    ),
    click.option(
        "--save-every",
        type=DURATION,
        metavar="TIME",
        help="With --save-release: also save it at this interval while the stream goes on, such as "
        "60s or 10m.  [default: at the end only]",
    ),
    click.option(
        "--overwrite",
        is_flag=True,
        help="Replace the release of an earlier run; a further run over the same people adds to "
        "the privacy spent.  [default: refuse to run]",
    ),
    click.option(
        "--live",
        is_flag=True,
        help="Publish a file while it is read, like a pipe: earlier counts, but more noise.  "
        "[default: files once, at the end]",
    ),
    output_option,
)


def _sketch_options(width: str, *, of_people: bool = False) -> Decorator:
    return gathered(
        SketchSettings,
        "sketch",
        *PRIVACY[:-1],
        click.option(
            "--horizon",
            type=int,
            metavar="STEPS",
            help="Longest possible stream, if known; reduces the noise.  [default: unlimited]",
        ),
        click.option(
            "--period",
            type=int,
            metavar="STEPS",
            help="With --horizon: steps from one column to the next; less noise, more lag.  "
            "[default: by predicted error]",
        ),
        option_with_default("--depth", type=int, default=4, help="Rows of the sketch."),
        click.option("--width", type=int, help=f"Buckets per row.  [default: {width}]"),
        option_with_default(
            "--kind", type=click.Choice(list(KINDS)), default="count-min", help="Kind of sketch."
        ),
        option_with_default(
            "--mechanism",
            type=click.Choice(["tree", "haar", "binary"]),
            default="tree",
            help="Noise mechanism.",
        ),
        PRIVACY[-1],
        *(OF_CELLS if of_people else ()),
        hash_seed_option("sketches to be merged share it"),
    )


def hash_seed_option(why: str) -> Decorator:
    """Return the option of the public seed; ``why`` says who shares it."""
    return click.option(
        "--hash-seed",
        type=int,
        metavar="SEED",
        help=f"Public seed of the hash functions; {why}.  [default: random]",
    )


PRIVACY: Final = (
    option_with_default("--epsilon", type=float, default=1.0, help="Privacy parameter epsilon."),
    option_with_default("--delta", type=float, default=1e-8, help="Privacy parameter delta."),
    option_with_default(
        "--relation",
        type=click.Choice(["substitution", "zero-out"]),
        default="substitution",
        help="Neighbouring streams replace one event by another (substitution) or by an empty step "
        "(zero-out).",
    ),
    option_with_default(
        "--max-events-per-user",
        type=int,
        default=1,
        help="Events of one person that are protected together.",
    ),
)
