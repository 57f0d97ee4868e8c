"""Option values from a TOML file and from environment variables.

A key is the name of an option without leading hyphens. At the top level of the file it applies to
every verb that has the option; in a table [VERB] it applies to that verb and takes precedence.
A key that matches no option is an error: ignoring a misspelt epsilon would change the guarantee
unnoticed.

Precedence, from high to low: command line, environment (LAZYSKETCH_NAME), [VERB], top level,
default.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Table = Mapping[str, object]

PREFIX: Final = "LAZYSKETCH_"
_CONFIG: Final = "config"
_MAX_BYTES: Final = 1 << 20


def configurable(verb: click.Command) -> click.Command:
    """Return the verb with an option --config and an environment variable for each option."""
    verb.params.append(
        click.Option(
            [f"--{_CONFIG}"],
            metavar="FILE.toml",
            type=click.Path(),
            is_eager=True,  # processed before the options whose defaults it sets
            expose_value=False,
            callback=_read,
            help="File with option values; the environment and options override it.  "
            "[default: none]",
        )
    )
    for option in options_of(verb).values():
        option.envvar = variable(key_of(option))
    return verb


def options_of(verb: click.Command) -> dict[str, click.Option]:
    """Return the options of a verb by their keys."""
    return {
        key_of(parameter): parameter
        for parameter in verb.params
        if isinstance(parameter, click.Option)
    }


def key_of(option: click.Option) -> str:
    """Return the key of an option: its longest name without leading hyphens."""
    return max(option.opts, key=len).lstrip("-")


def variable(key: str) -> str:
    """Return the environment variable of an option.

    Example:
        >>> variable("max-weight")
        'LAZYSKETCH_MAX_WEIGHT'
    """
    return PREFIX + key.upper().replace("-", "_")


def check_environment(verbs: Iterable[click.Command]) -> None:
    """Raise ArgumentValueError for a variable LAZYSKETCH_... that matches no option."""
    known = {variable(key) for verb in verbs for key in options_of(verb)}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            raise ArgumentValueError(
                f"environment: expected {PREFIX}... to name an option, "
                f"got {name}{_suggestion(name, known)}"
            )


def _read(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make the values of the file the defaults of the verb's options."""
    if path is None:
        return
    group = context.find_root().command
    verbs = group.commands if isinstance(group, click.Group) else {}
    top_level = parsed_settings(path, option=f"--{_CONFIG}")
    known = {key for verb in verbs.values() for key in options_of(verb)} - {_CONFIG}
    # Some names are of a verb and of an option: a table is the verb's.
    tables = {
        name: top_level.pop(name)
        for name in verbs
        if name in top_level and (name not in known or isinstance(top_level[name], dict))
    }
    check_keys(path, top_level, known=known | verbs.keys(), of="an option or a verb")
    own: dict[str, object] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ArgumentTypeError(f"{path}: {name}: expected a table, got {type_of(table)}")
        keys = options_of(verbs[name]).keys() - {_CONFIG}
        check_keys(f"{path}: [{name}]", table, known=keys, of=f"an option of {name}")
        if name == context.info_name:
            own = table
    options = options_of(context.command)
    values: dict[str, object] = {}
    for where, table in ((f"{path}:", top_level), (f"{path}: [{context.info_name}]", own)):
        for key, value in table.items():
            if key in options:
                name = options[key].name or key
                values[name] = _checked(value, options[key], context, where=f"{where} {key}")
    context.default_map = values


def parsed_settings(path: str, *, option: str) -> dict[str, object]:
    """Return the content of a TOML file.

    Args:
        path: The file.
        option: The option that named it, for messages.

    Raises:
        SourceError: No such file, one that cannot be read, a large one, or no TOML.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise SourceError(f"{option}: expected an existing file, got {path}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"{option}: expected a readable file, got {path}: {reason}") from None
    if len(data) > _MAX_BYTES:
        raise SourceError(f"{option}: expected at most 1 MiB, got a larger file: {path}")
    if sys.version_info >= (3, 11):  # late: few runs have a file of options
        import tomllib
    else:
        import tomli as tomllib
    try:
        settings: dict[str, object] = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, RecursionError):
        raise SourceError(f"{path}: expected TOML, got other data") from None
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"{path}: expected TOML, got an error: {error}") from None
    return settings


def check_keys(where: str, table: Table, *, known: Iterable[str], of: str) -> None:
    """Raise ArgumentValueError for a key that is none of the known ones.

    Args:
        where: The table, for messages.
        table: Its keys and values.
        known: The names that a key may have.
        of: What they are the names of.
    """
    for key in table:
        if key not in known:
            raise ArgumentValueError(
                f"{where}: expected the name of {of}, got {key!r}{_suggestion(key, known)}"
            )


def _checked(value: object, option: click.Option, context: click.Context, *, where: str) -> object:
    """Return the value converted to the option's type; errors name the key."""
    wanted = "a boolean" if option.is_flag else _WANTED.get(option.type.name, "a string")
    found = type_of(value)
    if found != wanted and (wanted, found) != ("a number", "an integer"):
        raise ArgumentTypeError(f"{where}: expected {wanted}, got {found}")
    try:
        converted: object = option.type.convert(value, option, context)
    except click.BadParameter as error:
        raise ArgumentValueError(f"{where}: {error.message}") from None
    return converted


_WANTED: Final = {
    "integer": "an integer",
    "integer range": "an integer",
    "float": "a number",
}


def type_of(value: object) -> str:
    """Return the type of a value of a TOML file, in words."""
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "an array or a date")


def _suggestion(name: str, known: Iterable[str]) -> str:
    import difflib  # late: few names are misspelt

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
