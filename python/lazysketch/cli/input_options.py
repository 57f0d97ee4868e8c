"""The command-line options of the inputs of a run."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import gathered, option_with_default
from lazysketch.cli.settings import InputSettings

if TYPE_CHECKING:
    from lazysketch.cli.options import Command

__all__ = [
    "FORMATS",
    "ITEM_TYPES",
    "NUMBERS",
    "TIME_UNITS",
    "columns_input_options",
    "files_argument",
    "input_options",
    "key_input_options",
    "number_input_options",
    "sample_options",
    "sums_input_options",
    "unweighted_input_options",
]

# Equal to those of lazysketch.sources, whose import is deferred until a run reads; a test compares.
FORMATS: Final = (
    "parquet",
    "arrow",
    "pcap",
    "zeek",
    "w3c",
    "traefik-json",
    "caddy",
    "cloudflare",
    "docker",
    "journald",
    "gelf",
    "jsonl",
    "vhost_combined",
    "nginx",
    "traefik",
    "combined",
    "common",
    "alb",
    "elb",
    "haproxy",
    "cri",
    "syslog",
    "logfmt",
    "tsv",
    "csv",
    "regex",
    "lines",
)
ITEM_TYPES: Final = ("str", "int")
TIME_UNITS: Final = ("s", "ms", "us", "ns")
NUMBERS: Final = "float"


def files_argument(command: Command) -> Command:
    """Add the inputs; the command gets them as ``files``."""
    return click.argument(
        "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
    )(command)


def sample_options(command: Command) -> Command:
    """Add the options of a file that is read once; the command gets them as ``reading``."""
    return gathered(InputSettings, "reading", *_ROW_FORMAT)(command)


def input_options(command: Command) -> Command:
    """Add the options of the inputs; the command gets them as ``reading``."""
    return gathered(InputSettings, "reading", *_ROW_FORMAT, *_TIMES, *_FOLLOWING)(command)


def unweighted_input_options(command: Command) -> Command:
    """Add the options of inputs without weights; the command gets them as ``reading``."""
    return gathered(InputSettings, "reading", *_FIELDS, *_ROWS, *_TIMES, *_FOLLOWING)(command)


def columns_input_options(command: Command) -> Command:
    """Add the options of inputs of which several fields are read, as ``reading`` too."""
    settings = functools.partial(InputSettings, field=None, items_type=ITEM_TYPES[0])
    return gathered(settings, "reading", *_FORMAT, *_PARSING, *_CELLS, _STRICT)(command)


def number_input_options(command: Command) -> Command:
    """Add the options of inputs whose items are numbers; the command gets them as ``reading``."""
    settings = functools.partial(InputSettings, items_type=NUMBERS)
    by_number = (*_FORMAT, _BY_NUMBER, *_PARSING, *_CELLS, _STRICT, *_TIMES, *_FOLLOWING)
    return gathered(settings, "reading", *by_number)(command)


def key_input_options(command: Command) -> Command:
    """Add the options of inputs whose items are keys; the command gets them as ``reading``."""
    settings = functools.partial(InputSettings, items_type="")  # until the bits are known
    by_key = (*_FORMAT, _BY_KEY, *_PARSING, *_WEIGHTS, *_CELLS, _STRICT, *_TIMES, *_FOLLOWING)
    return gathered(settings, "reading", *by_key)(command)


def sums_input_options(command: Command) -> Command:
    """Add the options of inputs whose items have values; the command gets them as ``reading``."""
    return gathered(InputSettings, "reading", *_FIELDS, _VALUE, *_ROWS, *_TIMES, *_FOLLOWING)(
        command
    )


_FORMAT: Final = (
    option_with_default(
        "--format",
        type=click.Choice(["auto", *FORMATS]),
        default="auto",
        help="Input format; auto detects it from file names and first rows.",
    ),
)
_BY_NUMBER: Final = click.option(
    "--by",
    "--field",
    "field",
    metavar="FIELD",
    help="Field with the number: a column, a key, a path of keys (request.time); in captures size. "
    "Text that is a number counts too.  [default: none; lines: the line]",
)
_BY_KEY: Final = click.option(
    "--by",
    "--field",
    "field",
    metavar="FIELD",
    help="Field with the key, an integer or an address: a column, a key, a path of keys "
    "(client.ip); in access logs host; in captures src, dst, sport, dport, size.  [default: host "
    "or src; lines: the line]",
)
_BY: Final = (
    click.option(
        "--by",
        "--field",
        "field",
        metavar="FIELD",
        help="Field to count: a column, a key, a path of keys (user.id); in access logs "
        "host, path, status, method, user, agent, referrer, size; in captures src, dst, sport, "
        "dport, proto, flow, size; in syslog program, host, severity.  [default: host or src; "
        "lines: the line]",
    ),
)
_PARSING: Final = (
    click.option(
        "--regex",
        metavar="EXPRESSION",
        help="Read rows by a regular expression; its named groups, as (?<page>[^ ]+), are the "
        "fields.  [default: none]",
    ),
    click.option(
        "--trusted-hops",
        type=click.IntRange(min=0, max=1000),
        metavar="N",
        help="In nginx logs: N proxies before the server are trusted, so the client is the N-th "
        "address from the end of X-Forwarded-For.  [default: the first address, which a client may "
        "have written]",
    ),
)
_WEIGHTS: Final = (
    click.option(
        "--weight",
        metavar="FIELD",
        help="Field with the weight of a row, an integer of at least 0; in captures size.  "
        "[default: every row weighs 1]",
    ),
    click.option(
        "--max-weight",
        type=click.IntRange(min=1),
        metavar="N",
        help="Clip larger weights to N; the noise is proportional to it.  "
        "[default: none; required with --weight]",
    ),
)
_VALUE: Final = click.option(
    "--value",
    metavar="FIELD",
    help="Field with the number that is added up: a column, a key, a path of keys; in captures "
    "and some logs size. Text that is a number counts too.  [default: none; required]",
)
_FIELDS: Final = (*_FORMAT, *_BY, *_PARSING)
_CELLS: Final = (
    click.option(
        "--delimiter",
        metavar="CHAR",
        help="Column separator of CSV: a character, or tab.  [default: detected from the header]",
    ),
    option_with_default(
        "--encoding",
        default="utf-8",
        help="Text encoding; a row that does not decode is malformed.",
    ),
)
_STRICT: Final = click.option(
    "--strict",
    is_flag=True,
    help="Stop at the first malformed row, with status 2.  [default: count malformed rows]",
)
_ROWS: Final = (
    *_CELLS,
    option_with_default(
        "--items-type",
        type=click.Choice(ITEM_TYPES),
        default="str",
        help="Type of the items in the field and in the list; int for columns of integers.",
    ),
    _STRICT,
)
_ROW_FORMAT: Final = (*_FIELDS, *_WEIGHTS, *_ROWS)
_TIMES: Final = (
    click.option(
        "--time",
        metavar="FIELD",
        help="Field with the time of a row: ISO 8601 or a number since 1970, UTC without an "
        "offset.  [default: ts in Zeek logs; known in access logs and captures]",
    ),
    option_with_default(
        "--time-unit",
        type=click.Choice(TIME_UNITS),
        default="s",
        help="Unit of numeric times.",
    ),
)
_FOLLOWING: Final = (
    click.option(
        "--follow",
        is_flag=True,
        help="Wait for more data at the end of the file, like tail -F, until Ctrl-C.  "
        "[default: stop at the end]",
    ),
    click.option(
        "--kafka-settings",
        metavar="FILE",
        type=click.Path(),
        help="For kafka://HOST:PORT/TOPIC: further settings of librdkafka, NAME=VALUE in each "
        "line.  [default: none]",
    ),
)
