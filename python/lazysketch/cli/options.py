"""The options that verbs share, gathered into frozen settings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from lazysketch import HeavyHitters, LazyCountMin, LazyCountSketch
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.privacy.relations import Relation
from lazysketch.sources import (
    FORMATS,
    ITEM_TYPES,
    TIME_UNITS,
    Source,
    expand_paths,
    open_source,
)
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Geometric, RoundRobin, Schedule

PrivateSketch: TypeAlias = "LazyCountMin | LazyCountSketch"
Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUTS = ("table", "csv", "json", "jsonl")
_WIDTH = 1024
_ITEM_BYTES = 256  # paths and agents are longer than addresses
_KINDS: dict[str, type[LazyCountMin] | type[LazyCountSketch]] = {
    "count-min": LazyCountMin,
    "count-sketch": LazyCountSketch,
}


@dataclass(frozen=True, slots=True)
class PromiseSettings:
    """What a sketch promises."""

    epsilon: float
    delta: float
    relation: Relation
    max_events_per_user: int


@dataclass(frozen=True, slots=True)
class SketchSettings:
    """What describes a private sketch."""

    epsilon: float
    delta: float
    relation: Relation
    horizon: int | None
    period: int
    depth: int
    width: int | None
    kind: Any
    mechanism: MechanismName
    max_events_per_user: int
    hash_seed: int | None

    @property
    def columns(self) -> int:
        """The width of a sketch that nothing else sizes."""
        return _WIDTH if self.width is None else self.width

    def create(self, *, max_weight: int = 1) -> PrivateSketch:
        """Return a fresh sketch; its constructor checks the values."""
        return _KINDS[self.kind](
            depth=self.depth,
            width=self.columns,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            schedule=self._schedule(),
            mechanism=self.mechanism,
            max_weight=max_weight,
            max_events_per_user=self.max_events_per_user,
            hash_seed=self.hash_seed,
        )

    def discover(
        self, *, share: float, window: int | None, memory: int, max_weight: int = 1
    ) -> HeavyHitters:
        """Return a fresh sketch that finds the names of heavy items; it chooses its own width."""
        if self.mechanism != "tree":
            raise ArgumentValueError(
                f"mechanism: expected tree where names are found, got {self.mechanism}; "
                "others go with a public list (--domain)"
            )
        return HeavyHitters(
            share=share,
            discovery_epoch=window,
            memory=memory,
            depth=self.depth,
            width=self.width,
            kind=self.kind,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            schedule=self._schedule(),
            max_weight=max_weight,
            max_events_per_user=self.max_events_per_user,
            max_item_bytes=_ITEM_BYTES,
            hash_seed=self.hash_seed,
        )

    def _schedule(self) -> Schedule:
        if self.period != 1 and self.horizon is None:
            raise ArgumentTypeError("period: expected 1 without a horizon, got another one")
        if self.horizon is None:
            return Geometric()
        return RoundRobin(horizon=self.horizon, period=self.period)


@dataclass(frozen=True, slots=True)
class InputSettings:
    """How to read the inputs."""

    format: str
    field: str | None
    weight: str | None
    max_weight: int | None
    delimiter: str | None
    encoding: str
    items_type: str
    strict: bool
    time: str | None = None
    time_unit: str = "s"
    follow: bool = False

    def open(self, paths: tuple[str, ...], *, times: bool = False) -> Source:
        """Return the inputs as one source, which tells when rows happened if that is asked for."""
        return open_source(
            paths,
            format=self.format,
            field=self.field,
            weight=self.weight,
            max_weight=self.max_weight,
            delimiter=self.delimiter,
            encoding=self.encoding,
            item_type=self.items_type,
            strict=self.strict,
            times=times,
            time=self.time,
            time_unit=self.time_unit,
            follow=self.follow,
            ahead=True,
        )

    def read_items(
        self, path: str, *, option: str, inputs: tuple[str, ...]
    ) -> list[str] | list[int]:
        """Return the distinct items of a public list, in its order.

        Raises:
            SourceError: Unreadable, without an item, with a row that does not decode,
                or one of the inputs itself: a list taken from the private stream
                would tell what occurs in it.
        """
        if any(_same_file(path, str(other)) for other in expand_paths(inputs)):
            raise SourceError(
                f"{option}: expected a public list, got one of the inputs; "
                "a list taken from the stream would tell what occurs in it"
            )
        items = read_list(path, option=option, encoding=self.encoding)
        return _integers(items, option=option) if self.items_type == "int" else items


def read_list(path: str, *, option: str, encoding: str = "utf-8") -> list[str]:
    """Return the distinct items of a list, an item per line, in its order.

    Raises:
        SourceError: Unreadable, without an item, or with a row that does not decode.
    """
    source = open_source(path, format="lines", encoding=encoding)
    items: dict[str, None] = {}
    for batch in source:
        items.update(dict.fromkeys(map(str, batch.item_list)))
    if not items:
        raise SourceError(f"{option}: expected at least one item, got an empty list")
    return list(items)


def promise_options(command: Command) -> Command:
    """Add the options of a promise; the command gets them as ``promise``."""
    return _gathered(PromiseSettings, "promise", *_PROMISE)(command)


def sketch_options(command: Command) -> Command:
    """Add the options of a sketch; the command gets them as ``sketch``."""
    return _sketch_options(f"{_WIDTH}")(command)


def discovering_sketch_options(command: Command) -> Command:
    """Add the options of a sketch that may have to find its names, as ``sketch`` too."""
    return _sketch_options(f"{_WIDTH}; without --domain by --share")(command)


def _sketch_options(width: str) -> Callable[[Command], Command]:
    return _gathered(
        SketchSettings,
        "sketch",
        *_PROMISE[:-1],
        click.option(
            "--horizon",
            type=int,
            metavar="STEPS",
            help="Longest stream, in steps, if known: less noise.  [default: unlimited]",
        ),
        _option(
            "--period",
            type=int,
            default=1,
            metavar="STEPS",
            help="With --horizon: steps from one column to the next; less noise, more lag.",
        ),
        _option("--depth", type=int, default=4, help="Rows of the sketch."),
        click.option("--width", type=int, help=f"Buckets in each row.  [default: {width}]"),
        _option(
            "--kind", type=click.Choice(list(_KINDS)), default="count-min", help="Kind of sketch."
        ),
        _option(
            "--mechanism",
            type=click.Choice(["tree", "haar", "binary"]),
            default="tree",
            help="Mechanism of the noise.",
        ),
        _PROMISE[-1],
        click.option(
            "--hash-seed",
            type=int,
            metavar="SEED",
            help="Public seed of the hash; one for all sketches to be merged.  [default: fresh]",
        ),
    )


def sample_options(command: Command) -> Command:
    """Add the options of a file that is read once; the command gets them as ``reading``."""
    return _gathered(InputSettings, "reading", *_ROWS)(command)


def input_options(command: Command) -> Command:
    """Add the options of the inputs; the command gets them as ``reading``."""
    return _gathered(InputSettings, "reading", *_ROWS, *_COURSE)(command)


def save_option(command: Command) -> Command:
    """Add the option to keep the release; the command gets it as ``save_release``."""
    return click.option(
        "--save-release",
        metavar="PATH",
        type=click.Path(),
        help="Keep the release here, to query it later; also after Ctrl-C.  [default: not kept]",
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
            names = [field.name for field in fields(settings) if field.name in values]
            own = {name: values.pop(name) for name in names}
            return command(**values, **{name: settings(**own)})

        decorated: Any = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _integers(items: list[str], *, option: str) -> list[int]:
    try:
        # The values again without repetition: "7" and "07" are one integer.
        return list(dict.fromkeys(int(item) for item in items))
    except ValueError:
        raise SourceError(
            f"{option}: expected an integer per line, as --items-type int says, got something else"
        ) from None


def _same_file(path: str, other: str) -> bool:
    if path == other:
        return True
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return False  # opening them tells what is wrong


_PROMISE = (
    _option("--epsilon", type=float, default=1.0, help="Privacy: the budget epsilon."),
    _option("--delta", type=float, default=1e-8, help="Privacy: the probability delta."),
    _option(
        "--relation",
        type=click.Choice(["substitution", "zero-out"]),
        default="substitution",
        help="What one event may become: another event, or an empty step.",
    ),
    _option(
        "--max-events-per-user",
        type=int,
        default=1,
        help="Events of one person that are protected together.",
    ),
)


# What a row is, and what of it counts.
_ROWS = (
    _option(
        "--format",
        type=click.Choice(["auto", *FORMATS]),
        default="auto",
        help="Format of the inputs; auto looks at their names and first rows.",
    ),
    click.option(
        "--by",
        "--field",
        "field",
        metavar="FIELD",
        help="What to count: a column, a key, a path of keys (user.id); of an access log "
        "host, path, status, method, agent, referrer; of a capture src, dst, sport, dport, "
        "proto, flow, size.  [default: host or src; lines: the line]",
    ),
    click.option(
        "--weight",
        metavar="FIELD",
        help="Field with the weight of a row, an integer from 0 on; of a capture size.  "
        "[default: each weighs 1]",
    ),
    click.option(
        "--max-weight",
        type=click.IntRange(min=1),
        metavar="N",
        help="Larger weights are clipped to this; the noise grows with it.  "
        "[default: none; needed with --weight]",
    ),
    click.option(
        "--delimiter",
        metavar="CHAR",
        help="What separates the columns of CSV: a character, or tab.  "
        "[default: as the header shows]",
    ),
    _option(
        "--encoding", default="utf-8", help="Encoding; a row that does not decode is malformed."
    ),
    _option(
        "--items-type",
        type=click.Choice(ITEM_TYPES),
        default="str",
        help="Type of the items, in the field and in the list: int for columns of integers.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Stop at the first malformed row, with status 2.  [default: count them]",
    ),
)
# When rows happened, and whether more will come.
_COURSE = (
    click.option(
        "--time",
        metavar="FIELD",
        help="Field that tells when a row happened: ISO 8601, or a number since 1970; "
        "without an offset UTC.  [default: of a Zeek log ts; access logs and captures know]",
    ),
    _option(
        "--time-unit",
        type=click.Choice(list(TIME_UNITS)),
        default="s",
        help="Unit of times that are numbers.",
    ),
    click.option(
        "--follow",
        is_flag=True,
        help="Wait for more at the end of the file, as tail -F does, until Ctrl-C.  "
        "[default: end there]",
    ),
)
