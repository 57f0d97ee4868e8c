"""The options that verbs share, gathered into frozen settings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from lazysketch import LazyCountMin, LazyCountSketch
from lazysketch.errors import SourceError
from lazysketch.privacy.relations import Relation
from lazysketch.sources import FORMATS, Source, open_source

PrivateSketch: TypeAlias = "LazyCountMin | LazyCountSketch"
Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUTS = ("table", "csv", "json", "jsonl")
_KINDS: dict[str, type[LazyCountMin] | type[LazyCountSketch]] = {
    "count-min": LazyCountMin,
    "count-sketch": LazyCountSketch,
}


@dataclass(frozen=True, slots=True)
class SketchSettings:
    """What describes a private sketch."""

    epsilon: float
    delta: float
    relation: Relation
    horizon: int | None
    depth: int
    width: int
    kind: str
    mechanism: str

    def create(self) -> PrivateSketch:
        """Return a fresh sketch; its constructor checks the values."""
        return _KINDS[self.kind](
            depth=self.depth,
            width=self.width,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            horizon=self.horizon,
            mechanism=self.mechanism,
        )


@dataclass(frozen=True, slots=True)
class InputSettings:
    """How to read the inputs."""

    format: str
    field: str | None
    encoding: str

    def open(self, paths: tuple[str, ...]) -> Source:
        """Return the inputs as one source."""
        return open_source(paths, format=self.format, field=self.field, encoding=self.encoding)

    def read_items(self, path: str, *, option: str, inputs: tuple[str, ...]) -> list[str]:
        """Return the distinct items of a public list, in its order.

        Raises:
            SourceError: Unreadable, without an item, with a row that does not decode,
                or one of the inputs itself: a list taken from the private stream
                would tell what occurs in it.
        """
        if any(_same_file(path, other) for other in inputs):
            raise SourceError(
                f"{option}: expected a public list, got one of the inputs; "
                "a list taken from the stream would tell what occurs in it"
            )
        source = open_source(path, format="lines", encoding=self.encoding)
        items: dict[str, None] = {}
        for batch in source:
            items.update(dict.fromkeys(batch.items))
        if not items:
            raise SourceError(f"{option}: expected at least one item, got an empty list")
        return list(items)


def sketch_options(command: Command) -> Command:
    """Add the options of a sketch; the command gets them as ``sketch``."""
    return _gathered(
        SketchSettings,
        "sketch",
        _option("--epsilon", type=float, default=1.0, help="Privacy: the budget epsilon."),
        _option("--delta", type=float, default=1e-8, help="Privacy: the probability delta."),
        _option(
            "--relation",
            type=click.Choice(["substitution", "zero-out"]),
            default="substitution",
            help="What one person's event may become: another event, or an empty step.",
        ),
        click.option(
            "--horizon",
            type=int,
            metavar="STEPS",
            help="Longest stream, in steps, if known: less noise.  [default: unlimited]",
        ),
        _option("--depth", type=int, default=4, help="Rows of the sketch."),
        _option("--width", type=int, default=1024, help="Buckets in each row."),
        _option(
            "--kind", type=click.Choice(list(_KINDS)), default="count-min", help="Kind of sketch."
        ),
        _option(
            "--mechanism",
            type=click.Choice(["haar", "binary"]),
            default="haar",
            help="Mechanism of the noise.",
        ),
    )(command)


def input_options(command: Command) -> Command:
    """Add the options of the inputs; the command gets them as ``reading``."""
    return _gathered(
        InputSettings,
        "reading",
        _option(
            "--format",
            type=click.Choice(["auto", *FORMATS]),
            default="auto",
            help="Format of the inputs; auto looks at their first rows.",
        ),
        click.option(
            "--field",
            metavar="FIELD",
            help="Field of an access log: host, path, status, method; "
            "combined also agent, referrer.  [default: host]",
        ),
        _option(
            "--encoding", default="utf-8", help="Encoding; a row that does not decode is malformed."
        ),
    )(command)


def output_option(command: Command) -> Command:
    """Add the option of the output's form; the command gets it as ``output``."""
    return _option(
        "--output", type=click.Choice(OUTPUTS), default="table", help="Form of the result."
    )(command)


def _option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, show_default=True, **settings)


def _gathered(
    settings: type[Any], name: str, *options: Callable[[Any], Any]
) -> Callable[[Command], Command]:
    """Return a decorator that adds options and hands them over as one value of a dataclass."""

    def decorate(command: Any) -> Any:
        @functools.wraps(command)
        def gathering(**values: Any) -> Any:
            own = {field.name: values.pop(field.name) for field in fields(settings)}
            return command(**values, **{name: settings(**own)})

        decorated: Any = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _same_file(path: str, other: str) -> bool:
    if path == other:
        return True
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return False  # opening them tells what is wrong
