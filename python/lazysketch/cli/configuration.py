"""Settings from a TOML file and from the environment; options on the command line win.

A key is the name of an option without its hyphens in front. At the top of the file it
holds for every verb that has the option, in a table [VERB] for that verb; of the two,
the table wins. Whatever the file says and no option is called is an error, because a
misspelt epsilon that is passed over would be a promise nobody made.

Precedence, downward: option, environment (LAZYSKETCH_NAME), [VERB], top of the file,
default.
"""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Table = Mapping[str, Any]

PREFIX = "LAZYSKETCH_"
_CONFIG = "config"
_LARGEST_FILE = 1 << 20


def configurable(verb: click.Command) -> click.Command:
    """Return the verb with its option --config, and with a variable for each option."""
    verb.params.append(
        click.Option(
            [f"--{_CONFIG}"],
            metavar="FILE.toml",
            type=click.Path(),
            is_eager=True,  # before the options that it gives values to
            expose_value=False,
            callback=_read,
            help="Settings; the environment and options win.  [default: none]",
        )
    )
    for option in options_of(verb).values():
        option.envvar = variable(key_of(option))
    return verb


def options_of(verb: click.Command) -> dict[str, click.Option]:
    """Return the options of a verb that can be set from outside, by their keys."""
    return {
        key_of(parameter): parameter
        for parameter in verb.params
        if isinstance(parameter, click.Option)
    }


def key_of(option: click.Option) -> str:
    """Return what a file calls an option: its longest name without hyphens in front."""
    return max(option.opts, key=len).lstrip("-")


def variable(key: str) -> str:
    """Return what the environment calls an option.

    Example:
        >>> variable("max-weight")
        'LAZYSKETCH_MAX_WEIGHT'
    """
    return PREFIX + key.upper().replace("-", "_")


def check_environment(verbs: Iterable[click.Command]) -> None:
    """Raise ArgumentValueError for a variable LAZYSKETCH_... that no option is called."""
    known = {variable(key) for verb in verbs for key in options_of(verb)}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            raise ArgumentValueError(
                f"environment: expected {PREFIX}... to be the name of an option, "
                f"got {name}{_meant(name, known)}"
            )


def _read(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Give the options of the verb the values of the file as their defaults."""
    if path is None:
        return
    group = context.find_root().command
    verbs = group.commands if isinstance(group, click.Group) else {}
    everywhere = _parsed(path)
    tables = {name: everywhere.pop(name) for name in verbs if name in everywhere}
    known = {key for verb in verbs.values() for key in options_of(verb)} - {_CONFIG}
    _check_keys(path, everywhere, known=known | verbs.keys(), of="an option or a verb")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ArgumentTypeError(f"{path}: {name}: expected a table, got {_kind(table)}")
        own = options_of(verbs[name]).keys() - {_CONFIG}
        _check_keys(f"{path}: [{name}]", table, known=own, of=f"an option of {name}")
    verb = options_of(context.command)
    values: dict[str, Any] = {}
    for where, table in (
        ("", everywhere),
        (f"[{context.info_name}] ", tables.get(context.info_name or "", {})),
    ):
        for key, value in table.items():
            if key in verb:
                name = verb[key].name or key
                values[name] = _checked(value, verb[key], context, where=f"{path}: {where}{key}")
    context.default_map = values


def _parsed(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise SourceError(f"--config: expected an existing file, got {path}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"--config: expected a readable file, got {path}: {reason}") from None
    if len(data) > _LARGEST_FILE:
        raise SourceError(f"--config: expected a file of settings, got {path}, above 1 MiB")
    try:
        settings: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, RecursionError):
        raise SourceError(f"{path}: expected TOML, got other data") from None
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"{path}: expected TOML, got an error: {error}") from None
    return settings


def _check_keys(where: str, table: Table, *, known: Iterable[str], of: str) -> None:
    for key in table:
        if key not in known:
            raise ArgumentValueError(
                f"{where}: expected the name of {of}, got {key!r}{_meant(key, known)}"
            )


def _checked(value: object, option: click.Option, context: click.Context, *, where: str) -> Any:
    """Return the value as the option's type has it, or raise an error that names the key."""
    wanted = _WANTED.get(option.type.name, "a text")
    if option.is_flag:
        wanted = "true or false"
    if _kind(value) not in _ACCEPTED[wanted]:
        raise ArgumentTypeError(f"{where}: expected {wanted}, got {_kind(value)}")
    try:
        return option.type.convert(value, option, context)
    except click.BadParameter as error:
        raise ArgumentValueError(f"{where}: {error.message}") from None


_WANTED = {"integer": "a whole number", "integer range": "a whole number", "float": "a number"}
_ACCEPTED = {
    "a whole number": ("a whole number",),
    "a number": ("a whole number", "a number"),
    "true or false": ("true or false",),
    "a text": ("a text",),
}


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else "a list or a date")


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
