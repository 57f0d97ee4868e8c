"""Keyword arguments of public constructors: refused by name, shown and documented in one place.

Several classes take the same options. A TypedDict lists them, with their types for a type checker
and their descriptions for a reader; :func:`with_options` copies both to each class that takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from typing import Final, Protocol, TypeVar

from lazysketch.errors import ArgumentTypeError

__all__ = ["check_keywords", "with_options"]

# Names from the literature and from other libraries.
_SYNONYMS: Final = {"k": "share", "phi": "share", "num_hashes": "depth", "num_buckets": "width"}


class Options(Protocol):
    """A TypedDict class, as the functions of this module see one."""

    __annotations__: dict[str, object]
    __required_keys__: frozenset[str]
    __optional_keys__: frozenset[str]


Owner = TypeVar("Owner", bound=type)


def check_keywords(
    owner: type,
    positional: Collection[object],
    given: Collection[str],
    options: Options,
    *,
    example: str,
) -> None:
    """Raise unless a constructor got known keywords only, all required ones included.

    Args:
        owner: the public class, which the message names.
        positional: what came without a name.
        given: names of the options that came.
        options: the TypedDict of the options.
        example: a call that works, for the message.

    Raises:
        ArgumentTypeError: positional arguments, an unknown name, or a missing one.
    """
    name = owner.__name__
    if positional:
        raise ArgumentTypeError(
            f"{name}: expected keyword arguments, as in {example}, got {len(positional)} positional"
        )
    known = options.__required_keys__ | options.__optional_keys__
    for unknown in given:
        if unknown not in known:
            raise ArgumentTypeError(f"{unknown}: {_suggestion(owner, unknown)}")
    for missing in sorted(options.__required_keys__ - set(given)):
        raise ArgumentTypeError(f"{missing}: expected a value, as in {example}, got none")


def _suggestion(owner: type, unknown: str) -> str:
    names = [known for known in inspect.signature(owner).parameters if known != unknown]
    alike = [_SYNONYMS[unknown]] if unknown in _SYNONYMS else []
    alike = [known for known in alike if known in names]
    alike = alike or get_close_matches(unknown.lower(), names, n=1, cutoff=0.5)
    meant = f" ({alike[0]}?)" if alike else ""
    return f"expected an argument of {owner.__name__}{meant}, got an unknown name"


def with_options(
    *options: Options, defaults: Collection[Callable[..., object]]
) -> Callable[[Owner], Owner]:
    """Return a class decorator that shows the options in the signature and in the docstring.

    Args:
        options: the TypedDicts of the options; the ``Args:`` of their docstrings describe them.
        defaults: callables whose parameters of the same names have the default values.

    Returns:
        A decorator for classes whose constructor takes ``**options``.

    Example:
        >>> import inspect
        >>> from lazysketch import LazyCountMin
        >>> inspect.signature(LazyCountMin).parameters["relation"].default
        'substitution'
    """
    values = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for function in defaults
        for name, parameter in inspect.signature(function).parameters.items()
    }

    def complete(owner: Owner) -> Owner:
        shown = {parameter.name: parameter for parameter in _explicit(owner)}
        for group in options:
            for name in group.__annotations__:
                shown.setdefault(name, values[name])
        ordered = sorted(shown.values(), key=lambda parameter: parameter.kind)
        owner.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        text = inspect.getdoc(owner) or ""
        for group in options:
            text = _documented(text, inspect.getdoc(group) or "")
        owner.__doc__ = text
        return owner

    return complete


def _explicit(owner: type) -> Iterator[inspect.Parameter]:
    """Yield the named parameters of a constructor."""
    own = owner.__init__ is not object.__init__  # type: ignore[misc]
    constructor = owner.__init__ if own else owner.__new__  # type: ignore[misc]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in list(inspect.signature(constructor).parameters.values())[1:]:
        if parameter.kind not in variadic:
            yield parameter


def _documented(text: str, described: str) -> str:
    """Return a docstring whose ``Args:`` section ends with that of another docstring."""
    head, mark, rest = text.partition("\nArgs:\n")
    shared = described.partition("\nArgs:\n")[2].partition("\n\n")[0]
    if not mark or not shared:
        return text
    own, gap, tail = rest.partition("\n\n")
    return f"{head}{mark}{own}\n{shared}{gap}{tail}"
